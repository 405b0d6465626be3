"""Reads the sessions of Factory's droid: one file of JSON Lines for each.

The first line names the session; messages have blocks as in Anthropic's API. Text that droid adds
to a prompt is in elements such as <system-reminder>.

Tested in tests/importers/test_droid.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import Record, events_of, read_records
from treemem.importers.common.sniffing import has_key, head_objects
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.origins.wrappers import is_injected
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"

_START = "session_start"
_SUMMARY = "compaction_state"
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_START_KEYS = frozenset({"cwd", "title", "sessionTitle", "owner", "version"})
_ADDED_KEYS = ("visibility", "hookEventName", "userMessageSource")
_DEFAULT_TITLES = frozenset({"new session", "untitled"})
_TASK = "# Task Tool Invocation"


class Droid(Importer):
    """Imports the sessions below ~/.factory/sessions."""

    name = "droid"
    version = 1
    description = "sessions of Factory's droid (JSON Lines)"
    kept = "turns, thinking, tool calls and results, summaries, sub-agents, images"
    dropped = "usage, model names, settings, todo lists, signatures, bookkeeping"
    marks = (("type", "id", "cwd", "title"), ("type", "id", "timestamp", "message"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        records = [value for value in objects if isinstance(value, dict)]
        if any(map(_is_start, records[:3])):
            return 0.96
        if not records and has_key(rest, "type", _START) and has_key(rest, "cwd"):
            return 0.9
        return 0.92 if records and all(map(_is_message, records)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        reading = _Reading(file)
        with file.open() as stream:
            yield from events_of(
                read_records(stream), lambda _, item: reading.message(item), reading.source
            )


class _Reading:
    """One pass over a file."""

    def __init__(self, file: LogFile) -> None:
        self._blocks = BlockReader()
        start = _start_of(file)
        parent = as_text(start.get("callingSessionId"))
        title = one_line(start.get("sessionTitle")) or one_line(start.get("title"))
        session = as_text(start.get("id"))
        if session is None:
            session = file.stem if is_uuid(file.stem) else file_key(file)
        self._is_agents = parent is not None or (title or "").startswith(_TASK)
        self._source = Source(
            f"{Droid.name}/{printable(session)}",
            Droid.name,
            title=None if (title or "").lower() in _DEFAULT_TITLES or self._is_agents else title,
            origin=file.label,
            parent_id=f"{Droid.name}/{printable(parent)}" if parent else None,
            project=as_text(start.get("cwd")),
        )

    def source(self, _: Record) -> Source:
        return self._source

    def message(self, item: Record) -> Message | str:
        """The message of a record, or the reason to skip it."""
        value = item.value
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        content = Content()
        message = as_dict(value.get("message"))
        kind: MessageKind = "said"
        if value.get("type") == _SUMMARY:
            role: Role | None = "assistant"
            content.add(as_text(value.get("summaryText")) or as_text(value.get("summary")) or "")
            kind = "summary"
        elif value.get("type") == "message":
            # Some versions have the fields of a message in the record itself.
            message = message or value
            role = _ROLES.get(as_text(message.get("role")))
            self._blocks.add(content, message.get("content"))
        else:
            return no_message(value.get("type"))
        if role is None:
            return no_message("message", message.get("role"))
        if content.is_empty:
            return EMPTY
        author = None
        if role == "user" and content.is_answer and not _has_words(content):
            role = "tool"
        elif role == "user" and _is_added(message, content):
            kind = "injected"
        elif role == "user" and self._is_agents:
            role, author = "other", "parent agent"
        external_id = as_text(value.get("id"))
        return content.message(
            role,
            author=author,
            sent_at=sent_at(value.get("timestamp")),
            external_id=external_id,
            unique_id=external_id is not None and is_uuid(external_id),
            kind=kind,
        )


def _has_words(content: Content) -> bool:
    """Whether somebody said something beside the results of tools."""
    return any(map(str.strip, content.spoken)) and not is_injected(content.spoken)


def _is_added(message: dict[str, Any], content: Content) -> bool:
    """Whether a message in the user's name is of droid, a hook or an automation."""
    is_marked = any(message.get(key) not in (None, "", "both", "user") for key in _ADDED_KEYS)
    return is_marked or (bool(content.spoken) and is_injected(content.spoken))


def _start_of(file: LogFile) -> dict[str, Any]:
    """The record that names the session; empty if there is none."""
    with file.open() as stream:
        for number, item in enumerate(read_records(stream)):
            if number > 2:
                break
            if isinstance(item, Record) and _is_start(item.value):
                return as_dict(item.value)
    return {}


def _is_start(value: object) -> bool:
    fields = as_dict(value)
    is_named = fields.get("type") == _START and as_text(fields.get("id")) is not None
    return is_named and not _START_KEYS.isdisjoint(fields)


def _is_message(value: object) -> bool:
    """Whether a record may be a message, in a file without its beginning. Unlike Claude Code's, it
    names no session; unlike pi's, its own parent is optional and its roles are two."""
    fields = as_dict(value)
    message = as_dict(fields.get("message"))
    if fields.get("type") != "message" or as_text(fields.get("id")) is None:
        return False
    blocks = as_list(message.get("content"))
    kinds = {as_text(as_dict(block).get("type")) for block in blocks}
    is_known = as_text(message.get("role")) in ("user", "assistant") and bool(kinds)
    named = {"text", "thinking", "tool_use", "tool_result", "image"}
    return is_known and "sessionId" not in fields and kinds <= named and is_uuid(str(fields["id"]))
