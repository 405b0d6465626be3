"""A log that has grown is read on from its mark, as if it had been read from its start."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import FakeClock
from tests.helpers.growing_logs import ClaudeCodeLog, CodexLog, PiLog
from treemem import FileReport, Memory
from treemem.importers import LogFile, by_name
from treemem.importers.streams import marks
from treemem.importers.streams.marks import GrowingImporter, Mark, ReadWholeError
from treemem.ingest import files, growth
from treemem.store.database import Database
from treemem.types import Message, Source

_FORMATS = {"claude-code": ClaudeCodeLog, "codex": CodexLog, "pi": PiLog}


@pytest.fixture(autouse=True)
def _marks_near_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_RECORDS_MIN", 2)
    monkeypatch.setattr(growth, "SIZE_BYTES_MIN", 0)
    monkeypatch.setattr(growth, "_GROWTH_MAX", 2.0)


def _importer(name: str) -> GrowingImporter:
    importer = by_name(name)
    assert isinstance(importer, GrowingImporter)
    return importer


def _file(data: bytes) -> LogFile:
    return LogFile("log.jsonl", data=data)


def _told(events: list[object]) -> list[object]:
    """Each message and skipped record, with its source, without what a later record can add."""
    source: Source | None = None
    told: list[object] = []
    for event in events:
        if isinstance(event, Source):
            source = replace(event, title=None, project=None)
        else:
            told.append((source if isinstance(event, Message) else None, event))
    return told


def _about(events: list[object]) -> tuple[str | None, str | None]:
    """The title and the project of the session; None if these events do not say it."""
    about = [(e.title, e.project) for e in events if isinstance(e, Source) and e.parent_id is None]
    return about[-1] if about else (None, None)


def _cuts(rng: random.Random, data: bytes) -> Iterator[int]:
    """The ends of some lines, and places inside of lines."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for end in rng.sample(ends, min(len(ends), 20)):
        yield end
        yield max(0, end - rng.randrange(1, 200))


@pytest.mark.parametrize("wildness", [0.0, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("name", _FORMATS)
def test_a_log_that_is_read_on_says_what_the_whole_log_says(name: str, wildness: float) -> None:
    importer, read_on, wholes = _importer(name), 0, 0
    for seed in range(10):
        rng = random.Random(seed)
        data = b"".join(_FORMATS[name](rng, wildness).lines(rng.randrange(10, 90)))
        whole = list(importer.read(_file(data)))
        for cut in _cuts(rng, data):
            first = list(importer.read_on(_file(data[:cut])))
            at = next((at for at, e in enumerate(first) if isinstance(e, Mark)), None)
            if at is None:
                continue
            mark = first[at]
            assert isinstance(mark, Mark)
            try:
                rest = list(importer.read_on(_file(data), mark, list(mark.keys)))
            except ReadWholeError:
                wholes += 1
                continue
            read_on += 1
            rest = [event for event in rest if not isinstance(event, Mark)]
            assert _told(whole) == _told([*first[:at], *rest]), (seed, cut)
            both = zip(_about(rest), _about(first), strict=True)
            assert tuple(new or old for new, old in both) == _about(whole), (seed, cut)
    assert read_on > 10, wholes
    assert wholes < read_on / 20 or wildness


# -- in the memory file ----------------------------------------------------------------

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

    def read(self, data: bytes, **options: bool) -> FileReport:
        self.log.write_bytes(data)
        return self.again(**options)

    def again(self, **options: bool) -> FileReport:
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


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Growing, Growing]]:
    """A memory that reads logs on, and one that always reads them from their start."""
    one = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    other = Growing(tmp_path / "whole", monkeypatch, is_read_on=False)
    with one.memory, other.memory:
        yield one, other


@pytest.mark.parametrize("wildness", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_a_log_read_on_leaves_the_memory_of_one_read_from_its_start(
    pair: tuple[Growing, Growing], name: str, wildness: float, seed: int
) -> None:
    rng = random.Random(seed)
    data = b"".join(_FORMATS[name](rng, wildness).lines(120))
    for cut in [*sorted(rng.sample(range(2_000, len(data)), 14)), len(data)]:
        reports = [memory.read(data[:cut]) for memory in pair]
        assert reports[0] == reports[1], cut
        assert pair[0].dump() == pair[1].dump(), cut
    assert pair[0].memory.diagnose().healthy
    assert wildness or pair[0].wholes <= 8 < pair[1].wholes


def _log(lines: int = 80) -> list[bytes]:
    return ClaudeCodeLog(random.Random(1), 0.0).lines(lines)


@pytest.fixture
def on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Growing]:
    """A memory that has read a log with a mark."""
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    with growing.memory:
        growing.read(b"".join(_log()[:70]))
        growing.wholes = 0
        yield growing


def _texts(growing: Growing) -> list[str]:
    (view,) = growing.memory.sources()
    return [message.text for message in growing.memory.messages(view.source.id)]


def _texts_in(lines: list[bytes]) -> list[str]:
    events = _importer("claude-code").read(_file(b"".join(lines)))
    return [event.text for event in events if isinstance(event, Message)]


def test_a_line_more_is_stored_without_reading_the_log_from_its_start(on: Growing) -> None:
    before = _texts(on)
    report = on.read(b"".join(_log()[:74]))
    assert report.added > 0
    assert len(_texts(on)) > len(before)
    assert on.wholes == 0


