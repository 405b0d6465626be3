"""The tools that read a memory. None of them changes it.

Each answers with a text for a model: ids by which to go on, days, speakers, and a fence around all
that is from logs. The text has at most as many tokens as the call allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from treemem.assistants import texts
from treemem.errors import Notice, UsageError
from treemem.mcp_server.arguments import (
    BUDGET,
    IDS_MAX,
    LIMIT_MAX,
    Budget,
    LogSession,
    Name,
    Person,
    Project,
    Query,
    Since,
    SourceName,
    Tool,
    Topic,
    Until,
    scope_of,
)
from treemem.memory import Memory
from treemem.reports import count_of
from treemem.serving.opening import OpenMemory
from treemem.text.labels import clipped, in_quotes, visible
from treemem.text.tokens import count_tokens
from treemem.types import (
    Digest,
    Entry,
    EntryKind,
    EntryOrder,
    EntryState,
    Message,
    Node,
    Passage,
    Scope,
    SearchResult,
)

if TYPE_CHECKING:
    from treemem.ledger_api import Ledger
    from treemem.sessions.session import Session
    from treemem.topic_api import TopicView

# The share of a search's budget for passages; the rest is for their ids and sources.
PASSAGES_SHARE = 0.8
# Statements of each child of a node, sources of a time, topics, sessions of a list.
STATEMENTS_MAX, SOURCES_MAX, TOPICS_MAX, SESSIONS_MAX = 3, 12, 6, 20
_KINDS: tuple[EntryKind, ...] = ("constraint", "decision", "open", "error")
_NOUNS: dict[EntryKind, str] = {
    "constraint": "constraint", "decision": "decision", "open": "open point", "error": "error",
    "fact": "fact",
}  # fmt: skip


class ReadTools:
    """The tools that read. Their names, arguments and docstrings are what assistants see."""

    def __init__(self, memory: OpenMemory) -> None:
        self._memory = memory
        self._said: set[str] = set()

    def search(
        self,
        query: Annotated[Query, Field(description="A question or words, in the user's language.")],
        budget_tokens: Budget = BUDGET,
        source: SourceName = None,
        tool: Tool = None,
        project: Project = None,
        person: Person = None,
        topic: Topic = None,
        session: LogSession = None,
        since: Since = None,
        until: Until = None,
    ) -> str:
        """Find what was said in earlier sessions. Returns the passages that answer best, word for
        word, each with the id of its message (for recall) and of its node (for expand). Narrow by
        project or time before you raise the budget."""
        scope = scope_of(source, tool, project, person, topic, session)
        inner = int(PASSAGES_SHARE * (budget_tokens - texts.FENCE_TOKENS))
        result = self._memory.use(
            lambda memory: memory.search(
                query, scope=scope, budget_tokens=inner, since=since, until=until, project=project
            )
        )
        missing = self._notes(result.missing)
        if not result.text:
            return texts.joined([f"Nothing was found for {in_quotes(query[:200])}.", missing])
        room = budget_tokens - texts.FENCE_TOKENS - count_tokens(missing)
        return texts.joined([texts.in_fence(_passages_text(result, room)), missing])

    def digest(
        self,
        source: SourceName = None,
        tool: Tool = None,
        project: Project = None,
        topic: Topic = None,
        session: LogSession = None,
        since: Since = None,
        until: Until = None,
        budget_tokens: Budget = BUDGET,
    ) -> str:
        """Read what matters most about everything, a source, a project, a topic, a session or a
        time: what it was about, rules, decisions, open points, errors, and which sources there
        are. One call is a good start with a project that the user has worked on before."""
        scope = scope_of(source, tool, project, None, topic, session)
        room = budget_tokens - texts.FENCE_TOKENS - texts.MORE_TOKENS
        if since is None and until is None:
            lines = self._memory.use(lambda memory: _digest_lines(memory, scope))
        else:
            lines = self._memory.use(lambda memory: _time_lines(memory, scope, since, until, room))
        if not lines:
            about = "" if scope.kind == "everything" else f" about {scope}"
            return (
                f"Nothing is stored{about} in this time."
                if since or until
                else (f"Nothing is stored{about} yet.")
            )
        return _fenced_list(lines, room, "Narrow the scope or raise budget_tokens for the rest.")

    def expand(
        self,
        node_id: Annotated[Name, Field(description="A node's id, or its beginning.")],
        start: Annotated[int, Field(ge=0, description="How many children to pass over.")] = 0,
        budget_tokens: Budget = BUDGET,
    ) -> str:
        """Go down in the tree of summaries: the children of a node with what they are about, or
        the messages of a leaf word for word."""
        below = self._memory.use(lambda memory: memory.expand(node_id))
        if not below:
            return f"There is nothing below node {texts.short(node_id)} that you may read."
        if start >= len(below):
            raise UsageError(f"Node {node_id} has {len(below)} children, so start is less.")
        room = budget_tokens - texts.FENCE_TOKENS
        messages = [one for one in below[start:] if isinstance(one, Message)]
        if messages:
            shown = texts.messages_text(messages, room)
            left = len(messages) - shown.count
            more = f"{left} more: start={start + shown.count}." if left else ""
            return texts.joined([texts.in_fence(shown.text), shown.cut, more])
        nodes = [one for one in below[start:] if isinstance(one, Node)]
        blocks = ["\n".join(texts.node_lines(node, STATEMENTS_MAX)) for node in nodes]
        kept = texts.fitting(blocks, room - texts.MORE_TOKENS)
        kept = kept or ["\n".join(texts.fitting(blocks[0].splitlines(), room - texts.MORE_TOKENS))]
        left = len(nodes) - len(kept)
        more = f"{left} more: start={start + len(kept)}." if left else ""
        return texts.joined([texts.in_fence("\n".join(kept)), more])

    def ledger(
        self,
        kinds: Annotated[
            list[EntryKind] | None,
            Field(
                description='A "constraint" is a rule that the user gave. Default: all but facts.'
            ),
        ] = None,
        states: Annotated[
            list[EntryState] | None, Field(description="Default: those that hold.")
        ] = None,
        source: SourceName = None,
        tool: Tool = None,
        project: Project = None,
        person: Person = None,
        topic: Topic = None,
        session: LogSession = None,
        since: Since = None,
        until: Until = None,
        order: Annotated[EntryOrder, Field(description='"time": as last said.')] = "salience",
        limit: Annotated[int, Field(ge=1, le=LIMIT_MAX)] = 30,
        budget_tokens: Budget = BUDGET,
    ) -> str:
        """List rules, decisions, open points, errors or facts, word for word, with who said them
        and whether they still hold. Use it for "what is open" and "what did we decide"."""
        scope = scope_of(source, tool, project, person, topic, session)
        entries = self._memory.use(
            lambda memory: memory.ledger(
                scope, kinds=kinds or _KINDS, states=states or ("holds",), since=since, until=until,
                order=order, limit=limit + 1,
            )
        )  # fmt: skip
        if not entries:
            return "The ledger has no such entries."
        room = budget_tokens - texts.FENCE_TOKENS - texts.MORE_TOKENS
        lines = [texts.entry_line(entry) for entry in entries[:limit]]
        more = "Name kinds, a scope or a time for others, or raise budget_tokens."
        rest = f"There are more than limit={limit}." if len(entries) > limit else ""
        return texts.joined([_fenced_list(lines, room, more), rest])

    def recall(
        self,
        message_ids: Annotated[
            list[Name] | None,
            Field(max_length=IDS_MAX, description="Ids of messages, or their beginnings."),
        ] = None,
        entry_id: Annotated[
            Name | None, Field(description="Of the ledger: the messages that say it.")
        ] = None,
        session: Annotated[Name | None, Field(description="With block_id: a live session.")] = None,
        block_id: Annotated[
            Name | None, Field(description='A block of it: "b12", or "b0-b64" for several.')
        ] = None,
        offset: Annotated[
            int, Field(ge=0, description="Characters of the first message to pass over.")
        ] = 0,
        budget_tokens: Budget = BUDGET,
    ) -> str:
        """Read messages word for word: by their ids, those that say an entry of the ledger, or
        those of a block of a live session."""
        room = budget_tokens - texts.FENCE_TOKENS
        is_block = session is not None and block_id is not None
        if [bool(message_ids), entry_id is not None, is_block].count(True) != 1 or (
            not is_block and (session or block_id)
        ):
            raise UsageError("recall takes message_ids, entry_id, or session with block_id.")
        if session is not None and block_id is not None:
            return self._recalled_block(session, block_id, offset, room)

        def read(memory: Memory) -> Sequence[Message]:
            if entry_id is not None:
                return memory.ledger.show(entry_id).messages
            return [memory.message(one) for one in dict.fromkeys(message_ids or ())]

        return self._recalled(self._memory.use(read), offset, room)

    def session_context(
        self,
        session: Annotated[
            Name | None,
            Field(description='Its id, or "latest"; without one the sessions are listed.'),
        ] = None,
        budget_tokens: Budget = BUDGET,
    ) -> str:
        """Show what the context of a live session has: how full it is, its pins, the user's rules,
        and its blocks, first those that are no longer shown word for word. Changes nothing."""
        room = budget_tokens - texts.FENCE_TOKENS - texts.MORE_TOKENS
        if session is None:
            lines = self._memory.use(_session_lines)
            if not lines:
                return "There are no live sessions."
            return _fenced_list(lines, room, "")
        lines = self._memory.use(lambda memory: _context_lines(live_session(memory, session)))
        return _fenced_list(lines, room, "Raise budget_tokens for the rest.")

    # -- parts ---------------------------------------------------------------------------

    def _notes(self, missing: Iterable[str]) -> str:
        """What was missing, in lines; what lasts, such as that there is no embedder, only once."""
        lines = []
        for notice in missing:
            is_known = notice in self._said
            if isinstance(notice, Notice) and notice.is_lasting:
                self._said.add(notice)
            if not is_known:
                words = notice.for_shell() if isinstance(notice, Notice) else notice
                lines.append(f"Note: {words}")
        return "\n".join(lines)

    def _recalled(self, messages: Sequence[Message], offset: int, room: int) -> str:
        _check_offset(offset, len(messages[0].text))
        shown = texts.messages_text(messages, room, offset)
        left = texts.not_shown(messages[shown.count :])
        return texts.joined([texts.in_fence(shown.text), shown.cut, left])

    def _recalled_block(self, session: str, block_id: str, offset: int, room: int) -> str:
        turns = self._memory.use(lambda memory: live_session(memory, session).recall(block_id))
        whole = texts.turns_text(turns)
        _check_offset(offset, len(whole))
        end, shown = texts.beginning(whole[offset:], room - texts.MORE_TOKENS)
        end += offset
        left_out = (f"Cut after {end:,} of {len(whole):,} characters; the rest: offset={end}."
                    if end < len(whole) else "")  # fmt: skip
        return texts.joined([texts.in_fence(shown), left_out])


def live_session(memory: Memory, name: str) -> Session:
    """The only live session that a name fits. Raises NotFoundError, AmbiguousIdError: opening one
    of another name would begin it."""
    return memory.session(memory.find_session(name).source_id)


def _check_offset(offset: int, length: int) -> None:
    if offset and offset >= length:
        raise UsageError(f"offset is less than the {length:,} characters, not {offset:,}.")


def _fenced_list(lines: Sequence[str], room: int, more: str) -> str:
    """The lines that fit, in a fence, and how many do not."""
    lines = [visible(line) for line in lines]
    kept = texts.fitting(lines, room) or [texts.beginning(lines[0], room)[1]]
    left = len(lines) - len(kept)
    return texts.joined([
        texts.in_fence("\n".join(kept)), f"{left} more lines. {more}".rstrip() if left else "",
    ])  # fmt: skip


# -- search ----------------------------------------------------------------------------


def _passages_text(result: SearchResult, room: int) -> str:
    """The rules and the passages of a search with their ids, without the passages with the lowest
    scores if they do not fit."""
    whole = "\n".join(passage.text for passage in result.passages)
    rules = visible(result.text.removesuffix(whole).rstrip("\n"))
    passages = list(result.passages)
    while True:
        parts = [rules, *map(_passage_text, passages), _sources_text(passages)]
        text = texts.joined(parts)
        if count_tokens(text) <= room:
            return text
        if len(passages) <= 1:
            only = visible(result.text)
            return only if count_tokens(only) <= room else texts.beginning(only, room)[1]
        passages.remove(min(passages, key=lambda passage: passage.score))


def _passage_text(passage: Passage) -> str:
    head, _, rest = passage.text.partition("\n")
    ids = f"message {texts.short(passage.best.id)}"
    if passage.node_id is not None:
        ids += f", node {texts.short(passage.node_id)}"
    return texts.joined([visible(f"{head} {ids}"), visible(rest)])


def _sources_text(passages: Sequence[Passage]) -> str:
    """Which passages are from which source."""
    numbers: dict[str, list[str]] = {}
    for passage in passages:
        number = passage.text[1:].split("]")[0].split(" ")[0]
        numbers.setdefault(passage.source_id, []).append(number)
    return "\n".join(
        f"[{', '.join(of_source)}] source {in_quotes(source_id)}"
        for source_id, of_source in numbers.items()
    )


# -- digests ---------------------------------------------------------------------------


def _digest_lines(memory: Memory, scope: Scope) -> list[str]:
    """A digest in lines, with the node to expand, or the latest sources."""
    digest = memory.digest(scope)
    lines = _lines_of_digest(digest)
    if scope.kind == "everything":
        sources = _source_lines(memory, scope, None, None)
        lines += ["Latest sources:", *sources] if sources else []
        topics = memory.topics.list(limit=TOPICS_MAX)
        return [*lines, "Topics:", *map(_topic_line, topics)] if topics else lines
    if scope.kind == "topic":
        root_id = memory.tree(scope, cite=False).root_id
        return [*lines, f"Its root: node {texts.short(root_id)}"] if root_id and lines else lines
    if lines or scope.kind == "filter":
        sources = _source_lines(memory, scope, None, None)
        lines += ["Sources:", *sources] if sources else []
    return lines


def _lines_of_digest(digest: Digest) -> list[str]:
    lines = [digest.headline] if digest.headline else []
    lines += map(texts.statement_line, digest.gists)
    lines += _by_kind(digest.entries)
    shown = {kind: sum(entry.kind == kind for entry in digest.entries) for kind, _ in digest.counts}
    left = [count_of(count - shown[kind], _NOUNS[kind]) for kind, count in digest.counts
            if count > shown[kind]]  # fmt: skip
    return [*lines, f"In the ledger, not shown: {', '.join(left)}."] if left else lines


def _by_kind(entries: Sequence[Entry]) -> list[str]:
    kinds = dict.fromkeys([*_KINDS, *(entry.kind for entry in entries)])
    return [texts.entry_line(entry) for kind in kinds for entry in entries if entry.kind == kind]


def _time_lines(
    memory: Memory, scope: Scope, since: str | None, until: str | None, room: int
) -> list[str]:
    """What was said in a time: its sources, and the most salient entries of each kind."""
    sources = _source_lines(memory, scope, since, until)
    shown = texts.fitting(sources, room // 2)
    left = len(memory.source_ids(scope, since=since, until=until)) - len(shown)
    ledger: Ledger = memory.ledger
    entries: list[Entry] = []
    for kind in _KINDS:
        entries += ledger(scope, kinds=[kind], since=since, until=until, limit=SOURCES_MAX)
    return [*shown, *([f"{left:,} more sources"] if left else []), *_by_kind(entries)]


def _source_lines(memory: Memory, scope: Scope, since: str | None, until: str | None) -> list[str]:
    """The latest sources in which anything was said, at most SOURCES_MAX."""
    lines: list[str] = []
    offset = 0
    while len(lines) < SOURCES_MAX:
        views = memory.sources(scope, since=since, until=until, limit=SOURCES_MAX, offset=offset)
        if not views:
            break
        lines += [texts.source_line(view) for view in views if not view.is_trivial]
        offset += SOURCES_MAX
    return lines[:SOURCES_MAX]


def _topic_line(topic: TopicView) -> str:
    name = in_quotes(clipped(topic.name, texts.NAME_CHARS))
    return f"- [topic {topic.id}] {name}, {count_of(topic.messages, 'message')}"


# -- live sessions ---------------------------------------------------------------------


def _session_lines(memory: Memory) -> list[str]:
    return [
        f"- [session {in_quotes(view.source_id)}] {texts.day(view.used_at)} "
        f"{in_quotes(clipped(view.title, texts.NAME_CHARS))}, {count_of(view.turns, 'turn')}, "
        f"{count_of(view.blocks, 'request')}, {count_of(view.compactions, 'compaction')}"
        for view in memory.sessions()[:SESSIONS_MAX]
    ]


def _context_lines(session: Session) -> list[str]:
    """Pins, rules and blocks of a live session, as lines."""
    blocks, context = session.catalog(), session.peek()
    hidden = [block for block in blocks if not block.is_shown]
    shown = [block for block in blocks if block.is_shown]
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in context.components.items() if tokens)
    lines = [
        f"{context.tokens:,} of {context.room:,} tokens ({context.band}): {parts}",
        f"{count_of(session.turn_count, 'turn')}, {count_of(len(blocks), 'block')}, of which the "
        f"context shows {len(shown):,} word for word; recall reads any, by its id.",
    ]
    lines += [*session.runtime_lines(), *context.notes]
    for block in [*reversed(hidden), *reversed(shown)]:
        place = "shown" if block.is_shown else "not shown"
        words = f"{block.request} → {block.digest}" if block.digest else block.request
        lines.append(
            f"- [block {block.id}, {place}, {block.tokens:,} tokens] {texts.when(block.sent_at)} "
            + clipped(words, texts.LINE_CHARS)
        )
    return lines
