"""The queue admits a job once, never loses one, and never lets two workers do the same job."""

from __future__ import annotations

import multiprocessing
import runpy
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.intervals import jobs_of_sources, without_intervals
from tests.helpers.logs import prose
from treemem import LeaseLostError, Memory, Message, NotFoundError, UsageError
from treemem.queue import jobs
from treemem.queue.jobs import Claim
from treemem.store.database import Database

if TYPE_CHECKING:
    from tests.conftest import FakeClock

CHILDREN = Path(__file__).with_name("queue_workers.py")
WORKERS = 4
CLAIMED_JOBS = 120
SECONDS_MAX = 60.0


def admit(database: Database, *keys: str, kind: str = "k", **named: int) -> None:
    for key in keys:
        jobs.admit(database, kind, key, {"key": key}, named.pop("now_ms", 0), **named)


def claim(database: Database, now_ms: int = 0) -> Claim:
    (claimed,) = jobs.claim(database, ["k"], now_ms)
    return claimed


def finish(database: Database, claimed: Claim, now_ms: int = 0) -> None:
    with database.transaction():
        jobs.finish(database, [claimed], now_ms)


def finish_with_result(database: Database, claimed: Claim, now_ms: int) -> None:
    with database.transaction():
        database.execute("INSERT INTO setting (name, value) VALUES ('result', '1')")
        jobs.finish(database, [claimed], now_ms)


def states(database: Database) -> list[str]:
    return [state for (state,) in database.rows("SELECT state FROM job ORDER BY seq")]


# -- admission -------------------------------------------------------------------------


def test_at_most_one_job_of_a_key_waits(database: Database) -> None:
    admit(database, "a", "a", "b", "a")
    admit(database, "a", kind="other")
    assert [job.dedupe_key for job in jobs.listing(database, ["todo"], 9)] == [
        "k:a", "k:b", "other:a"
    ]  # fmt: skip


def test_admitting_a_waiting_job_again_can_only_make_it_due_earlier_and_more_urgent(
    database: Database,
) -> None:
    admit(database, "a", priority=5, not_before_ms=9_000)
    admit(database, "a", priority=1, not_before_ms=20_000)
    (job,) = jobs.listing(database, ["todo"], 9)
    assert (job.priority, job.not_before) == (5, "1970-01-01T00:00:09+00:00")
    admit(database, "a", priority=7, not_before_ms=1_000)
    (job,) = jobs.listing(database, ["todo"], 9)
    assert (job.priority, job.not_before) == (7, "1970-01-01T00:00:01+00:00")


def test_a_job_admitted_while_the_same_job_runs_is_not_lost(database: Database) -> None:
    admit(database, "a")
    claimed = claim(database)
    admit(database, "a")
    assert states(database) == ["running", "todo"]
    finish(database, claimed)
    assert states(database) == ["done", "todo"]
    assert claim(database).seq != claimed.seq


@pytest.mark.parametrize("outcome", ["failed", "released", "lease lost"])
def test_a_job_given_back_while_its_twin_waits_leaves_one_waiting_job(
    database: Database, outcome: str
) -> None:
    admit(database, "a")
    claimed = claim(database)
    admit(database, "a")
    if outcome == "failed":
        jobs.fail(database, claimed, "boom", 0)
    elif outcome == "released":
        jobs.release(database, claimed, 0)
    else:
        jobs.recover_expired(database, jobs.LEASE_MS)
    assert states(database) == ["done", "todo"]


def test_an_admission_that_is_rolled_back_leaves_no_job(database: Database) -> None:
    with suppress(ValueError), database.transaction():
        admit(database, "a")
        raise ValueError
    assert states(database) == []


# -- claiming --------------------------------------------------------------------------


def test_the_most_urgent_due_job_is_claimed_first(database: Database) -> None:
    admit(database, "low", priority=1)
    admit(database, "high", priority=9)
    admit(database, "later", priority=99, not_before_ms=5_000)
    admit(database, "high too", priority=9)
    order = [claim(database).payload["key"] for _ in range(3)]
    assert order == ["high", "high too", "low"]
    assert jobs.claim(database, ["k"], 4_999) == []
    assert claim(database, 5_000).payload["key"] == "later"


def test_several_jobs_claimed_at_once_come_most_urgent_first(database: Database) -> None:
    admit(database, "low", priority=1)
    admit(database, "high", priority=9)
    claims = jobs.claim(database, ["k"], 0, limit=5)
    assert [claimed.payload["key"] for claimed in claims] == ["high", "low"]


def test_only_jobs_of_the_requested_kinds_are_claimed(database: Database) -> None:
    admit(database, "a", kind="other")
    assert jobs.claim(database, ["k", "l"], 0) == []
    assert len(jobs.claim(database, ["k", "other"], 0)) == 1


