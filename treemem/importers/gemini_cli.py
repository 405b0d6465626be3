"""Reads Gemini CLI's sessions in ~/.gemini/tmp: one JSON document, in newer versions JSON Lines.

A line adds a message, replaces an earlier one with the same id, changes the session's metadata, or
rewinds to a message. Reads the file twice, first for the last state of each message, holding one
record at a time. A file of lines that has grown is read on from its mark, unless a new line changes
a message before it.

Tested in tests/importers/test_gemini_cli.py and tests/ingest/test_growth.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.json_members import read_members
from treemem.importers.common.records import TOO_DEEP, Record, parse_json, skim_json
from treemem.importers.common.sniffing import has_key, head_objects, head_value
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
from treemem.origins.wrappers import is_injected
from treemem.types import PARENT_AGENT, Message, MessageKind, Role, Source

EMPTY = "empty message"
REPLACED = "earlier state of a message"
NOT_AN_OBJECT = "no message: not an object"

_LISTS = ("messages", "history")
_SAYING = ("content", "parts", "toolCalls", "thoughts")
_CHATS_FOLDER = "chats"
_ROLES: dict[object, Role] = {
    "user": "user", "gemini": "assistant", "model": "assistant",
    "info": "system", "warning": "system", "error": "system",
}  # fmt: skip
# Not a set, which would hash every answer as a whole.
_ACKNOWLEDGED = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
_SNAPSHOT = "<state_snapshot>"
_MEDIA = frozenset({"image", "audio", "video"})

_ROOT_NAME = ".project_root"
_ROOT_BYTES_MAX = 4_096


class GeminiCli(GrowingImporter):
    """Imports the sessions below ~/.gemini/tmp."""

    name = "gemini-cli"
    version = 3
    description = "Gemini CLI session logs (JSON, JSON Lines)"
    kept = "turns, thoughts, tool calls and results, rewound turns, sub-agents, notices"
    dropped = "usage, model names, a tool result's copy for the screen, earlier states"
    marks = (("sessionId", "projectHash", "messages"), ("id", "timestamp", "type", "content"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        records = [value for value in objects if isinstance(value, dict)]
        if any(map(_is_header, records)) or any(map(_is_own_message, records)):
            return 0.95
        if not records and has_key(rest, "sessionId") and has_key(rest, "projectHash"):
            return 0.9
        document = as_dict(head_value(head))
        messages = [element for key in _LISTS for element in as_list(document.get(key))]
        if _is_header(document) or any(map(_is_own_message, messages)):
            return 0.95
        return 0.85 if messages and all(map(_has_parts, messages)) else 0.0

    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        survey = _Survey(since, seen)
        for ordinal, item in enumerate(_records(file, skim_json, since, survey.ends)):
            survey.lines.append(item.line or 0)
            survey.add(ordinal, None if isinstance(item, Skipped) else as_dict(item.value))
        survey.finish()
        yield from _Reading(file, survey, since).events()


class _Member(NamedTuple):
    """A message of a one-document session, or another field of the document."""

    value: object
    is_record: bool
    line: None = None


class _Survey:
    """The first pass: the session's metadata, and the last state of each message.

    active: the ids that no rewind removed, in order. lines, ends: the line of each record, and the
    offset after it; no ends for a document, which has no mark. A mark is before a message which is
    new there, as are all later ones, or which changes only later ones.
    """

    def __init__(self, since: Mark | None, seen: Counts) -> None:
        self._since, self._seen = since, seen
        self.about: dict[str, Any] = dict(since.state["about"]) if since else {}
        self.project: str | None = since.state["project"] if since else None
        self.lines, self.ends = array("q"), array("q")
        self._lowest = array("q")  # the first record that each one changes
        self._is_message = bytearray()
        self._first: dict[str, int] = {}  # the record in which each message is named first
        self._last: dict[str, int] = {}
        self._listed: dict[str, int] = {}
        self._active: dict[str, None] = {}
        self._marked = -1

    def add(self, ordinal: int, value: dict[str, Any] | None) -> None:
        """Takes the next record; None for damage."""
        self._lowest.append(-1)
        self._is_message.append(0)
        if value is None:
            return
        if isinstance(target := value.get("$rewindTo"), str):
            self._rewind(ordinal, target)
        elif isinstance(about := value.get("$set"), dict):
            self._note(about)
            for message in as_list(about.get("messages")):
                if message_id := as_text(as_dict(message).get("id")):
                    self._name(ordinal, message_id)
                    self._listed[message_id] = ordinal
        elif role_of(value) is not None and (message_id := as_text(value.get("id"))):
            self._name(ordinal, message_id)
            self._is_message[ordinal] = 1
            if any(map(value.get, _SAYING)):
                self._last[message_id] = ordinal
        else:
            self._note(value)

    def _name(self, ordinal: int, message_id: str) -> None:
        self._active[message_id] = None
        first = self._first.setdefault(message_id, ordinal)
        if first != ordinal:
            self._change(ordinal, first)
        elif self._since is not None and key_of(message_id) in self._seen:
            raise ReadWholeError

    def _change(self, ordinal: int, first: int) -> None:
        """Notes that a record changes those from the first one on."""
        lowest = self._lowest[ordinal]
        self._lowest[ordinal] = first if lowest == -1 else min(first, lowest)

    def _note(self, about: dict[str, Any]) -> None:
        directories = filter(None, map(as_text, as_list(about.get("directories"))))
        self.project = self.project or next(directories, None)
        self.about.update(
            (key, about[key])
            for key in ("sessionId", "summary", "kind", "projectHash")
            if as_text(about.get(key))
        )

    def _rewind(self, ordinal: int, target: str) -> None:
        """Removes the target and all messages after it; all messages if the target is unknown."""
        if target in self._active:
            self._change(ordinal, self._first[target])
        elif self._since is not None:
            raise ReadWholeError
        else:
            self._change(ordinal, 0)
            self._active.clear()
        while self._active and self._active.popitem()[0] != target:
            pass

    def finish(self) -> None:
        """Call after the last record."""
        if self.ends:
            self._marked = place_of_mark(self.lines, self.ends, self._lowest, self._may_stand)

    def _may_stand(self, ordinal: int) -> bool:
        return bool(self._is_message[ordinal]) and self._lowest[ordinal] == -1

    def mark_at(self, ordinal: int) -> Mark | None:
        """The mark before a record, if it is there."""
        if ordinal != self._marked:
            return None
        keys = array("q", (key_of(name) for name, at in self._first.items() if at < ordinal))
        about = {key: value for key, value in self.about.items() if key != "summary"}
        state = {"about": about, "project": self.project}
        return Mark(self.ends[ordinal - 1], self.lines[ordinal] - 1, state, keys)

    def is_last(self, ordinal: int, message_id: str | None) -> bool:
        return message_id is None or self._last.get(message_id, ordinal) == ordinal

    def is_new(self, ordinal: int, message_id: str | None) -> bool:
        """Whether a message in a rewritten history has no record of its own and this is its first
        occurrence."""
        return message_id not in self._last and self._listed.get(message_id or "") == ordinal

    def is_active(self, message_id: str | None) -> bool:
        return message_id is None or message_id in self._active


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: _Survey, since: Mark | None) -> None:
        self._file = file
        self._survey = survey
        self._since = since
        self._blocks = BlockReader()
        self._blocks.names.restore({} if since is None else since.state["tools"])
        self._session = as_text(survey.about.get("sessionId"))
        self._is_agents = survey.about.get("kind") == "subagent"
        parent = _parent_of(file) if self._is_agents else None
        self._source = Source(
            id=f"{GeminiCli.name}/{printable(self._session or file_key(file))}",
            format=GeminiCli.name,
            title=one_line(survey.about.get("summary")),
            origin=file.label,
            parent_id=f"{GeminiCli.name}/{printable(parent)}" if parent else None,
            rewritten=_is_document(file),
            project=survey.project or _root_of(file) or as_text(survey.about.get("projectHash")),
        )

    def events(self) -> Iterator[Event | Mark]:
        since = None if self._since is None else self._since.state
        if since and (self._source.id, self._is_agents) != (since["source"], since["agents"]):
            raise ReadWholeError
        is_open = False
        for event in self._events():
            if isinstance(event, Message) and not is_open:
                is_open = True
                yield self._source
            yield event

    def _events(self) -> Iterator[Event | Mark]:
        for ordinal, item in enumerate(_records(self._file, parse_json, self._since)):
            if (mark := self._survey.mark_at(ordinal)) is not None:
                mark.state.update(
                    source=self._source.id, agents=self._is_agents,
                    tools=self._blocks.names.waiting(),
                )  # fmt: skip
                yield mark
            if isinstance(item, Skipped):
                yield item
            elif isinstance(item, Record) or item.is_record:
                yield self._event(ordinal, item.line, item.value)
                if isinstance(item.value, dict) and "$set" in item.value:
                    yield from self._rewritten(ordinal, item.line, item.value["$set"])

    def _event(self, ordinal: int, line: int | None, value: object) -> Event:
        if not isinstance(value, dict):
            return Skipped(NOT_AN_OBJECT, line)
        sign = "$set" if "$set" in value else "$rewindTo" if "$rewindTo" in value else None
        role = role_of(value)
        if sign or role is None:
            about = "session" if "sessionId" in value and "type" not in value else None
            return Skipped(no_message(sign or about or value.get("type")), line)
        if not self._survey.is_last(ordinal, as_text(value.get("id"))):
            return Skipped(REPLACED, line)
        return self._message(line, value, role)

    def _rewritten(self, ordinal: int, line: int | None, about: object) -> Iterator[Event]:
        """Yields the messages of a rewritten history that have no record of their own, such as a
        summary. Others are read from their own records, since a rewritten one may be shortened.
        """
        for message in as_list(as_dict(about).get("messages")):
            record = as_dict(message)
            is_new = self._survey.is_new(ordinal, as_text(record.get("id")))
            if is_new and (role := role_of(record)) is not None:
                yield self._message(line, record, role)

    def _message(self, line: int | None, value: dict[str, Any], role: Role) -> Message | Skipped:
        try:
            content = read_content(value, self._blocks)
        except RecursionError:
            return Skipped(TOO_DEEP, line, problem=True)
        if content.is_empty:
            return Skipped(EMPTY, line)
        if role == "user" and content.is_answer and not content.spoken:
            role = "tool"
        message_id = as_text(value.get("id"))
        kind = kind_of(role, content.spoken)
        # A sub-agent's prompts are the agent's that started it.
        is_agents = self._is_agents and role == "user" and kind == "said"
        return content.message(
            "other" if is_agents else role,
            author=PARENT_AGENT if is_agents else None,
            origin="agent" if is_agents else None,
            sent_at=sent_at(value.get("timestamp", value.get("ts"))),
            external_id=message_id,
            session=self._session,
            kind=kind,
            unique_id=message_id is not None and is_uuid(message_id),
            active=self._survey.is_active(message_id),
        )


def _records(
    file: LogFile,
    parse: Callable[[bytes], object],
    since: Mark | None = None,
    ends: array[int] | None = None,
) -> Iterator[Record | _Member | Skipped]:
    if _is_document(file):
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
            elif member.is_element and member.key in _LISTS:
                yield _Member(member.value, is_record=True)
            elif not member.is_element:
                yield _Member({member.key: member.value}, is_record=False)
            elif member.key == "directories":
                yield _Member({member.key: [member.value]}, is_record=False)
        return
    yield from marked_records(file, parse, since, ends)


def _root_of(file: LogFile) -> str | None:
    """The working directory, which newer versions note beside the sessions. In older ones only a
    hash of it is known, which names the project as well."""
    # A sub-agent's file is one folder further below.
    root = file.neighbour("..", _ROOT_NAME) or file.neighbour("..", "..", _ROOT_NAME)
    if root is None or root.size_bytes > _ROOT_BYTES_MAX:
        return None
    with root.open() as stream:
        return stream.read().decode("utf-8", "replace").strip() or None


def _is_document(file: LogFile) -> bool:
    """Whether the session is one JSON document, as older versions wrote it."""
    return any(key in as_dict(head_value(file.head())) for key in _LISTS)


def _parent_of(file: LogFile) -> str | None:
    """The parent session of a sub-agent, which names the file's folder."""
    folder = PurePosixPath(file.label.replace("!", "/")).parent.name
    return folder if folder not in ("", _CHATS_FOLDER) else None


