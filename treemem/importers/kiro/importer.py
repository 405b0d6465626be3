"""Reads the sessions of Kiro: those of its editor, and of its command line, which was Amazon Q's.

Tested in tests/importers/test_kiro.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from treemem.formats.table import USER_DATA
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.kiro import command_line, editor, executions

NO_MESSAGES = "no messages: the session's settings"

Read = Callable[[LogFile], Iterator[Event]]


class Kiro(Importer):
    """Imports sessions of Kiro's editor and of its command line."""

    name = "kiro"
    version = 1
    description = "Kiro sessions: editor (JSON), command line (data.sqlite3, JSON Lines)"
    kept = "turns, thinking, tool calls and results, sub-agents, summaries, injected context"
    dropped = "usage, model names, whole files before an edit, context beside a prompt, settings"
    marks = (
        ("version", "kind", "data"), ("id", "timestamp", "payload"), ("executionId", "actions"),
        ("sessionId", "workspaceDirectory", "history"), ("conversation_id", "history"),
    )  # fmt: skip
    beside = tuple(
        f"{folder}/Kiro/User/globalStorage/kiro.kiroagent/*/{executions.FOLDER}/*"
        for folder in USER_DATA
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if command_line.is_database(sqlite_files.table_columns(file, head)):
            return 0.95
        return 0.95 if _reader_of(head) is not None else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            magic = stream.read(len(sqlite_files.MAGIC))
        if magic == sqlite_files.MAGIC:
            yield from command_line.read_database(file)
            return
        read = _reader_of(file.head())
        yield from (read or command_line.read_log)(file)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal; what names a session, or has its answers."""
        read = _reader_of(file.head())
        if read is editor.read_session:
            return editor.executions_of(file).values()
        find = None
        if read is command_line.read_log:
            find = command_line.settings_of
        elif read is editor.read_events:
            find = editor.about_events
        found = find(file) if find is not None else None
        return sqlite_files.companions(file) if found is None else (found,)

    def retells(self, file: LogFile) -> bool:
        """Whether it is the log of an execution that a session tells."""
        return _reader_of(file.head()) is editor.read_execution and editor.has_session(file)


def _reader_of(head: bytes) -> Read | None:
    """What reads a file that begins like this; None if it is not Kiro's, or a database."""
    objects, rest = head_objects(head)
    if any(map(command_line.is_line, objects[:4])):
        return command_line.read_log
    if any(map(editor.is_event, objects[:4])):
        return editor.read_events
    for value in (head_value(head), *objects[:1], head_value(rest)):
        if command_line.is_conversation(value):
            return command_line.read_saved
        if editor.is_session(value):
            return editor.read_session
        if editor.is_chat(value):
            return editor.read_chat
        if executions.is_execution(value):
            return editor.read_execution
        if command_line.is_settings(value) or editor.is_settings(value):
            return _read_settings
    return None


def _read_settings(file: LogFile) -> Iterator[Event]:
    del file
    yield Skipped(NO_MESSAGES)
