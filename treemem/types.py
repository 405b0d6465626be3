"""The nouns of treemem as frozen values.

Nothing here touches a file, a clock or a model; every other module speaks in these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant", "system", "tool", "document", "other"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool", "document", "other")

MessageKind = Literal["said", "summary", "injected"]
MESSAGE_KINDS: tuple[MessageKind, ...] = ("said", "summary", "injected")

Include = Literal["abandoned", "injected"]
# What a search leaves out unless asked for: turns of other branches and earlier versions, and what
# tools put into someone's mouth, their own summaries too.
INCLUDES: tuple[Include, ...] = ("abandoned", "injected")

PartKind = Literal["text", "thinking", "tool_use", "tool_result", "marker"]

StatementKind = Literal["gist", "decision", "fact", "open", "error", "constraint"]
STATEMENT_KINDS: tuple[StatementKind, ...] = (
    "gist", "decision", "constraint", "open", "error", "fact",
)  # fmt: skip

ScopeKind = Literal["everything", "source", "topic", "session"]


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The size of a leaf and of a group. A file keeps the shape it was first written with.

    leaf_tokens_max: tokens in a leaf, as tokens.count_tokens counts them. fanout: children of
    a full group.
    """

    leaf_tokens_max: int = 3_000
    fanout: int = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a message's text that is not plain speech.

    start, end: offsets into Message.text, in characters, end exclusive.
    name: the tool's name for tool_use and tool_result, the media type for a marker.
    """

    kind: PartKind
    start: int
    end: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Blob:
    """An attachment that was left out of the text: a marker stands in its place.

    digest: SHA-256 of the decoded bytes, hex. size_bytes: their number. content: the bytes
    themselves while a log is read; they are never stored in the memory.
    """

    media_type: str
    size_bytes: int
    digest: str
    content: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that was said, word for word.

    text: verbatim; tool calls, results and thinking are stretches of it, named in parts.
    sent_at: ISO 8601 with its zone if it was known, a datetime, or None.
    external_id: the id that the log gave it; unique_id says whether it is unique in the
        world (a UUID) or only within its source.
    session: the stretch of the source it belongs to, if the source has several.
    kind: "said" for real turns, "summary" for a compaction summary found in a log,
        "injected" for context that a tool put into a user's mouth.
    active: False for a turn on a branch that was abandoned.
    id, tokens: filled by the store; tokens are counted with cl100k_base.
    """

    role: str = "user"
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
    id: str | None = None
    tokens: int | None = None

    @property
    def speaker(self) -> str:
        """The author's name, or the role where no name is known."""
        return self.author or self.role


@dataclass(frozen=True, slots=True)
class Source:
    """One session or document: an ordered history of messages.

    id: stable and readable, such as "claude-code/5c0375b4-…". parent_id: the source that
    this one was started from (a sub-agent's session). snapshot: the file holds the whole
    document each time it is read, so what is no longer in it was replaced. rewritten: the file
    holds the whole session, and its tool takes turns out of it when the user goes back.
    """

    id: str
    format: str
    title: str | None = None
    origin: str | None = None
    parent_id: str | None = None
    snapshot: bool = False
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Characters start to end (exclusive) of one message, as a leaf holds them."""

    message_id: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: everything, one source, one topic or one session."""

    kind: ScopeKind
    key: str | None = None

    @classmethod
    def everything(cls) -> Scope:
        return cls("everything")

    @classmethod
    def source(cls, source_id: str) -> Scope:
        return cls("source", source_id)

    @classmethod
    def topic(cls, topic_id: str) -> Scope:
        return cls("topic", topic_id)

    @classmethod
    def session(cls, session_id: str) -> Scope:
        return cls("session", session_id)

    def __str__(self) -> str:
        return self.kind if self.key is None else f"{self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class Later:
    """What a later statement did to an earlier one, and the messages that say so."""

    text: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One checked sentence of a summary, with the messages it rests on.

    text: for extractive producers the words themselves, else the model's, checked.
    producer: who made it, such as "extractive/1".
    speaker: who said it, where it rests on one person's words.
    messages: those it cites, also for others that say the same.
    closed_by: what closed an open point later on. superseded_by: what replaced it.
    """

    id: int
    kind: StatementKind
    text: str
    producer: str
    speaker: str | None
    messages: tuple[Message, ...] = ()
    importance: float = 0.0
    closed_by: Later | None = None
    superseded_by: Later | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A statement that a model offered and the checks refused."""

    kind: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Summary:
    """One producer's view of one node.

    offered counts the statements the producer proposed, kept those that passed.
    shown says whether it is the view that readers get by default.
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
    """A leaf (level 0), or a group of nodes one level below it and more.

    tokens: of the verbatim text that lies below. provisional: an open tail or a root over
    an unfinished frontier; it is replaced as its source grows.
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

    @property
    def is_leaf(self) -> bool:
        return self.level == 0


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of one scope as it stands: its root and every node below it.

    root_id is None for a scope that holds no message yet.
    """

    scope: Scope
    root_id: str | None
    statements: tuple[Statement, ...]
    _nodes: tuple[Node, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Every node once, from the root down, each before its children."""
        return iter(self._nodes)


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a stretch of a message was returned: the parts that its score is the sum of."""

    message_id: str
    start: int
    end: int
    score: float
    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """What one source said on one day that answers a query: messages, excerpts of long ones,
    and single statements of summaries, in order.

    text: begins with "[number day]". messages: those that it holds or rests on. breadcrumb:
    ids of the nodes from the source's root down to the leaf of the best of them, node_id.
    score: of the best of them; explanation: the parts of each one's.
    """

    text: str
    tokens: int
    score: float
    source_id: str
    node_id: str | None
    breadcrumb: tuple[str, ...]
    messages: tuple[Message, ...]
    explanation: tuple[Explained, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found: the context as text, its size, and what was not available.

    standing: instructions and preferences that hold in the scope; the text begins with them.
    kind: what kind of answer the question was taken to want.
    """

    text: str
    tokens: int
    passages: tuple[Passage, ...]
    missing: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    kind: str = "narrow"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind one or several servers that speak OpenAI's protocol.

    urls: such as "http://host:8080", with or without /v1; all serve the same model. model:
    its name there; None takes the only one they have. slots: calls at once to each of them.
    key_env: the environment variable that holds the API key, which itself is stored nowhere.
    """

    urls: tuple[str, ...]
    model: str | None = None
    slots: int = 1
    key_env: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the queue. Times are ISO 8601 in UTC."""

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