# -- recognizing -------------------------------------------------------------------------


def _is_header(value: dict[str, Any]) -> bool:
    return as_text(value.get("sessionId")) is not None and "projectHash" in value


def _is_own_message(value: object) -> bool:
    """Whether only this tool writes such a message: an unwrapped one of type "gemini"."""
    record = as_dict(value)
    return record.get("type") == "gemini" and ("content" in record or "toolCalls" in record)


def _has_parts(value: object) -> bool:
    """Whether a value is a message of the API; parts with a type are another tool's."""
    record = as_dict(value)
    parts = record.get("parts")
    known = role_of(record) is not None and isinstance(parts, list)
    return known and not any("type" in as_dict(part) for part in as_list(parts))


# -- parts -----------------------------------------------------------------------------


def role_of(record: dict[str, Any]) -> Role | None:
    """The role of a record; None if it is not a message."""
    return _ROLES.get(as_text(record.get("type")) or as_text(record.get("role")))


def read_content(record: dict[str, Any], blocks: BlockReader) -> Content:
    """Reads the content of a message's record: thoughts, text, calls with their results."""
    content = Content()
    for thought in as_list(record.get("thoughts")):
        texts = (as_text(as_dict(thought).get(key)) for key in ("subject", "description"))
        content.add("\n".join(filter(None, texts)), "thinking")
    _add_parts(content, record.get("content") or record.get("parts"), blocks)
    for call in as_list(record.get("toolCalls")):
        _add_call(content, as_dict(call), blocks)
    return content


