"""A memory that reads a log as it grows, and what the log says."""

from __future__ import annotations

import json
import random
from array import array
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers.growing_logs import ClaudeCodeLog
from treemem import FileReport, Memory
from treemem.importers import LogFile, by_name
from treemem.importers.streams.marks import GrowingImporter
from treemem.ingest import files, growth
from treemem.store import log_files
from treemem.store.database import Database
from treemem.types import Message

_DUMP = (
    "SELECT id, identity, role, author, kind, sent_at, text, origin, extras FROM message"
    " ORDER BY id",
    "SELECT s.id, sm.position, m.id, sm.state, l.id, sm.open_from FROM source_message sm"
    " LEFT JOIN log_session l ON l.seq = sm.session_seq"
    " JOIN source s ON s.seq = sm.source_seq JOIN message m ON m.seq = sm.message_seq"
    " ORDER BY s.id, sm.position",
    "SELECT id, format, title, origin, parent_id, project FROM source ORDER BY id",
    "SELECT s.id, e.identity FROM source_end e JOIN source s ON s.seq = e.source_seq ORDER BY 1, 2",
    "SELECT identity, title FROM awaited_title ORDER BY 1",
    "SELECT id, level FROM node ORDER BY id",
)
NAME = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl"


class Growing:
    """A memory that reads a log in several states. wholes: how often it was read from its start."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_read_on: bool) -> None:
        folder.mkdir(exist_ok=True)
        self.log = folder.parent / NAME
        self.database = Database(folder / "memory.sqlite3")
        self.memory = Memory(self.database, FakeClock())
        self.wholes = 0
        self._patch, self._is_read_on = monkeypatch, is_read_on

    def patch(self) -> AbstractContextManager[pytest.MonkeyPatch]:
        return self._patch.context()

    def read(self, data: bytes, **options: Any) -> FileReport:
        self.log.write_bytes(data)
        return self.again(**options)

    def again(self, **options: Any) -> FileReport:
        read_whole = files._digest_of

        def counted(*arguments: object) -> str:
            self.wholes += 1
            return read_whole(*arguments)  # type: ignore[arg-type]

        with self._patch.context() as patch:
            patch.setattr(files, "_digest_of", counted)
            if not self._is_read_on:
                patch.setattr(growth, "known_log", lambda *_, **__: None)
            (report,) = self.memory.ingest_files(
                [LogFile(str(self.log), self.log, grown=options.pop("grown", True))],
                growing=options.pop("growing", True),
                **options,
            ).files
        assert report.error is None
        assert report.records == report.added + report.known + sum(report.skipped.values())
        return report

    def dump(self) -> list[object]:
        return [self.database.rows(sql) for sql in _DUMP]

    def mark(self) -> tuple[Any, ...] | None:
        """Where the mark is, and what is known of the records before it."""
        row = self.database.row("SELECT offset, line, format, reading, place, state FROM log_mark")
        return None if row is None else (*row[:-1], json.loads(row[-1]))

    def keys(self) -> Counter[int]:
        keys = array("q")
        for _, data in log_files.mark_keys(self.database, str(self.log.resolve())):
            keys.frombytes(data)
        return Counter(keys)


def importer_of(name: str) -> GrowingImporter:
    importer = by_name(name)
    assert isinstance(importer, GrowingImporter)
    return importer


def file_of(data: bytes) -> LogFile:
    return LogFile("log.jsonl", data=data)


def log_lines(lines: int = 80) -> list[bytes]:
    return ClaudeCodeLog(random.Random(1), 0.0).lines(lines)


def texts(growing: Growing) -> list[str]:
    (view,) = growing.memory.sources()
    return [message.text for message in growing.memory.messages(view.source.id)]


def texts_in(lines: list[bytes]) -> list[str]:
    events = importer_of("claude-code").read(file_of(b"".join(lines)))
    return [event.text for event in events if isinstance(event, Message)]
