"""A log that has grown is read on from its mark, as if it had been read from its start."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import FakeClock
from tests.helpers.growing_logs import ClaudeCodeLog, CodexLog, CopilotLog, GeminiLog, PiLog
from tests.helpers.growing_memory import (
    Growing,
    file_of,
    importer_of,
    log_lines,
    texts,
    texts_in,
)
from treemem.importers import LogFile
from treemem.importers.streams.marks import Mark, ReadWholeError
from treemem.ingest import files, growth
from treemem.types import Message, Source

_FORMATS = {
    "claude-code": ClaudeCodeLog, "codex": CodexLog, "copilot-cli": CopilotLog,
    "gemini-cli": GeminiLog, "pi": PiLog,
}  # fmt: skip


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


@pytest.mark.usefixtures("marks_near_the_end")
@pytest.mark.parametrize("wildness", [0.0, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("name", _FORMATS)
def test_a_log_that_is_read_on_says_what_the_whole_log_says(name: str, wildness: float) -> None:
    importer, read_on, wholes = importer_of(name), 0, 0
    for seed in range(6):
        rng = random.Random(seed)
        data = b"".join(_FORMATS[name](rng, wildness).lines(rng.randrange(10, 90)))
        whole = list(importer.read(file_of(data)))
        for cut in _cuts(rng, data):
            first = list(importer.read_on(file_of(data[:cut])))
            at = next((at for at, e in enumerate(first) if isinstance(e, Mark)), None)
            if at is None:
                continue
            mark = first[at]
            assert isinstance(mark, Mark)
            try:
                rest = list(importer.read_on(file_of(data), mark, list(mark.keys)))
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


@pytest.mark.parametrize("wildness", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_a_log_read_on_leaves_the_memory_of_one_read_from_its_start(
    pair: tuple[Growing, Growing], name: str, wildness: float, seed: int
) -> None:
    rng = random.Random(seed)
    data = b"".join(_FORMATS[name](rng, wildness).lines(120))
    same_marks = 0
    for cut in [*sorted(rng.sample(range(2_000, len(data)), 14)), len(data)]:
        reports = [memory.read(data[:cut]) for memory in pair]
        assert reports[0] == reports[1], cut
        assert pair[0].dump() == pair[1].dump(), cut
        on, whole = (memory.mark() for memory in pair)
        if on is not None and whole is not None and on[0] == whole[0]:
            same_marks += 1
            # Of a wild log more may be kept that makes it be read from its start.
            assert on[:-1] == whole[:-1], cut
            assert on[-1]["before"] == whole[-1]["before"], cut
            assert wildness == 0.2 or on == whole, cut
            assert pair[1].keys() <= pair[0].keys(), cut
    assert same_marks > 2
    assert pair[0].memory.diagnose().healthy
    assert wildness or pair[0].wholes <= 8 < pair[1].wholes


@pytest.mark.parametrize("name", _FORMATS)
def test_an_edit_and_a_cut_are_seen_in_every_format(
    pair: tuple[Growing, Growing], name: str
) -> None:
    lines = _FORMATS[name](random.Random(5), 0.0).lines(60)
    edited = b"".join(lines[:50]).replace(b"Monday", b"Sunday", 1)
    states = [b"".join(lines[:45]), edited, b"".join(lines[:30]), b"".join(lines[:45])]
    assert edited != b"".join(lines[:50])
    for number, data in enumerate(states, 1):
        reports = [memory.read(data) for memory in pair]
        assert reports[0] == reports[1]
        assert pair[0].dump() == pair[1].dump()
        # The last state only goes on from the one before.
        assert [memory.wholes for memory in pair] == [min(number, 3), number]


def test_a_line_more_is_stored_without_reading_the_log_from_its_start(on: Growing) -> None:
    before = texts(on)
    report = on.read(b"".join(log_lines()[:74]))
    assert report.added > 0
    assert len(texts(on)) > len(before)
    assert on.wholes == 0


def test_a_log_that_has_not_changed_is_not_read(on: Growing) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    os.utime(on.log)
    with on.patch() as patch:
        patch.setattr(files.FileIngest, "_read", fail)
        known = on.again(grown=False)
    assert (known.added, on.wholes) == (0, 0)
    assert known.known == len(texts(on))


def test_a_log_that_was_edited_before_its_end_is_read_from_its_start(on: Growing) -> None:
    lines = log_lines()[:72]
    lines[3] = lines[3].replace(b'"content": "', b'"content": "edited ')
    lines[5] = lines[5].replace(b'"text": "', b'"text": "edited ')
    on.read(b"".join(lines), grown=False)
    assert on.wholes == 1
    assert any("edited" in text for text in texts(on))


def test_a_log_that_was_cut_and_grew_again_is_read_from_its_start(on: Growing) -> None:
    on.read(b"".join(log_lines()[:40]))
    assert on.wholes == 1
    on.read(b"".join(log_lines()[:80]))
    assert texts(on) == texts_in(log_lines()[:80])
    assert on.memory.diagnose().healthy


def test_another_log_under_the_same_name_is_read_from_its_start(on: Growing) -> None:
    other = ClaudeCodeLog(random.Random(2), 0.0).lines(90)
    on.read(b"".join(other))
    assert on.wholes == 1


def test_another_policy_reads_the_log_from_its_start(on: Growing) -> None:
    on.memory.redactions.deny("never")
    on.read(b"".join(log_lines()[:72]))
    assert on.wholes == 1


def test_another_version_of_the_importer_reads_the_log_from_its_start(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(importer_of("claude-code")), "version", 99)
    on.read(b"".join(log_lines()[:72]))
    assert on.wholes == 1


def test_a_scrub_forgets_all_marks(on: Growing) -> None:
    assert on.database.value("SELECT count(*) FROM log_mark") == 1
    on.log.write_bytes(b"".join(log_lines()[:72]))
    on.memory.redactions.deny("retry")
    assert on.memory.scrub().messages
    assert on.database.value("SELECT count(*) FROM log_mark") == 0
    assert on.database.value("SELECT count(*) FROM log_mark_key") == 0
    on.again()
    assert on.wholes == 1
    assert not any("retry" in text for text in texts(on))


def test_a_crash_before_the_mark_is_stored_stores_nothing_twice(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(files.FileIngest, "_keep_mark", crash)
        on.log.write_bytes(b"".join(log_lines()[:75]))
        with pytest.raises(RuntimeError):
            on.again()
    on.read(b"".join(log_lines()[:80]))
    assert texts(on) == texts_in(log_lines()[:80])
    assert on.wholes == 0


def test_a_log_that_grows_while_it_is_read_is_read_to_its_end_the_next_time(
    on: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = log_lines()
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
    assert texts(on) == texts_in(lines[:80])


def test_the_mark_of_an_old_log_is_not_kept(on: Growing) -> None:
    old = FakeClock()() / 1_000 - 40 * 24 * 3600
    on.log.write_bytes(b"".join(log_lines()[:74]))
    os.utime(on.log, (old, old))
    on.again()
    assert on.database.value("SELECT count(*) FROM log_mark") == 0


@pytest.mark.usefixtures("marks_near_the_end")
def test_a_state_with_a_secret_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = b"ghp_" + b"a1B2c3D4e5" * 3 + b"f6G7h8"
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    with growing.memory:
        lines = [line.replace(b"/w/shop", b"/w/" + secret) for line in log_lines()[:70]]
        growing.read(b"".join(lines))
        assert growing.database.value("SELECT count(*) FROM log_mark") == 0
    assert not any(secret in path.read_bytes() for path in (tmp_path / "on").iterdir())


@pytest.mark.usefixtures("marks_near_the_end")
def test_blocks_in_between_are_compared_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_BLOCK_BYTES", 300)
    growing = Growing(tmp_path / "on", monkeypatch, is_read_on=True)
    lines = log_lines(140)
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
    copy.write_bytes(b"".join(log_lines()[:75]))
    on.memory.ingest_files([LogFile(str(copy), copy)])
    on.read(b"".join(log_lines()[:80]))
    copy.write_bytes(b"".join(log_lines()[:80]))
    on.memory.ingest_files([LogFile(str(copy), copy)])
    assert on.database.value("SELECT count(DISTINCT identity) FROM message") == len(
        texts_in(log_lines()[:80])
    )
    for view in on.memory.sources():
        said = [message.text for message in on.memory.messages(view.source.id)]
        assert said == texts_in(log_lines()[:80])


def test_a_log_that_was_deleted_and_comes_back_larger_is_read_on(on: Growing) -> None:
    on.log.unlink()
    on.read(b"".join(log_lines()[:80]), grown=False)
    assert texts(on) == texts_in(log_lines()[:80])
    assert on.wholes == 0
