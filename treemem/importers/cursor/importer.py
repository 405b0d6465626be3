"""Reads Cursor's conversations: state.vscdb, store.db, transcripts, and exported Markdown.

A conversation is a source. If it is in a store and in a transcript, these are separate sources, and
the transcript is read only if the user names it.

Tested in tests/importers/test_cursor.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.records import read_records
from treemem.importers.common.sniffing import head_objects
from treemem.importers.common.source_ids import file_key, is_uuid, printable
from treemem.importers.cursor import agent, editor
from treemem.importers.cursor.export import is_export, read_export
from treemem.importers.cursor.speech import Speech, workspace_in
from treemem.patterns import lazy_regex
from treemem.types import Source

NOT_AN_OBJECT = "no message: not an object"

_OWN_KEYS = frozenset({"role", "message"})
_CLAUDE_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "requestId"})
_LOOKED_AT = 8
_PROJECT = lazy_regex(r"[/\\]projects[/\\]([^/\\]+)[/\\]agent-transcripts[/\\]")
_SUBAGENT = lazy_regex(r"(?:^|[/!\\])([^/!\\]+)[/\\]subagents[/\\][^/\\]+\Z")


class Cursor(Importer):
    """Imports Cursor's stores, transcripts and exports."""

    name = "cursor"
    version = 3
    description = "Cursor conversations (state.vscdb, store.db, transcripts, exported Markdown)"
    kept = "turns, thinking, tool calls and results, rewound turns, sub-agents, summaries"
    dropped = "usage, model names, code chunks and diffs beside a message, checkpoints"
    marks = (("cursorDiskKV", "ItemTable"), ("blobs", "meta"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        columns = sqlite_files.table_columns(file, head)
        if columns:
            is_store = editor.is_store(columns) or agent.is_store(columns)
            return 0.9 if is_store else 0.0
        if is_export(head):
            return 0.95
        objects, _ = head_objects(head)
        turns = [value for value in objects if _is_turn(value)]
        return 0.85 if turns and 2 * len(turns) >= len(objects) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            start = stream.read(len(sqlite_files.MAGIC))
        if start == sqlite_files.MAGIC:
            with sqlite_files.open_tables(file) as tables:
                is_editor = editor.is_store(tables.columns())
            yield from editor.read(file) if is_editor else agent.read(file)
        elif is_export(file.head()):
            yield from read_export(file, self.name)
        else:
            yield from _transcript(file)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        return sqlite_files.companions(file)


def _transcript(file: LogFile) -> Iterator[Event]:
    """Reads a transcript in JSON Lines: one message per line, without ids and times."""
    match = _SUBAGENT.search(file.place or "")
    parent = match.group(1) if match and is_uuid(match.group(1)) else None
    yield Source(
        _transcript_id(file.stem) if is_uuid(file.stem) else f"{Cursor.name}/{file_key(file)}",
        Cursor.name,
        origin=file.label,
        parent_id=_transcript_id(parent) if parent else None,
        project=_workspace(file),
    )
    speech = Speech()
    with file.open() as stream:
        for item in read_records(stream):
            if isinstance(item, Skipped):
                yield item
            elif not isinstance(item.value, dict):
                yield Skipped(NOT_AN_OBJECT, item.line)
            elif "role" not in item.value:
                kind = as_text(item.value.get("type")) == "turn_ended"
                yield Skipped(
                    "no message: turn_ended" if kind else "no message: no role", item.line
                )
            else:
                blocks = as_dict(item.value.get("message")).get("content")
                yield speech.message(item.value, blocks)


def _workspace(file: LogFile) -> str | None:
    """The workspace in the first message, else the name of its folder, a shortened path."""
    for value in head_objects(file.head())[0][:_LOOKED_AT]:
        message = as_dict(as_dict(value).get("message"))
        if (workspace := workspace_in(message.get("content"))) is not None:
            return workspace
    match = _PROJECT.search(file.place or "")
    return match[1] if match else None


def _transcript_id(session_id: str) -> str:
    """The source id of a transcript. A store may split the same session into other messages."""
    return f"{Cursor.name}/{printable(session_id)}/transcript"


def _is_turn(value: object) -> bool:
    """Whether a JSON value can only be a turn of a transcript: a role, and a message with content,
    but none of the keys of Claude Code's records."""
    turn = as_dict(value)
    message = as_dict(turn.get("message"))
    is_own = turn.keys() >= _OWN_KEYS and not _CLAUDE_KEYS & turn.keys()
    return is_own and turn.get("role") in ("user", "assistant") and "content" in message
