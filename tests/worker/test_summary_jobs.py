"""Model summaries: children first, within the limits, paid once, and never the worse view."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fake_model import FakeClient, answering, lines_of, quoting, raving, use
from tests.helpers.logs import prose
from tests.helpers.paraphrases import Agreeing
from tests.helpers.shapes import with_small_leaves
from treemem import ENTRY_STATES, Memory, Message, ModelError, Node, Scope
from treemem.config import ROOT_INTERVAL_MS
from treemem.queue import jobs
from treemem.store.database import Database
from treemem.summarize import extractive
from treemem.worker.summary_jobs import UNPROVEN

if TYPE_CHECKING:
    from tests.conftest import FakeClock

pytest.importorskip("treemem.models.client")

RULE = "You must never restart the scanner while the settlement runs."


def tell(memory: Memory, count: int, *, first: int = 0, source: str = "s") -> None:
    memory.append(source, [Message(text=prose(n, 8)) for n in range(first, first + count)])


def nodes(memory: Memory, source: str = "s") -> list[Node]:
    return [memory.node(node.id) for node in memory.tree(Scope.source(source)).nodes()]


def producers(node: Node) -> list[str]:
    return [summary.producer for summary in node.summaries]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


# -- which nodes, in which order -------------------------------------------------------


@with_small_leaves
def test_every_sealed_node_and_the_root_get_a_model_summary_children_before_parents(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = use(monkeypatch, memory, FakeClient()).name
    tell(memory, 80)
    assert memory.work().stopped_by == "empty"
    root, *below = nodes(memory)
    assert root.level >= 2
    for node in [root, *(node for node in below if not node.provisional)]:
        assert producers(node)[0] == name, node
        assert node.summaries[0].shown
    sql = "SELECT node_seq, max(seq) FROM summary GROUP BY node_seq"
    summarized: dict[int, int] = dict(database.rows(sql))
    by_model = """
    SELECT nc.node_seq, nc.child_seq FROM node_child nc JOIN summary s ON s.node_seq = nc.node_seq
    JOIN producer p ON p.seq = s.producer_seq AND p.rank > 0
    """
    for parent, child in database.rows(by_model):
        assert summarized[child] < summarized[parent]
    assert_whole(memory)


@with_small_leaves
def test_a_summarized_node_is_not_summarized_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    tell(memory, 20)
    memory.work()
    calls = len(client.questions)
    clock.advance(24 * 3600)
    assert memory.work().model_calls == 0
    assert len(client.questions) == calls == len(set(client.questions))


@with_small_leaves
def test_a_grown_root_is_summarized_again_only_after_its_interval(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client = FakeClient()
    name = use(monkeypatch, memory, client).name
    tell(memory, 3)
    memory.work()
    roots = len(client.group_questions)
    assert roots == 1
    for number in range(4):
        clock.advance(60)
        tell(memory, 1, first=10 + number)
        memory.work()
    assert len(client.group_questions) == roots
    assert name not in producers(nodes(memory)[0])
    clock.advance(ROOT_INTERVAL_MS / 1000)
    memory.work()
    assert len(client.group_questions) == roots + 1
    assert producers(nodes(memory)[0])[0] == name


@with_small_leaves
def test_a_better_model_adds_its_summaries_and_overwrites_none(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    tell(memory, 20)
    names = {}
    for name, rank in (("small", 10), ("large", 20), ("tiny", 5)):
        names[name] = use(monkeypatch, memory, FakeClient(), name=name, rank=rank).name
        memory.work(upgrade=name != "tiny")
        clock.advance(ROOT_INTERVAL_MS / 1000)
    root = nodes(memory)[0]
    assert producers(root) == [names["large"], names["small"], extractive.NAME]
    assert [summary.shown for summary in root.summaries] == [True, False, False]
    assert memory.node(root.id, producer=names["small"]).statements
    assert_whole(memory)


# -- what is stored --------------------------------------------------------------------


def test_a_statement_cites_the_message_that_supports_it_whatever_line_the_model_named(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "Module 17 wrote the report of 3 May 2026 to /var/out/17.csv for Ana in Graz."
    answer = answering(sentence)
    use(monkeypatch, memory, FakeClient(lambda _: answer))
    memory.append(
        "s", [Message(text=prose(1, 3)), Message(text=prose(2, 3)), Message(text=sentence)]
    )
    memory.work()
    node = nodes(memory)[0]
    (own,) = [statement for statement in node.statements if statement.producer.startswith("fake@")]
    assert [message.text for message in own.messages] == [sentence]


@with_small_leaves
@pytest.mark.parametrize(
    "answer", [raving, lambda _: "", lambda _: "no JSON at all", lambda _: "[{"]
)
def test_a_view_without_accepted_statements_hides_no_other_and_blocks_no_parent(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], str]
) -> None:
    client = FakeClient(answer)
    name = use(monkeypatch, memory, client).name
    tell(memory, 20)
    report = memory.work()
    assert report.stopped_by == "empty"
    assert (report.kept, sum(report.rejected.values())) == (0, report.offered)
    for node in nodes(memory):
        assert node.statements
        assert {statement.producer for statement in node.statements} == {extractive.NAME}
    root = nodes(memory)[0]
    assert producers(root)[0] == name
    assert root.summaries[0].rejections
    assert not root.summaries[0].shown
    assert_whole(memory)


@with_small_leaves
def test_a_models_summaries_change_nothing_in_the_ledger(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.append("s", [Message(text=RULE)])
    tell(memory, 70)
    memory.work(max_calls=0)
    before = memory.ledger(states=ENTRY_STATES)
    use(monkeypatch, memory, FakeClient())
    assert memory.work().kept
    assert nodes(memory)[0].level >= 2
    assert memory.ledger(states=ENTRY_STATES) == before
    (rule,) = [entry for entry in before if entry.text == RULE]
    assert rule.kind == "constraint"
    assert [message.text for message in memory.ledger.show(rule.id).messages] == [RULE]


def test_a_report_counts_calls_tokens_and_statements(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_raving(question: str) -> str:
        return quoting(question)[:-2] + ", " + raving(question).removeprefix('{"statements": [')

    client = FakeClient(half_raving)
    use(monkeypatch, memory, client)
    tell(memory, 30)
    report = memory.work()
    assert report.model_calls == len(client.questions)
    assert report.tokens_in == sum(len(question) // 4 for question in client.questions)
    assert 0 < report.kept < report.offered
    assert report.kept + sum(report.rejected.values()) == report.offered


# -- limits ----------------------------------------------------------------------------


@with_small_leaves
@pytest.mark.parametrize("max_calls", [1, 2, 3, 7])
def test_the_limit_of_calls_is_never_exceeded_and_no_call_is_repeated(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, max_calls: int
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    tell(memory, 12)
    report = memory.work(max_calls=max_calls)
    assert (report.model_calls, report.stopped_by) == (max_calls, "max_calls")
    assert len(client.questions) == max_calls
    while memory.work(max_calls=max_calls).stopped_by != "empty":
        pass
    in_parts = sorted(client.questions)
    assert len(in_parts) == len(set(in_parts))
    assert all("fake@" in producers(node)[0] for node in nodes(memory) if not node.provisional)


def test_with_a_limit_of_no_calls_the_model_is_not_used(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    tell(memory, 30)
    assert memory.work(max_calls=0).stopped_by == "empty"
    assert client.questions == []


def test_a_limit_between_two_calls_of_one_leaf_keeps_the_paid_answer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    tell(memory, 18)
    stops: list[str] = []
    while not stops or stops[-1] != "empty":
        stops.append(memory.work(max_calls=1).stopped_by)
    windows = len(client.questions)
    assert windows >= 3
    assert len(set(client.questions)) == windows
    assert len(nodes(memory)) == 1
    assert (memory.jobs(["todo", "dead"]), memory.status().jobs["summarize"]) == ([], {"done": 1})


def test_a_limit_of_tokens_stops_after_the_call_that_reaches_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    tell(memory, 18)
    report = memory.work(max_tokens=10)
    assert (report.model_calls, report.stopped_by) == (1, "max_tokens")
    assert memory.work(max_tokens=10**9).stopped_by == "empty"
    assert len(set(client.questions)) == len(client.questions)


# -- what can go wrong -----------------------------------------------------------------


def test_no_transaction_is_open_while_the_model_runs(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(question: str) -> str:
        other = Database(memory.path, busy_timeout_ms=200)
        with other.transaction():
            other.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('seen', '1')")
        other.close()
        return quoting(question)

    use(monkeypatch, memory, FakeClient(answer))
    tell(memory, 3)
    assert memory.work().failed == {}
    assert memory.setting("seen") == "1"


class Judge(Agreeing):
    """A checker that runs out of the budget's time, or fails, after so many notes."""

    def __init__(self, database: Database | None = None, fails_after: int = 1_000) -> None:
        super().__init__()
        self._database = database
        self._fails_after = fails_after

    def score(self, lines: Sequence[str], note: str) -> float:
        if self._database is not None:
            assert not self._database.in_transaction
        if len(self.asked) >= self._fails_after:
            raise ModelError("the checker is gone", recoverable=True)
        return super().score(lines, note)


