"""Reads Claude Code's logs in ~/.claude/projects: JSON Lines, each a fragment of an API message.

A file is a session, and each sub-agent in it is a source of its own. The records form a tree of
turns. Reads the file twice, first the ids to find the active branch and then the messages, holding
one message at a time.

Tested in tests/importers/test_claude_code.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from treemem.importers.claude_code.records import certainty, records_of
from treemem.importers.claude_code.speech import agent_of, is_spoken, kind_of, speech_of
from treemem.importers.claude_code.survey import Survey, session_of
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_text
from treemem.importers.common.content import BlockReader, Content, join_fragments
from treemem.importers.common.records import TOO_DEEP, Record, parse_json, skim_json
from treemem.importers.common.source_ids import one_line, printable, sent_at
from treemem.importers.streams.marks import NO_COUNTS, Counts, GrowingImporter, Mark, ReadWholeError
from treemem.types import Message, Source

MERGED = "fragment of a message, merged"
REPEATED = "fragment of a message, repeated"
EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"

MERGED_CHARS_MAX = 16 * 1024 * 1024
FRAGMENTS_MAX = 200


class ClaudeCode(GrowingImporter):
    """Imports the logs below ~/.claude/projects."""

    name = "claude-code"
    version = 2
    description = "Claude Code session logs (JSON Lines, or one JSON document)"
    kept = "turns, thinking, tool calls and results, abandoned branches, sub-agents, summaries"
    dropped = "usage, model names, signatures, a tool result's copy for the screen, bookkeeping"
    marks = (("parentUuid", "sessionId", "uuid", "timestamp", "type", "message"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return certainty(head, file.stem)

    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        survey = Survey.of(file, since, seen)
        if since is not None and session_of(file, survey) != since.state["source"]:
            raise ReadWholeError
        yield from _Reading(file, survey, since).events()


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: Survey, since: Mark | None) -> None:
        self._file = file
        self._survey = survey
        self._since = since
        self._blocks = BlockReader()
        self._blocks.names.restore({} if since is None else since.state["tools"])
        self._session = session_of(file, survey)
        self._main = Source(
            id=f"{ClaudeCode.name}/{printable(self._session)}",
            format=ClaudeCode.name,
            title=survey.title,
            origin=file.label,
            project=survey.project,
        )
        self._agents: dict[int | str, Source] = {}
        self._current: Source | None = None
        self._merged: set[int] = set()
        # The message that may get more fragments, and how many it has.
        self._waiting: Message | None = None
        self._waiting_source = self._main
        self._api_id: str | None = None
        self._fragments = 0

    def events(self) -> Iterator[Event | Mark]:
        for ordinal, item in enumerate(records_of(self._file, _parse, self._since)):
            if (mark := self._survey.mark_at(ordinal)) is not None:
                yield from self._release()
                mark.state.update(source=self._session, tools=self._blocks.names.waiting())
                yield mark
            if isinstance(item, Skipped):
                yield item
                continue
            try:
                yield from self._take(ordinal, item)
            except RecursionError:
                yield Skipped(TOO_DEEP, item.line, problem=True)
        yield from self._release()

    def _take(self, ordinal: int, record: Record) -> Sequence[Event]:
        """Holds a record's message back, or joins it to the waiting message."""
        value = record.value
        if not isinstance(value, dict):
            return (Skipped(NOT_AN_OBJECT, record.line),)
        source = self._source(ordinal, record.line, value)
        message = self._message(ordinal, value)
        if isinstance(message, str):
            return (Skipped(message, record.line, title=_title(value)),)
        api_id = _api_id(value)
        if self._survey.is_replay(ordinal):
            # A replayed record repeats a message: it is not joined, and nothing is joined to it.
            if hash(message.external_id) in self._merged:
                return (Skipped(REPEATED, record.line),)
            api_id = None
        elif api_id is not None and api_id == self._api_id and self._joins(message, source):
            return (Skipped(MERGED, record.line, end=self._end(ordinal, message, source)),)
        events = self._release()
        self._waiting, self._waiting_source = message, source
        self._api_id, self._fragments = api_id, 1
        return events

    def _joins(self, message: Message, source: Source) -> bool:
        """Joins a fragment to the waiting message if both have the same source."""
        waiting = self._waiting
        if waiting is None or source is not self._waiting_source:
            return False
        if self._fragments >= FRAGMENTS_MAX or len(waiting.text) > MERGED_CHARS_MAX:
            return False
        self._merged.update((hash(waiting.external_id), hash(message.external_id)))
        self._waiting = join_fragments(waiting, message)
        self._fragments += 1
        return True

    def _end(self, ordinal: int, message: Message, source: Source) -> tuple[str, str] | None:
        """The source and the id of a fragment that ends the session or a branch of it, since the
        file of a later session calls this one by its last record."""
        if message.external_id is None or source is not self._main:
            return None
        return (source.id, message.external_id) if self._survey.is_end(ordinal) else None

    def _release(self) -> list[Event]:
        """Returns the waiting message, with its source first if the source changes."""
        message, self._waiting = self._waiting, None
        if message is None:
            return []
        if self._waiting_source is self._current:
            return [message]
        self._current = self._waiting_source
        return [self._current, message]

    # -- records ---------------------------------------------------------------------------

    def _message(self, ordinal: int, value: dict[str, Any]) -> Message | str:
        """The message of a single record, or the reason to skip it."""
        speech = speech_of(value, self._survey.is_queued)
        if isinstance(speech, str):
            return speech
        role, content = speech.role, Content()
        self._blocks.add(content, speech.blocks)
        if content.is_empty:
            return EMPTY
        if content.is_answer and role == "user" and not is_spoken(content.spoken):
            role = "tool"
        uuid = as_text(value.get("uuid"))
        kind = kind_of(value, speech, role, content.spoken)
        agent = agent_of(value) if role == "user" and kind == "said" else None
        return content.message(
            "other" if agent else role,
            author=agent,
            origin="agent" if agent else None,
            sent_at=sent_at(value.get("timestamp")),
            external_id=uuid,
            session=as_text(value.get("sessionId")),
            kind=kind,
            unique_id=uuid is not None,
            active=self._survey.is_active(ordinal),
        )

    def _source(self, ordinal: int, line: int | None, value: dict[str, Any]) -> Source:
        if value.get("isSidechain") is not True:
            return self._main
        agent_id = as_text(value.get("agentId"))
        key = agent_id or self._survey.sidechain_root(ordinal)
        if key not in self._agents:
            name = agent_id or as_text(value.get("uuid")) or f"line-{line}"
            self._agents[key] = Source(
                id=f"{self._main.id}/agent-{printable(name)}",
                format=ClaudeCode.name,
                origin=self._file.label,
                parent_id=self._main.id,
                project=self._main.project,
            )
        return self._agents[key]


def _parse(data: bytes) -> object:
    """Parses numbers exactly only where they become text: in the arguments of tools."""
    return parse_json(data) if b'"tool_use"' in data else skim_json(data)


def _title(value: dict[str, Any]) -> tuple[str, str] | None:
    """The session that a summary names, by the id of its last message, and its title; mostly of
    another file of the project."""
    leaf, title = as_text(value.get("leafUuid")), one_line(value.get("summary"))
    return (leaf, title) if value.get("type") == "summary" and leaf and title else None


def _api_id(value: dict[str, Any]) -> str | None:
    """The id that all fragments of one API response share."""
    message = value.get("message")
    if value.get("type") == "user" or not isinstance(message, dict):
        return None
    return as_text(message.get("id"))
