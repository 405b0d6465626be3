"""Reads sessions of the pi coding agent: JSON Lines, an append-only tree of entries.

A file is a session. A fork is a new file that repeats the original's entries, with their times.
Messages are therefore identified by role, text and time, so the copies match. Reads the file twice,
first for the ids, title and active branch and then for the messages, holding one entry at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP, parse_json, skim_json
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
NOT_AN_OBJECT = "no message: not an object"

_NONE = -1
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_FOLLOWERS = ("toolResult", "custom", "hookMessage")
_ENTRY_TYPES = frozenset({"message", "custom_message", *_SUMMARIES})
_ROLES: dict[object, tuple[Role, MessageKind]] = {
    "user": ("user", "said"), "assistant": ("assistant", "said"), "toolResult": ("tool", "said"),
    "bashExecution": ("user", "injected"),
    "custom": ("user", "injected"), "hookMessage": ("user", "injected"),
    "compactionSummary": ("assistant", "summary"), "branchSummary": ("assistant", "summary"),
}  # fmt: skip


class Pi(GrowingImporter):
    """Imports the sessions below ~/.pi/agent/sessions."""

    name = "pi"
    version = 2
    description = "sessions of the pi coding agent (JSON Lines)"
    kept = "turns, thinking, tool calls and results, abandoned branches, summaries, forks"
    dropped = "usage, model names, tool details, data of extensions, bookkeeping"
    marks = (("type", "id", "parentId", "timestamp", "message"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        entries = [value for value in objects if isinstance(value, dict)]
        if any(map(_is_header, entries[:1])):
            return 0.95
        if any(map(_is_entry, entries)):
            return 0.9
        long_line = not entries and has_key(rest, "type", "message") and has_key(rest, "parentId")
        return 0.85 if long_line else 0.0

    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        survey = _Survey(since, seen)
        for item in marked_records(file, skim_json, since, survey.ends):
            survey.lines.append(item.line or 0)
            survey.add(as_dict(None if isinstance(item, Skipped) else item.value))
        survey.finish()
        yield from _Reading(file, survey, since).events()


class _Survey:
    """The first pass: the session's id and title, and the ancestors of its last entry.

    An entry without parentId (as in the first versions), or whose parent is not in the file,
    continues the entry before it. One whose parentId is null begins a new tree. lines, ends: the
    line of each record, and the offset after it. The mark is before an active entry that all later
    ones descend from, or from nothing before it.
    """

    def __init__(self, since: Mark | None, seen: Counts) -> None:
        self._since, self._seen = since, seen
        self.session_id: str | None = since.state["session"] if since else None
        self.title: str | None = None
        self.project: str | None = since.state["project"] if since else None
        self.lines, self.ends = array("q"), array("q")
        self._keys = array("q")  # of each entry's id; 0 without one
        self._marked = _NONE
        self._ordinal_of: dict[str, int] = {}
        self._parent = array("q")  # ordinal of the parent
        self._follows = bytearray()
        self._active = bytearray()
        self._newest = _NONE

    def add(self, value: dict[str, Any]) -> None:
        ordinal = len(self._active)
        self._active.append(0)
        self._follows.append(_accompanies(value))
        self._parent.append(_NONE)
        self._keys.append(0)
        if value.get("type") == "session":
            self.session_id = self.session_id or as_text(value.get("id"))
            self.project = self.project or as_text(value.get("cwd"))
            return
        if as_text(value.get("type")) is None:
            return
        if value["type"] == "session_info":
            self.title = one_line(value.get("name")) or self.title
        if value.get("parentId", "") is not None:
            parent = as_text(value.get("parentId")) or ""
            self._parent[ordinal] = self._ordinal_of.get(parent, self._newest)
            if ordinal and parent not in self._ordinal_of:
                self._require_new(parent)
        if entry_id := as_text(value.get("id")):
            self._require_new(entry_id)
            self._keys[ordinal] = key_of(entry_id)
            self._ordinal_of.setdefault(entry_id, ordinal)
        self._newest = ordinal

    def _require_new(self, entry_id: str) -> None:
        """Raises ReadWholeError if an entry before the mark has this id."""
        if self._since is not None and key_of(entry_id) in self._seen:
            raise ReadWholeError

    def finish(self) -> None:
        at = self._newest
        # A parent always precedes its entry, so this loop ends.
        while at != _NONE:
            self._active[at] = 1
            at = self._parent[at]
        for ordinal, parent in enumerate(self._parent):
            if self._follows[ordinal] and parent != _NONE and self._active[parent]:
                self._active[ordinal] = 1
        self._ordinal_of.clear()
        if self._since is not None and not (self._active and self._active[0]):
            raise ReadWholeError
        self._marked = place_of_mark(
            self.lines, self.ends, self._parent,
            lambda ordinal: bool(self._active[ordinal] and self._keys[ordinal]),
        )  # fmt: skip

    def mark_at(self, ordinal: int) -> Mark | None:
        """The mark before a record, if it is there."""
        if ordinal != self._marked:
            return None
        state = {"session": self.session_id, "project": self.project}
        keys = array("q", filter(None, self._keys[:ordinal]))
        return Mark(self.ends[ordinal - 1], self.lines[ordinal] - 1, state, keys)

    def is_active(self, ordinal: int) -> bool:
        """Whether an entry is active, as is one appended since the survey."""
        return ordinal >= len(self._active) or bool(self._active[ordinal])


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: _Survey, since: Mark | None) -> None:
        self._file = file
        self._survey = survey
        self._since = since
        self._blocks = BlockReader()
        self._blocks.names.restore({} if since is None else since.state["tools"])
        self._session = survey.session_id or _id_of(file)
        self._source = Source(
            id=f"{Pi.name}/{printable(self._session)}",
            format=Pi.name,
            title=survey.title,
            origin=file.label,
            project=survey.project,
        )

    def events(self) -> Iterator[Event | Mark]:
        if self._since is not None and self._source.id != self._since.state["source"]:
            raise ReadWholeError
        is_open = False
        for ordinal, item in enumerate(marked_records(self._file, parse_json, self._since)):
            if (mark := self._survey.mark_at(ordinal)) is not None:
                mark.state.update(source=self._source.id, tools=self._blocks.names.waiting())
                yield mark
            if isinstance(item, Skipped):
                yield item
                continue
            try:
                message = self._message(ordinal, item.value)
            except RecursionError:
                yield Skipped(TOO_DEEP, item.line, problem=True)
                continue
            if isinstance(message, str):
                yield Skipped(message, item.line)
                continue
            if not is_open:
                is_open = True
                yield self._source
            yield message

    def _message(self, ordinal: int, value: object) -> Message | str:
        """The message of an entry, or the reason to skip it."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        entry_type = value.get("type")
        message = _message_of(value)
        known = _ROLES.get(as_text(message.get("role")))
        if known is None:
            role = message.get("role") if entry_type == "message" else None
            return no_message(entry_type, role) if role else no_message(entry_type)
        content = Content()
        _add(content, message, self._blocks)
        if content.is_empty:
            return EMPTY
        role, kind = known
        return content.message(
            role,
            sent_at=sent_at(value.get("timestamp")) or sent_at(message.get("timestamp")),
            session=self._session,
            kind=kind,
            active=self._survey.is_active(ordinal),
        )