def test_a_claimed_job_cannot_be_claimed_again(database: Database) -> None:
    admit(database, "a")
    claim(database)
    assert jobs.claim(database, ["k"], 0) == []


def test_a_claim_reads_the_index_of_waiting_jobs(database: Database) -> None:
    """A queue of a million finished jobs must not slow down the next claim."""
    sql = jobs._CLAIM.format(marks="?,?")
    plan = database.rows(f"EXPLAIN QUERY PLAN {sql}", ("t", 1, 1, 2, "a", "b", 1, 2, 1))
    steps = [detail for *_, detail in plan]
    assert any("job_next" in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)
    assert not any(step in ("SCAN job", "SCAN job AS job") for step in steps)


def test_recovering_expired_leases_reads_the_index_of_leases(database: Database) -> None:
    plan = database.rows(f"EXPLAIN QUERY PLAN {jobs._EXPIRED}", (0, 1))
    steps = [detail for *_, detail in plan]
    assert any("job_leases" in step for step in steps)
    assert not any(step == "SCAN job" for step in steps)


# -- leases ----------------------------------------------------------------------------


def test_an_expired_lease_is_recovered_by_the_next_claim(
    database: Database,
) -> None:
    admit(database, "a")
    lost = claim(database, 0)
    assert jobs.claim(database, ["k"], jobs.LEASE_MS - 1) == []
    again = claim(database, jobs.LEASE_MS)
    assert again.seq == lost.seq
    assert again.attempts == 2
    assert again.token != lost.token


def test_a_renewed_lease_does_not_expire(database: Database) -> None:
    admit(database, "a")
    claimed = claim(database, 0)
    assert jobs.renew(database, claimed, 50_000)
    assert jobs.claim(database, ["k"], jobs.LEASE_MS + 1) == []
    finish(database, claimed, jobs.LEASE_MS + 2)
    assert states(database) == ["done"]


def test_a_lost_lease_cannot_be_renewed(database: Database) -> None:
    admit(database, "a")
    lost = claim(database, 0)
    claim(database, jobs.LEASE_MS)
    assert not jobs.renew(database, lost, jobs.LEASE_MS)


def test_a_finish_after_the_lease_was_lost_rolls_its_result_back(database: Database) -> None:
    admit(database, "a")
    lost = claim(database, 0)
    again = claim(database, jobs.LEASE_MS)
    with pytest.raises(LeaseLostError):
        finish_with_result(database, lost, jobs.LEASE_MS)
    assert database.rows("SELECT * FROM setting") == []
    finish(database, again)
    assert states(database) == ["done"]


def test_a_result_is_stored_together_with_the_end_of_its_job(database: Database) -> None:
    admit(database, "a")
    claimed = claim(database)
    finish_with_result(database, claimed, 1)
    assert database.rows("SELECT name FROM setting") == [("result",)]
    assert states(database) == ["done"]


YEAR_MS = 365 * 24 * 3_600_000


def test_a_lease_from_before_the_clock_was_set_back_holds_nothing_up(database: Database) -> None:
    admit(database, "a")
    lost = claim(database, YEAR_MS)
    again = claim(database, 0)
    assert (again.seq, again.attempts) == (lost.seq, 2)
    with pytest.raises(LeaseLostError):
        finish_with_result(database, lost, 1)
    finish(database, again)


def test_a_clock_that_is_set_back_by_a_second_takes_no_lease_away(database: Database) -> None:
    admit(database, "a")
    claimed = claim(database, 1_000)
    assert jobs.claim(database, ["k"], 0) == []
    finish(database, claimed, 1)


def test_jobs_and_pauses_from_before_the_clock_was_set_back_do_not_wait(database: Database) -> None:
    admit(database, "a", now_ms=YEAR_MS)
    jobs.pause(database, "k", "no model", YEAR_MS)
    assert jobs.paused(database, 0) == {}
    finish(database, claim(database, 0))
    assert states(database) == ["done"]


@pytest.mark.parametrize("late", ["fail", "release"])
def test_a_worker_that_lost_its_lease_cannot_give_the_job_back(
    database: Database, late: str
) -> None:
    admit(database, "a")
    lost = claim(database, 0)
    again = claim(database, jobs.LEASE_MS)
    if late == "fail":
        jobs.fail(database, lost, "boom", jobs.LEASE_MS)
    else:
        jobs.release(database, lost, jobs.LEASE_MS)
    assert jobs.get(database, again.seq).token == again.token


def test_a_job_whose_workers_all_died_is_dead(database: Database) -> None:
    admit(database, "a", max_attempts=2)
    claim(database, 0)
    claim(database, jobs.LEASE_MS)
    assert jobs.claim(database, ["k"], 2 * jobs.LEASE_MS) == []
    (job,) = jobs.listing(database, ["dead"], 9)
    assert job.error is not None
    assert "silent" in job.error