SHED = "I lost the keys of the shed in Linz, so I fetch the ladder {n} on Monday."


def in_own_words(question: str) -> str:
    """Notes that only a checker can confirm, one for each line."""
    numbers = re.findall(r"ladder (\d+)", question)
    return answering(
        *(f"Because of lost keys, the user gets the ladder {n} on Monday." for n in numbers)
    )


def tell_of_ladders(memory: Memory, count: int) -> None:
    memory.append("s", [Message(text=SHED.format(n=n)) for n in range(100, 100 + count)])


def test_a_score_is_stored_at_once_and_asked_for_only_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    client, first = FakeClient(in_own_words), Judge(fails_after=2)
    use(monkeypatch, memory, client, checker=first)
    tell_of_ladders(memory, 4)
    memory.work()
    assert len(first.asked) == 2
    calls = len(client.questions)
    second = Judge()
    name = use(monkeypatch, memory, client, checker=second).name
    clock.advance(3_600)
    memory.work()
    assert len(client.questions) == calls
    asked = [note for _, note in (*first.asked, *second.asked)]
    assert len(asked) == len(set(asked)) == 4
    shown = [s for s in nodes(memory)[0].statements if s.producer == name and s.score is not None]
    assert {(s.grade, s.checker) for s in shown} == {("entailed", "agreeing")}


