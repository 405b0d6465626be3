"""Views of leaves are the same and in order whoever makes them, and a process that fails costs
nothing but its time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.data.logs import Writer
from treemem import Memory, Message, packages
from treemem.ingest import files
from treemem.ledger.matching import is_retraction, words_of
from treemem.proposals import View
from treemem.store.database import Database
from treemem.text import cache
from treemem.text.quality import is_unclear, totals
from treemem.worker import leaf_pool, leaf_results, source_jobs
from treemem.worker.leaf_pool import LeafPool, LeafRun
from treemem.worker.leaf_results import LeafResult

LOG_BYTES = 350_000


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of a log with some thirty leaves."""
    folder = tmp_path_factory.mktemp("log")
    writer = Writer(seed=5)
    log = folder / f"{writer.session}.jsonl"
    writer.append_to(log, LOG_BYTES)
    path = folder / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.ingest(log)
    return path


@pytest.fixture
def database(stored: Path) -> Iterator[Database]:
    opened = Database(stored)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf_pool, "START_AFTER_LEAVES", 1)


def leaves(database: Database) -> list[int]:
    return [seq for (seq,) in database.rows("SELECT seq FROM node WHERE level = 0 ORDER BY seq")]


def made_by(database: Database, pool: LeafPool) -> list[tuple[int, LeafResult]]:
    return list(pool.begin(database, leaves(database)).results())


def alone(database: Database) -> list[tuple[int, LeafResult]]:
    return [(seq, leaf_results.make(database, seq)) for seq in leaves(database)]


def children(pool: LeafPool) -> list[int]:
    running = [process._process for process in pool._processes or ()]
    return [process.pid for process in running if process is not None]


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_views_are_the_same_in_any_number_of_processes(database: Database, processes: int) -> None:
    assert len(leaves(database)) > 5 * leaf_pool.LEAVES_AT_ONCE
    expected = alone(database)
    with LeafPool(processes) as pool:
        assert made_by(database, pool) == expected
        assert len(children(pool)) == processes
        assert made_by(database, pool) == expected


def test_after_an_upgrade_no_process_is_started_and_that_is_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_LOADED_NS", 0)
    with LeafPool(2) as pool:
        assert made_by(database, pool) == alone(database)
        assert children(pool) == []
    assert ["upgraded while this process runs" in said for said in database.notices] == [True]


def test_a_process_of_another_version_costs_nothing_but_its_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = alone(database)
    with LeafPool(1) as pool:
        monkeypatch.setattr(leaf_results, "result_from", lambda plain: plain["newer field"])
        assert made_by(database, pool) == expected
        assert children(pool) == []


def test_a_process_makes_a_share(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    here = []

    def make(_database: Database, seq: int) -> LeafResult:
        here.append(seq)
        time.sleep(0.05)  # so that the process is never behind
        return LeafResult(View((), 0), {})

    monkeypatch.setattr(leaf_results, "make", make)
    with LeafPool(1) as pool:
        list(pool.begin(database, leaves(database) * 3).results())
    assert 0 < len(here) < 3 * len(leaves(database))


def test_a_process_gives_what_the_ledger_will_ask_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, dict[tuple[Any, ...], Any]] = {}
    monkeypatch.setattr(cache, "give", lambda known: [
        given.setdefault(name, {}).update(results) for name, results in known.items()
    ])  # fmt: skip
    with LeafPool(1) as pool:
        made_by(database, pool)
    said = [(text,) for (text,) in database.rows("SELECT text FROM stated")]
    assert given["words_of"].keys() & said
    for name, function in (
        ("totals", totals),
        ("is_unclear", is_unclear),
        ("words_of", words_of),
        ("is_retraction", is_retraction),
    ):
        assert {one: function(*one) for one in given[name]} == given[name]


def test_what_is_begun_is_made_while_nobody_asks(database: Database) -> None:
    with LeafPool(1) as pool:
        run = pool.begin(database, leaves(database)[:8])
        assert list(run.results()) == alone(database)[:8]


