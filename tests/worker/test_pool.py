"""Several model jobs at once: the same tree, the same limits, and no server that stops the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers.fake_model import FakeClient, quoting
from tests.helpers.fake_server import FakeServer, as_json
from tests.helpers.intervals import jobs_of_sources
from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import DiskFullError, Memory, Message, ModelError, Scope, ServedModel
from treemem.models import endpoint
from treemem.queue import jobs
from treemem.store import settings
from treemem.store.database import Database
from treemem.summarize.backends import Slot
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.types import TreeShape
from treemem.worker import pool
from treemem.worker.worker import TREE_KINDS, Worker

PATIENCE_SECONDS = 20


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(endpoint, "WAIT_FIRST_SECONDS", 0.01)


@dataclass
class Place:
    """A fake server. reply: answers a question. alive: whether it says that it is alive."""

    name: str
    reply: Callable[[str], str] = quoting
    alive: bool = True
    client: FakeClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = FakeClient(lambda question: self.reply(question))


SUMMARIZER = ModelSummarizer("fake", "0" * 64, 10, mode="notes")


def use(monkeypatch: pytest.MonkeyPatch, memory: Memory, places: Sequence[Place]) -> None:
    """Makes memory.work() summarize in these places, one slot each, with the same model."""

    @contextmanager
    def slots_of(*_: str | None) -> Iterator[list[Slot]]:
        yield [
            Slot(SUMMARIZER, place.client, place.name, lambda place=place: place.alive)
            for place in places
        ]

    monkeypatch.setattr("treemem.summarize.backends.slots_of", slots_of)
    with closing(Database(memory.path)) as database:
        settings.put(database, settings.SUMMARIZER, "fake")


def tell(memory: Memory, count: int, *, first: int = 0, source: str = "s") -> None:
    memory.append(source, [Message(text=prose(n, 8)) for n in range(first, first + count)])


def questions(places: Sequence[Place]) -> list[str]:
    return sorted(question for place in places for question in place.client.questions)


def summaries(memory: Memory) -> dict[str, list[Any]]:
    """The producers and the shown statements of each node."""
    nodes = [memory.node(node.id) for node in memory.tree(Scope.source("s")).nodes()]
    return {
        node.id: [
            *(summary.producer for summary in node.summaries),
            *(statement.text for statement in node.statements),
        ]
        for node in nodes
    }


def assert_all_summarized(memory: Memory) -> None:
    assert jobs_of_sources(memory) == []
    for node in memory.tree(Scope.source("s")).nodes():
        if not node.provisional:
            assert memory.node(node.id).summaries[0].producer.startswith("fake@")
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def assert_no_slot_runs() -> None:
    assert not [thread for thread in threading.enumerate() if thread.name == "treemem-slot"]


# -- at once ---------------------------------------------------------------------------


def test_three_slots_work_at_the_same_time(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=PATIENCE_SECONDS)

    def meet(question: str) -> str:
        if not together.broken and len(questions(places)) <= 3:
            together.wait()
        return quoting(question)

    places = [Place(name, meet) for name in "abc"]
    use(monkeypatch, memory, places)
    tell(memory, 20)
    report = memory.work()
    assert not together.broken
    assert (report.failed, report.stopped_by, report.left_out) == ({}, "empty", {})
    assert all(place.client.questions for place in places)
    assert_all_summarized(memory)
    assert_no_slot_runs()


def test_one_slot_and_several_give_the_same_summaries_for_the_same_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for count in (1, 2, 5):
        places = [Place(str(number)) for number in range(count)]
        path = tmp_path / f"{count}.sqlite3"
        with Memory.open(path, clock=FakeClock(), shape=SMALL_LEAVES) as memory:
            use(monkeypatch, memory, places)
            tell(memory, 80)
            report = memory.work()
            assert_all_summarized(memory)
            report.seconds = 0.0
            runs.append((report, summaries(memory), questions(places)))
    assert runs[0] == runs[1] == runs[2]
    report, _, questions_asked = runs[0]
    assert report.model_calls == len(questions_asked) == len(set(questions_asked)) > 30


def test_an_idle_slot_takes_a_parent_that_becomes_due(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sources whose leaves one slow slot finishes: both roots are due at once after that."""
    together = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    seen: list[str] = []

    def meet(question: str) -> str:
        if "as a whole" in question and len(seen) < 2:
            seen.append(question)
            together.wait()
        else:
            time.sleep(0.02)
        return quoting(question)

    use(monkeypatch, memory, [Place("a", meet), Place("b", meet)])
    tell(memory, 3)
    tell(memory, 3, first=10, source="t")
    assert memory.work().failed == {}
    assert len(seen) == 2


