"""Reads Copilot CLI's sessions in ~/.copilot/session-state: JSON Lines, one event per line.

A file is a session, and each sub-agent in it is a source of its own. Reads the file twice, first to
find repeated and rewound events, holding one event at a time. A file that has grown is read on from
its mark, unless a new event repeats or rewinds one before it.

Tested in tests/importers/test_copilot_cli.py and tests/ingest/test_growth.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import Record, events_of, parse_json, skim_json
from treemem.importers.common.sniffing import has_key, head_objects
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.importers.streams.marks import (
    NO_COUNTS,
    Counts,
    GrowingImporter,
    Mark,
    ReadWholeError,
    key_of,
    marked_records,
    place_of_mark,
)
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty message"
REPEATED = "told by another event as well"
NOT_AN_OBJECT = "no message: not an object"

_MARKS = frozenset({"session.start", "session.resume", "user.message", "assistant.message"})
_SPEECH: dict[str, tuple[Role, MessageKind]] = {
    "user.message": ("user", "said"),
    "assistant.message": ("assistant", "said"), "assistant.reasoning": ("assistant", "said"),
    "tool.execution_start": ("assistant", "said"), "tool.execution_complete": ("tool", "said"),
    "system.message": ("system", "injected"), "system.notification": ("system", "injected"),
    "skill.invoked": ("user", "injected"),
    "session.compaction_complete": ("assistant", "summary"),
}  # fmt: skip
_EVENTS_FILE = "events"
_REFERENCE_KEYS = ("path", "filePath", "url", "displayName", "title")


class CopilotCli(GrowingImporter):
    """Imports the sessions below ~/.copilot/session-state."""

    name = "copilot-cli"
    version = 2
    description = "Copilot CLI session logs (JSON Lines)"
    kept = "turns, reasoning, tool calls and results, sub-agents, notifications, summaries"
    dropped = "usage, context sent with the user's text, opaque reasoning, deltas, bookkeeping"
    marks = (("type", "data", "timestamp"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        if any(map(_is_event, objects)):
            return 0.95
        long_line = not objects and has_key(rest, "type", "|".join(_MARKS))
        return 0.9 if long_line and has_key(rest, "data") else 0.0

    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        survey = _Survey(since, seen)
        for item in marked_records(file, skim_json, since, survey.ends):
            survey.add(item.line or 0, None if isinstance(item, Skipped) else as_dict(item.value))
        survey.finish()
        yield from _Reading(file, survey, since).events()


class _Survey:
    """The first pass: the session's id and title, repeated events, rewound ranges.

    lines, ends: the line of each record, and the offset after it. A mark is before an event which
    neither repeats nor rewinds one before it, as do all later ones.
    """

    def __init__(self, since: Mark | None, seen: Counts) -> None:
        self._since, self._seen = since, seen
        self.session_id: str | None = since.state["session"] if since else None
        self.title: str | None = None
        self.project: str | None = since.state["project"] if since else None
        self.lines, self.ends = array("q"), array("q")
        self._lowest = array("q")  # the first event that each one rewinds or repeats
        self._is_event = bytearray()
        self._told: dict[int, int] = {}  # what other events may repeat, by key, and where it is
        self._early: dict[int, int] = {}  # the same of what is repeated, if it comes first
        self._ordinal_of: dict[int, int] = {}
        self._rewound = RewoundRanges()
        self._marked = -1

    def add(self, line: int, value: dict[str, Any] | None) -> None:
        """Takes the next record; None for damage."""
        ordinal = len(self.lines)
        self.lines.append(line)
        self._lowest.append(-1)
        self._is_event.append(bool(value))
        if value is None:
            return
        kind, data = value.get("type"), as_dict(value.get("data"))
        if event_id := as_text(value.get("id")):
            event_key = _key("event", event_id)
            self._require(event_key not in self._seen)
            self._refer(ordinal, self._ordinal_of.get(event_key))
            self._ordinal_of[event_key] = ordinal
        if kind in ("session.start", "session.resume"):
            self.session_id = self.session_id or as_text(data.get("sessionId"))
            context = as_dict(data.get("context"))
            self.project = self.project or as_text(context.get("cwd"))
        elif kind == "session.title_changed":
            self.title = one_line(data.get("title")) or self.title
        elif kind == "assistant.message":
            for request in as_list(data.get("toolRequests")):
                self._tell(ordinal, "call", as_dict(request).get("toolCallId"))
            self._tell(ordinal, "thought", data.get("reasoningText"))
        elif kind == "session.snapshot_rewind":
            self._rewind(ordinal, as_text(data.get("upToEventId")) or "")
        elif (key := _repeated_key(kind, data)) and not self._is_told(key):
            self._early.setdefault(key, ordinal)

    def _tell(self, ordinal: int, what: str, value: object) -> None:
        if (text := as_text(value)) is None:
            return
        key = _key(what, text)
        self._told.setdefault(key, ordinal)
        early = self._early.get(key)
        self._refer(ordinal, early)
        # Subtle: the early one is stored as a message already.
        self._require(early is None and ~key not in self._seen)

    def _rewind(self, ordinal: int, event_id: str) -> None:
        key = _key("event", event_id)
        start = self._ordinal_of.get(key)
        if start is not None:
            self._rewound.add(start, ordinal)
            self._refer(ordinal, start)
        else:
            self._require(key not in self._seen)

    def _refer(self, ordinal: int, first: int | None) -> None:
        """Notes that a record refers to an earlier one."""
        lowest = self._lowest[ordinal]
        if first is not None:
            self._lowest[ordinal] = first if lowest == -1 else min(first, lowest)

    def _require(self, is_told: bool) -> None:
        """Raises ReadWholeError if an event changes what one before the mark is."""
        if not is_told and self._since is not None:
            raise ReadWholeError

    def finish(self) -> None:
        """Call after the last record."""
        self._marked = place_of_mark(self.lines, self.ends, self._lowest, self._may_stand)

    def _may_stand(self, ordinal: int) -> bool:
        return bool(self._is_event[ordinal]) and self._lowest[ordinal] == -1

    def mark_at(self, ordinal: int) -> Mark | None:
        """The mark before a record, if it is there."""
        if ordinal != self._marked:
            return None
        known = (self._ordinal_of, self._told)
        keys = array("q", (key for keys in known for key, at in keys.items() if at < ordinal))
        keys.extend(~key for key, at in self._early.items() if at < ordinal)
        state = {"session": self.session_id, "project": self.project}
        return Mark(self.ends[ordinal - 1], self.lines[ordinal] - 1, state, keys)

    def is_repeated(self, kind: str, data: dict[str, Any]) -> bool:
        """Whether another event also contains it: a tool's start is in its request, thoughts are in
        their message."""
        key = _repeated_key(kind, data)
        return key is not None and self._is_told(key)

    def _is_told(self, key: int) -> bool:
        return key in self._told or key in self._seen

    def is_active(self, ordinal: int) -> bool:
        return ordinal not in self._rewound


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: _Survey, since: Mark | None) -> None:
        self._file = file
        self._survey = survey
        self._since = since
        self._mark: Mark | None = None
        self._blocks = BlockReader()
        self._blocks.names.restore({} if since is None else since.state["tools"])
        self._session = survey.session_id or _id_of(file)
        self._main = Source(
            id=f"{CopilotCli.name}/{printable(self._session)}",
            format=CopilotCli.name,
            title=survey.title,
            origin=file.label,
            rewritten=True,
            project=survey.project,
        )
        self._agents: dict[str, Source] = {}

    def events(self) -> Iterator[Event | Mark]:
        if self._since is not None and self._main.id != self._since.state["source"]:
            raise ReadWholeError
        for event in events_of(
            self._records(),
            lambda at, item: self._message(at, item.value),
            lambda item: self._source(as_dict(item.value)),
        ):
            # Each record has an event, and the first of the one at the mark is behind it.
            if self._mark is not None:
                yield self._mark
                self._mark = None
            yield event

    def _records(self) -> Iterator[Record | Skipped]:
        for ordinal, item in enumerate(marked_records(self._file, parse_json, self._since)):
            if (mark := self._survey.mark_at(ordinal)) is not None:
                mark.state.update(source=self._main.id, tools=self._blocks.names.waiting())
                self._mark = mark
            yield item

    def _message(self, ordinal: int, value: object) -> Message | str:
        """The message of an event, or the reason to skip it."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        kind, data = as_text(value.get("type")) or "", as_dict(value.get("data"))
        known = _SPEECH.get(kind)
        if known is None:
            return no_message(value.get("type"))
        if self._survey.is_repeated(kind, data):
            return REPEATED
        content = Content()
        _add(content, kind, data, self._blocks)
        if content.is_empty:
            return EMPTY
        role, message_kind = known
        source = as_text(data.get("source"))
        is_injected = source not in (None, "user") or data.get("isAutopilotContinuation") is True
        event_id = as_text(value.get("id"))
        return content.message(
            role,
            sent_at=sent_at(value.get("timestamp")),
            external_id=event_id,
            session=self._session,
            kind="injected" if role == "user" and is_injected else message_kind,
            unique_id=event_id is not None and is_uuid(event_id),
            active=self._survey.is_active(ordinal),
        )

    def _source(self, value: dict[str, Any]) -> Source:
        """The session, or the sub-agent that an event comes from.

        Older versions name the tool call that started the sub-agent instead of the agent.
        """
        parent = as_text(as_dict(value.get("data")).get("parentToolCallId"))
        agent = as_text(value.get("agentId")) or parent
        if agent is None:
            return self._main
        if agent not in self._agents:
            self._agents[agent] = Source(
                id=f"{self._main.id}/agent-{printable(agent)}",
                format=CopilotCli.name,
                origin=self._file.label,
                parent_id=self._main.id,
            )
        return self._agents[agent]


