"""The calls of the API: a function for each, whose signature and docstring are its documentation.

Each is a method of Memory in the words of HTTP. What is sent by POST is what a program says, so it
never becomes a rule, and it pins no rule but one that the user gave.

Tested in tests/web/api/test_calls.py and tests/web/api/test_writing.py.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from treemem.diagnostics.overview import Overview
from treemem.diagnostics.status import Status
from treemem.errors import UsageError
from treemem.forms.schemas import TopicShown
from treemem.ledger.choices import RuleView
from treemem.ledger.reading import HOLDING
from treemem.memory import Memory
from treemem.search.query import SearchMode, SearchOrder
from treemem.serving.reported import (
    MESSAGES_MAX,
    NAME_CHARS,
    TEXT_CHARS,
    WORK_SECONDS,
    message_of,
)
from treemem.sessions.values import SessionView
from treemem.store.lookup import similar_to
from treemem.store.usage import UsageKey, UsageRow
from treemem.topic_api import TopicView
from treemem.tree.browse import SourceView
from treemem.types import (
    ENTRY_KINDS,
    ROLES,
    DayCount,
    Digest,
    Entry,
    EntryKind,
    EntryOrder,
    EntryState,
    Include,
    Job,
    Message,
    Node,
    Origin,
    Scope,
    SearchResult,
)
from treemem.web.api.endpoints import LIMIT, LIMIT_MAX, Endpoint

# The beginning of the ids of sources that programs write, so that none is that of a log.
SOURCE_PREFIX = "api/"
BUDGET_MAX = 32_000
JobState = Literal["todo", "running", "done", "dead"]
_MESSAGE_FIELDS = ("role", "text", "author", "sent_at", "external_id")

Source = Annotated[str | None, "Part of a source's id or title that no other has, or “latest”."]
Tool = Annotated[str | None, "The tool of the log, such as “claude-code”."]
Project = Annotated[str | None, "A project's folder or name, or part of it."]
Person = Annotated[str | None, "Who wrote: a name, or “user”, “assistant”."]
Topic = Annotated[str | None, "A topic's id, or its beginning."]
Session = Annotated[str | None, "A session's id in its log."]
Since = Annotated[str | None, "From then on: “2026-11-01”, “last week”, “3 days ago”."]
Until = Annotated[str | None, "Up to then, inclusive."]
Limit = Annotated[int, f"How many at most, up to {LIMIT_MAX}. The header Link has the next page."]
Offset = Annotated[int, "How many to pass over."]
Zone = Annotated[str | None, "Whose days they are, such as “Europe/Berlin”; else this machine's."]
NodeId = Annotated[str, "A node's id, or its beginning."]
EntryId = Annotated[str, "An entry's id, or its beginning."]
RuleId = Annotated[str, "A rule's id, or its beginning."]
TopicId = Annotated[str, "A topic's id, or its beginning."]


# -- searching and reading -------------------------------------------------------------


def search(
    memory: Memory,
    q: Annotated[str, "A question or words."],
    source: Source = None,
    tool: Tool = None,
    project: Project = None,
    person: Person = None,
    topic: Topic = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    budget_tokens: Annotated[int, f"The most tokens of the answer, up to {BUDGET_MAX:,}."] = 2_000,
    mode: Annotated[
        SearchMode, "Messages, statements of summaries, or what the question needs."
    ] = "auto",
    order: Annotated[SearchOrder, "By time, or the best first."] = "time",
    include: Annotated[list[Include] | None, "What is searched besides the histories."] = None,
    exclude: Annotated[list[Origin] | None, "Whose words are left out."] = None,
) -> SearchResult:
    """Searches the memory: the passages that answer best, word for word, within a budget."""
    if not 1 <= budget_tokens <= BUDGET_MAX:
        raise UsageError(f"budget_tokens is from 1 to {BUDGET_MAX}, not {budget_tokens}.")
    return memory.search(
        q, scope=Scope.where(source=source, tool=tool, project=project, person=person, topic=topic,
                             session=session),
        since=since, until=until, budget_tokens=budget_tokens, mode=mode, order=order,
        include=include or (), exclude=exclude or (), project=project,
    )  # fmt: skip


def digest(
    memory: Memory, source: Source = None, tool: Tool = None, project: Project = None,
    topic: Topic = None, session: Session = None,
) -> Digest:  # fmt: skip
    """Returns what to read first about everything, a source, a project or a topic."""
    return memory.digest(
        Scope.where(source=source, tool=tool, project=project, topic=topic, session=session)
    )


@dataclass(frozen=True, slots=True)
class Headline:
    """One line that says what a source, a topic or everything is; empty for what has none."""

    headline: str


def headline(memory: Memory, source: Source = None, topic: Topic = None) -> Headline:
    """Returns one line about everything, a source or a topic."""
    return Headline(memory.headline(Scope.where(source=source, topic=topic)))


def sources(
    memory: Memory, source: Source = None, tool: Tool = None, project: Project = None,
    person: Person = None, since: Since = None, until: Until = None,
    agents: Annotated[bool, "Whether sub-agents are listed beside their sessions."] = True,
    limit: Limit = LIMIT, offset: Offset = 0,
) -> list[SourceView]:  # fmt: skip
    """Lists the sources, the most recent first."""
    return memory.sources(
        Scope.where(source=source, tool=tool, project=project, person=person),
        since=since, until=until, with_agents=agents, limit=limit, offset=offset,
    )  # fmt: skip


def source(
    memory: Memory, name: Annotated[str, "Part of its id or title, or “latest”."]
) -> SourceView:
    """Returns one source."""
    return memory.source(name)


def messages(
    memory: Memory, source: Annotated[str, "Part of its id or title, or “latest”."],
    limit: Limit = LIMIT, offset: Offset = 0,
) -> list[Message]:  # fmt: skip
    """Returns the history of a source in order, word for word."""
    return memory.messages(source, limit=limit, offset=offset)


def message(memory: Memory, message_id: Annotated[str, "Its id, or the beginning."]) -> Message:
    """Returns a message word for word."""
    return memory.message(message_id)


@dataclass(frozen=True, slots=True)
class Root:
    """Where the tree of a scope begins; root_id is null while it has none."""

    root_id: str | None


def tree(memory: Memory, source: Source = None, topic: Topic = None) -> Root:
    """Returns the root of the tree of everything, a source or a topic; go down by expand."""
    return Root(memory.root_id(Scope.where(source=source, topic=topic)))


def node(
    memory: Memory, node_id: NodeId,
    producer: Annotated[str | None, "Whose summary to show. Default: the best one."] = None,
) -> Node:  # fmt: skip
    """Returns a node with its statements, each with the messages that it cites."""
    return memory.node(node_id, producer=producer)


def expand(
    memory: Memory, node_id: NodeId, limit: Limit = LIMIT, offset: Offset = 0
) -> list[Node | Message]:
    """Returns the children of a node, or the messages of a leaf word for word."""
    return [*memory.expand(node_id, limit=limit, offset=offset)]


def days(
    memory: Memory, source: Source = None, tool: Tool = None, project: Project = None,
    topic: Topic = None, zone: Zone = None,
) -> list[DayCount]:  # fmt: skip
    """Returns how many messages were sent on each day."""
    return memory.days(
        Scope.where(source=source, tool=tool, project=project, topic=topic), zone=zone
    )


# -- the ledger and the rules ----------------------------------------------------------


def ledger(
    memory: Memory,
    kind: Annotated[list[EntryKind] | None, "The kinds; all without any."] = None,
    state: Annotated[list[EntryState] | None, "The states; “holds” without any."] = None,
    source: Source = None, tool: Tool = None, project: Project = None, person: Person = None,
    topic: Topic = None, session: Session = None, since: Since = None, until: Until = None,
    order: Annotated[EntryOrder, "The most salient first, or as last said."] = "salience",
    node: Annotated[str | None, "Only entries below this node."] = None,
    limit: Limit = LIMIT, offset: Offset = 0,
) -> list[Entry]:  # fmt: skip
    """Lists rules, decisions, open points, errors and facts, word for word."""
    scope = Scope.where(
        source=source, tool=tool, project=project, person=person, topic=topic, session=session
    )
    return memory.ledger(
        scope, kinds=kind or ENTRY_KINDS, states=state or HOLDING, since=since, until=until,
        order=order, node=node, limit=limit, offset=offset,
    )  # fmt: skip


def entry(memory: Memory, entry_id: EntryId) -> Entry:
    """Returns an entry of the ledger with the messages that say it."""
    return memory.ledger.show(entry_id)


def close_entry(memory: Memory, entry_id: EntryId) -> Entry:
    """Closes an open point or an error."""
    return memory.ledger.close(entry_id)


def reopen_entry(memory: Memory, entry_id: EntryId) -> Entry:
    """Makes an entry hold again."""
    return memory.ledger.reopen(entry_id)


def drop_entry(memory: Memory, entry_id: EntryId) -> Entry:
    """Hides an entry from now on."""
    return memory.ledger.drop(entry_id)


def restore_entry(memory: Memory, entry_id: EntryId) -> Entry:
    """Undoes what was chosen about an entry: it is as the messages say."""
    return memory.ledger.restore(entry_id)


def rules(
    memory: Memory, source: Source = None, tool: Tool = None, project: Project = None,
    since: Since = None, until: Until = None,
) -> list[RuleView]:  # fmt: skip
    """Lists the rules that the user gave for good, the latest first."""
    scope = Scope.where(source=source, tool=tool, project=project)
    return memory.rules(scope, since=since, until=until)


def pin_rule(memory: Memory, rule_id: RuleId) -> RuleView:
    """Makes a rule that the user gave hold in every project. New ones are the user's to write."""
    return memory.pin_rule(_rule(memory, rule_id))


