"""Each guard of a log that is read on from its mark: what makes it read from its start, and what
keeps a mark from being stored."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.growing_logs import ClaudeCodeLog, CopilotLog
from tests.helpers.growing_memory import NAME, Growing, log_lines, texts, texts_in
from treemem.importers import LogFile
from treemem.importers.streams import marks
from treemem.ingest import files, growth
from treemem.store.log_files import MarkRow
from treemem.summarize.prompts import RETELL_SYSTEM


def _edited(lines: list[bytes], after: int) -> bytes:
    """The log with another letter in a message, of the same length, after an offset."""
    data = bytearray(b"".join(lines))
    data[data.index(b'"text": "', after) + len(b'"text": "')] ^= 1
    return bytes(data)


def _marks(growing: Growing) -> int:
    return int(growing.database.value("SELECT count(*) FROM log_mark"))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Request it before `on`."""
    monkeypatch.setattr(growth, "_BLOCK_BYTES", 300)


@pytest.mark.parametrize("grown", [True, False])
def test_an_edit_of_the_same_length_is_seen_when_the_log_has_grown(
    on: Growing, grown: bool
) -> None:
    data = _edited(log_lines()[:72], 0)
    on.read(data, grown=grown)
    assert on.wholes == 1
    assert texts(on) == texts_in([data])