def test_a_log_that_has_not_changed_is_not_read(on: Growing) -> None:
    known = on.again(grown=False)
    assert (known.added, on.wholes) == (0, 0)
    assert known.known == len(_texts(on))


def test_a_log_that_was_edited_before_its_end_is_read_from_its_start(on: Growing) -> None:
    lines = _log()[:72]
    lines[3] = lines[3].replace(b'"content": "', b'"content": "edited ')
    lines[5] = lines[5].replace(b'"text": "', b'"text": "edited ')
    on.read(b"".join(lines), grown=False)
    assert on.wholes == 1
    assert any("edited" in text for text in _texts(on))


def test_a_log_that_was_cut_and_grew_again_is_read_from_its_start(on: Growing) -> None:
    on.read(b"".join(_log()[:40]))
    assert on.wholes == 1
    on.read(b"".join(_log()[:80]))
    assert _texts(on) == _texts_in(_log()[:80])
    assert on.memory.diagnose().healthy


def test_another_log_under_the_same_name_is_read_from_its_start(on: Growing) -> None:
    other = ClaudeCodeLog(random.Random(2), 0.0).lines(90)
    on.read(b"".join(other))
    assert on.wholes == 1


def test_another_policy_reads_the_log_from_its_start(on: Growing) -> None:
    on.memory.redactions.deny("never")
    on.read(b"".join(_log()[:72]))
    assert on.wholes == 1


def test_another_version_of_the_importer_reads_the_log_from_its_start(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(_importer("claude-code")), "version", 99)
    on.read(b"".join(_log()[:72]))
    assert on.wholes == 1


def test_a_scrub_forgets_all_marks(on: Growing) -> None:
    assert on.database.value("SELECT count(*) FROM log_mark") == 1
    on.log.write_bytes(b"".join(_log()[:72]))
    on.memory.redactions.deny("retry")
    assert on.memory.scrub().messages
    assert on.database.value("SELECT count(*) FROM log_mark") == 0
    assert on.database.value("SELECT count(*) FROM log_mark_key") == 0
    on.again()
    assert on.wholes == 1
    assert not any("retry" in text for text in _texts(on))


def test_a_crash_before_the_mark_is_stored_stores_nothing_twice(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(files.FileIngest, "_keep_mark", crash)
        on.log.write_bytes(b"".join(_log()[:75]))
        with pytest.raises(RuntimeError):
            on.again()
    on.read(b"".join(_log()[:80]))
    assert _texts(on) == _texts_in(_log()[:80])
    assert on.wholes == 0


def test_a_log_that_grows_while_it_is_read_is_read_to_its_end_the_next_time(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _log()
    read_on = growth._compared

    def grown(*arguments: object, **options: bool) -> object:
        hashes = read_on(*arguments, **options)  # type: ignore[arg-type]
        with on.log.open("ab") as stream:
            stream.write(b"".join(lines[72:78]))
        return hashes

    with monkeypatch.context() as patch:
        patch.setattr(growth, "_compared", grown)
        on.read(b"".join(lines[:72]))
    on.read(b"".join(lines[:80]))
    assert _texts(on) == _texts_in(lines[:80])


def test_the_mark_of_an_old_log_is_not_kept(on: Growing) -> None:
    old = FakeClock()() / 1_000 - 40 * 24 * 3600
    on.log.write_bytes(b"".join(_log()[:74]))
    os.utime(on.log, (old, old))
    on.again()
    assert on.database.value("SELECT count(*) FROM log_mark") == 0


def test_a_state_with_a_secret_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = b"ghp_" + b"a1B2c3D4e5" * 3 + b"f6G7h8"
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    with growing.memory:
        lines = [line.replace(b"/w/shop", b"/w/" + secret) for line in _log()[:70]]
        growing.read(b"".join(lines))
        assert growing.database.value("SELECT count(*) FROM log_mark") == 0
    assert not any(secret in path.read_bytes() for path in (tmp_path / "on").iterdir())


def test_blocks_in_between_are_compared_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_BLOCK_BYTES", 256)
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    lines = _log(140)
    with growing.memory:
        growing.read(b"".join(lines[:70]))
        data = bytearray(b"".join(lines[:70]))
        at = data.index(b'"content": "', 2_000) + 12
        data[at] ^= 1  # of the same length, in a block between
        growing.wholes = 0
        for count in range(71, 140):
            growing.read(bytes(data) + b"".join(lines[70:count]))
        assert growing.wholes >= 1


def test_a_copy_under_another_name_and_its_growth_store_nothing_twice(on: Growing) -> None:
    copy = on.log.with_name("0f0f0f0f-57a5-4f26-b12d-d022ee4e51b7.jsonl")
    copy.write_bytes(b"".join(_log()[:75]))
    on.memory.ingest_files([LogFile(str(copy), copy)])
    on.read(b"".join(_log()[:80]))
    copy.write_bytes(b"".join(_log()[:80]))
    on.memory.ingest_files([LogFile(str(copy), copy)])
    assert on.database.value("SELECT count(DISTINCT identity) FROM message") == len(
        _texts_in(_log()[:80])
    )
    for view in on.memory.sources():
        texts = [message.text for message in on.memory.messages(view.source.id)]
        assert texts == _texts_in(_log()[:80])


def test_a_log_that_was_deleted_and_comes_back_larger_is_read_on(on: Growing) -> None:
    on.log.unlink()
    on.read(b"".join(_log()[:80]), grown=False)
    assert _texts(on) == _texts_in(_log()[:80])
    assert on.wholes == 0
