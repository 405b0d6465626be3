"""Runs one contender of the ingest benchmark, and prints its figures as JSON.

    python -m benchmarks.contenders.ingest NAME LOG ROWS DATABASE

Every contender opens its file, stores durably (synchronous=FULL) and closes it; seconds are the
time from the one to the other, without the imports at the top of modules; so is the CPU time.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.data.logs import Writer
from treemem import importers
from treemem.importers import LogFile
from treemem.ingest.files import FileIngest, Options
from treemem.memory import Memory
from treemem.privacy.policy import Redaction
from treemem.queue import jobs
from treemem.store.database import Database, driver
from treemem.text.tokens import count_many, count_tokens
from treemem.types import Message, TreeShape
from treemem.worker.source_jobs import SourceWork

BATCH_ROWS = 1_000
# After the first ingest, so the last of them is the tenth.
AGAIN_TIMES = 9
LINES_MORE = 5
LAST_LINE_BYTES_MAX = 100_000
_TABLE = """
CREATE TABLE message (id TEXT PRIMARY KEY, external_id TEXT, role TEXT NOT NULL, author TEXT,
  sent_at TEXT, text TEXT NOT NULL, tokens INTEGER NOT NULL)
"""
_INSERT = """
INSERT INTO message VALUES (:id, :external_id, :role, :author, :sent_at, :text, :tokens)
"""
_INDEX = """
CREATE VIRTUAL TABLE message_fts USING fts5(text, content='message', tokenize='porter unicode61')
"""
_INDEX_INSERT = """
INSERT INTO message_fts (rowid, text)
SELECT rowid, text FROM message WHERE rowid > ? AND rowid <= ?
"""

Result = dict[str, Any]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def prepare(log: Path, rows: Path, _: Path) -> Result:
    """Writes the messages of the log as rows for the others, one JSON object a line."""
    count = tokens = text_bytes = 0
    with rows.open("wb") as stream:
        for row in _rows_of(log):
            stream.write(orjson.dumps(row) + b"\n")
            count += 1
            tokens += row["tokens"]
            text_bytes += len(row["text"].encode())
    return {"messages": count, "tokens": tokens, "text_bytes": text_bytes}


def _rows_of(log: Path) -> Iterator[dict[str, Any]]:
    file = LogFile(str(log), log)
    for event in importers.detect(file).read(file):
        if isinstance(event, Message):
            words = f"{event.external_id}\n{event.role}\n{event.text}".encode()
            yield {
                "id": hashlib.blake2b(words, digest_size=16).hexdigest(),
                "external_id": event.external_id, "role": event.role, "author": event.author,
                "sent_at": event.sent_at, "text": event.text, "tokens": count_tokens(event.text),
            }  # fmt: skip


# -- the peers -------------------------------------------------------------------------


def bare(_: Path, rows_path: Path, database: Path) -> Result:
    """Inserts rows from memory in transactions of 1,000: the time of SQLite itself."""
    rows = list(_read(rows_path))
    began = time.perf_counter()
    connection = _opened(database)
    for start in range(0, len(rows), BATCH_ROWS):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_INSERT, rows[start : start + BATCH_ROWS])
        connection.execute("COMMIT")
    connection.close()
    return {"seconds": time.perf_counter() - began}


def parts(_: Path, rows_path: Path, database: Path) -> Result:
    """Also reads the rows, counts their tokens and indexes their words in the simplest way."""
    began = time.perf_counter()
    connection = _opened(database)
    connection.execute(_INDEX)
    rows, start = _read(rows_path), 0
    while batch := list(itertools.islice(rows, BATCH_ROWS)):
        for row, tokens in zip(batch, count_many([row["text"] for row in batch]), strict=True):
            row["tokens"] = tokens
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_INSERT, batch)
        connection.execute(_INDEX_INSERT, (start, start + BATCH_ROWS))
        connection.execute("COMMIT")
        start += BATCH_ROWS
    connection.close()
    return {"seconds": time.perf_counter() - began}


def _read(rows: Path) -> Iterator[dict[str, Any]]:
    with rows.open("rb") as stream:
        yield from map(orjson.loads, stream)


def _opened(database: Path) -> Any:
    connection = driver.connect(str(database), isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(_TABLE)
    return connection


def sqlite_utils(_: Path, rows: Path, database: Path) -> Result:
    """Runs the command line: insert, then enable-fts. SQLite's default is FULL."""
    began = time.perf_counter()
    tool = [sys.executable, "-m", "sqlite_utils"]
    insert = ["insert", str(database), "message", str(rows), "--nl", "--pk", "id", "--silent"]
    subprocess.run([*tool, *insert], check=True, stdout=subprocess.DEVNULL)
    index = ["enable-fts", str(database), "message", "text"]
    subprocess.run([*tool, *index], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_bytes": harness.children_peak_bytes()}


# -- treemem ---------------------------------------------------------------------------


def sealed(log: Path, _: Path, database: Path) -> Result:
    """Stores, counts, indexes and seals; leaves the summaries in the queue."""
    began = time.perf_counter()
    store = Database(database)
    report = FileIngest(store, LogFile(str(log), log), now_ms, Options(Redaction.of(store))).run()
    work = SourceWork(store, now_ms, TreeShape(), lambda *_: None)
    while claims := jobs.claim(store, ["seal"], now_ms()):
        work.run(claims[0])
    leaves = int(store.value("SELECT count(*) FROM node"))
    store.close()
    seconds = time.perf_counter() - began
    assert not report.error, report.error
    return {"seconds": seconds, "messages": report.added, "nodes": leaves}


def ingest(log: Path, _: Path, database: Path) -> Result:
    """Does what a user gets: Memory.ingest, with extractive summaries on every node."""
    began = time.perf_counter()
    with Memory.open(database) as memory:
        report = memory.ingest(log).files[0]
    seconds = time.perf_counter() - began
    assert not report.error, report.error
    return {"seconds": seconds, "messages": report.added, "known": report.known}


def again(log: Path, _rows: Path, database: Path) -> Result:
    """Ingests the same file nine times more, and reads and hashes it for comparison."""
    times, hashed = [], []
    with Memory.open(database) as memory:
        for _ in range(AGAIN_TIMES):
            hashed.append(_hash_seconds(log))
            began = time.perf_counter()
            report = memory.ingest(log).files[0]
            times.append(time.perf_counter() - began)
            assert report.added == 0, f"{report.added} messages were stored twice"
    return {"seconds": times[-1], "hash_seconds": statistics.median(hashed), "all_seconds": times}


def line(log: Path, _rows: Path, database: Path) -> Result:
    """Stores one line more of the file, as a watcher does that has read it before."""
    size_bytes, times = log.stat().st_size, []
    with log.open("rb") as stream:
        stream.seek(-min(size_bytes, LAST_LINE_BYTES_MAX), os.SEEK_END)
        writer = Writer.after(orjson.loads(stream.read().splitlines()[-1]))
    try:
        with Memory.open(database) as memory:
            for _ in range(LINES_MORE):
                with log.open("ab") as stream:
                    stream.writelines(writer.lines(1))
                began = time.perf_counter()
                file = LogFile(str(log), log, grown=True)
                report = memory.ingest_files([file], growing=True).files[0]
                times.append(time.perf_counter() - began)
                assert report.added == 1, f"{report.added} messages were stored of one line"
    finally:
        os.truncate(log, size_bytes)
    return {"seconds": statistics.median(times), "all_seconds": times}


def _hash_seconds(path: Path) -> float:
    began = time.perf_counter()
    with path.open("rb") as stream:
        hashlib.file_digest(stream, "blake2b")
    return time.perf_counter() - began


CONTENDERS: dict[str, Callable[[Path, Path, Path], Result]] = {
    "prepare": prepare, "bare": bare, "parts": parts, "sqlite-utils": sqlite_utils,
    "sealed": sealed, "ingest": ingest, "again": again, "line": line,
}  # fmt: skip


def main() -> None:
    name, log, rows, database = sys.argv[1:]
    cpu_began = harness.cpu_seconds()
    figures = CONTENDERS[name](Path(log), Path(rows), Path(database))
    figures.setdefault("peak_bytes", harness.peak_bytes())
    files = [Path(database), *Path(database).parent.glob("*-wal")]
    figures |= {
        "written_bytes": harness.written_bytes(), "cpu_seconds": harness.cpu_seconds() - cpu_began,
        "file_bytes": sum(path.stat().st_size for path in files if path.exists()),
    }  # fmt: skip
    sys.stdout.write(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
