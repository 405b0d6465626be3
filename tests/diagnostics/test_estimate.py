"""A plan predicts the results of ingest and work, and changes nothing."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.shapes import with_small_leaves
from treemem import FileReport, Memory, Message, UsageError
from treemem.config import ROOT_INTERVAL_MS
from treemem.diagnostics.estimate import NOTE_TOKENS, TOKENS_OUT_DEFAULT, Plan, speed_of
from treemem.importers.common.base import LogFile
from treemem.store.database import Database
from treemem.summarize import exam, lines
from treemem.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import FakeClock
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation

pytest.importorskip("treemem.models.client")

# Prompts above the leaves contain the model's own words, which no plan can know.
TOKENS_IN_BOUND = 0.05
JOBS_PER_LEAF_MAX = 1.15
TOKENS_PER_TOKEN_MAX = 1.35


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small leaf is read in two or three windows."""
    monkeypatch.setattr(lines, "WINDOW_TOKENS", 100)


class CountingClient(FakeClient):
    """Counts the tokens of prompts with the vocabulary that a plan uses."""

    def answer(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation:
        answer = super().answer(prompt, max_tokens=max_tokens, stop=stop)
        tokens_in = count_tokens(prompt.question) + count_tokens(prompt.start)
        return replace(answer, tokens_in=tokens_in, tokens_out=count_tokens(answer.text))


def session(turns: int, name: str = "one") -> ClaudeSession:
    log = ClaudeSession(name)
    log.say(*(prose(number, 1 + number % 6) for number in range(turns)))
    return log


def assert_comes_true(memory: Memory, plan: Plan, paths: Sequence[Path]) -> None:
    """Ingests and works, and compares the results with the plan."""
    # A plan leaves out the trees above the sources: they are built now, and after an interval.
    memory.append("early", [Message(text="Good morning.")])
    memory.work()
    before = memory.status()
    report = memory.ingest(paths)
    after = memory.status()
    assert list(plan.files) == report.files
    assert (plan.messages_new, plan.messages_known) == (report.added, report.known)
    assert plan.tokens == after.tokens - before.tokens
    assert plan.sources_new == after.sources - before.sources
    assert (plan.leaves, plan.groups) == (
        after.leaves - before.leaves, after.groups - before.groups,
    )  # fmt: skip
    work = memory.work()
    assert work.done.get("summarize", 0) == plan.jobs
    assert work.model_calls == plan.calls
    assert work.tokens_in == pytest.approx(plan.tokens_in, rel=TOKENS_IN_BOUND)


def assert_costs_nothing(plan: Plan) -> None:
    assert (plan.messages_new, plan.tokens, plan.sources_new) == (0, 0, 0)
    assert (plan.jobs, plan.calls, plan.tokens_in, plan.tokens_out) == (0, 0, 0, 0)


# -- plans and results -----------------------------------------------------------------


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_a_plan_of_whole_files_comes_true(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient())
    note = tmp_path / "note.md"
    note.write_text(f"# Pickup\n\n{prose(7, 3)}\n")
    paths = [session(90).write(tmp_path), session(9, "two").write(tmp_path), note]
    plan = memory.plan(paths)
    assert (plan.sources, plan.sources_new, plan.roots) == (3, 3, 3)
    assert plan.groups >= 2
    assert plan.leaf_calls > 1.5 * plan.leaves
    assert_comes_true(memory, plan, paths)


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_messages_that_are_stored_already_cost_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient())
    path = session(40).write(tmp_path)
    memory.ingest(path)
    plan = memory.plan(path)
    assert plan.messages_known == 40
    assert_costs_nothing(plan)


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_a_log_as_it_was_before_it_grew_costs_nothing(memory: Memory, tmp_path: Path) -> None:
    grown = session(40)
    memory.ingest(grown.write(tmp_path))
    older = session(33).write(tmp_path)
    assert_costs_nothing(memory.plan(older))


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_only_the_tail_of_a_grown_log_costs_anything(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: FakeClock
) -> None:
    use(monkeypatch, memory, CountingClient())
    memory.ingest(session(60).write(tmp_path))
    memory.work()
    whole = memory.status()
    clock.advance(ROOT_INTERVAL_MS / 1000)
    path = session(70).write(tmp_path)
    plan = memory.plan(path)
    assert (plan.messages_new, plan.messages_known, plan.sources_new) == (10, 60, 0)
    assert 0 < plan.leaves < whole.leaves / 2
    assert plan.roots == 1
    assert_comes_true(memory, plan, [path])


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_a_fork_shares_the_nodes_of_its_parent(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient())
    first = session(60)
    fork = first.resumed_as("fork")
    fork.say(*(prose(500 + number, 3) for number in range(20)))
    memory.ingest(first.write(tmp_path))
    memory.work()
    path = fork.write(tmp_path)
    plan = memory.plan(path)
    assert (plan.messages_new, plan.messages_known, plan.sources_new) == (20, 60, 1)
    assert_comes_true(memory, plan, [path])


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_messages_that_files_share_are_counted_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient())
    first = session(40)
    fork = first.resumed_as("fork")
    fork.say(*(prose(500 + number, 3) for number in range(20)))
    paths = [first.write(tmp_path), fork.write(tmp_path)]
    plan = memory.plan(paths)
    assert [file.added for file in plan.files] == [40, 20]
    assert_comes_true(memory, plan, paths)


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_an_open_tail_that_becomes_full_is_planned_as_a_leaf(
    memory: Memory,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    clock: FakeClock,
) -> None:
    """Its id existed before, but a tail below a root has no job."""
    use(monkeypatch, memory, CountingClient())
    log = ClaudeSession("full")
    log.say(*(prose(number, 6) for number in range(4)))
    memory.ingest(log.write(tmp_path))
    memory.work()
    (tail,) = database.row("SELECT n.id FROM tree t JOIN node n ON n.seq = t.tail_seq")
    clock.advance(ROOT_INTERVAL_MS / 1000)
    log.say(prose(9, 12))
    path = log.write(tmp_path)
    plan = memory.plan(path)
    assert_comes_true(memory, plan, [path])
    assert database.value("SELECT provisional FROM node WHERE id = ?", (tail,)) == 0


