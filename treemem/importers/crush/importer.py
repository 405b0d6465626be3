"""Reads Crush's sessions from crush.db, of which each project has one.

A message is a row with parts, which are written again while an answer streams; newer versions
compress them with Zstandard. opencode had the
same tables before Crush was made of it; its old files are read as Crush's.

Tested in tests/importers/test_crush.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from treemem.errors import ImportFileError, MissingPackageError
from treemem.formats.places import located
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.records import DAMAGED
from treemem.importers.common.source_ids import folder_of, one_line, printable
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.crush.speech import Speech
from treemem.importers.streams import compressed
from treemem.types import Source

_FOLDERS = (".crush", ".opencode")
_DATABASE = "crush.db"
# Where Crush lists the projects that it was used in, each with the folder of its database.
_REGISTRIES = (".local/share/crush/projects.json", "AppData/Local/crush/projects.json")
_REGISTRY_BYTES_MAX = 4 * 1024**2

_SESSION_COLUMNS = frozenset({"id", "parent_session_id", "title", "message_count"})
_MESSAGE_COLUMNS = frozenset({"id", "session_id", "role", "parts", "created_at"})
_LATER_COLUMNS = ("summary_message_id", "workspace_cwd")
_SESSIONS = "SELECT id, parent_session_id, title, {later} FROM sessions ORDER BY {created} id"
_MESSAGE_IDS = "SELECT session_id, id FROM messages ORDER BY created_at, rowid"
_MESSAGE = "SELECT role, parts, created_at, {summary} FROM messages WHERE id = ?"
_DEFAULT_TITLES = frozenset({"new session", "untitled session"})


class Crush(Importer):
    """Imports Crush's databases."""

    name = "crush"
    version = 1
    description = "Crush sessions (.crush/crush.db)"
    kept = "turns, thinking, tool calls and results, shell commands, sub-agents, summaries, images"
    dropped = "usage, model names, versions of files, todo lists, a tool result's metadata"
    marks = (("id", "parent_session_id", "message_count"), ("id", "session_id", "role", "parts"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 0.9 if _is_database(sqlite_files.table_columns(file, head)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with sqlite_files.open_tables(file) as tables:
            yield from _Database(file, tables).events()

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal."""
        return sqlite_files.companions(file)

    def more_places(self, environ: Mapping[str, str], home: Path) -> Iterator[tuple[Path, str]]:
        """The folders of the projects that Crush lists."""
        for pattern in _REGISTRIES:
            folder, name = located(pattern, environ, home)
            try:
                with (folder / name).open("rb") as stream:
                    listed = json_or_none(stream.read(_REGISTRY_BYTES_MAX))
            except OSError:
                continue
            for project in as_list(as_dict(listed).get("projects")):
                data, path = (as_text(as_dict(project).get(key)) for key in ("data_dir", "path"))
                if path is not None and (data is None or not Path(data).is_absolute()):
                    data = str(Path(path) / (data or _FOLDERS[0]))
                if data is not None and "\0" not in data and Path(data).is_absolute():
                    yield Path(data), _DATABASE


def _is_database(columns: dict[str, frozenset[str]]) -> bool:
    return (
        columns.get("sessions", frozenset()) >= _SESSION_COLUMNS
        and columns.get("messages", frozenset()) >= _MESSAGE_COLUMNS
    )


class _Database:
    """An open database. Holds the ids of messages, and one message at a time."""

    def __init__(self, file: LogFile, tables: Tables) -> None:
        self._file = file
        self._rows = tables.rows
        columns = tables.columns()
        self._known = columns.get("sessions", frozenset())
        has_summary = "is_summary_message" in columns.get("messages", ())
        self._message = _MESSAGE.format(summary="is_summary_message" if has_summary else "0")
        self._ids: dict[object, list[object]] = {}
        if columns.get("messages", frozenset()) >= _MESSAGE_COLUMNS:
            self._ids = tables.grouped(_MESSAGE_IDS)

    def events(self) -> Iterator[Event]:
        """Yields each session with its messages; those without a row of their own come last."""
        for session_id, parent, title, summary_id, folder in self._sessions():
            parent_id = as_text(parent)
            name = one_line(title)
            yield Source(
                f"{Crush.name}/{printable(str(session_id))}",
                Crush.name,
                title=None if name and name.lower() in _DEFAULT_TITLES else name,
                origin=self._file.label,
                parent_id=f"{Crush.name}/{printable(parent_id)}" if parent_id else None,
                rewritten=True,
                project=as_text(folder) or _project(self._file),
            )
            speech = Speech(is_agents=parent_id is not None)
            for message_id in self._ids.get(session_id, ()):
                yield from self._messages(speech, message_id, summary_id)

    def _sessions(self) -> Iterator[tuple[Any, ...]]:
        seen: set[object] = set()
        if self._known >= _SESSION_COLUMNS:
            later = ", ".join(name if name in self._known else "NULL" for name in _LATER_COLUMNS)
            created = "created_at," if "created_at" in self._known else ""
            for row in self._rows(_SESSIONS.format(later=later, created=created)):
                seen.add(row[0])
                yield row
        for session_id in self._ids:
            if session_id not in seen:
                yield session_id, None, None, None, None

    def _messages(self, speech: Speech, message_id: object, summary_id: object) -> Iterator[Event]:
        for role, data, created, is_summary in self._rows(self._message, (message_id,)):
            parts = self._parts(data)
            if not isinstance(parts, list):
                yield Skipped(DAMAGED, problem=True, detail=f"message {message_id}"[:80])
                continue
            is_summary = bool(is_summary) or (summary_id is not None and message_id == summary_id)
            yield speech.message(message_id, role, parts, created, is_summary=is_summary)

    def _parts(self, data: object) -> object:
        """The parts of a message, which newer versions compress; None if they are damaged. Raises
        MissingPackageError."""
        if not isinstance(data, bytes):
            return json_or_none(data)
        try:
            return json_or_none(compressed.whole(data, self._file.label))
        except MissingPackageError:
            raise
        except ImportFileError:
            return None


def _project(file: LogFile) -> str | None:
    """The folder that has the folder of the database; None for a file that was moved."""
    for name in _FOLDERS:
        if file.folder == name:
            return folder_of(file, (name,))
    return None