# -- failing ---------------------------------------------------------------------------


def test_a_failed_job_waits_longer_after_each_attempt(database: Database) -> None:
    admit(database, "a")
    now_ms = 0
    waits = []
    for _ in range(3):
        jobs.fail(database, claim(database, now_ms), "boom", now_ms)
        (not_before,) = database.rows("SELECT not_before_ms FROM job")[0]
        waits.append(not_before - now_ms)
        assert jobs.claim(database, ["k"], not_before - 1) == []
        now_ms = not_before
    assert waits[0] < waits[1] < waits[2]


@settings(deadline=None)
@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_the_wait_doubles_with_a_quarter_of_jitter_and_is_bounded(
    attempts: int, jitter: float
) -> None:
    wait = min(jobs.BACKOFF_MAX_MS, jobs.BACKOFF_FIRST_MS * 2 ** min(attempts - 1, 40))
    assert wait <= jobs.backoff_ms(attempts, jitter) <= min(jobs.BACKOFF_MAX_MS, wait * 1.25)


def test_a_job_is_dead_after_its_last_attempt_and_runs_again_when_retried(
    database: Database,
) -> None:
    admit(database, "a", max_attempts=2)
    for now_ms in (0, 10**9):
        jobs.fail(database, claim(database, now_ms), f"boom at {now_ms}", now_ms)
    assert states(database) == ["dead"]
    assert jobs.claim(database, ["k"], 10**12) == []
    (dead,) = jobs.listing(database, ["dead"], 9)
    assert dead.error == f"boom at {10**9}"
    revived = jobs.retry(database, dead.id, 10**9)
    assert (revived.state, revived.attempts) == ("todo", 0)
    assert claim(database, 10**9).seq == dead.id


def test_a_job_that_is_running_or_done_cannot_be_retried(database: Database) -> None:
    admit(database, "a")
    claimed = claim(database)
    with pytest.raises(UsageError, match="running"):
        jobs.retry(database, claimed.seq, 0)
    finish(database, claimed)
    with pytest.raises(UsageError, match="done"):
        jobs.retry(database, claimed.seq, 0)
    with pytest.raises(NotFoundError):
        jobs.retry(database, 99, 0)


def test_a_dead_job_cannot_be_retried_while_the_same_job_waits(database: Database) -> None:
    admit(database, "a", max_attempts=1)
    dead = claim(database)
    jobs.fail(database, dead, "boom", 0)
    admit(database, "a")
    with pytest.raises(UsageError, match="already waits"):
        jobs.retry(database, dead.seq, 0)


def test_a_released_job_is_due_at_once_and_no_attempt_counts(database: Database) -> None:
    admit(database, "a", max_attempts=1)
    for _ in range(5):
        jobs.release(database, claim(database), 0)
    (job,) = jobs.listing(database, ["todo"], 9)
    assert (job.attempts, job.error) == (0, None)


def test_a_long_error_is_cut(database: Database) -> None:
    admit(database, "a")
    jobs.fail(database, claim(database), "x" * 100_000, 0)
    (job,) = jobs.listing(database, ["todo"], 9)
    assert job.error == "x" * jobs.ERROR_CHARS_MAX


def test_a_cancelled_job_is_gone_and_a_running_one_cannot_be_cancelled(
    database: Database,
) -> None:
    admit(database, "a", "b")
    claimed = claim(database)
    with pytest.raises(UsageError, match="running"):
        jobs.cancel(database, claimed.seq)
    jobs.cancel(database, 2)
    assert states(database) == ["running"]


def test_pruning_leaves_only_the_newest_finished_jobs(database: Database) -> None:
    with database.transaction():
        for key in range(jobs.DONE_JOBS_MAX + 5):
            admit(database, str(key))
        for claimed in jobs.claim(database, ["k"], 0, limit=10_000):
            jobs.finish(database, [claimed], 0)
    admit(database, "waits")
    jobs.prune(database)
    assert Counter(states(database)) == {"done": jobs.DONE_JOBS_MAX - 1, "todo": 1}


# -- the circuit breaker ---------------------------------------------------------------


def fail_all(database: Database, now_ms: int) -> None:
    for claimed in jobs.claim(database, ["k"], now_ms, limit=9):
        jobs.fail(database, claimed, f"boom of {claimed.payload['key']}", now_ms)


def test_three_different_jobs_failing_in_a_row_pause_their_kind(database: Database) -> None:
    admit(database, "a", "b", "c", "d")
    for _ in range(3):
        jobs.fail(database, claim(database), "no model", 0)
    assert jobs.paused(database, 0) == {"k": "no model"}
    assert jobs.claim(database, ["k"], jobs.BREAKER_PAUSE_MS - 1) == []
    assert len(jobs.claim(database, ["k"], jobs.BREAKER_PAUSE_MS, limit=9)) == 4
    assert jobs.paused(database, jobs.BREAKER_PAUSE_MS) == {}