def test_a_short_log_is_planned_as_an_open_tail_that_is_its_root(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient())
    path = session(20).write(tmp_path)
    plan = memory.plan(path)
    assert (plan.leaves, plan.groups, plan.roots, plan.leaf_calls) == (0, 0, 1, 0)
    assert plan.jobs_per_leaf is plan.windows_per_leaf is None
    assert plan.upper_calls >= 2
    assert_comes_true(memory, plan, [path])


def test_bytes_in_memory_are_planned_like_a_file(memory: Memory) -> None:
    plan = memory.plan([LogFile("note.md", data=b"# Pickup\n\nWe ship on Friday.\n")])
    assert (plan.messages_new, plan.jobs) == (1, 1)


def test_a_file_that_is_no_log_is_reported_and_does_not_affect_the_others(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01\x02" * 100)
    session(5).write(tmp_path)
    plan = memory.plan(tmp_path / name for name in ("a.bin", f"{session(5).id}.jsonl"))
    assert [file.error is None for file in plan.files] == [False, True]
    assert plan.messages_new == 5


def test_a_path_that_does_not_exist_is_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        memory.plan(tmp_path / "nowhere")


# -- the model and its speed -----------------------------------------------------------


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_without_a_model_calls_are_planned_but_no_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = session(40).write(tmp_path)
    without = memory.plan(path)
    assert (without.model, without.speed, without.seconds) == (None, None, None)
    assert without.tokens_out == without.calls * TOKENS_OUT_DEFAULT > 0
    use(monkeypatch, memory, CountingClient(), mode="notes")
    assert memory.plan(path) == replace(without, model="fake")


def test_a_model_that_is_not_installed_counts_as_none(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    database.execute("INSERT INTO setting VALUES ('summarizer', 'smollm2-135m')")
    plan = memory.plan(session(5).write(tmp_path))
    assert plan.model is None
    assert plan.calls <= 1  # of five short turns at most one sentence is long enough to be retold


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_seconds_and_answers_are_estimated_from_earlier_calls_of_this_model(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = FakeClient()
    name = use(monkeypatch, memory, client).name
    memory.append("s", [Message(text=prose(number, 8)) for number in range(20)])
    report = memory.work()
    plan = memory.plan(session(40).write(tmp_path))
    assert plan.speed == speed_of(database, name)
    assert plan.speed is not None
    assert plan.speed.calls == report.model_calls
    assert plan.seconds == plan.calls * 0.25  # the seconds of every call of the fake
    mean = report.tokens_out / report.model_calls
    assert plan.tokens_out == round(plan.calls * mean)
    use(monkeypatch, memory, client, name="other")
    assert memory.plan(session(40).write(tmp_path)).speed is None


def test_a_plan_opens_no_model(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = CountingClient()
    use(monkeypatch, memory, client)

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was opened")

    monkeypatch.setattr("treemem.summarize.backends.slots_of", refuse)
    assert memory.plan(session(5).write(tmp_path)).calls == 1
    assert client.questions == []


class _Judge:
    """A checker that finds nothing supported, and counts what it is asked."""

    name = "judge"
    threshold = 0.5

    def __init__(self) -> None:
        self.asked = 0

    def score(self, lines: Sequence[str], note: str) -> float:
        assert lines
        assert note
        self.asked += 1
        return 0.0


def test_the_calls_of_a_checker_are_planned_too_without_one_of_them(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = session(40).write(tmp_path)
    use(monkeypatch, memory, CountingClient())
    without = memory.plan(path)
    assert (without.checker, without.checks) == (None, 0)
    judge = _Judge()
    use(monkeypatch, memory, CountingClient(), checker=judge)
    plan = memory.plan(path)
    assert plan == replace(without, checker="judge", checks=plan.checks)
    assert plan.checks == round(plan.tokens_out / NOTE_TOKENS) > 0
    assert judge.asked == 0


# -- nothing changes -------------------------------------------------------------------


def test_a_plan_changes_nothing_in_the_users_file(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path, clock=clock) as memory:
        memory.ingest(session(20).write(tmp_path))
    before = path.read_bytes()
    grown = session(40).write(tmp_path)
    other = Database(path)
    with Memory.open(path, clock=clock) as memory:
        version = other.value("PRAGMA data_version")
        assert memory.plan(grown).messages_new == 20
        assert other.value("PRAGMA data_version") == version
    other.close()
    assert path.read_bytes() == before


def test_the_temporary_file_is_removed_even_after_ctrl_c(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    seen: list[int] = []

    def interrupt(report: FileReport) -> None:
        seen.append(len(list(folder.glob("*/*.sqlite3"))))
        raise KeyboardInterrupt

    path = session(20).write(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        memory.plan(path, progress=interrupt)
    assert (seen, list(folder.iterdir())) == ([1], [])
    memory.plan(path)
    assert list(folder.iterdir()) == []


# -- the bounds ------------------------------------------------------------------------


@with_small_leaves
@pytest.mark.usefixtures("small_windows")
def test_a_tree_of_100_leaves_takes_at_most_115_jobs_besides_its_root(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, memory, FakeClient())
    memory.append("s", [Message(text=prose(number, 8)) for number in range(101)])
    report = memory.work()
    leaves, roots = memory.status().leaves, 1
    assert leaves == 100
    assert report.done["summarize"] <= JOBS_PER_LEAF_MAX * leaves + roots


def test_a_model_uses_at_most_135_tokens_for_100_ingested_ones(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With windows as large as a leaf; smaller ones repeat the fixed prompt."""
    monkeypatch.setattr(lines, "WINDOW_TOKENS", exam.WHOLE_LEAF_TOKENS)
    use(monkeypatch, memory, CountingClient())
    memory.append("s", [Message(text=prose(number, 8)) for number in range(600)])
    report = memory.work()
    status = memory.status()
    assert status.leaves >= 24
    assert report.model_calls == report.done["summarize"]
    cost = (report.tokens_in + report.tokens_out) / status.tokens
    assert 1 < cost <= TOKENS_PER_TOKEN_MAX


def test_before_the_first_job_the_speed_is_that_of_the_exam(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, memory, CountingClient(), mode="retell")
    part = exam.ExamPart(12, 6, 5, 12, 12, 480, 120, 0.5, 5)
    result = exam.ExamResult("fake", exam.version(), "retell", 4_000, part, part, None, "")
    monkeypatch.setattr("treemem.summarize.backends.exam_of", lambda _: result)
    plan = memory.plan(session(40).write(tmp_path))
    assert plan.speed is not None
    assert plan.seconds == plan.calls * 0.5 > 0
    assert plan.speed.tokens_per_second == 100
    assert plan.tokens_out == plan.calls * 10