def test_a_log_that_was_cut_between_two_blocks_is_read_from_its_start(
    small_blocks: None, on: Growing
) -> None:
    data = b"".join(log_lines()[:70])
    on.read(data[: len(data) // 300 * 300])
    assert on.wholes == 1


def test_all_blocks_are_compared_or_the_first_the_last_and_others_each_time(
    small_blocks: None, on: Growing
) -> None:
    compared: list[int] = []
    hash_in = growth._hash_in

    def noted(row: MarkRow, number: int) -> bytes:
        compared.append(number)
        return hash_in(row, number)

    def blocks(count: int, *, grown: bool) -> list[int]:
        compared.clear()
        on.read(b"".join(log_lines()[:count]), grown=grown)
        return compared[:]

    last = len(b"".join(log_lines()[:70])) // 300
    with on.patch() as patch:
        patch.setattr(growth, "_hash_in", noted)
        assert blocks(71, grown=False) == list(range(last + 1))
        samples = []
        for count in (72, 73):
            last = len(b"".join(log_lines()[: count - 1])) // 300
            first, *others, whole, rest = blocks(count, grown=True)
            assert (first, whole, rest) == (0, last - 1, last)
            assert len(set(others)) == 6
            samples.append(others)
    assert samples[0] != samples[1]
    assert on.wholes == 0


def test_a_log_read_in_a_named_format_is_not_read_on_in_another(on: Growing) -> None:
    on.log.write_bytes(b"".join(log_lines()[:72]))
    (report,) = on.memory.ingest_files([LogFile(str(on.log), on.log)], format_name="codex").files
    assert report.format == "codex"
    assert "looks like claude-code" in str(report.error)


@pytest.mark.parametrize("damage", ["state = '{}'", "format = 'gone'"])
def test_a_mark_that_says_nothing_is_not_used(on: Growing, damage: str) -> None:
    on.database.execute(f"UPDATE log_mark SET {damage}")
    on.read(b"".join(log_lines()[:72]))
    assert on.wholes == 1
    assert texts(on) == texts_in(log_lines()[:72])


def test_attachments_are_written_from_the_start_of_the_log(on: Growing, tmp_path: Path) -> None:
    on.read(b"".join(log_lines()[:72]), keep_blobs=tmp_path / "blobs")
    assert on.wholes == 1


def test_no_mark_is_stored_behind_what_was_hashed(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, compare = log_lines(110), growth._compared

    def grown(*arguments: object, **options: bool) -> object:
        hashes = compare(*arguments, **options)  # type: ignore[arg-type]
        with on.log.open("ab") as stream:
            stream.write(b"".join(lines[72:]))
        return hashes

    with on.patch() as patch:
        patch.setattr(growth, "_compared", grown)
        on.read(b"".join(lines[:72]))
    edited = _edited(lines, len(b"".join(lines[:72])))
    on.read(edited)
    assert texts(on) == texts_in([edited])


def test_a_log_of_many_sources_has_no_mark(on: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_THINGS_MAX", 0)
    on.read(_edited(log_lines()[:72], 0))
    assert _marks(on) == 0


def test_a_small_log_has_no_mark(on: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(log_lines()[:72])
    monkeypatch.setattr(growth, "SIZE_BYTES_MIN", len(data) + 1)
    on.read(data)
    assert _marks(on) == 0
    monkeypatch.setattr(growth, "SIZE_BYTES_MIN", len(data))
    on.read(_edited(log_lines()[:72], 0))
    assert _marks(on) == 1


@pytest.mark.parametrize(
    "stored", [gzip.compress, lambda data: data.decode().encode("utf-16")], ids=["gzip", "utf-16"]
)
def test_bytes_that_are_not_read_as_they_are_stored_have_no_mark(
    on: Growing, stored: Callable[[bytes], bytes]
) -> None:
    on.read(stored(b"".join(log_lines()[:72])))
    assert _marks(on) == 0
    assert texts(on) == texts_in(log_lines()[:72])


def test_the_marks_of_other_old_logs_are_forgotten(on: Growing) -> None:
    on.database.execute("UPDATE log_mark SET modified_ms = 0")
    other = on.log.with_name("0f0f0f0f-57a5-4f26-b12d-d022ee4e51b7.jsonl")
    other.write_bytes(b"".join(ClaudeCodeLog(random.Random(3), 0.0).lines(50)))
    on.memory.ingest_files([LogFile(str(other), other)])
    assert [path for (path,) in on.database.rows("SELECT path FROM log_mark")] == [str(other)]


def test_a_log_that_has_grown_much_is_hashed_as_a_whole_and_read_on(on: Growing) -> None:
    lines = log_lines(200)
    sizes = [len(b"".join(lines[:count])) for count in (70, 110, 170)]
    assert sizes[1] < sizes[0] * 1.9 < sizes[0] * 2.1 < sizes[2]
    wholes = []
    for count in (110, 170, 180):
        on.read(b"".join(lines[:count]))
        wholes.append(on.wholes)
    assert wholes == [0, 1, 1]
    assert texts(on) == texts_in(lines[:180])


def test_a_log_that_was_renamed_keeps_its_sources_as_it_grows(on: Growing) -> None:
    (before,) = on.memory.sources()
    on.log = on.log.rename(on.log.with_name("0f0f0f0f-57a5-4f26-b12d-d022ee4e51b7.jsonl"))
    on.read(b"".join(log_lines()[:72]), grown=False)
    assert on.wholes == 1
    on.read(b"".join(log_lines()[:75]))
    assert on.wholes == 1
    # This one belongs to a record before the mark, so the log is read from its start.
    again = json.loads(log_lines()[3]) | {"message": {"role": "user", "content": "once more"}}
    on.read(b"".join([*log_lines()[:75], json.dumps(again).encode() + b"\n"]))
    assert on.wholes == 2
    assert [view.source.id for view in on.memory.sources()] == [before.source.id]
    paths = on.database.rows("SELECT path, place FROM log_file")
    assert [path for path, _ in paths] == [str(on.log)]
    assert [Path(place).name for _, place in paths] == [NAME]


def test_a_path_that_is_not_text_is_read_from_its_start(on: Growing) -> None:
    path = on.log.with_name("strange\udcff.jsonl")
    for count in (60, 65):
        path.write_bytes(b"".join(ClaudeCodeLog(random.Random(3), 0.0).lines(65)[:count]))
        (report,) = on.memory.ingest_files([LogFile("strange.jsonl", path)]).files
        assert report.error is None
        assert report.added
    assert _marks(on) == 1


@pytest.mark.usefixtures("marks_near_the_end")
def test_calls_of_treemem_itself_are_skipped_behind_the_mark_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    row = json.loads(next(line for line in log_lines() if b'"content": "' in line))
    row["message"]["content"] = RETELL_SYSTEM
    lines = [json.dumps(row | {"uuid": "first", "parentUuid": None}).encode() + b"\n", *log_lines()]
    with growing.memory:
        assert growing.read(b"".join(lines[:71])).added == 0
        growing.wholes = 0
        report = growing.read(b"".join(lines[:73]))
        assert (report.added, growing.wholes) == (0, 0)
        assert report.skipped[files.OWN_CALL] > 30


@pytest.mark.parametrize(
    ("records", "size_bytes", "is_enough"),
    [(50, 0, True), (49, 65_535, False), (5, 65_536, True), (4, 10_000_000, False)],
)
def test_a_mark_has_enough_behind_it(
    monkeypatch: pytest.MonkeyPatch, records: int, size_bytes: int, is_enough: bool
) -> None:
    monkeypatch.setattr(marks, "_RECORDS_MIN", 50)
    assert marks.is_far_enough(records, size_bytes) == is_enough


def test_what_is_missing_is_not_looked_for_in_a_log_that_is_read_on(
    marks_near_the_end: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    lines = CopilotLog(random.Random(1), 0.0).lines(40)

    def fail(*_: object) -> None:
        raise AssertionError

    with growing.memory:
        growing.read(b"".join(lines[:30]))
        monkeypatch.setattr(files.FileIngest, "_retire_missing", fail)
        assert growing.read(b"".join(lines)).added