def _key(what: str, text: str) -> int:
    """The key of an event's id, a call's id, or a thought."""
    return key_of(f"{what}:{text}")


def _repeated_key(kind: object, data: dict[str, Any]) -> int | None:
    """The key of what an event says that another one may contain; None for other events."""
    if kind == "tool.execution_start":
        return _key("call", text) if (text := as_text(data.get("toolCallId"))) else None
    if kind == "assistant.reasoning":
        return _key("thought", text) if (text := as_text(data.get("content"))) else None
    return None


def _add(content: Content, kind: str, data: dict[str, Any], blocks: BlockReader) -> None:
    """Adds the content of an event. content: the text that the screen shows."""
    if kind == "tool.execution_complete":
        result = data.get("result") if data.get("result") is not None else data.get("error")
        use_id, name = data.get("toolCallId"), as_text(data.get("toolName"))
        blocks.add_tool_result(content, _result_text(result), use_id, name)
    elif kind == "tool.execution_start":
        _add_use(content, data, "toolName", blocks)
    elif kind == "assistant.reasoning":
        content.add(as_text(data.get("content")) or "", "thinking")
    elif kind == "session.compaction_complete":
        content.add(as_text(data.get("summaryContent")) or "")
    else:
        content.add(as_text(data.get("reasoningText")) or "", "thinking")
        blocks.add(content, data.get("content"))
        for request in as_list(data.get("toolRequests")):
            _add_use(content, as_dict(request), "name", blocks)
        for attachment in as_list(data.get("attachments")):
            blocks.add(content, _attachments(as_dict(attachment)))