def test_messages_appended_during_a_run_are_summarized_in_the_same_run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    first = iter([True])  # taken by one thread only

    def add(question: str) -> str:
        threads.add(threading.current_thread().name)
        if next(first, False):
            tell(memory, 6, first=50)
        time.sleep(0.01)
        return quoting(question)

    places = [Place("a", add), Place("b", add)]
    use(monkeypatch, memory, places)
    tell(memory, 6)
    report = memory.work()
    assert report.done["seal"] >= 2
    assert threads == {"treemem-slot"}
    assert_all_summarized(memory)


def test_progress_is_called_on_the_callers_thread(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, str]] = []
    use(monkeypatch, memory, [Place("a"), Place("b")])
    tell(memory, 12)
    report = memory.work(
        progress=lambda _, kind: calls.append((kind, threading.current_thread().name))
    )
    assert {name for _, name in calls} == {threading.current_thread().name}
    kinds = [kind for kind, _ in calls]
    assert {kind: kinds.count(kind) for kind in kinds} == report.done


# -- limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("max_calls", [1, 2, 3, 5])
def test_all_slots_together_stay_within_the_limit_of_calls_and_repeat_none(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, max_calls: int
) -> None:
    def slow(question: str) -> str:
        time.sleep(0.02)
        return quoting(question)

    places = [Place(name, slow) for name in "abcd"]
    use(monkeypatch, memory, places)
    tell(memory, 14)
    report = memory.work(max_calls=max_calls)
    assert (report.model_calls, report.stopped_by) == (max_calls, "max_calls")
    assert len(questions(places)) == max_calls
    while memory.work(max_calls=max_calls).stopped_by != "empty":
        pass
    assert len(set(questions(places))) == len(questions(places))
    assert_all_summarized(memory)


def test_a_failed_call_does_not_count_against_the_limit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = iter([True])

    def fail_first(question: str) -> str:
        if next(first, False):
            time.sleep(0.2)  # meanwhile the others use up all but this call's place
            raise ModelError("only this once")
        return quoting(question)

    places = [Place(name, fail_first) for name in "abc"]
    use(monkeypatch, memory, places)
    tell(memory, 14)
    report = memory.work(max_calls=4)
    assert (report.model_calls, report.failed) == (4, {"summarize": 1})
    assert len(questions(places)) == 5


