"""Turns results into the values of JSON, for --json of the command line and for the API.

A dataclass of the library is printed with its fields, but for those here, which have a form of
their own: smaller, or with names in place of positions. docs/reference/json.md is made from the
same classes, see schemas.py.

Tested in tests/cli/test_schemas.py and tests/web/api/test_calls.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from treemem.errors import Notice
from treemem.origins.spans import OriginSpan
from treemem.origins.spans import spans_of as origin_spans
from treemem.sessions.logs.compacting import CompactedLog
from treemem.sessions.values import Rung
from treemem.types import (
    Blob,
    Digest,
    Entry,
    EntryKind,
    EntryState,
    Explained,
    Grade,
    Job,
    Later,
    Message,
    MessageKind,
    Node,
    Origin,
    Scope,
    ScopeKind,
    Statement,
    StatementKind,
    Summary,
    Tree,
)


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A message. text: word for word; null in an answer that has excerpts, unless --full is given,
    and so are spans: whose words each stretch of the text is, in characters, ends exclusive."""

    id: str | None
    external_id: str | None
    role: str
    author: str | None
    sent_at: str | datetime | None
    session: str | None
    kind: MessageKind
    tokens: int | None
    origin: Origin | None
    text: str | None
    spans: tuple[OriginSpan, ...] | None
    tool_use_ids: tuple[str, ...]
    tool_result_ids: tuple[str, ...]
    blobs: tuple[Blob, ...]

    @classmethod
    def of(cls, message: Message, *, full: bool) -> MessageForm:
        return cls(
            message.id, message.external_id, message.role, message.author, message.sent_at,
            message.session, message.kind, message.tokens, message.origin,
            message.text if full else None, tuple(origin_spans(message)) if full else None,
            message.tool_use_ids, message.tool_result_ids, message.blobs,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BlobForm:
    """An attachment. digest: SHA-256 of its bytes, hex."""

    media_type: str
    size_bytes: int
    digest: str

    @classmethod
    def of(cls, blob: Blob, *, full: bool) -> BlobForm:  # noqa: ARG003
        return cls(blob.media_type, blob.size_bytes, blob.digest)


@dataclass(frozen=True, slots=True)
class StatementForm:
    """A statement of a summary. message_ids: of the messages that it cites; external_ids: their ids
    in the log."""

    kind: StatementKind
    text: str
    speaker: str | None
    producer: str
    grade: Grade
    score: float | None
    checker: str | None
    state: EntryState
    entry_id: str | None
    message_ids: tuple[str | None, ...]
    external_ids: tuple[str | None, ...]
    closed_by: Later | None
    superseded_by: Later | None

    @classmethod
    def of(cls, statement: Statement, *, full: bool) -> StatementForm:  # noqa: ARG003
        return cls(
            statement.kind, statement.text, statement.speaker, statement.producer,
            statement.grade, statement.score, statement.checker, statement.state,
            statement.entry_id, tuple(message.id for message in statement.messages),
            tuple(message.external_id for message in statement.messages),
            statement.closed_by, statement.superseded_by,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeForm:
    """A node. level: 0 for a leaf. provisional: it is replaced as its source grows. unproven: what
    models wrote that no checker accepted, for node show --unproven; else null."""

    id: str
    level: int
    tokens: int
    message_count: int
    started_at: str | None
    ended_at: str | None
    provisional: bool
    child_ids: tuple[str, ...]
    statements: tuple[Statement, ...]
    summaries: tuple[Summary, ...]
    unproven: tuple[Statement, ...] | None

    @classmethod
    def of(cls, node: Node, *, full: bool) -> NodeForm:
        return cls(
            node.id, node.level, node.tokens, node.message_count, node.started_at, node.ended_at,
            node.provisional, node.child_ids, node.statements, node.summaries,
            node.unproven if full else None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A node of a tree. gists: what it is about, word for word. With --full, tree prints whole
    nodes."""

    id: str
    level: int
    tokens: int
    message_count: int
    started_at: str | None
    ended_at: str | None
    provisional: bool
    child_ids: tuple[str, ...]
    gists: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScopeForm:
    """What a tree or a digest is of. key: its id; null for everything."""

    kind: ScopeKind
    key: str | None


@dataclass(frozen=True, slots=True)
class TreeForm:
    """A tree. nodes: each before its children. root_id: null for a scope without messages."""

    scope: ScopeForm
    root_id: str | None
    nodes: tuple[OutlineNode | Node, ...]

    @classmethod
    def of(cls, tree: Tree, *, full: bool) -> TreeForm:
        scope = ScopeForm(tree.scope.kind, tree.scope.key)
        return cls(scope, tree.root_id, tuple(node if full else _outline(node)
                                              for node in tree.nodes()))  # fmt: skip


def _outline(node: Node) -> OutlineNode:
    gists = [one for one in node.statements if one.kind == "gist"] or list(node.statements[:1])
    return OutlineNode(
        node.id, node.level, node.tokens, node.message_count, node.started_at, node.ended_at,
        node.provisional, node.child_ids, tuple(gist.text for gist in gists),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExplainedForm:
    """The score of a part of a message: the sum of its parts, by name."""

    message_id: str
    start: int
    end: int
    score: float
    parts: dict[str, float]

    @classmethod
    def of(cls, explained: Explained, *, full: bool) -> ExplainedForm:  # noqa: ARG003
        return cls(explained.message_id, explained.start, explained.end, explained.score,
                   _summed(explained.parts))  # fmt: skip


@dataclass(frozen=True, slots=True)
class EntryForm:
    """An entry of the ledger; its fields are those of treemem.Entry. explanation: the parts of its
    salience, by name. messages: those that say it, for ledger show; else empty."""

    id: str
    kind: EntryKind
    text: str
    speaker: str | None
    origin: Origin
    state: EntryState
    project: str | None
    first_at: str | None
    last_at: str | None
    mentions: int
    leaves: int
    by: Later | None
    salience: float
    explanation: dict[str, float]
    source_id: str | None
    node_id: str | None
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, entry: Entry, *, full: bool) -> EntryForm:  # noqa: ARG003
        values = {one.name: getattr(entry, one.name) for one in fields(cls)}
        return cls(**{**values, "explanation": _summed(entry.explanation)})


@dataclass(frozen=True, slots=True)
class DigestForm:
    """What a person reads first about a scope. counts: how many entries of each kind hold."""

    scope: ScopeForm
    headline: str
    gists: tuple[Statement, ...]
    entries: tuple[Entry, ...]
    counts: dict[EntryKind, int]

    @classmethod
    def of(cls, digest: Digest, *, full: bool) -> DigestForm:  # noqa: ARG003
        scope = ScopeForm(digest.scope.kind, digest.scope.key)
        return cls(scope, digest.headline, digest.gists, digest.entries, dict(digest.counts))


@dataclass(frozen=True, slots=True)
class JobForm:
    """A job of the queue. Times are ISO 8601 in UTC. task: what it is about; one of a task waits
    at a time."""

    id: int
    kind: str
    task: str
    state: str
    attempts: int
    max_attempts: int
    priority: int
    not_before: str
    created_at: str
    error: str | None
    lease_until: str | None

    @classmethod
    def of(cls, job: Job, *, full: bool) -> JobForm:  # noqa: ARG003
        return cls(
            job.id, job.kind, job.dedupe_key, job.state, job.attempts, job.max_attempts,
            job.priority, job.not_before, job.created_at, job.error, job.lease_until,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompactedForm:
    """What went where when a log was compacted. verbatim, trimmed: messages that the new log has,
    word for word or with a text cut. summarized: those that its summary stands for. abandoned: of
    branches that the user left. tokens_before, tokens_after: of the context that either log gives.
    file: that was written; null for standard output, and if nothing was."""

    format: str
    source_id: str
    window: int
    messages: int
    verbatim: int
    trimmed: int
    summarized: int
    abandoned: int
    tokens_before: int
    tokens_after: int
    rungs: tuple[Rung, ...]
    is_changed: bool
    summary: str
    file: str | None = None

    @classmethod
    def of(cls, log: CompactedLog, *, full: bool = True) -> CompactedForm:  # noqa: ARG003
        named = [one.name for one in fields(cls) if one.name != "file"]
        return cls(**{name: getattr(log, name) for name in named})


def _summed(parts: tuple[tuple[str, float], ...]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for name, value in parts:
        sums[name] = sums.get(name, 0.0) + value
    return sums


# The form of each class that has one.
FORMS: dict[type, Any] = {
    Message: MessageForm, Statement: StatementForm, Node: NodeForm, Tree: TreeForm,
    Explained: ExplainedForm, Entry: EntryForm, Digest: DigestForm, Job: JobForm,
    Scope: ScopeForm, Blob: BlobForm, CompactedLog: CompactedForm,
}  # fmt: skip


def json_value(value: Any, *, full: bool = True) -> Any:
    """The value as JSON has it. full: with whole messages, not with their ids and times alone."""
    form: Callable[..., Any] | None = getattr(FORMS.get(type(value)), "of", None)
    if form is not None:
        return json_value(form(value, full=full), full=full)
    if isinstance(value, Notice):
        return value.for_shell()
    if isinstance(value, Scope):
        return {"kind": value.kind, "key": value.key}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: json_value(getattr(value, one.name), full=full)
                for one in fields(value)}  # fmt: skip
    if isinstance(value, Mapping):
        return {str(key): json_value(item, full=full) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item, full=full) for item in value]
    if isinstance(value, Path | datetime):
        return value.isoformat() if isinstance(value, datetime) else str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")
