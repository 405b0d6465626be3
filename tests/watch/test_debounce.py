"""When a changed file is read: soon, not too often, and again after a fault."""

from __future__ import annotations

from pathlib import Path

from treemem.watch.debounce import Signature, Watching

LOG = Path("/logs/a.jsonl")
OTHER = Path("/logs/b.jsonl")


def state(size_bytes: int) -> Signature:
    return Signature(size_bytes, size_bytes, 1)


def watching() -> Watching:
    return Watching(quiet_seconds=1.0, patience_seconds=5.0, share_max=0.1)


def test_a_file_is_read_once_it_is_quiet() -> None:
    seen = watching()
    assert seen.next_due() is None
    seen.notice(LOG, state(10), now=0.0)
    assert seen.due(0.9) == []
    seen.notice(LOG, state(20), now=0.9)
    assert seen.due(1.5) == []
    assert seen.next_due() == 1.9
    assert seen.due(1.9) == [LOG]


def test_a_file_that_never_is_quiet_is_read_all_the_same() -> None:
    seen = watching()
    for tenth in range(60):
        seen.notice(LOG, state(tenth), now=tenth / 10)
    assert seen.due(4.9) == []
    assert seen.due(5.0) == [LOG]


def test_what_was_read_is_not_read_again_until_it_changes() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    seen.read(LOG, state(10), began=1.0, ended=1.0)
    seen.notice(LOG, state(10), now=2.0)
    assert seen.next_due() is None
    seen.notice(LOG, state(5), now=3.0)  # cut off, or another file in its place
    assert seen.due(4.0) == [LOG]


def test_what_changes_while_it_is_read_is_read_once_more() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    seen.notice(LOG, state(20), now=1.5)
    seen.read(LOG, state(10), began=1.0, ended=2.0)
    assert seen.next_due() is not None


def test_reading_takes_no_more_than_its_share_of_the_time() -> None:
    seen, now, spent, reads = watching(), 0.0, 0.0, 0
    while now < 1_000.0:
        now += 0.5
        seen.notice(LOG, state(int(now * 2)), now)
        for path in seen.due(now):
            seen.read(path, state(int(now * 2)), began=now, ended=now + 4.0)
            now += 4.0
            spent += 4.0
            reads += 1
    assert reads > 20
    assert spent / now <= 0.105


def test_a_slow_file_does_not_hold_up_another() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    seen.read(LOG, state(10), began=1.0, ended=11.0)
    seen.notice(LOG, state(20), now=12.0)
    seen.notice(OTHER, state(1), now=12.5)
    assert seen.due(13.5) == [OTHER]
    assert seen.due(101.0) == [LOG, OTHER]


def test_a_failure_is_tried_again_later_and_later() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    pauses, now = [], 1.0
    for _ in range(12):
        seen.read(LOG, state(10), began=now, ended=now, failed=True)
        due = seen.next_due()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses[:3] == [2.0, 4.0, 8.0]
    assert pauses[-1] == 300.0
    seen.read(LOG, state(10), began=now, ended=now)
    assert seen.next_due() is None


def test_what_reading_depends_on_has_it_read_again() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    seen.read(LOG, state(10), began=1.0, ended=1.0)
    seen.notice(LOG, state(10), now=2.0, force=True)
    assert seen.due(3.0) == [LOG]


def test_a_file_that_is_gone_is_forgotten() -> None:
    seen = watching()
    seen.notice(LOG, state(10), now=0.0)
    seen.notice(LOG, None, now=0.5)
    assert seen.due(9.0) == []
    assert not seen.knows(LOG)
    seen.read(LOG, state(10), began=0.2, ended=1.0)  # it went while it was read
    assert seen.next_due() is None