def kind_of(role: Role, spoken: list[str]) -> MessageKind:
    """Classifies a message. The tool injects texts in both roles, and summaries as the user."""
    pieces = [piece.strip() for piece in spoken if not piece.isspace()]
    if role == "system":
        return "injected"
    if role == "user" and pieces and pieces[0].startswith(_SNAPSHOT):
        return "summary"
    if role == "user":
        return "injected" if is_injected(pieces) else "said"
    is_reply = bool(pieces) and all(map(_is_acknowledgement, pieces))
    return "injected" if is_reply else "said"


def _is_acknowledgement(text: str) -> bool:
    return text in _ACKNOWLEDGED


def _add_parts(content: Content, parts: object, blocks: BlockReader) -> None:
    for part in parts if isinstance(parts, list) else [parts]:
        fields = as_dict(part)
        if isinstance(part, str):
            content.add(part)
        elif isinstance(text := fields.get("text"), str):
            content.add(text, "thinking" if fields.get("thought") is True else None)
        elif isinstance(data := fields.get("inlineData"), dict):
            blocks.add(content, _embedded(data))
        elif isinstance(data := fields.get("fileData"), dict):
            blocks.add(content, {"type": "file", "file": {**data, "url": data.get("fileUri")}})
        elif isinstance(call := fields.get("functionCall"), dict):
            _add_use(content, call, blocks)
        elif isinstance(answer := fields.get("functionResponse"), dict):
            name = as_text(answer.get("name"))
            blocks.add_tool_result(content, _result_text(answer), answer.get("id"), name)
        elif part is not None:
            blocks.add(content, part)


