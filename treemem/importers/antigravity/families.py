"""Finds what is told of a conversation of Antigravity's outside of it: its id, its folder, its
title, and the conversation that started it.

A conversation of a sub-agent does not say that it is one, so its prompts would pass for the user's.
Who started it is in the list of conversations, and in the log of the one that did.

Tested in tests/importers/test_antigravity.py.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path, PurePath
from typing import NamedTuple

from treemem.errors import ImportFileError
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import LogFile
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.records import read_records
from treemem.importers.common.source_ids import file_key, is_uuid, path_of_uri, printable
from treemem.importers.streams import protobuf
from treemem.patterns import lazy_regex

FORMAT = "antigravity"
FULL, SHORT = "transcript_full.jsonl", "transcript.jsonl"
LOGS = (".system_generated", "logs")

_STARTED = lazy_regex(rb'conversationId[\\"\s:]{1,12}([0-9a-fA-F-]{36})')
_STARTS = b"INVOKE_SUBAGENT"
_PARENT = "parent_conversation_id"
_LISTED = "SELECT {title}, {parent} FROM conversation_summaries WHERE conversation_id = ?"
_SUMMARIES = "conversation_summaries.db"
_BYTES_MAX = 64 * 1024**2
# Of the metadata of a conversation in its database.
_WORKSPACE, _ROOT = 7, 6


class About(NamedTuple):
    """What is known of a conversation. id: fit for a source's id. own: as its tool names it, if it
    is known. parent: the conversation that started it."""

    id: str
    own: str | None = None
    title: str | None = None
    project: str | None = None
    parent: str | None = None


def about(file: LogFile) -> About:
    """What is known of the conversation of a transcript, or of a database."""
    own = _own_id(file)
    if own is None:
        return About(file_key(file))
    root = root_of(file)
    title, parent = _listed(root, own)
    project = _workspace(root, own)
    database = None if root is None else root / "conversations" / f"{own}.db"
    if database is not None and database.is_file():
        folder, first = _metadata(database)
        project = project or folder
        parent = parent or (first if first != own else None)
    parent = parent or _started_by(root, own)
    return About(printable(own), own, title, project, parent if parent != own else None)


def root_of(file: LogFile) -> Path | None:
    """The folder of Antigravity that a file is in."""
    if file.path is None:
        return None
    path = file.path.resolve()
    parents = path.parents
    if len(parents) > 4 and parents[0].name == LOGS[1] and parents[3].name == "brain":
        return parents[4]
    return parents[1] if parents[0].name == "conversations" and len(parents) > 1 else None


def transcript_of(file: LogFile) -> LogFile | None:
    """The transcript of a database's conversation, in full if there is such a one."""
    for name in (FULL, SHORT):
        found = file.neighbour("..", "brain", file.stem, *LOGS, name)
        if found is not None and found.size_bytes:
            return found
    return None


def _own_id(file: LogFile) -> str | None:
    """The id by the name of the file, or of a folder above it."""
    if is_uuid(file.stem):
        return file.stem
    place = file.place or file.label
    steps = PurePath(place.replace("!", "/").replace("\\", "/")).parts[-5:-1]
    return next((step for step in reversed(steps) if is_uuid(step)), None)


def _listed(root: Path | None, own: str) -> tuple[str | None, str | None]:
    """The title and the parent in the list of conversations."""
    path = None if root is None else root / _SUMMARIES
    if path is None or not path.is_file():
        return None, None
    try:
        with sqlite_files.open_tables(LogFile(str(path), path)) as tables:
            columns = tables.columns().get("conversation_summaries", frozenset())
            if "conversation_id" not in columns:
                return None, None
            title_column = "title" if "title" in columns else "NULL"
            parent_column = _PARENT if _PARENT in columns else "NULL"
            sql = _LISTED.format(title=title_column, parent=parent_column)
            for title, parent in tables.rows(sql, (own,)):
                return as_text(title), as_text(parent)
    except ImportFileError:
        pass
    return None, None


def _workspace(root: Path | None, own: str) -> str | None:
    """The folder that the list of prompts names for a conversation."""
    path = None if root is None else root / "history.jsonl"
    if path is None or not path.is_file():
        return None
    with LogFile(str(path), path).open() as stream:
        for record in read_records(stream):
            row = as_dict(getattr(record, "value", None))
            if row.get("conversationId") == own and (folder := as_text(row.get("workspace"))):
                return folder
    return None


def _metadata(path: Path) -> tuple[str | None, str | None]:
    """The folder, and the conversation that began it all, in the metadata of a database."""
    try:
        with sqlite_files.open_tables(LogFile(str(path), path)) as tables:
            if "data" not in tables.columns().get("trajectory_metadata_blob", frozenset()):
                return None, None
            for (data,) in tables.rows("SELECT data FROM trajectory_metadata_blob"):
                if isinstance(data, bytes):
                    folder = path_of_uri(protobuf.text(data, _WORKSPACE))
                    return folder, protobuf.text(data, _ROOT) or None
    except ImportFileError:
        pass
    return None, None


def _started_by(root: Path | None, own: str) -> str | None:
    """The conversation whose log says that it started this one."""
    if root is None:
        return None
    for folder in sorted((root / "brain").glob("*/")):
        if folder.name == own or not is_uuid(folder.name):
            continue
        for name in (FULL, SHORT):
            path = folder.joinpath(*LOGS, name)
            try:
                state = path.stat()
            except OSError:
                continue
            if own in _started(str(path), state.st_size, state.st_mtime_ns):
                return folder.name
    return None


@lru_cache(maxsize=4_096)
def _started(path: str, size_bytes: int, changed_ns: int) -> frozenset[str]:
    """The conversations that a log says it started. size_bytes, changed_ns: its state."""
    del changed_ns
    if size_bytes > _BYTES_MAX:
        return frozenset()
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError:
        return frozenset()
    return frozenset(
        name.decode() for line in lines if _STARTS in line for name in _STARTED.findall(line)
    )