def test_with_a_limit_of_no_calls_no_slot_is_used(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [Place("a"), Place("b")]
    use(monkeypatch, memory, places)
    tell(memory, 6)
    assert memory.work(max_calls=0).stopped_by == "empty"
    assert questions(places) == []


def test_a_limit_of_tokens_or_time_stops_all_slots(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(question: str) -> str:
        time.sleep(0.1)
        return quoting(question)

    places = [Place("a", slow), Place("b", slow)]
    use(monkeypatch, memory, places)
    tell(memory, 20)
    report = memory.work(max_tokens=1)
    assert report.stopped_by == "max_tokens"
    assert 1 <= report.model_calls <= 2
    assert memory.work(max_seconds=0.25).stopped_by == "max_seconds"
    assert memory.jobs(["running"]) == []
    assert memory.work().stopped_by == "empty"
    assert len(set(questions(places))) == len(questions(places))
    assert_all_summarized(memory)


def test_an_interruption_stops_all_slots_after_their_current_calls(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = threading.Event()

    def stop(question: str) -> str:
        interrupted.set()
        return quoting(question)

    places = [Place(name, stop) for name in "abc"]
    use(monkeypatch, memory, places)
    tell(memory, 20)
    report = memory.work(interrupted=interrupted)
    assert report.stopped_by == "interrupt"
    assert 1 <= report.model_calls <= 3
    assert memory.jobs(["running"]) == []
    assert {job.attempts for job in memory.jobs(["todo"])} == {0}
    assert_no_slot_runs()


def test_a_second_ctrl_c_waits_for_no_server_and_loses_no_job(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def hang(question: str) -> str:
        goes_on.wait(PATIENCE_SECONDS)
        return quoting(question)

    def press(_report: object, _kind: str) -> None:
        if hanging.client.questions:
            raise KeyboardInterrupt

    hanging, quick = Place("a", hang), Place("b")
    use(monkeypatch, memory, [hanging, quick])
    tell(memory, 20)
    try:
        with pytest.raises(KeyboardInterrupt):
            memory.work(progress=press)
        assert memory.jobs(["running"]) == []
        assert {job.attempts for job in memory.jobs(["todo"])} == {0}
    finally:
        goes_on.set()
        for thread in threading.enumerate():
            if thread.name == "treemem-slot":
                thread.join()
    assert memory.jobs(["running", "dead"]) == []
    assert memory.status().paused == {}
    assert memory.work().failed == {}
    assert_all_summarized(memory)


def test_an_abandoned_worker_takes_no_other_job(memory: Memory, database: Database) -> None:
    """It may be about to claim one when nobody waits for it any more."""
    tell(memory, 3)
    worker = Worker(database, FakeClock(), SMALL_LEAVES)
    worker.abandon()
    assert worker.step(TREE_KINDS) == "nothing"
    assert [job.attempts for job in memory.jobs(["todo"])] == [0]
    assert Worker(database, FakeClock(), SMALL_LEAVES).step(TREE_KINDS) == "did"


def test_an_error_that_ends_a_slot_ends_the_run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_: str) -> str:
        raise DiskFullError("no space")

    use(monkeypatch, memory, [Place("a", fill), Place("b")])
    tell(memory, 20)
    with pytest.raises(DiskFullError, match="no space"):
        memory.work()
    assert memory.jobs(["running"]) == []
    assert_no_slot_runs()
    use(monkeypatch, memory, [Place("a"), Place("b")])
    memory.work()
    assert_all_summarized(memory)


# -- servers that fail -----------------------------------------------------------------


@pytest.mark.parametrize("recoverable", [True, False])
def test_a_server_that_dies_loses_no_job_repeats_no_call_and_stops_no_other(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, recoverable: bool
) -> None:
    def die(question: str) -> str:
        if len(dying.client.questions) > 2:
            dying.alive = False
            dying.client.questions.pop()  # nobody answered it
            raise ModelError("the server is gone", recoverable=recoverable)
        return slow(question)

    def slow(question: str) -> str:
        time.sleep(0.01)
        return quoting(question)

    dying = Place("http://dying", die)
    places = [dying, Place("http://b", slow), Place("http://c", slow)]
    use(monkeypatch, memory, places)
    tell(memory, 30)
    report = memory.work()
    assert (report.stopped_by, report.failed) == ("empty", {"summarize": 1})
    assert report.left_out == {"http://dying": "the server is gone"}
    assert report.paused == {}
    assert report.model_calls == len(questions(places)) == len(set(questions(places)))
    assert len(dying.client.questions) == 2
    assert_all_summarized(memory)


@pytest.mark.parametrize("recoverable", [True, False])
def test_an_idle_server_does_the_job_of_one_that_dies(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, recoverable: bool
) -> None:
    first = iter([True])

    def answer(place: Place, question: str) -> str:
        if next(first, False):
            place.alive = False
            raise ModelError("the server is gone", recoverable=recoverable)
        return quoting(question)

    places = [Place("http://a"), Place("http://b")]
    for place in places:
        place.reply = partial(answer, place)
    use(monkeypatch, memory, places)
    tell(memory, 1)
    report = memory.work()
    assert len(report.left_out) == 1
    assert (report.failed, report.done["summarize"]) == ({"summarize": 1}, 1)
    assert memory.jobs(["todo", "running", "dead"]) == []


def test_a_server_that_is_back_is_used_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PROBE_SECONDS", 0.05)

    def fail_first(question: str) -> str:
        if len(flaky.client.questions) == 1:
            raise ModelError("the server is loading", recoverable=False)
        return quoting(question)

    def slow(question: str) -> str:
        time.sleep(0.05)
        return quoting(question)

    flaky = Place("http://flaky", fail_first)
    use(monkeypatch, memory, [flaky, Place("http://b", slow)])
    tell(memory, 30)
    report = memory.work()
    assert len(flaky.client.questions) > 1
    assert report.left_out == {}
    assert_all_summarized(memory)


def test_a_failed_call_does_not_leave_out_a_server_that_is_alive(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    first = iter([True])

    def fail_once(question: str) -> str:
        if next(first, False):
            raise ModelError("too long")
        return quoting(question)

    places = [Place("http://a", fail_once), Place("http://b", fail_once)]
    use(monkeypatch, memory, places)
    tell(memory, 10)
    report = memory.work()
    assert (report.failed, report.left_out) == ({"summarize": 1}, {})
    (job,) = memory.jobs(["todo"])
    assert (job.attempts, job.error) == (1, "too long")
    clock.advance(60)
    memory.work()
    assert_all_summarized(memory)


def test_jobs_wait_when_no_server_is_left(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    def gone(_: str) -> str:
        raise ModelError("the server is gone", recoverable=False)

    places = [Place("http://a", gone, alive=False), Place("http://b", gone, alive=False)]
    use(monkeypatch, memory, places)
    tell(memory, 10)
    report = memory.work()
    assert report.paused == {"summarize": "the server is gone"}
    assert set(report.left_out) == {"http://a", "http://b"}
    assert {job.attempts for job in memory.jobs(["todo"])} == {0}
    assert memory.jobs(["running", "dead"]) == []
    clock.advance(jobs.BREAKER_PAUSE_MS / 1000)
    for place in places:
        place.reply, place.alive = quoting, True
    assert memory.work().left_out == {}
    assert_all_summarized(memory)


def test_a_job_that_takes_down_every_server_ends_dead(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(place: Place, question: str) -> str:
        if "/var/out/6000.csv" in question and "as a whole" not in question:
            place.alive = False
            raise ModelError("the connection broke")
        time.sleep(0.01)
        return quoting(question)

    places = [Place(f"http://{number}") for number in range(jobs.ATTEMPTS_MAX + 2)]
    for place in places:
        place.reply = partial(answer, place)
    use(monkeypatch, memory, places)
    tell(memory, 20)
    report = memory.work()
    (dead,) = memory.jobs(["dead"])
    assert (dead.error, dead.attempts) == ("the connection broke", jobs.ATTEMPTS_MAX)
    assert len(report.left_out) == jobs.ATTEMPTS_MAX
    assert report.paused == {}
    assert memory.jobs(["todo", "running"]) == []


def test_a_failure_after_the_lease_was_lost_does_not_count(
    memory: Memory, database: Database
) -> None:
    """As of a call that was under way at a second Ctrl-C: it would pause the kind."""
    with database.transaction():
        for number in range(jobs.BREAKER_FAILURES):
            jobs.admit(database, "summarize", str(number), {}, 0)
    claims = jobs.claim(database, ["summarize"], 0, limit=jobs.BREAKER_FAILURES)
    for claim in claims:
        jobs.release(database, claim, 0)
    for claim in claims:
        jobs.fail(database, claim, "too late", 0)
    assert jobs.paused(database, 1) == {}
    assert {job.attempts for job in memory.jobs(["todo"])} == {0}


# -- real connections ------------------------------------------------------------------


def test_two_servers_share_the_work_and_one_that_stops_is_left_out(memory: Memory) -> None:
    tell(memory, 30)
    with FakeServer() as stays:
        with FakeServer() as goes:
            memory.use_model("summarizer", ServedModel((goes.url, stays.url), slots=2))
            goes.models = ["another"]  # as after a restart: its answers would be another model's
            report = memory.work()
        assert goes.bodies == []
        assert list(report.left_out) == [goes.url]
        assert "has no model tiny" in report.left_out[goes.url]
        assert report.model_calls == len(stays.bodies)
    for node in memory.tree(Scope.source("s")).nodes():
        if not node.provisional:
            assert memory.node(node.id).summaries[0].producer.startswith("tiny@")


def test_a_server_that_always_fails_loses_no_job(memory: Memory, clock: FakeClock) -> None:
    tell(memory, 12)
    with FakeServer() as errs, FakeServer() as works:
        memory.use_model("summarizer", ServedModel((errs.url, works.url)))
        errs.replies.extend([as_json({"error": "out of memory"}, 500)] * 8)
        for _ in range(3):
            memory.work()
            clock.advance(3600)
        questions_asked = [
            body["messages"][-1]["content"] for body in (*errs.bodies[8:], *works.bodies)
        ]
    assert memory.jobs(["todo", "running", "dead"]) == []
    assert len(questions_asked) == len(set(questions_asked))
