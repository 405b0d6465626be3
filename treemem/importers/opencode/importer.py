"""Reads opencode's sessions: a folder of small files, a database, or an export.

A session is a source. In the folder, reads the session's file together with the files of its
messages and their parts; they are read on their own only if the session file is missing.

Tested in tests/importers/test_opencode.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import DAMAGED
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import one_line, printable
from treemem.importers.opencode import db
from treemem.importers.opencode.speech import Reverted, Speech
from treemem.types import Source

NO_MESSAGE = "part without its message"
WITH_SESSION = "read with its session"
NOT_AN_OBJECT = "no message: not an object"

_DEFAULT_TITLES = ("New session - ", "Child session - ")
_GLOBAL = "global"


class OpenCode(Importer):
    """Imports opencode's storage folder, its opencode.db and its exports."""

    name = "opencode"
    version = 3
    description = "opencode sessions (storage folder, opencode.db, exports)"
    kept = "turns, reasoning, tool calls and results, reverted turns, sub-agents, summaries, files"
    dropped = "usage, model names, snapshots, patches, diffs, steps, retries, todo lists"
    marks = (("session", "message", "part"), ("id", "sessionID", "role", "time"))
    beside = (
        ".local/share/opencode/storage/message/*/*.json",
        ".local/share/opencode/storage/part/*/*.json",
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if db.is_database(sqlite_files.table_columns(file, head)):
            return 0.9
        value = as_dict(head_value(head))
        if is_session(value) or is_message(value) or is_part(value):
            return 0.95
        return 0.9 if _is_export(value) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            magic = stream.read(len(sqlite_files.MAGIC))
        if magic == sqlite_files.MAGIC:
            yield from db.read(file, source_of)
            return
        value = as_dict(read_value(file))
        if is_session(value):
            yield source_of(file, value)
            yield from _messages(_message_files(file, value), value)
        elif is_message(value):
            yield from _lone_message(file, value)
        elif is_part(value):
            yield _lone_part(file, value)
        else:
            yield from _export(file, value)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The files of a session's messages and parts, or the database's -wal."""
        with file.open() as stream:
            magic = stream.read(len(sqlite_files.MAGIC))
        if magic == sqlite_files.MAGIC:
            yield from sqlite_files.companions(file)
            return
        value = as_dict(read_value(file))
        messages = _message_files(file, value) if is_session(value) else []
        yield from messages
        if is_message(value):
            messages = [file]
        for message in messages:
            yield from _part_files(message, message.stem)


def _worktree(file: LogFile, session: dict[str, Any]) -> str | None:
    """The repository of a session without a directory, from the file of its project."""
    name = as_text(session.get("projectID"))
    project = file.neighbour("..", "..", "project", f"{name}.json") if name else None
    value = {} if project is None else _read_object(project)
    return None if isinstance(value, Skipped) else as_text(value.get("worktree"))


def source_of(file: LogFile, session: dict[str, Any]) -> Source:
    title = one_line(session.get("title"))
    parent = as_text(session.get("parentID"))
    return Source(
        f"opencode/{printable(str(session.get('id')))}",
        OpenCode.name,
        title=None if title and title.startswith(_DEFAULT_TITLES) else title,
        origin=file.label,
        parent_id=f"opencode/{printable(parent)}" if parent else None,
        rewritten=True,
        project=as_text(session.get("directory")) or _worktree(file, session),
    )


# -- the folder ----------------------------------------------------------------------------


def _message_files(file: LogFile, session: dict[str, Any]) -> list[LogFile]:
    return _json_files(file, "..", "..", "message", str(session.get("id")))


def _part_files(message: LogFile, message_id: str) -> list[LogFile]:
    return _json_files(message, "..", "..", "part", message_id)


def _json_files(file: LogFile, *steps: str) -> list[LogFile]:
    return [neighbour for neighbour in file.neighbours(*steps) if neighbour.suffix == ".json"]


def _messages(files: list[LogFile], session: dict[str, Any]) -> Iterator[Event]:
    """Yields the messages of a session in the tool's order: by time, then by id."""
    heads: list[tuple[float, str, LogFile]] = []
    for file in files:
        head = _read_object(file)
        if isinstance(head, Skipped):
            yield head
            continue
        heads.append((created(head), as_text(head.get("id")) or file.stem, file))
    heads.sort(key=lambda head_row: head_row[:2])
    speech, reverted = Speech(), Reverted(session)
    for _, message_id, file in heads:
        head = _read_object(file)
        if isinstance(head, Skipped):
            yield head
            continue
        active = not reverted.reaches(message_id)
        yield speech.message(head, _parts(file, message_id), active=active)


def _parts(message: LogFile, message_id: str) -> Iterator[object]:
    """Yields the parts of a message in the order of their names, which are their ids."""
    for file in _part_files(message, message_id):
        part = _read_object(file)
        if not isinstance(part, Skipped):
            yield part


def _read_object(file: LogFile) -> dict[str, Any] | Skipped:
    try:
        value = read_value(file)
    except ImportFileError as error:
        return Skipped(DAMAGED, problem=True, detail=str(error))
    return value if isinstance(value, dict) else Skipped(NOT_AN_OBJECT)


def _lone_message(file: LogFile, head: dict[str, Any]) -> Iterator[Event]:
    """Reads a message's file on its own; skips it if the session's file exists."""
    session_id = str(head.get("sessionID"))
    projects = [item.stem for item in _json_files(file, "..", "..", "project")]
    for project in [*projects, _GLOBAL]:
        if file.neighbour("..", "..", "session", project, f"{session_id}.json") is not None:
            yield Skipped(WITH_SESSION)
            return
    directory = as_dict(head.get("path")).get("cwd")
    yield source_of(file, {"id": session_id, "directory": directory})
    message_id = as_text(head.get("id")) or file.stem
    yield Speech().message(head, _parts(file, message_id), active=True)


def _lone_part(file: LogFile, part: dict[str, Any]) -> Skipped:
    session_id, message_id = str(part.get("sessionID")), str(part.get("messageID"))
    if file.neighbour("..", "..", "message", session_id, f"{message_id}.json") is not None:
        return Skipped(WITH_SESSION)
    return Skipped(NO_MESSAGE, problem=True, detail=f"of the type {str(part.get('type'))[:40]}")


# -- exports ---------------------------------------------------------------------------------


def _export(file: LogFile, value: dict[str, Any]) -> Iterator[Event]:
    """Reads the output of "opencode export": the session, and its messages with their parts."""
    session = as_dict(value.get("info"))
    yield source_of(file, session)
    speech, reverted = Speech(), Reverted(session)
    for entry in as_list(value.get("messages")):
        head = as_dict(as_dict(entry).get("info"))
        active = not reverted.reaches(str(head.get("id")))
        yield speech.message(head, as_list(as_dict(entry).get("parts")), active=active)


# -- recognizing -----------------------------------------------------------------------------


def created(head: dict[str, Any]) -> float:
    time = as_dict(head.get("time")).get("created")
    return float(time) if isinstance(time, int | float) and abs(time) < 1e20 else 0.0


def is_session(value: dict[str, Any]) -> bool:
    own = {"projectID", "directory", "version", "slug"} & value.keys()
    has_times = isinstance(value.get("time"), dict) and as_text(value.get("id")) is not None
    return has_times and len(own) > 1 and not {"role", "messages", "sessionID"} & value.keys()


def is_message(value: dict[str, Any]) -> bool:
    has_ids = as_text(value.get("id")) and as_text(value.get("sessionID"))
    return bool(has_ids) and value.get("role") in ("user", "assistant") and "time" in value


def is_part(value: dict[str, Any]) -> bool:
    ids = ("id", "sessionID", "messageID", "type")
    return all(as_text(value.get(key)) for key in ids) and "role" not in value


def _is_export(value: dict[str, Any]) -> bool:
    entries = as_list(value.get("messages"))
    heads = [as_dict(as_dict(entry).get("info")) for entry in entries[:3]]
    is_opencode = is_session(as_dict(value.get("info"))) or any(map(is_message, heads))
    return isinstance(value.get("info"), dict) and is_opencode
