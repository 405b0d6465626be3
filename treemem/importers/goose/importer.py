"""Reads Goose's sessions: sessions.db, one JSON Lines file per session (before 1.10), an export.

All three hold the same messages, and Goose copies the old files into the database when it is first
opened, so a message is identified by what it says and when (speech.py), not by its row.

Tested in tests/importers/test_goose.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import DAMAGED, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import one_line, printable
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.goose.speech import NOT_AN_OBJECT, Session, Speech, is_message
from treemem.types import Source

HEADER = "no message: header of the session"

_MESSAGE_COLUMNS = frozenset({"id", "session_id", "role", "content_json", "created_timestamp"})
_SESSION_FIELDS = (
    "id", "name", "description", "user_set_name", "session_type", "working_dir", "recipe_json",
    "parent_session_id",
)  # fmt: skip
_SESSIONS = "SELECT {fields} FROM sessions ORDER BY id"
# A shell's commands have their time in milliseconds, all other messages in seconds.
_MESSAGE_IDS = """
SELECT session_id, id FROM messages
ORDER BY iif(created_timestamp > 10000000000, created_timestamp / 1000, created_timestamp), id
"""
_MESSAGE = "SELECT role, content_json, created_timestamp, {metadata} FROM messages WHERE id = ?"
_HEADER_FIELDS = frozenset({"working_dir", "description", "message_count"})
# Names that Goose gives a session until it has a better one.
_DEFAULT_NAMES = frozenset(
    {"new chat", "new session", "cli session", "acp session", "goose term session"}
)


class Goose(Importer):
    """Imports Goose's sessions.db, its older session files and its exports."""

    name = "goose"
    version = 1
    description = "Goose sessions (sessions.db, older session files, JSON exports)"
    kept = "turns, thinking, tool calls and results, sub-agents, summaries, notices, images"
    dropped = "usage, model names, recipes, extensions' data, requests to allow a tool"
    marks = (("id", "working_dir", "extension_data"), ("role", "created", "content"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if _is_database(sqlite_files.table_columns(file, head)):
            return 0.95
        value = as_dict(head_value(head))
        if _is_export(value):
            return 0.95
        objects = head_objects(head)[0]
        if objects and _is_header(as_dict(objects[0])):
            return 0.95
        return 0.9 if any(map(is_message, objects[:3])) or is_message(value) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            magic = stream.read(len(sqlite_files.MAGIC))
        if magic == sqlite_files.MAGIC:
            with sqlite_files.open_tables(file) as tables:
                yield from _Database(file, tables).events()
        elif _is_export(as_dict(head_value(file.head()))):
            yield from _export(file)
        else:
            yield from _lines(file)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal."""
        return sqlite_files.companions(file)


# -- the database --------------------------------------------------------------------------


class _Database:
    """An open database. Holds the ids of messages, and one message at a time."""

    def __init__(self, file: LogFile, tables: Tables) -> None:
        self._file = file
        self._rows = tables.rows
        columns = tables.columns()
        self._known = columns.get("sessions", frozenset())
        has_metadata = "metadata_json" in columns.get("messages", ())
        self._message = _MESSAGE.format(metadata="metadata_json" if has_metadata else "NULL")
        self._ids: dict[object, list[object]] = {}
        if columns.get("messages", frozenset()) >= _MESSAGE_COLUMNS:
            self._ids = tables.grouped(_MESSAGE_IDS)

    def events(self) -> Iterator[Event]:
        """Yields each session with its messages; those without a row of their own come last."""
        for about in self._sessions():
            yield _source(self._file, about)
            speech = Speech(_session(about))
            for message in self._messages(about.get("id")):
                yield from (message,) if isinstance(message, Skipped) else speech.read(message)
            yield from speech.rest()

    def _sessions(self) -> Iterator[dict[str, Any]]:
        fields = ", ".join(name if name in self._known else "NULL" for name in _SESSION_FIELDS)
        seen: set[object] = set()
        if "id" in self._known:
            for row in self._rows(_SESSIONS.format(fields=fields)):
                about = dict(zip(_SESSION_FIELDS, row, strict=True))
                seen.add(about["id"])
                yield about | {"recipe": json_or_none(about["recipe_json"])}
        for session_id in self._ids:
            if session_id not in seen:
                yield {"id": session_id}

    def _messages(self, session_id: object) -> Iterator[dict[str, Any] | Skipped]:
        """The messages in Goose's order, in the shape of a line of an older session file."""
        for message_id in self._ids.get(session_id, ()):
            for role, content, created, metadata in self._rows(self._message, (message_id,)):
                blocks = json_or_none(content)
                if not isinstance(blocks, list):
                    yield Skipped(DAMAGED, problem=True, detail=f"message {message_id}"[:80])
                    continue
                yield {"role": role, "content": blocks, "created": created,
                       "metadata": json_or_none(metadata)}  # fmt: skip


# -- files of one session ------------------------------------------------------------------


def _lines(file: LogFile) -> Iterator[Event]:
    """Reads a file of a session: a line about it, and a line for each message."""
    is_begun = False
    speech = Speech(Session())
    with file.open() as stream:
        for item in read_records(stream):
            if isinstance(item, Skipped):
                yield item
                continue
            value = as_dict(item.value)
            about = value if _is_header(value) else {}
            if not is_begun:
                is_begun = True
                yield _source(file, {"id": file.stem} | about)
                speech = Speech(_session(about))
            if about:
                yield Skipped(HEADER, item.line)
            elif not value:
                yield Skipped(NOT_AN_OBJECT, item.line)
            else:
                yield from speech.read(value, item.line)
    yield from speech.rest()


def _export(file: LogFile) -> Iterator[Event]:
    """Reads the output of "goose session export --format json"."""
    about = as_dict(read_value(file))
    yield _source(file, about)
    speech = Speech(_session(about))
    for message in as_list(about.get("conversation")):
        if isinstance(message, dict):
            yield from speech.read(message)
        else:
            yield Skipped(NOT_AN_OBJECT)
    yield from speech.rest()


# -- sessions ------------------------------------------------------------------------------


def _source(file: LogFile, about: dict[str, Any]) -> Source:
    title = one_line(about.get("name")) or one_line(about.get("description"))
    is_default = title is not None and title.lower() in _DEFAULT_NAMES
    parent = as_text(about.get("parent_session_id"))
    return Source(
        f"{Goose.name}/{printable(str(about.get('id')))}",
        Goose.name,
        title=None if is_default and not about.get("user_set_name") else title,
        origin=file.label,
        parent_id=f"{Goose.name}/{printable(parent)}" if parent else None,
        rewritten=True,
        project=as_text(about.get("working_dir")),
    )


def _session(about: dict[str, Any]) -> Session:
    kind = as_text(about.get("session_type")) or "user"
    return Session(
        is_agents=kind in ("sub_agent", "subagent", "specialist")
        or as_text(about.get("parent_session_id")) is not None,
        is_scheduled=kind == "scheduled" or as_text(about.get("schedule_id")) is not None,
        is_shell=kind == "terminal",
        recipe_prompt=as_text(as_dict(about.get("recipe")).get("prompt")),
    )


# -- recognizing ---------------------------------------------------------------------------


def _is_database(columns: dict[str, frozenset[str]]) -> bool:
    return columns.get("messages", frozenset()) >= _MESSAGE_COLUMNS and columns.get(
        "sessions", frozenset()
    ) >= {"id", "working_dir", "extension_data"}


def _is_header(value: dict[str, Any]) -> bool:
    """Whether an object is about a session; the first versions did not name the folder."""
    return len(_HEADER_FIELDS & value.keys()) > 1 and "role" not in value


def _is_export(value: dict[str, Any]) -> bool:
    return "conversation" in value and {"working_dir", "extension_data"} <= value.keys()