def test_a_paused_kind_does_not_pause_another(database: Database) -> None:
    admit(database, "a", "b", "c")
    admit(database, "x", kind="other")
    fail_all(database, 0)
    assert jobs.paused(database, 0).keys() == {"k"}
    assert len(jobs.claim(database, ["k", "other"], 0)) == 1


def test_one_poisoned_job_that_fails_again_and_again_pauses_nothing(database: Database) -> None:
    admit(database, "poisoned", max_attempts=50)
    for attempt in range(20):
        fail_all(database, attempt * 10**9)
        assert jobs.paused(database, attempt * 10**9) == {}


def test_two_poisoned_jobs_that_take_turns_pause_nothing(database: Database) -> None:
    admit(database, "one", "two", max_attempts=50)
    for attempt in range(20):
        fail_all(database, attempt * 10**9)
        assert jobs.paused(database, attempt * 10**9) == {}


def test_a_success_in_between_starts_the_count_again(database: Database) -> None:
    admit(database, "a", "b", "good", "c", "d")
    for _ in range(5):
        claimed = claim(database)
        if claimed.payload["key"] == "good":
            finish(database, claimed)
        else:
            jobs.fail(database, claimed, "boom", 0)
    assert jobs.paused(database, 0) == {}


def test_a_paused_kind_can_be_resumed(database: Database) -> None:
    admit(database, "a", "b", "c")
    fail_all(database, 0)
    jobs.resume(database, "k")
    assert jobs.paused(database, 0) == {}


# -- the worker ------------------------------------------------------------------------


def test_a_running_worker_recovers_an_expired_lease(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    memory.append("s", [Message(text="We ship on Friday.")])
    jobs.claim(database, ["seal"], clock())
    assert memory.work(max_calls=0).done == {}
    clock.advance(jobs.LEASE_MS / 1000)
    assert without_intervals(memory.work(max_calls=0).done) == {"seal": 1, "extract": 1}


def test_an_interrupted_worker_stops_and_the_next_one_continues(memory: Memory) -> None:
    interrupted = threading.Event()
    interrupted.set()
    memory.append("s", [Message(text="We ship on Friday.")])
    assert memory.work(max_calls=0, interrupted=interrupted).stopped_by == "interrupt"
    assert memory.work(max_calls=0).stopped_by == "empty"
    assert memory.status().open_messages == 1


def test_ctrl_c_releases_the_job_without_counting_an_attempt(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    memory.append("s", [Message(text="We ship on Friday.")])
    monkeypatch.setattr("treemem.tree.builder.seal", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory.work(max_calls=0)
    (job,) = memory.jobs(["todo", "running", "dead"])
    assert (job.state, job.attempts) == ("todo", 0)


# -- several processes on one file -----------------------------------------------------


def run_in_processes(program: str, path: Path) -> None:
    """Runs a function of queue_workers.py in WORKERS new processes."""
    context = multiprocessing.get_context("spawn")
    parameters = {"PATH": path, "TOGETHER": context.Barrier(WORKERS, timeout=SECONDS_MAX)}
    processes = [
        context.Process(target=runpy.run_path, args=(str(CHILDREN), parameters, program))
        for _ in range(WORKERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(SECONDS_MAX)
    assert [process.exitcode for process in processes] == [0] * WORKERS


def test_four_processes_never_do_a_job_twice_and_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite3"
    database = Database(path)
    database.execute("CREATE TABLE ran (job INTEGER, process TEXT)")
    with database.transaction():
        admit(database, *map(str, range(CLAIMED_JOBS)))
    run_in_processes("claim_all", path)
    ran = database.rows("SELECT job, process FROM ran")
    assert Counter(job for job, _ in ran) == Counter(range(1, CLAIMED_JOBS + 1))
    assert states(database) == ["done"] * CLAIMED_JOBS
    assert len({process for _, process in ran}) > 1
    database.close()


def test_four_processes_build_the_same_trees_as_one(tmp_path: Path) -> None:
    roots = []
    for path, program in ((tmp_path / "one", ""), (tmp_path / "four", "build_trees")):
        with Memory.open(path) as memory:
            for source in range(5):
                messages = [Message(text=prose(20 * source + n, 60)) for n in range(12)]
                memory.append(f"s{source}", messages)
            if program:
                run_in_processes(program, path)
            else:
                memory.work(max_calls=0)
            assert jobs_of_sources(memory) == []
            assert memory.diagnose().healthy
            roots.append([(view.source.id, view.root_id) for view in memory.sources()])
    assert roots[0] == roots[1]