def test_unproven_statements_are_counted_apart_and_not_shown(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, memory, FakeClient(lambda q: in_own_words(q) + "\n" + quoting(q)))
    tell_of_ladders(memory, 3)
    report = memory.work()
    assert report.rejected[UNPROVEN] >= 3
    assert report.kept + sum(report.rejected.values()) == report.offered
    assert {s.grade for s in nodes(memory)[0].statements} <= {"verbatim", "aligned"}


def test_a_model_that_cannot_be_used_pauses_its_jobs_and_no_attempt_counts(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    def missing(_: str) -> str:
        raise ModelError("The model's file is gone.", recoverable=False)

    client = FakeClient(missing)
    use(monkeypatch, memory, client)
    tell(memory, 3)
    report = memory.work()
    assert report.paused == {"summarize": "The model's file is gone."}
    (job,) = memory.jobs(["todo"])
    assert (job.kind, job.attempts) == ("summarize", 0)
    tell(memory, 3, first=5)
    assert memory.work().done == {"seal": 1, "extract": 1} or memory.jobs(["dead"]) == []
    client.reply = quoting
    clock.advance(jobs.BREAKER_PAUSE_MS / 1000)
    assert memory.work().paused == {}
    assert "fake@" in producers(nodes(memory)[0])[0]


def test_a_summary_after_the_lease_was_lost_is_dropped_but_its_answers_stay(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    taken: list[jobs.Claim] = []

    def slow(question: str) -> str:
        if not taken:
            clock.advance(jobs.LEASE_MS / 1000)
            other = Database(memory.path)
            taken.extend(jobs.claim(other, ["summarize"], clock()))
            other.close()
        return quoting(question)

    client = FakeClient(slow)
    use(monkeypatch, memory, client)
    tell(memory, 3)
    report = memory.work()
    assert len(taken) == 1
    assert (report.failed, report.done.get("summarize")) == ({"summarize": 1}, None)
    assert producers(nodes(memory)[0]) == [extractive.NAME]
    clock.advance(jobs.LEASE_MS / 1000)
    assert memory.work().done == {"summarize": 1}
    assert len(client.questions) == 1


@with_small_leaves
def test_a_node_that_cannot_be_summarized_blocks_no_other(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    def answer(question: str) -> str:
        if "/var/out/6000.csv" in question and question.count("\n") < 10:
            raise ModelError("the context is too short")
        return quoting(question)

    client = FakeClient(answer)
    name = use(monkeypatch, memory, client).name
    tell(memory, 20)
    for _ in range(jobs.ATTEMPTS_MAX + 1):
        memory.work()
        clock.advance(3600)
    (dead,) = memory.jobs(["dead"])
    assert dead.error == "the context is too short"
    for node in nodes(memory):
        if not node.provisional:
            assert producers(node)[0] == name
            assert node.statements
    (failed,) = [node for node in nodes(memory) if name in producers(node)
                 and not node.summaries[0].shown]  # fmt: skip
    assert failed.is_leaf
    assert "too short" in failed.summaries[0].rejections[0].reason
    assert_whole(memory)


@with_small_leaves
def test_a_node_whose_workers_all_die_blocks_no_other(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    """As when the machine runs out of memory on it: nobody is left to say that it failed."""

    def answer(question: str) -> str:
        if "/var/out/6000.csv" in question and question.count("\n") < 10:
            raise SystemExit
        return quoting(question)

    client = FakeClient(answer)
    name = use(monkeypatch, memory, client).name
    tell(memory, 20)
    deaths = 0
    for _ in range(4 * jobs.ATTEMPTS_MAX):
        try:
            memory.work()
        except SystemExit:
            deaths += 1
        clock.advance(3600)
    assert deaths == jobs.ATTEMPTS_MAX
    assert all(producers(node)[0] == name for node in nodes(memory) if not node.provisional)
    assert_whole(memory)


def test_a_statement_with_characters_that_sqlite_cannot_store_fails_no_job(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(question: str) -> str:
        sentence = lines_of(question)[0].split(". ")[0]
        return answering(f"{sentence} \ud83d.", "Mallory \ud83d knows nothing.")

    use(monkeypatch, memory, FakeClient(answer))
    tell(memory, 3)
    report = memory.work()
    assert report.failed == {}
    assert (report.offered, report.kept) == (2, 1)
    assert_whole(memory)
