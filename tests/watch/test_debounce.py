"""A changed file is read soon, not too often, and again after a failure."""

from __future__ import annotations

from pathlib import Path

from treemem.watch.debounce import Signature, WatchedFiles

LOG = Path("/logs/a.jsonl")
OTHER = Path("/logs/b.jsonl")


def state(size_bytes: int) -> Signature:
    return Signature(size_bytes, size_bytes, 1)


def watched() -> WatchedFiles:
    return WatchedFiles(quiet_seconds=1.0, patience_seconds=5.0, share_max=0.1)


def test_a_file_is_read_once_it_is_quiet() -> None:
    files = watched()
    assert files.next_due() is None
    files.notice(LOG, state(10), now=0.0)
    assert files.due(0.9) == []
    files.notice(LOG, state(20), now=0.9)
    assert files.due(1.5) == []
    assert files.next_due() == 1.9
    assert files.due(1.9) == [LOG]


def test_a_file_that_keeps_changing_is_read_all_the_same() -> None:
    files = watched()
    for tenth in range(60):
        files.notice(LOG, state(tenth), now=tenth / 10)
    assert files.due(4.9) == []
    assert files.due(5.0) == [LOG]


def test_a_file_is_not_read_again_until_it_changes() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    files.read(LOG, state(10), began=1.0, ended=1.0)
    files.notice(LOG, state(10), now=2.0)
    assert files.next_due() is None
    files.notice(LOG, state(5), now=3.0)  # cut off, or another file in its place
    assert files.due(4.0) == [LOG]


def test_a_file_that_changes_while_it_is_read_is_read_once_more() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    files.notice(LOG, state(20), now=1.5)
    files.read(LOG, state(10), began=1.0, ended=2.0)
    assert files.next_due() is not None


def test_reading_takes_at_most_its_share_of_the_time() -> None:
    files, now, spent, reads = watched(), 0.0, 0.0, 0
    while now < 1_000.0:
        now += 0.5
        files.notice(LOG, state(int(now * 2)), now)
        for path in files.due(now):
            files.read(path, state(int(now * 2)), began=now, ended=now + 4.0)
            now += 4.0
            spent += 4.0
            reads += 1
    assert reads > 20
    assert spent / now <= 0.105


def test_a_slow_file_does_not_delay_another() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    files.read(LOG, state(10), began=1.0, ended=11.0)
    files.notice(LOG, state(20), now=12.0)
    files.notice(OTHER, state(1), now=12.5)
    assert files.due(13.5) == [OTHER]
    assert files.due(101.0) == [LOG, OTHER]


def test_a_failed_reading_is_retried_after_longer_and_longer_pauses() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    pauses, now = [], 1.0
    for _ in range(12):
        files.read(LOG, state(10), began=now, ended=now, failed=True)
        due = files.next_due()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses[:3] == [2.0, 4.0, 8.0]
    assert pauses[-1] == 300.0
    files.read(LOG, state(10), began=now, ended=now)
    assert files.next_due() is None


def test_a_file_is_read_again_when_a_file_it_depends_on_changes() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    files.read(LOG, state(10), began=1.0, ended=1.0)
    files.notice(LOG, state(10), now=2.0, force=True)
    assert files.due(3.0) == [LOG]


def test_a_file_that_is_gone_is_forgotten() -> None:
    files = watched()
    files.notice(LOG, state(10), now=0.0)
    files.notice(LOG, None, now=0.5)
    assert files.due(9.0) == []
    assert not files.knows(LOG)
    files.read(LOG, state(10), began=0.2, ended=1.0)  # it went while it was read
    assert files.next_due() is None


def test_what_was_there_before_the_watch_is_read_after_what_changes() -> None:
    files = WatchedFiles()
    for number, name in enumerate("ba"):
        files.notice(Path(name), Signature(1, number, 1), number / 10, is_old=True)
    files.notice(Path("c"), Signature(1, 1, 1), 5.0)
    assert files.due(9.0) == [Path("c"), Path("b"), Path("a")]
    files.notice(Path("a"), Signature(2, 2, 1), 9.0)
    assert files.due(19.0) == [Path("a"), Path("c"), Path("b")]
    assert files.has_old()
    files.read(Path("b"), Signature(1, 0, 1), 20.0, 21.0)
    assert not files.has_old()