def _accompanies(entry: dict[str, Any]) -> bool:
    """Whether an entry belongs to its parent and is active if that is."""
    role = as_dict(entry.get("message")).get("role")
    return entry.get("type") in ("compaction", "custom_message") or role in _FOLLOWERS


def _message_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The message in an entry, or the entry itself in the shape of a message."""
    entry_type = as_text(entry.get("type"))
    if entry_type == "message":
        return as_dict(entry.get("message"))
    if entry_type == "custom_message":
        return {"role": "custom", "content": entry.get("content")}
    if entry_type in _SUMMARIES:
        return {"role": "compactionSummary", "summary": entry.get("summary")}
    return {}


def _add(content: Content, message: dict[str, Any], blocks: BlockReader) -> None:
    role, blocks_value = message["role"], message.get("content")
    if role == "toolResult":
        name = as_text(message.get("toolName"))
        blocks.add_tool_result(content, blocks_value, message.get("toolCallId"), name)
    elif role == "bashExecution":
        # A command that the user ran, with the shell's output.
        content.add(f"[tool use: bash] {as_text(message.get('command')) or ''}", "tool_use", "bash")
        content.add(as_text(message.get("output")) or "", "tool_result", "bash")
    elif "summary" in message:
        content.add(as_text(message["summary"]) or "")
    else:
        for block in blocks_value if isinstance(blocks_value, list) else [blocks_value]:
            call = as_dict(block)
            if call.get("type") == "toolCall":
                name = as_text(call.get("name")) or "unnamed"
                arguments = compact_json(call.get("arguments"))
                content.add_tool_use(name, arguments, call.get("id"), blocks.names)
            else:
                blocks.add(content, [block])


def _id_of(file: LogFile) -> str:
    """The id at the end of a session file's name, for a file without its header."""
    tail = file.stem.rpartition("_")[2]
    return tail if is_uuid(tail) else file_key(file)


# -- recognizing -------------------------------------------------------------------------


def _is_header(value: dict[str, Any]) -> bool:
    named = value.get("type") == "session" and as_text(value.get("id")) is not None
    return named and "timestamp" in value and not {"cwd", "version"}.isdisjoint(value)


def _is_entry(value: dict[str, Any]) -> bool:
    """Whether a value is an entry, in a file without its header."""
    if as_text(value.get("type")) not in _ENTRY_TYPES or not {"id", "parentId"} <= value.keys():
        return False
    message = as_dict(value.get("message"))
    return "summary" in value or "role" in message or bool(as_list(value.get("content")))
