"""Faults of workers: lost, blocked or repeated work beside slow models, bad data and crashes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_model import FakeClient, lines_of, quoting, use
from tests.helpers.intervals import without_intervals
from tests.helpers.logs import prose
from tests.helpers.memories import assert_whole, texts
from tests.helpers.shapes import SMALL_LEAVES, with_small_leaves
from treemem import DatabaseError, Memory, Message, Scope
from treemem.queue import jobs
from treemem.reports import WorkReport
from treemem.store.database import Database
from treemem.summarize import extractive
from treemem.summarize.kinds import place
from treemem.tree import builder
from treemem.types import Role, TreeShape
from treemem.worker import source_jobs
from treemem.worker.source_jobs import SourceWork

if TYPE_CHECKING:
    from tests.conftest import FakeClock


def covered(memory: Memory, source: str) -> list[str | None]:
    """The ids of the messages in the leaves of a source, tail included, in order."""
    nodes = memory.tree(Scope.source(source)).nodes()
    pieces = [piece for node in nodes if node.is_leaf for piece in memory.expand(node.id)]
    return [piece.id for piece in pieces]


@with_small_leaves
@pytest.mark.parametrize("works", [False, True], ids=["appended", "appended and sealed"])
def test_a_message_appended_while_a_model_seals_is_neither_lost_nor_sealed_twice(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock, works: bool
) -> None:
    pytest.importorskip("treemem.models.client")
    said = [prose(n, 8) for n in range(12)]

    def answer(question: str) -> str:
        said.append(prose(len(said), 8))
        with Memory.open(memory.path, clock=clock, shape=SMALL_LEAVES) as other:
            other.append("s", [Message(text=said[-1])])
            if works:
                other.work(max_calls=0)
        return quoting(question)

    client = FakeClient(answer)
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=text) for text in said])
    report = memory.work(max_calls=12)
    memory.work(max_calls=0)
    assert report.failed == {}
    assert len(client.questions) == 12
    assert texts(memory, "s") == said
    assert covered(memory, "s") == [message.id for message in memory.messages("s")]
    assert_whole(memory)


def test_a_job_whose_root_was_replaced_while_the_model_worked_does_not_fail(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    pytest.importorskip("treemem.models.client")

    def answer(question: str) -> str:
        with Memory.open(memory.path, clock=clock) as other:
            other.append("s", [Message(text="One more thing that came in the meantime.")])
            other.work(max_calls=0)
        return quoting(question)

    use(monkeypatch, memory, FakeClient(answer))
    memory.append("s", [Message(text=prose(1, 3))])
    report = memory.work(max_calls=1)
    assert report.failed == {}
    assert memory.jobs(["running", "dead"]) == []
    assert_whole(memory)


def test_an_answer_about_a_deleted_node_is_not_stored_for_the_node_that_got_its_row_number(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    """SQLite gives the row number of a deleted node to the next one."""
    pytest.importorskip("treemem.models.client")
    one, two, three = (
        Message(text=prose(n, 3), external_id=f"0000000{n}", unique_id=True) for n in (1, 2, 3)
    )

    def answer(question: str) -> str:
        if len(lines_of(question)) == 1 and one.text in question:
            with Memory.open(memory.path, clock=clock) as other:
                other.append("b", [two])
                other.work(max_calls=0)
                other.append("c", [three])
                other.work(max_calls=0)
        return quoting(question)

    memory.append("a", [one, two])
    memory.work(max_calls=0)
    memory.append("b", [one])
    use(monkeypatch, memory, FakeClient(answer))
    for _ in range(5):
        with contextlib.suppress(DatabaseError):
            memory.work()
    for view in memory.sources():
        for node in memory.tree(Scope.source(view.source.id)).nodes():
            inside = {piece.id for piece in memory.expand(node.id)}
            for statement in memory.node(node.id).statements:
                assert {message.id for message in statement.messages} <= inside
    assert_whole(memory)


@with_small_leaves
def test_no_job_fails_when_a_tree_is_sealed_further_while_it_is_summarized(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    look_for_missing = source_jobs._missing
    overtaken: list[bool] = []

    def missing(*arguments: Any) -> list[tuple[int, int]]:
        nodes = look_for_missing(*arguments)
        if not nodes and not overtaken:
            overtaken.append(True)
            other = Database(memory.path)
            with Memory(other, clock, SMALL_LEAVES) as beside:
                beside.append("s", [Message(text=prose(n, 8)) for n in range(10, 15)])
                (claim,) = jobs.claim(other, ["seal"], clock())
                SourceWork(other, clock, SMALL_LEAVES, lambda *_: None).run(claim)
        return nodes

    monkeypatch.setattr(source_jobs, "_missing", missing)
    memory.append("s", [Message(text=prose(n, 8)) for n in range(5)])
    assert memory.work(max_calls=0).failed == {}
    assert overtaken
    assert_whole(memory)


def windows_of(memory: Memory, monkeypatch: pytest.MonkeyPatch, client: FakeClient) -> None:
    """One leaf of several windows, and this client to summarize it."""
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=prose(n, 8)) for n in range(18)])


def test_answers_are_not_paid_for_again_after_a_crash_before_the_job_was_finished(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    pytest.importorskip("treemem.models.client")
    client = FakeClient()
    windows_of(memory, monkeypatch, client)

    def crash(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("treemem.worker.summary_jobs.SummaryWork._store", crash)
        with pytest.raises(SystemExit):
            memory.work()
    paid = len(client.questions)
    assert paid >= 3
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        assert again.work().done["summarize"] == 1
    assert len(client.questions) == paid
    root = memory.node(memory.tree(Scope.source("s")).root_id or "")
    assert root.summaries[0].producer.startswith("fake@")
    assert root.summaries[0].tokens_in > 0


@pytest.mark.parametrize("crash_at", [1, 2, 3])
def test_only_the_call_in_flight_is_repeated_after_a_crash_between_the_windows_of_a_leaf(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock, crash_at: int
) -> None:
    pytest.importorskip("treemem.models.client")

    def answer(question: str) -> str:
        if len(client.questions) == crash_at:
            raise SystemExit
        return quoting(question)

    client = FakeClient(answer)
    windows_of(memory, monkeypatch, client)
    with pytest.raises(SystemExit):
        memory.work()
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        assert again.work().done["summarize"] == 1
    in_flight = client.questions[crash_at - 1]
    assert client.questions.count(in_flight) == 2
    assert len(client.questions) == len(set(client.questions)) + 1


def break_constraint(database: Database) -> None:
    database.execute("INSERT INTO tree (scope, key) VALUES ('nowhere', '')")


def break_value(database: Database) -> None:
    del database
    raise ValueError("this source is poisoned")


@pytest.mark.parametrize("poison", [break_value, break_constraint])
def test_a_source_that_cannot_be_sealed_does_not_block_the_others(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    clock: FakeClock,
    poison: Callable[[Database], None],
) -> None:
    seal = builder.seal

    def poisoned(database: Database, source_seq: int, source_id: str, shape: TreeShape) -> int:
        if source_id == "poisoned":
            poison(database)
        return seal(database, source_seq, source_id, shape)

    monkeypatch.setattr(builder, "seal", poisoned)
    for source in ("poisoned", "one", "two"):
        memory.append(source, [Message(text=prose(1, 3))])
    for _ in range(jobs.ATTEMPTS_MAX):
        with contextlib.suppress(DatabaseError):
            memory.work(max_calls=0)
        clock.advance(2 * jobs.BACKOFF_MAX_MS / 1000)
    for source in ("one", "two"):
        assert memory.tree(Scope.source(source)).statements
    assert [job.dedupe_key for job in memory.jobs(["todo", "dead", "running"])] == ["seal:poisoned"]
    assert memory.work(max_calls=0).paused == {}
    assert texts(memory, "poisoned") == [prose(1, 3)]


def test_a_leaf_that_cannot_be_summarized_does_not_block_the_other_sources(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    summarize = extractive.summarize_leaf

    def poisoned(excerpts: Any) -> Any:
        if any("poison" in excerpt.text for excerpt in excerpts):
            raise RecursionError
        return summarize(excerpts)

    monkeypatch.setattr(extractive, "summarize_leaf", poisoned)
    memory.append("bad", [Message(text="This is poison for every summarizer.")])
    memory.append("good", [Message(text=prose(1, 3))])
    report = memory.work(max_calls=0)
    assert report.failed == {"extract": 1}
    assert memory.tree(Scope.source("good")).statements
    (passage,) = memory.search("poison").passages
    assert [message.text for message in passage.messages] == [
        "This is poison for every summarizer."
    ]


def test_an_expired_lease_is_recovered_while_a_worker_runs_and_not_only_at_its_start(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    memory.append("stale", [Message(text=prose(1, 3))])
    jobs.claim(database, ["seal"], clock())
    memory.append("fresh", [Message(text=prose(2, 3))])

    def while_running(report: WorkReport, kind: str) -> None:
        del report, kind
        clock.advance(jobs.LEASE_MS / 1000)

    report = memory.work(max_calls=0, progress=while_running)
    assert without_intervals(report.done) == {"seal": 2, "extract": 2}
    assert memory.tree(Scope.source("stale")).statements


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("lead", ["It was:", "```", "====", "- one"])
def test_a_message_with_a_page_of_blank_lines_holds_nothing_up(
    memory: Memory, role: Role, lead: str
) -> None:
    began = time.monotonic()
    memory.append("log/1", [Message(role, lead + "\n" * 60_000 + "x")])
    memory.work(max_calls=0)
    assert memory.digest(Scope.source("log/1")).headline is not None
    assert time.monotonic() - began < 8


def test_a_message_in_many_leaves_is_looked_through_once(memory: Memory) -> None:
    place._explains.cache_clear()
    memory.append("log/1", [Message("assistant", " ".join(map(str, range(20_000))))])
    memory.work(max_calls=0)
    looks = place._explains.cache_info()
    assert looks.misses == 1
    assert looks.hits > 10
