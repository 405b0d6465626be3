"""Usage: every paid call is counted once, whatever becomes of its node and its job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fake_model import FakeClient, quoting, use
from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES, with_small_leaves
from treemem import Memory, Message, Scope, UsageError
from treemem.store.database import Database
from treemem.store.usage import UsageRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import FakeClock
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation

pytest.importorskip("treemem.models.client")


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's local time is UTC-5."""
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class PaidClient(FakeClient):
    """paid: every answer that it gave."""

    paid: list[Generation]

    def answer(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation:
        answer = super().answer(prompt, max_tokens=max_tokens, stop=stop)
        self.paid = [*getattr(self, "paid", []), answer]
        return answer


@pytest.fixture
def sources_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree above the sources is laid out; its root would be a call of its own."""
    monkeypatch.setattr("treemem.worker.collection_jobs.admit", lambda *_, **__: None)


@dataclass(frozen=True)
class Sums:
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float


def sums_of_rows(rows: Sequence[UsageRow]) -> Sums:
    return Sums(
        sum(row.calls for row in rows), sum(row.tokens_in for row in rows),
        sum(row.tokens_out for row in rows), sum(row.seconds for row in rows),
    )  # fmt: skip


def sums_of_client(client: PaidClient) -> Sums:
    return Sums(
        len(client.paid), sum(answer.tokens_in for answer in client.paid),
        sum(answer.tokens_out for answer in client.paid),
        sum(answer.seconds for answer in client.paid),
    )  # fmt: skip


def tell(memory: Memory, count: int, *, first: int = 0, source: str = "s") -> None:
    memory.append(source, [Message(text=prose(n, 8)) for n in range(first, first + count)])


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@with_small_leaves
def test_the_sums_by_every_key_equal_what_the_client_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = PaidClient()
    use(monkeypatch, memory, client)
    tell(memory, 20)
    tell(memory, 11, first=50, source="t")
    report = memory.work()
    paid = sums_of_client(client)
    assert paid.calls == report.model_calls > 30
    for key in ("day", "source", "level", "model", "job"):
        assert sums_of_rows(memory.usage(key)) == paid, key  # type: ignore[arg-type]


@with_small_leaves
def test_each_key_separates_its_calls(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    client = PaidClient()
    name = use(monkeypatch, memory, client).name
    tell(memory, 20)
    tell(memory, 11, first=50, source="t")
    memory.work()
    leaves, groups, roots = 19 + 10, 2 + 1, 2 + 1
    by_source = {row.key: row.calls for row in memory.usage("source")}
    above = {key: calls for key, calls in by_source.items() if key.startswith("topic ")}
    assert {key: calls for key, calls in by_source.items() if key not in above} == {
        "s": 19 + 2 + 1, "t": 10 + 1 + 1, "global": 1,
    }  # fmt: skip
    by_level = {row.key: row.calls for row in memory.usage("level")}
    assert (by_level["0"], by_level["1"]) == (leaves, groups)
    assert sum(by_level.values()) == leaves + groups + roots + sum(above.values())
    assert [(row.key, row.jobs) for row in memory.usage("model")] == [
        (name, leaves + groups + roots + sum(above.values()))
    ]
    calls = {row.key: row.calls for row in memory.usage("job")}
    done = {str(job.id) for job in memory.jobs(["done"]) if job.kind == "summarize"}
    assert calls == dict.fromkeys(done, 1)


@pytest.mark.usefixtures("new_york", "sources_only")
def test_days_are_local_and_limits_are_inclusive(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = PaidClient()
    use(monkeypatch, memory, client)
    # Midnight is at 05:00 UTC.
    for number, now in enumerate(["2026-01-10T04:59:59", "2026-01-10T05:00:00",
                                  "2026-01-11T04:59:59", "2026-01-11T05:00:00"]):  # fmt: skip
        clock.now_ms = utc(now)
        tell(memory, 1, first=number, source=f"s{number}")
        assert memory.work().model_calls == 1
    assert [(row.key, row.calls) for row in memory.usage()] == [
        ("2026-01-09", 1), ("2026-01-10", 2), ("2026-01-11", 1),
    ]  # fmt: skip
    day = memory.usage("source", since="2026-01-10", until="2026-01-10")
    assert [row.key for row in day] == ["s1", "s2"]
    since = memory.usage("source", since=datetime(2026, 1, 11, 4, 59, 59, tzinfo=UTC))
    assert [row.key for row in since] == ["s2", "s3"]
    until = memory.usage("source", until="2026-01-09T23:59:59")
    assert [row.key for row in until] == ["s0"]


def test_a_job_that_was_interrupted_counts_each_of_its_calls_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = PaidClient()
    use(monkeypatch, memory, client)
    tell(memory, 18)
    while memory.work(max_calls=1).stopped_by != "empty":
        clock.advance(24 * 3600)
    paid = sums_of_client(client)
    assert paid.calls >= 3
    (row,) = memory.usage("job")
    assert (row.jobs, sums_of_rows([row])) == (1, paid)
    days = memory.usage("day")
    assert [day.calls for day in days] == [1] * paid.calls
    assert [day.jobs for day in days] == [1] * paid.calls


@with_small_leaves
def test_calls_for_a_root_that_was_replaced_meanwhile_are_counted(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[str] = []

    def answer(question: str) -> str:
        if client.group_questions and not replaced:
            with Memory.open(memory.path, shape=SMALL_LEAVES) as other:
                root = other.tree(Scope.source("s")).root_id
                assert root is not None
                replaced.append(root)
                tell(other, 1, first=99)
                other.work(max_calls=0)
        return quoting(question)

    client = PaidClient(answer)
    use(monkeypatch, memory, client)
    tell(memory, 4)
    memory.work()
    sql = "SELECT 1 FROM node WHERE id = ?"
    assert database.value(sql, (replaced[0],)) is None
    assert sums_of_rows(memory.usage("source")) == sums_of_client(client)
    assert [row.key for row in memory.usage("source")] == ["s"]


@with_small_leaves
@pytest.mark.usefixtures("sources_only")
def test_usage_outlives_its_node_and_its_job(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = PaidClient()
    use(monkeypatch, memory, client)
    tell(memory, 4)
    memory.work()
    before = memory.usage("job")
    root = memory.tree(Scope.source("s")).root_id
    tell(memory, 4, first=10)
    memory.work(max_calls=0)
    for job in memory.jobs(["done"]):
        memory.cancel_job(job.id)
    assert database.value("SELECT 1 FROM node WHERE id = ?", (root,)) is None
    assert memory.usage("job") == before
    memory.work()
    after = memory.usage("job")
    assert after[: len(before)] == before
    assert len(after) > len(before), "a new job has a number of its own"


def test_an_answer_and_its_usage_are_stored_together_or_not_at_all(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, memory, PaidClient())
    tell(memory, 1)
    database.execute(
        "CREATE TRIGGER no_usage BEFORE INSERT ON usage BEGIN SELECT raise(ABORT, 'refused'); END"
    )
    assert memory.work().failed == {"summarize": 1}
    assert database.value("SELECT count(*) FROM model_output") == 0
    assert memory.usage() == []


def test_without_usage_there_is_no_row(memory: Memory) -> None:
    assert memory.usage() == []


@pytest.mark.parametrize("limit", [{"since": "soon"}, {"until": "2026-13-01"}, {"since": "0001"}])
def test_an_invalid_time_limit_is_named(memory: Memory, limit: dict[str, str]) -> None:
    (name,) = limit
    with pytest.raises(UsageError, match=rf"{name} is a date or time such as 2026-11-27"):
        memory.usage("day", **limit)  # type: ignore[arg-type]


def test_an_invalid_key_is_named_with_the_valid_ones(memory: Memory) -> None:
    with pytest.raises(UsageError, match=r"day, source, level, model, job, not by 'colour'"):
        memory.usage("colour")  # type: ignore[arg-type]


def test_sums_by_time_and_the_latest_calls_of_a_model_use_an_index(
    memory: Memory, database: Database
) -> None:
    from treemem.store import usage

    plans = [
        (usage._SUMS.format(key="level"), {"since": 0, "until": 1}, "usage_time"),
        (usage._RECENT, ("model", 5), "usage_producer"),
    ]
    for sql, parameters, index in plans:
        steps = database.rows(f"EXPLAIN QUERY PLAN {sql}", parameters)
        assert any(index in step[-1] for step in steps), steps