def drop_rule(memory: Memory, rule_id: RuleId) -> RuleView:
    """Hides a rule from now on."""
    return memory.drop_rule(rule_id)


def restore_rule(memory: Memory, rule_id: RuleId) -> RuleView:
    """Undoes a pin or a drop."""
    return memory.restore_rule(rule_id)


def _rule(memory: Memory, rule_id: str) -> str:
    """The id of a rule that there is; words would become one. Raises UsageError."""
    found = {rule.id for rule in memory.rules() if rule.id.startswith(rule_id)}
    if len(found) != 1:
        raise UsageError(f"{rule_id[:80]!r} is not the beginning of a rule's id: see rules.")
    return found.pop()


# -- topics ----------------------------------------------------------------------------


def topics(memory: Memory, limit: Limit = LIMIT, offset: Offset = 0) -> list[TopicView]:
    """Lists the topics, those with the most leaves first."""
    return memory.topics.list(limit=limit, offset=offset)


def topic(memory: Memory, topic_id: TopicId) -> TopicShown:
    """Returns a topic with its digest and the titles of its sources."""
    shown = memory.topics.show(topic_id)
    return TopicShown(shown, memory.titles(shown.source_ids), memory.digest(Scope.topic(shown.id)))


def rename_topic(memory: Memory, topic_id: TopicId, name: Annotated[str, "Its name."]) -> TopicView:
    """Gives a topic a name for good."""
    return memory.topics.rename(topic_id, name)


