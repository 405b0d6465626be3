"""Reads opencode.db: the message and part tables, or the newer table of entries, with rows of JSON.

A file may have both layouts. A session stored in both is read from the message and part tables, so
no turn is read twice.

Tested in tests/importers/test_opencode.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text, json_or_none
from treemem.importers.common.records import DAMAGED
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.opencode.speech import Reverted, Speech
from treemem.types import Source

_SESSIONS = (
    "SELECT id, {parent}, {title}, {revert}, {directory}, {project} FROM session "
    "ORDER BY {created} id"
)
_WORKTREES = "SELECT id, worktree FROM project"
_MESSAGE_IDS = "SELECT session_id, id FROM message ORDER BY {created} id"
_MESSAGE = "SELECT data FROM message WHERE id = ?"
_PART_ROWS = "SELECT message_id, rowid FROM part WHERE session_id = ? ORDER BY id"
_PART = "SELECT data FROM part WHERE rowid = ?"
_ENTRY_IDS = "SELECT session_id, id FROM session_message ORDER BY {order} id"
_ENTRY = "SELECT type, data FROM session_message WHERE id = ?"

_ROW_COLUMNS = frozenset({"id", "session_id", "data"})
_PART_COLUMNS = _ROW_COLUMNS | {"message_id"}
_ENTRY_COLUMNS = _ROW_COLUMNS | {"type"}


def is_database(columns: dict[str, frozenset[str]]) -> bool:
    return "id" in columns.get("session", ()) and (_has_rows(columns) or _has_entries(columns))


def _has_rows(columns: dict[str, frozenset[str]]) -> bool:
    return (
        columns.get("message", frozenset()) >= _ROW_COLUMNS
        and columns.get("part", frozenset()) >= _PART_COLUMNS
    )


def _has_entries(columns: dict[str, frozenset[str]]) -> bool:
    return columns.get("session_message", frozenset()) >= _ENTRY_COLUMNS


def read(file: LogFile, source_of: Callable[[LogFile, dict[str, Any]], Source]) -> Iterator[Event]:
    with sqlite_files.open_tables(file) as tables:
        database = _Database(tables)
        for session in database.sessions():
            yield source_of(file, session)
            yield from database.messages(session)


class _Database:
    """An open database. Holds ids, and one message at a time."""

    def __init__(self, tables: Tables) -> None:
        self._rows, self._grouped = tables.rows, tables.grouped
        self._columns = tables.columns()
        created = "time_created," if "time_created" in self._columns.get("message", ()) else ""
        self._messages: dict[object, list[object]] = {}
        if _has_rows(self._columns):
            self._messages = self._grouped(_MESSAGE_IDS.format(created=created))
        self._entries: dict[object, list[object]] = {}
        if _has_entries(self._columns):
            known = self._columns["session_message"]
            order = next((f"{key}," for key in ("seq", "time_created") if key in known), "")
            self._entries = self._grouped(_ENTRY_IDS.format(order=order))

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Yields every session in the shape of a session file; those without a row last."""
        known = self._columns.get("session", frozenset())
        names = {"parent": "parent_id", "title": "title", "revert": "revert",
                 "directory": "directory", "project": "project_id"}  # fmt: skip
        has_projects = self._columns.get("project", frozenset()) >= {"id", "worktree"}
        worktrees = dict(self._rows(_WORKTREES)) if has_projects else {}
        chosen = {key: name if name in known else "NULL" for key, name in names.items()}
        created = "time_created," if "time_created" in known else ""
        seen: set[object] = set()
        if "id" in known:
            for row in self._rows(_SESSIONS.format(created=created, **chosen)):
                seen.add(row[0])
                revert = json_or_none(row[3])
                directory = row[4] or worktrees.get(row[5])
                yield {"id": row[0], "parentID": row[1], "title": row[2], "revert": revert,
                       "directory": directory}  # fmt: skip
        for session_id in dict.fromkeys([*self._messages, *self._entries]):
            if session_id not in seen:
                yield {"id": session_id}

    def messages(self, session: dict[str, Any]) -> Iterator[Event]:
        speech, reverted = Speech(), Reverted(session)
        message_ids = self._messages.get(session["id"], ())
        # One pass per session, since a copy may lack the index from messages to parts.
        parts = self._grouped(_PART_ROWS, (session["id"],)) if message_ids else {}
        for message_id in message_ids:
            for (data,) in self._rows(_MESSAGE, (message_id,)):
                active = not reverted.reaches(str(message_id))
                head = json_or_none(data)
                if not isinstance(head, dict):
                    yield Skipped(DAMAGED, problem=True, detail=f"message {message_id}"[:80])
                    continue
                head["id"] = message_id
                yield speech.message(head, self._parts(parts.get(message_id, ())), active=active)
        if session["id"] in self._messages:
            return
        for entry_id in self._entries.get(session["id"], ()):
            for kind, data in self._rows(_ENTRY, (entry_id,)):
                active = not reverted.reaches(str(entry_id))
                entry = as_dict(json_or_none(data)) | {"id": entry_id, "type": as_text(kind)}
                yield speech.entry(entry, active=active)

    def _parts(self, rows: Iterable[object]) -> Iterator[object]:
        for row in rows:
            for (data,) in self._rows(_PART, (row,)):
                yield json_or_none(data)