def test_what_a_killed_process_held_is_made_here(database: Database) -> None:
    with LeafPool(2) as pool:
        views = pool.begin(database, leaves(database)).results()
        found = [next(views)]
        for pid in children(pool):
            os.kill(pid, signal.SIGKILL)
        found += views
        assert found == alone(database)
        assert made_by(database, pool) == found
        assert children(pool) == []


def test_without_an_interpreter_to_start_all_is_made_here(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with LeafPool(1) as pool:
        assert made_by(database, pool) == alone(database)
    monkeypatch.setattr(sys, "executable", "")
    assert leaf_pool.processes_wanted() == 0


def test_a_run_that_is_given_up_disturbs_no_other(database: Database) -> None:
    with LeafPool(1) as pool:
        given_up = pool.begin(database, leaves(database)).results()
        next(given_up)
        given_up.close()
        assert made_by(database, pool) == alone(database)
        assert len(children(pool)) == 1


def test_runs_overlap(database: Database) -> None:
    with LeafPool(2) as pool:
        first = pool.begin(database, leaves(database)[:20])
        second = pool.begin(database, leaves(database)[20:])
        assert [*first.results(), *second.results()] == alone(database)
        first = pool.begin(database, leaves(database)[:20], is_early=True)
        second = pool.begin(database, leaves(database)[20:], is_early=True)
        later = list(second.results())
        assert [*first.results(), *later] == alone(database)


def test_an_error_of_this_process_is_raised(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_database: Database, _seq: int) -> LeafResult:
        raise ZeroDivisionError

    with LeafPool(0) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(leaf_results, "make", make)
            with pytest.raises(ZeroDivisionError):
                list(pool.begin(database, leaves(database)).results())
        assert made_by(database, pool) == alone(database)


def test_a_leaf_within_a_long_message_stays_here(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="Sheep graze on the northern hills. " * 3_000)])
        memory.work(max_calls=0)
    with closing(Database(path)) as database:
        rows = {seq: leaf_results.rows_of(database, seq) for seq in leaves(database)}
        assert len(rows) > 3
        assert [seq for seq, found in rows.items() if found is not None] == [min(rows)]
        with LeafPool(1) as pool:
            assert made_by(database, pool) == alone(database)


def test_few_leaves_start_no_process(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf_pool, "START_AFTER_LEAVES", len(leaves(database)) + 1)
    with LeafPool(1) as pool:
        made_by(database, pool)
        assert children(pool) == []
        made_by(database, pool)
        assert len(children(pool)) == 1


def test_a_process_ends_with_the_one_that_started_it(stored: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from treemem.store.database import Database
        from treemem.worker import leaf_pool
        leaf_pool.START_AFTER_LEAVES = 1
        pool = leaf_pool.LeafPool(1)
        database = Database(Path(sys.argv[1]))
        seqs = [seq for (seq,) in database.rows("SELECT seq FROM node WHERE level = 0")]
        results = pool.begin(database, seqs).results()
        next(results)
        print(pool._processes[0]._process.pid, flush=True)
        sys.stdin.read()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(stored)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended and that nobody has waited for yet is a zombie.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_leaf_that_cannot_be_read_fails_its_job_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_database: Database, _seq: int) -> LeafResult:
        raise ZeroDivisionError

    def begin(pool: LeafPool, database: Database, seqs: Sequence[int], **_: bool) -> LeafRun:
        return LeafRun(database, seqs, [])

    monkeypatch.setattr(leaf_results, "make", make)
    monkeypatch.setattr(LeafPool, "begin", begin)
    monkeypatch.setattr(leaf_pool, "processes_wanted", lambda: 1)
    monkeypatch.setattr(files, "BATCH_MESSAGES_MAX", 100)
    monkeypatch.setattr(source_jobs, "EXTRACT_BATCH", 2)
    writer = Writer(seed=6)
    log = tmp_path / f"{writer.session}.jsonl"
    writer.append_to(log, 600_000)
    other = tmp_path / "notes.md"
    other.write_text("# Gates\n\nThe gate is blue.\n")
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        report = memory.ingest([log, other])
        assert [file.error for file in report.files] == [None, None]
        assert sum(file.added for file in report.files) > 400
        stopped = [job for job in memory.jobs(["todo", "dead"]) if job.error]
        assert [(job.kind, job.attempts) for job in stopped] == [("extract", 1)]