def pin_topic(
    memory: Memory, topic_id: TopicId, pinned: Annotated[bool, "False ends it."] = True
) -> TopicView:
    """Protects a topic from being built anew."""
    return memory.topics.pin(topic_id, pinned=pinned)


def merge_topic(
    memory: Memory, topic_id: TopicId, other: Annotated[str, "The topic that goes into it."]
) -> TopicView:
    """Moves the leaves of another topic into this one."""
    return memory.topics.merge(topic_id, other)


def unmerge_topic(memory: Memory, topic_id: TopicId) -> TopicView:
    """Makes a topic that was merged one of its own again."""
    return memory.topics.unmerge(topic_id)


# -- the file --------------------------------------------------------------------------


def status(memory: Memory) -> Status:
    """Returns what is stored and queued, and what would improve the memory."""
    return memory.status()


def overview(memory: Memory) -> Overview:
    """Returns shortly what is stored, and which logs of this machine are not."""
    return memory.overview()


def usage(
    memory: Memory, by: Annotated[UsageKey, "What the costs are summed by."] = "day",
    since: Since = None, until: Until = None,
) -> list[UsageRow]:  # fmt: skip
    """Returns what model calls have cost."""
    return memory.usage(by, since, until)


def jobs(
    memory: Memory,
    state: Annotated[list[JobState] | None, "The states; waiting and running without any."] = None,
    limit: Annotated[int, f"How many at most, up to {LIMIT_MAX}."] = LIMIT,
) -> list[Job]:
    """Lists jobs of the queue, the next ones first."""
    return memory.jobs(state or ["todo", "running"], limit)


def sessions(memory: Memory) -> list[SessionView]:
    """Lists the live sessions, the one last used first."""
    return memory.sessions()


# -- writing ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored: the id of the source, and those of the messages, in their order."""

    source: str
    ids: builtins.list[str]


