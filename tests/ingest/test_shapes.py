"""The work for a log grows with its length, whatever its shape; benchmarks/scale/shapes.py has the
times."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.helpers.logs import prose
from treemem import Memory, Message
from treemem.ingest.files import Options, ingest_all
from treemem.ingest.walk import find_files
from treemem.privacy.policy import Redaction
from treemem.store import log_files
from treemem.store.database import Database
from treemem.text import tokens

FILES = 40


def tiny(number: int) -> tuple[str, bytes]:
    """The name and the content of a log of one message; each has another length."""
    name = f"{number:08d}-57a5-4f26-b12d-d022ee4e51b7"
    content = {"role": "user", "content": f"Crate {number} is open{'.' * (number + 300)}"}
    record = {"type": "user", "sessionId": name, "uuid": f"u{number}", "message": content}
    return f"{name}.jsonl", orjson.dumps(record) + b"\n"


def as_folder(place: Path, numbers: range) -> Path:
    place.mkdir()
    for name, content in map(tiny, numbers):
        (place / name).write_bytes(content)
    return place


def as_archive(place: Path, numbers: range) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, content in map(tiny, numbers):
            archive.writestr(name, content)
    return place


@pytest.mark.parametrize("store", [as_folder, as_archive])
def test_a_file_among_many_takes_no_more_statements(
    database: Database, tmp_path: Path, store: Callable[[Path, range], Path]
) -> None:
    said: list[str] = []
    database._connection.set_trace_callback(said.append)
    options = Options(Redaction.of(database))
    counts = []
    for number in range(3):
        numbers = range(number * FILES, (number + 1) * FILES)
        before = len(said)
        path = store(tmp_path / f"logs-{number}.zip", numbers)
        report = ingest_all(database, find_files([path]), lambda: 0, lambda _: None, options)
        assert report.added == FILES
        counts.append(len(said) - before)
    assert counts[2] <= 1.1 * counts[1]


def test_the_sizes_of_starts_are_found_without_a_look_at_each_file(database: Database) -> None:
    for number in range(200):
        row = log_files.LogFileRow(f"c{number}", "f", f"p{number}", "p", 900, "s", number % 7)
        log_files.put(database, row, [])
    assert log_files.start_sizes(database) == list(range(7))
    plan = [row[3] for row in database.rows(f"EXPLAIN QUERY PLAN {log_files._START_SIZES}")]
    assert not any(step.startswith("SCAN log_file") for step in plan)
    found = log_files.with_starts(database, "f", [(3, "s"), (4, "other")])
    assert {row.start_bytes for row in found} == {3}


def test_a_long_message_is_cut_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    text = prose(1, 4_000)
    reached: list[int] = []
    reach = tokens._reach

    def counted(text: str, start: int, room: int) -> int:
        end = reach(text, start, room)
        reached.append(end - start)
        return end

    monkeypatch.setattr(tokens, "_reach", counted)
    memory.append("long", [Message(text=text)])
    memory.work(max_calls=0)
    assert len(text) <= sum(reached) < 1.5 * len(text)
