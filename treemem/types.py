"""Defines the values that the modules exchange, as frozen dataclasses. Pure.

Tested in tests/test_memory.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from treemem.arguments import checked

Value = TypeVar("Value")


def one_or_more(values: Iterable[Value]) -> tuple[Value, ...]:
    """The values of an argument that takes several; a bare text is one, not its characters.

    Example:
        >>> one_or_more("open"), one_or_more(["open", "error"])
        (('open',), ('open', 'error'))
    """
    return (values,) if isinstance(values, str) else tuple(values)  # type: ignore[return-value]


Role = Literal["user", "assistant", "system", "tool", "document", "other"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool", "document", "other")

MessageKind = Literal["said", "summary", "injected"]
MESSAGE_KINDS: tuple[MessageKind, ...] = ("said", "summary", "injected")

Include = Literal["abandoned", "injected"]
# What a search includes only on request: abandoned branches and earlier versions; context that a
# tool injected as a user's message, and the tool's own summaries.
INCLUDES: tuple[Include, ...] = ("abandoned", "injected")

# The author of a prompt that another agent wrote in the user's role.
PARENT_AGENT = "parent agent"

Origin = Literal["typed", "assistant", "person", "document", "agent", "pasted", "tool", "result"]
# Whose words a stretch of a message is, from the strongest to the weakest: typed by the user; an
# assistant's; another person's; a document's; another agent's or session's; pasted by the user;
# put there by the tool; a tool's result. Only words that the user typed can give an order.
ORIGINS: tuple[Origin, ...] = (
    "typed", "assistant", "person", "document", "agent", "pasted", "tool", "result",
)  # fmt: skip

PartKind = Literal[
    "text", "code", "thinking", "tool_use", "tool_result", "marker", "pasted", "injected", "agent"
]

StatementKind = Literal["gist", "decision", "fact", "open", "error", "constraint"]
STATEMENT_KINDS: tuple[StatementKind, ...] = (
    "gist", "decision", "constraint", "open", "error", "fact",
)  # fmt: skip

Grade = Literal["verbatim", "aligned", "entailed", "unproven"]
# How far the check of a statement reaches, from the strongest: the words of a message; clauses
# that agree with clauses of messages; judged to follow from them by a checker, with a score above
# its threshold; not refused, but not judged either.
GRADES: tuple[Grade, ...] = ("verbatim", "aligned", "entailed", "unproven")

EntryKind = Literal["decision", "fact", "open", "error", "constraint"]
ENTRY_KINDS: tuple[EntryKind, ...] = ("constraint", "decision", "open", "error", "fact")

EntryState = Literal["holds", "superseded", "closed", "withdrawn"]
# Of an entry of the ledger: it holds; a later one replaced it; a later one, or the user, closed it;
# the user took it back or dropped it.
ENTRY_STATES: tuple[EntryState, ...] = ("holds", "superseded", "closed", "withdrawn")

EntryOrder = Literal["salience", "time", "latest"]

ScopeKind = Literal["everything", "source", "topic", "session", "filter"]

SourceKind = Literal["people", "meeting", "assistant", "agent", "mail", "document"]
# People who write to each other, a meeting, a person with an assistant, an agent that calls tools,
# mail, a document.


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The size of leaves and groups.

    A file does not store its shape: pass the same one each time the file is opened. With another
    fanout, groups miss or repeat nodes. doctor reports that, and leaves over the new limit.

    leaf_tokens_max: the tokens of a leaf, by text.tokens.count_tokens. fanout: the children of a
    full group.
    """

    leaf_tokens_max: int = 3_000
    fanout: int = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message's text that is not plain speech.

    kind: "pasted" for words that the user only pasted, "injected" for those that a tool added,
    "agent" for those of another agent or session, "code" for a block between fences.
    start, end: offsets into Message.text in characters, end exclusive.
    name: the tool's name for tool_use and tool_result, the media type for a marker, the element
    for injected, the author for agent.
    """

    kind: PartKind
    start: int
    end: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Blob:
    """An attachment, which a marker in the text replaces.

    digest: SHA-256 of the decoded bytes, hex. size_bytes: of the decoded bytes. content: the bytes
    while a log is read; they are never stored in the memory file.
    """

    media_type: str
    size_bytes: int
    digest: str
    content: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, word for word.

    role: left empty, it is "user" without an author and "other" with one.
    text: verbatim; parts mark tool calls, results and thinking in it.
    sent_at: ISO 8601, with a zone if it is known, else in the machine's; a datetime; or None.
    external_id: its id in the log. unique_id: True if that id is globally unique (a UUID), False
        if it is unique within its source.
    session: its session, if the source has several.
    kind: "said" for real turns, "summary" for a compaction summary in a log, "injected" for
        context that a tool added as a user's message.
    active: False for a turn on an abandoned branch.
    origin: whose words the text outside of the parts is; None to derive it from role and kind.
    id, tokens: set by the store; tokens are counted with cl100k_base.
    """

    role: str = ""
    text: str = ""
    author: str | None = None
    sent_at: str | datetime | None = None
    external_id: str | None = None
    session: str | None = None
    kind: MessageKind = "said"
    parts: tuple[Part, ...] = ()
    tool_use_ids: tuple[str, ...] = ()
    tool_result_ids: tuple[str, ...] = ()
    blobs: tuple[Blob, ...] = ()
    unique_id: bool = False
    active: bool = True
    origin: Origin | None = None
    id: str | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if not self.role:
            object.__setattr__(self, "role", "other" if self.author else "user")

    @property
    def speaker(self) -> str:
        """The author's name, or the role if there is none."""
        return self.author or self.role