def _add_call(content: Content, call: dict[str, Any], blocks: BlockReader) -> None:
    """Adds a call and its result."""
    _add_use(content, call, blocks)
    result = call.get("result")
    if result is None:
        result = as_text(call.get("resultDisplay"))
    if isinstance(result, str):
        blocks.add_tool_result(content, result, call.get("id"), as_text(call.get("name")))
    elif result is not None:
        _add_parts(content, result, blocks)


def _add_use(content: Content, call: dict[str, Any], blocks: BlockReader) -> None:
    name = as_text(call.get("name")) or "unnamed"
    content.add_tool_use(name, compact_json(call.get("args")), call.get("id"), blocks.names)


def _result_text(answer: dict[str, Any]) -> object:
    """The text of a tool's result, or the result as compact JSON if it has another shape."""
    response = answer.get("response")
    for key in ("output", "error", "content"):
        if isinstance(text := as_dict(response).get(key), str):
            return text
    return None if response is None else compact_json(without_base64(response)[0])


def _embedded(data: dict[str, Any]) -> dict[str, Any]:
    """Converts inline data to an attachment block."""
    media_type = as_text(data.get("mimeType")) or ""
    kind = media_type.partition("/")[0]
    source = {"type": "base64", "media_type": media_type, "data": data.get("data")}
    return {"type": kind if kind in _MEDIA else "file", "source": source}