def append(
    memory: Memory,
    source: Annotated[str, f"Where to append it; its id begins with “{SOURCE_PREFIX}”."],
    messages: Annotated[
        list[dict[str, Any]],
        f"At most {MESSAGES_MAX}, each with role and text, and with author, sent_at, external_id "
        "where they are known. One with an external_id is stored once, however often it is sent.",
    ],
    title: Annotated[str | None, "Of the source."] = None,
    project: Annotated[str | None, "The project's folder or name."] = None,
) -> Stored:
    """Stores messages that a program reports. They are not the user's own words, whatever their
    role, so nothing in them becomes a rule."""
    if not 1 <= len(messages) <= MESSAGES_MAX:
        raise UsageError(f"A call stores 1 to {MESSAGES_MAX} messages, not {len(messages)}.")
    now = datetime.now().astimezone().isoformat()
    _check_names(title=title, project=project)
    said = [_said(one, now) for one in messages]
    source_id = source if source.startswith(SOURCE_PREFIX) else SOURCE_PREFIX + source
    ids = memory.append(source_id, said, title=title, project=project)
    memory.work(max_calls=0, max_seconds=WORK_SECONDS)
    return Stored(source_id, ids)


def _said(given: dict[str, Any], now: str) -> Message:
    for name, value in given.items():
        if name not in _MESSAGE_FIELDS:
            raise UsageError(
                f"A message has no field {name[:80]!r}.{similar_to(name, _MESSAGE_FIELDS)}"
            )
        if value is not None and not isinstance(value, str):
            raise UsageError(f"The {name} of a message is a text, not {repr(value)[:80]}.")
    role, text = given.get("role"), given.get("text")
    if role not in ROLES:
        raise UsageError(f"The role of a message is one of {', '.join(ROLES)}, not {role!r}.")
    if not text or len(text) > TEXT_CHARS:
        raise UsageError(f"A message has a text of 1 to {TEXT_CHARS:,} characters.")
    _check_names(author=given.get("author"), external_id=given.get("external_id"))
    return message_of(
        role, text, given.get("sent_at") or now, given.get("author"), given.get("external_id")
    )


def _check_names(**names: str | None) -> None:
    for name, value in names.items():
        if value is not None and len(value) > NAME_CHARS:
            raise UsageError(f"The {name} has at most {NAME_CHARS} characters, not {len(value)}.")


_LEDGER, _RULE, _TOPIC = "/ledger/{entry_id}", "/rules/{rule_id}", "/topics/{topic_id}"
ENDPOINTS = (
    Endpoint("GET", "/search", search, moves=True),
    Endpoint("GET", "/digest", digest),
    Endpoint("GET", "/headline", headline),
    Endpoint("GET", "/sources", sources),
    Endpoint("GET", "/source", source),
    Endpoint("GET", "/messages", messages),
    Endpoint("GET", "/messages/{message_id}", message),
    Endpoint("GET", "/tree", tree),
    Endpoint("GET", "/nodes/{node_id}", node),
    Endpoint("GET", "/nodes/{node_id}/expand", expand),
    Endpoint("GET", "/days", days),
    Endpoint("GET", "/ledger", ledger),
    Endpoint("GET", _LEDGER, entry),
    Endpoint("GET", "/rules", rules),
    Endpoint("GET", "/topics", topics),
    Endpoint("GET", _TOPIC, topic),
    Endpoint("GET", "/status", status, moves=True),
    Endpoint("GET", "/overview", overview, moves=True),
    Endpoint("GET", "/usage", usage),
    Endpoint("GET", "/jobs", jobs, moves=True),
    Endpoint("GET", "/sessions", sessions),
    Endpoint("POST", "/messages", append),
    Endpoint("POST", f"{_LEDGER}/close", close_entry),
    Endpoint("POST", f"{_LEDGER}/reopen", reopen_entry),
    Endpoint("POST", f"{_LEDGER}/drop", drop_entry),
    Endpoint("POST", f"{_LEDGER}/restore", restore_entry),
    Endpoint("POST", f"{_RULE}/pin", pin_rule),
    Endpoint("POST", f"{_RULE}/drop", drop_rule),
    Endpoint("POST", f"{_RULE}/restore", restore_rule),
    Endpoint("POST", f"{_TOPIC}/rename", rename_topic),
    Endpoint("POST", f"{_TOPIC}/pin", pin_topic),
    Endpoint("POST", f"{_TOPIC}/merge", merge_topic),
    Endpoint("POST", f"{_TOPIC}/unmerge", unmerge_topic),
)