@dataclass(frozen=True, slots=True)
class Source:
    """One session or document: an ordered history of messages.

    id: stable and readable, such as "claude-code/5c0375b4-…". parent_id: the source that started
    this one (for a sub-agent's session). snapshot: the file contains the whole document each time
    it is read, so messages missing from it were replaced. rewritten: the file contains the whole
    session, and its tool removes turns from it when the user goes back. project: the working
    directory or repository that the log names; None without one. origin: the whole path of the log
    that it was first read from; of an archive's member or standard input, a name.
    """

    id: str
    format: str
    title: str | None = None
    origin: str | None = None
    parent_id: str | None = None
    snapshot: bool = False
    rewritten: bool = False
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The characters start to end (exclusive) of a message that a leaf contains."""

    message_id: str
    start: int
    end: int
    tokens: int


@checked
@dataclass(frozen=True, slots=True)
class Scope:
    """What to search or show: everything, one source, topic or session, or what a filter admits.

    key: of a source, a topic or a session: its id, or enough of it; of a filter, the source. tool,
    project, person, topic, session: of a filter, see where(). source_ids, speakers: what a filter
    admits in a memory, filled when it is read there; None for all.
    """

    kind: ScopeKind
    key: str | None = None
    tool: str | None = None
    project: str | None = None
    person: str | None = None
    topic_id: str | None = None
    session_id: str | None = None
    source_ids: tuple[str, ...] | None = None
    speakers: tuple[str, ...] | None = None

    @classmethod
    def everything(cls) -> Scope:
        """All sources."""
        return cls("everything")

    @classmethod
    def source(cls, source_id: str) -> Scope:
        """One source, by its id or an unambiguous part of it."""
        return cls("source", source_id)

    @classmethod
    def topic(cls, topic_id: str) -> Scope:
        """One topic, by its id or a prefix of it."""
        return cls("topic", topic_id)

    @classmethod
    def session(cls, session_id: str) -> Scope:
        """The messages of a session, by its id or the beginning of it."""
        return cls("session", session_id)

    @classmethod
    def where(
        cls,
        *,
        source: str | None = None,
        tool: str | None = None,
        project: str | Path | None = None,
        person: str | None = None,
        topic: str | None = None,
        session: str | None = None,
    ) -> Scope:
        """The messages that all of these admit; everything without any.

        source: a part of the ids or titles of sources; their sub-agents belong to them. tool: a
        format such as "claude-code", or its beginning. project: a folder, whose sub-folders belong
        to it, or the name or a part of it. person: who wrote the messages, by name, or a role such
        as "user". topic, session: as in topic() and session(), which one alone is. Reading a filter
        that admits nothing raises NotFoundError.
        """
        if source is tool is project is person is None:
            if session is None:
                return cls.everything() if topic is None else cls.topic(topic)
            if topic is None:
                return cls.session(session)
        place = None if project is None else str(project)
        return cls("filter", source, tool, place, person, topic, session)

    def __str__(self) -> str:
        if self.kind != "filter":
            return self.kind if self.key is None else f"{self.kind} {self.key}"
        named = {"source": self.key, "tool": self.tool, "project": self.project,
                 "person": self.person, "topic": self.topic_id,
                 "session": self.session_id}  # fmt: skip
        return ", ".join(f"{name} {value}" for name, value in named.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Later:
    """A later statement that closed or superseded an earlier one, and the messages it cites."""

    text: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A checked sentence of a summary, with the messages it cites.

    text: a quotation if the producer is extractive, else written by a model and checked.
    producer: its origin, such as "extractive/1".
    speaker: who said it; None if it cites several people.
    origin: the weakest origin of the words it rests on.
    messages: the cited messages, including those of statements with the same meaning.
    closed_by: the statement that closed an open point. superseded_by: the one that replaced it.
    grade: how far its check reaches, see GRADES. score: of a statement that is entailed, the
    checker's, from 0 to 1. checker: its name. entry_id: of its entry in the ledger, if it was
    picked in a leaf. state: of that entry.
    """

    id: int
    kind: StatementKind
    text: str
    producer: str
    speaker: str | None
    messages: tuple[Message, ...] = ()
    importance: float = 0.0
    origin: Origin = "pasted"
    closed_by: Later | None = None
    superseded_by: Later | None = None
    grade: Grade = "aligned"
    score: float | None = None
    checker: str | None = None
    entry_id: str | None = None
    state: EntryState = "holds"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the ledger: a rule, a decision, an open point, an error or a fact, word for word.

    id: a hash of its words and its project. text: its words where it was last said. origin: whose
    they are. project: where it was said; None without one. first_at, last_at: when it was first and
    last said. mentions: the messages that say it, in leaves leaves. by: the later statement that
    closed or replaced it. salience: how much it matters, the sum of explanation. messages: those
    that say it, filled by Ledger.show alone. source_id, node_id: where it was last said.
    """

    id: str
    kind: EntryKind
    text: str
    speaker: str | None
    origin: Origin
    state: EntryState
    project: str | None = None
    first_at: str | None = None
    last_at: str | None = None
    mentions: int = 1
    leaves: int = 1
    by: Later | None = None
    salience: float = 0.0
    explanation: tuple[tuple[str, float], ...] = ()
    source_id: str | None = None
    node_id: str | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """What a person reads first about a scope, within a ceiling of tokens.

    headline: one line composed of facts: who, when, how much, mostly about what. gists: what it is
    about, spread over the scope. entries: the most salient entries of the ledger that hold, by
    kind. counts: of each kind of entry, how many hold.
    """

    scope: Scope
    headline: str = ""
    gists: tuple[Statement, ...] = ()
    entries: tuple[Entry, ...] = ()
    counts: tuple[tuple[EntryKind, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """A statement that a model proposed and the checks rejected."""

    kind: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Summary:
    """One producer's summary of one node.

    offered: the number of statements proposed. kept: the number that passed the checks.
    shown: whether it is the summary that readers get by default.
    """

    producer: str
    made_at: str
    offered: int
    kept: int
    tokens: int
    tokens_in: int
    tokens_out: int
    seconds: float
    shown: bool
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A leaf (level 0), or a group of nodes of lower levels.

    tokens: of the verbatim text below it. message_count: the messages that it has a part of, each
    once. provisional: an open tail, or a root above an unfinished frontier; it is replaced as its
    source grows. unproven: what models wrote about it that no checker accepted, filled by
    Memory.node alone.
    """

    id: str
    level: int
    tokens: int
    message_count: int
    started_at: str | None
    ended_at: str | None
    provisional: bool
    child_ids: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    summaries: tuple[Summary, ...] = ()
    unproven: tuple[Statement, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether it contains messages, not other nodes."""
        return self.level == 0


@dataclass(frozen=True, slots=True)
class Tree:
    """The current tree of one scope: its root and every node below it.

    root_id: None for a scope without messages.
    """

    scope: Scope
    root_id: str | None
    statements: tuple[Statement, ...]
    _nodes: tuple[Node, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yields every node once, each before its children."""
        return iter(self._nodes)


@dataclass(frozen=True, slots=True)
class Explained:
    """The score of a part of a message. parts: name and value of each summand."""

    message_id: str
    start: int
    end: int
    score: float
    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message was said, as far as it is known.

    path: of the log file that its source was first read from, see Source.origin. line: in that
    file, from 1. Memory.places finds the line, and of several files of a source the right one.
    session: its id in the log. project: the folder that the log names. resume: the command for a
    shell by which its own tool continues the session, such as "claude --resume ID". Every text but
    resume is as untrusted as the log.
    """

    path: str | None = None
    line: int | None = None
    session: str | None = None
    project: str | None = None
    resume: str | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """What an id stands for, and where that was said. message_id: None for a whole source."""

    source_id: str
    message_id: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Passage:
    """The part of an answer from one source and one day: messages, excerpts of long messages,
    and statements of summaries, in order.

    text: begins with "[number day]", or "[number day "title"]" where there is room. title: of the
    source, one that a person recognizes. messages: those it contains or cites. node_id: the leaf
    of the message with the best score; breadcrumb: the ids of the nodes from the source's root
    down to that leaf. score: the best score; explanation: the parts of all scores. place: where
    the message with the best score was said, without its line. file: the memory file, if several
    were searched.
    """

    text: str
    tokens: int
    score: float
    source_id: str
    node_id: str | None
    breadcrumb: tuple[str, ...]
    messages: tuple[Message, ...]
    explanation: tuple[Explained, ...] = ()
    title: str = ""
    place: Place | None = None
    file: Path | None = None

    @property
    def best(self) -> Message:
        """The message with the best score of those that match themselves, by words or meaning; of
        all if none does. A person's message beside an answer may have a better score."""
        own = [
            part
            for part in self.explanation
            if sum(value for name, value in part.parts if name in ("words", "meaning")) > 0
        ]
        scores: dict[str | None, float] = {}
        for part in sorted(own or self.explanation, key=lambda part: part.score):
            scores[part.message_id] = part.score
        return max(self.messages, key=lambda message: scores.get(message.id, -math.inf))


@dataclass(frozen=True, slots=True)
class Standing:
    """An instruction or a preference of the user's for good, word for word; str() gives its text.

    sent_at: as in Message; of a rule that was pinned in the user's own words, when that was.
    project: the working directory or repository that it was given in; None without one, or if it
    holds everywhere. message_ids, source_id: where it was said; empty and None if it was not.
    pinned: the user pinned it, so it holds everywhere.
    """

    text: str
    speaker: str
    sent_at: str | None = None
    project: str | None = None
    message_ids: tuple[str, ...] = ()
    source_id: str | None = None
    pinned: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query.

    text: the passages as one text; tokens: its length. missing: what was not available, in
    sentences. standing: instructions and preferences that apply in the scope; the text begins with
    them. kind: the kind of question, such as "decisions"; "narrow" is the default.
    """

    text: str
    tokens: int
    passages: tuple[Passage, ...]
    missing: tuple[str, ...] = ()
    standing: tuple[Standing, ...] = ()
    kind: str = "narrow"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind one or several servers with an OpenAI-compatible API.

    urls: such as "http://host:8080", with or without /v1; all serve the same model. model: its
    name there; None means their only model. slots: concurrent calls to each server. key_env: the
    environment variable that contains the API key; the key itself is never stored.
    """

    urls: tuple[str, ...]
    model: str | None = None
    slots: int = 1
    key_env: str | None = None


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many messages were sent on a day, YYYY-MM-DD."""

    day: str
    messages: int


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the queue. Times are ISO 8601 in UTC."""

    id: int
    kind: str
    dedupe_key: str
    state: str
    attempts: int
    max_attempts: int
    priority: int
    not_before: str
    created_at: str
    error: str | None
    lease_until: str | None = None
    token: str | None = None
