"""Reads the threads of Zed's agent from threads.db, where each is a JSON document in Zstandard.

A row holds a whole thread. Zed rewrites the row after each turn, and threads of an older version
in the newer shape once they are continued.

Tested in tests/importers/test_zed.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.errors import ImportFileError, MissingPackageError
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.records import DAMAGED
from treemem.importers.common.source_ids import one_line, printable, sent_at
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.streams import compressed
from treemem.importers.zed.speech import Speech, modern
from treemem.types import Source

_COLUMNS = frozenset({"id", "summary", "updated_at", "data_type", "data"})
_LATER_COLUMNS = ("parent_id", "folder_paths", "created_at")
_THREADS = "SELECT id, summary, updated_at, {later} FROM threads ORDER BY {created} updated_at, id"
_THREAD = "SELECT data_type, data FROM threads WHERE id = ?"
_DEFAULT_TITLES = frozenset({"new thread", "new agent thread", "untitled"})


class Zed(Importer):
    """Imports the threads of Zed's agent."""

    name = "zed"
    version = 1
    description = "threads of Zed's agent (threads.db)"
    kept = "turns, thinking, tool calls and results, mentioned files, sub-agents, summaries, images"
    dropped = "usage, model names, checkpoints, drafts, a tool result's copy for the screen"
    marks = (("id", "summary", "updated_at", "data_type", "data"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        threads = sqlite_files.table_columns(file, head).get("threads", frozenset())
        return 0.95 if threads >= _COLUMNS else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with sqlite_files.open_tables(file) as tables:
            known = tables.columns().get("threads", frozenset())
            if known >= _COLUMNS:
                yield from _threads(file, tables, known)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal."""
        return sqlite_files.companions(file)

    def needs(self) -> tuple[str, str] | None:
        """What its files are, if the package for Zstandard is missing, and the command for it."""
        return None if compressed.has_zstd() else compressed.zstd_needs()


def _threads(file: LogFile, tables: Tables, known: frozenset[str]) -> Iterator[Event]:
    later = ", ".join(name if name in known else "NULL" for name in _LATER_COLUMNS)
    created = "created_at," if "created_at" in known else ""
    for row in list(tables.rows(_THREADS.format(later=later, created=created))):
        thread_id, summary, updated_at, parent, folders, created_at = row
        for data_type, data in tables.rows(_THREAD, (thread_id,)):
            thread = _document(file, data_type, data)
            if isinstance(thread, str):
                detail = f"thread {thread_id}: {thread}"[:200]
                yield Skipped(DAMAGED, problem=True, detail=detail)
                continue
            subagent = as_dict(thread.get("subagent_context"))
            parent = as_text(parent) or as_text(subagent.get("parent_thread_id"))
            title = one_line(thread.get("title")) or one_line(summary)
            yield Source(
                f"{Zed.name}/{printable(str(thread_id))}",
                Zed.name,
                title=None if title and title.lower() in _DEFAULT_TITLES else title,
                origin=file.label,
                parent_id=f"{Zed.name}/{printable(parent)}" if parent else None,
                rewritten=True,
                project=_project(folders, thread),
            )
            # Zed keeps the time of a thread, not those of its messages.
            began = sent_at(created_at) or sent_at(updated_at)
            speech = Speech(began, is_agents=parent is not None)
            for message in modern(as_list(thread.get("messages"))):
                yield speech.read(message)


def _document(file: LogFile, data_type: object, data: object) -> dict[str, Any] | str:
    """The document of a thread, or why there is none. Raises MissingPackageError."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if not isinstance(raw, bytes):
        return "it has no data"
    if data_type not in ("json", "zstd"):
        return f"its data is in an unknown form, {str(data_type)[:20]!r}"
    try:
        raw = compressed.whole(raw, file.label)
    except MissingPackageError:
        raise
    except ImportFileError as error:
        return str(error)
    thread = json_or_none(raw)
    return thread if isinstance(thread, dict) else "it is not a JSON object"


def _project(folders: object, thread: dict[str, Any]) -> str | None:
    """The first of the folders that the thread was begun in."""
    first = str(folders).split("\n")[0].strip() if isinstance(folders, str) else ""
    if first:
        return first
    snapshot = as_dict(thread.get("initial_project_snapshot"))
    paths = (as_text(as_dict(tree).get("worktree_path"))
             for tree in as_list(snapshot.get("worktree_snapshots")))  # fmt: skip
    return next(filter(None, paths), None)