def _add_use(content: Content, call: dict[str, Any], key: str, blocks: BlockReader) -> None:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else compact_json(arguments)
    name = as_text(call.get(key)) or "unnamed"
    content.add_tool_use(name, text, call.get("toolCallId"), blocks.names)


def _result_text(result: object) -> object:
    """The result of a tool as sent to the model."""
    output = as_dict(result)
    for key in ("content", "message"):
        if isinstance(text := output.get(key), str):
            return text
    return result if isinstance(result, str | list) or result is None else compact_json(result)


def _attachments(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """An attachment as a block; most are only references."""
    if isinstance(data := attachment.get("data"), str):
        media_type = as_text(attachment.get("mimeType")) or ""
        source = {"type": "base64", "media_type": media_type, "data": data}
        return {"type": "image" if media_type.startswith("image/") else "file", "source": source}
    named = next((text for key in _REFERENCE_KEYS if (text := as_text(attachment.get(key)))), None)
    return {"type": "file", "file": {"path": named}} if named else attachment or None


def _id_of(file: LogFile) -> str:
    """The session's id by the name of the file or its folder, if the first event is missing."""
    name = file.stem
    if name == _EVENTS_FILE:
        name = PurePosixPath(file.label.replace("!", "/")).parent.name
    return name if is_uuid(name) else file_key(file)


def _is_event(value: object) -> bool:
    event = as_dict(value)
    is_named = isinstance(kind := event.get("type"), str) and kind in _MARKS
    return is_named and isinstance(event.get("data"), dict)
