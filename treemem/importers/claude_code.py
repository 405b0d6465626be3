"""Claude Code's session logs: JSON Lines, one API message in several lines, a tree of turns.

One file is one session, and each sub-agent whose turns stand in it a source of its own. The
file is read twice: first for the ids alone, so that each message knows whether it is on the
active branch when it is yielded. Never more than one message is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from treemem.importers.base import Event, LogFile, Skipped
from treemem.importers.claude_code_speech import (
    is_spoken,
    kind_of,
    speech_of,
    string,
)
from treemem.importers.claude_code_survey import Survey, session_of
from treemem.importers.content import BlockReader, Content
from treemem.importers.naming import printable, sent_at
from treemem.importers.records import TOO_DEEP, Record, read_records
from treemem.importers.sniffing import has_key, head_objects
from treemem.model import Message, MessageKind, Role, Source

MERGED = "fragment of a message, merged"
REPEATED = "fragment of a message, repeated"
EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"

_MARKS = ("parentUuid", "isSidechain", "leafUuid", "isSnapshotUpdate")
_CONTROL_TYPES = frozenset(
    {"ai-title", "custom-title", "last-prompt", "mode", "permission-mode", "queue-operation",
     "agent-name", "worktree-state"}
)  # fmt: skip


@dataclass(slots=True)
class Draft:
    """A message that further fragments may still be added to.

    message_id: the API's, shared by the fragments. closed: a replay, to which nothing is added.
    uuids: of all fragments.
    """

    content: Content
    role: Role
    kind: MessageKind
    source: Source
    active: bool
    uuid: str | None
    time: str | None
    session: str | None
    message_id: str | None = None
    closed: bool = False
    uuids: list[str] = field(default_factory=list)

    def takes(self, other: Draft) -> bool:
        alike = self.message_id is not None and self.message_id == other.message_id
        return alike and self.source == other.source and not (self.closed or other.closed)

    def message(self) -> Message:
        content = self.content
        return Message(
            role=self.role,
            text=content.text,
            sent_at=self.time,
            external_id=self.uuid,
            session=self.session,
            kind=self.kind,
            parts=tuple(content.parts),
            tool_use_ids=tuple(content.tool_use_ids),
            tool_result_ids=tuple(content.tool_result_ids),
            blobs=tuple(content.blobs),
            unique_id=self.uuid is not None,
            active=self.active,
        )


class ClaudeCode:
    """The importer of the logs below ~/.claude/projects."""

    name = "claude-code"
    version = 1
    description = "Claude Code session logs (JSON Lines)"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file  # Its name says nothing: many tools write .jsonl.
        objects, rest = head_objects(head)
        if any(_is_record(value) for value in objects):
            return 0.95
        # A first line that is longer than the head: only its beginning can be looked at.
        long_line = not objects and any(has_key(rest, mark) for mark in _MARKS[:2])
        return 0.9 if long_line else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file, Survey.of(file)).events()


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: Survey) -> None:
        self._file = file
        self._survey = survey
        self._blocks = BlockReader()
        self._main = Source(
            id=f"{ClaudeCode.name}/{printable(session_of(file, survey))}",
            format=ClaudeCode.name,
            title=survey.title,
            origin=file.label,
        )
        self._agents: dict[int | str, Source] = {}
        self._current: Source | None = None
        self._pending: Draft | None = None
        self._merged: set[int] = set()

    def events(self) -> Iterator[Event]:
        with self._file.open() as stream:
            for ordinal, item in enumerate(read_records(stream)):
                if isinstance(item, Skipped):
                    yield item
                    continue
                try:
                    draft = self._draft(ordinal, item)
                except RecursionError:
                    yield Skipped(TOO_DEEP, item.line, problem=True)
                    continue
                if isinstance(draft, str):
                    yield Skipped(draft, item.line)
                else:
                    yield from self._take(draft, item.line)
        yield from self._flush()

    def _take(self, draft: Draft, line: int) -> Iterator[Event]:
        """Adds a fragment to the message that waits, or lets that one go and waits with this."""
        if draft.closed and not self._merged.isdisjoint(map(hash, draft.uuids)):
            yield Skipped(REPEATED, line)
            return
        if self._pending is not None and self._pending.takes(draft):
            self._pending.content.extend(draft.content)
            self._pending.uuids += draft.uuids
            self._merged.update(map(hash, self._pending.uuids))
            yield Skipped(MERGED, line)
            return
        yield from self._flush()
        self._pending = draft

    def _flush(self) -> Iterator[Event]:
        draft, self._pending = self._pending, None
        if draft is None:
            return
        if draft.source != self._current:
            self._current = draft.source
            yield draft.source
        yield draft.message()

    # -- one record ------------------------------------------------------------------------

    def _draft(self, ordinal: int, record: Record) -> Draft | str:
        """The message that a record is or belongs to, or why it is none."""
        value = record.value
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        source = self._source(ordinal, record.line, value)
        speech = speech_of(value, self._survey.is_queued)
        if isinstance(speech, str):
            return speech
        role, content = speech.role, Content()
        self._blocks.add(content, speech.blocks)
        if content.is_empty:
            return EMPTY
        if role == "user" and content.is_answer and not is_spoken(content.spoken):
            role = "tool"
        message = value.get("message")
        message_id = message.get("id") if isinstance(message, dict) else None
        uuid = string(value.get("uuid"))
        return Draft(
            content,
            role,
            kind_of(value, speech, role, content.spoken),
            source,
            self._survey.is_active(ordinal),
            uuid,
            sent_at(value.get("timestamp")),
            string(value.get("sessionId")),
            message_id=string(message_id) if role == "assistant" else None,
            closed=self._survey.is_replay(ordinal),
            uuids=[uuid] if uuid else [],
        )

    def _source(self, ordinal: int, line: int, value: dict[str, Any]) -> Source:
        if value.get("isSidechain") is not True:
            return self._main
        agent_id = string(value.get("agentId"))
        key = agent_id or self._survey.sidechain_root(ordinal)
        if key not in self._agents:
            name = agent_id or string(value.get("uuid")) or f"line-{line}"
            self._agents[key] = Source(
                id=f"{self._main.id}/agent-{printable(name)}",
                format=ClaudeCode.name,
                origin=self._file.label,
                parent_id=self._main.id,
            )
        return self._agents[key]


def _is_record(value: object) -> bool:
    """Whether a JSON value can only be a record of Claude Code."""
    if not isinstance(value, dict):
        return False
    record_type, message = value.get("type"), value.get("message")
    marked = any(mark in value for mark in _MARKS)
    if isinstance(message, dict) and "parts" in message:
        return False  # Gemini's message shape, which forks of both tools write.
    if record_type in ("user", "assistant"):
        return marked or isinstance(message, dict)
    if record_type is None:
        return isinstance(message, dict) and {"sessionId", "requestId"} <= value.keys()
    known = record_type in _CONTROL_TYPES and "sessionId" in value
    return isinstance(record_type, str) and (marked or known)
