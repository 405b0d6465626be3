"""Reads Copilot CLI's sessions in ~/.copilot/session-state: JSON Lines, one event per line.

A file is a session, and each sub-agent in it is a source of its own. Reads the file twice, first to
find repeated and rewound events, holding one event at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from treemem.config import LOG_PLACES
from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import events_of, read_records, skim_json
from treemem.importers.common.sniffing import has_key, head_objects
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
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


class CopilotCli(Importer):
    """Imports the sessions below ~/.copilot/session-state."""

    name = "copilot-cli"
    version = 2
    description = "Copilot CLI session logs (JSON Lines)"
    kept = "turns, reasoning, tool calls and results, sub-agents, notifications, summaries"
    dropped = "usage, context sent with the user's text, opaque reasoning, deltas, bookkeeping"
    places = LOG_PLACES["copilot-cli"]

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        if any(map(_is_event, objects)):
            return 0.95
        long_line = not objects and has_key(rest, "type", "|".join(_MARKS))
        return 0.9 if long_line and has_key(rest, "data") else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        survey = _Survey()
        with file.open() as stream:
            for ordinal, item in enumerate(read_records(stream, skim_json)):
                if not isinstance(item, Skipped):
                    survey.add(ordinal, as_dict(item.value))
        yield from _Reading(file, survey).events()


class _Survey:
    """The first pass: the session's id and title, repeated events, rewound ranges."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.title: str | None = None
        self.project: str | None = None
        self._requested: set[int] = set()
        self._thought: set[int] = set()
        self._ordinal_of: dict[str, int] = {}
        self._rewound = RewoundRanges()

    def add(self, ordinal: int, value: dict[str, Any]) -> None:
        kind, data = value.get("type"), as_dict(value.get("data"))
        if event_id := as_text(value.get("id")):
            self._ordinal_of[event_id] = ordinal
        if kind in ("session.start", "session.resume"):
            self.session_id = self.session_id or as_text(data.get("sessionId"))
            context = as_dict(data.get("context"))
            self.project = self.project or as_text(context.get("cwd"))
        elif kind == "session.title_changed":
            self.title = one_line(data.get("title")) or self.title
        elif kind == "assistant.message":
            for request in as_list(data.get("toolRequests")):
                self._note(as_text(as_dict(request).get("toolCallId")), self._requested)
            self._note(as_text(data.get("reasoningText")), self._thought)
        elif kind == "session.snapshot_rewind":
            start = self._ordinal_of.get(as_text(data.get("upToEventId")) or "")
            if start is not None:
                self._rewound.add(start, ordinal)

    def _note(self, text: str | None, hashes: set[int]) -> None:
        if text is not None:
            hashes.add(hash(text))

    def is_repeated(self, kind: str, data: dict[str, Any]) -> bool:
        """Whether another event also contains it: a tool's start is in its request, thoughts are in
        their message."""
        if kind == "tool.execution_start":
            return hash(as_text(data.get("toolCallId"))) in self._requested
        return kind == "assistant.reasoning" and hash(as_text(data.get("content"))) in self._thought

    def is_active(self, ordinal: int) -> bool:
        return ordinal not in self._rewound


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: _Survey) -> None:
        self._file = file
        self._survey = survey
        self._blocks = BlockReader()
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

    def events(self) -> Iterator[Event]:
        with self._file.open() as stream:
            yield from events_of(
                read_records(stream),
                lambda at, item: self._message(at, item.value),
                lambda item: self._source(as_dict(item.value)),
            )

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
