"""A process killed with SIGKILL at any step of ingest and work loses nothing.

Each child process (kill_driver.py) ingests a folder and lets a fake model summarize all of it. It
is killed at a step, and the same command is run again until it ends by itself. Then doctor finds
nothing, and the file has the same messages, histories, nodes, trees, roots and statements as after
an undisturbed run. `make test-kills` kills often, `make test-kill-sample` twenty times.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import fault_logs
import pytest
from fault_field import (
    MINUTES_A_STATE,
    MINUTES_BETWEEN,
    START_MS,
    Field,
    Note,
    calls_above_sources,
    calls_in,
    complaints_of,
    findings_of,
    notes_in,
    trees_above_sources,
)
from fault_pictures import Picture

from treemem import Memory
from treemem.queue.jobs import ATTEMPTS_MAX

ROOT = Path(__file__).parents[2]
KILLS_FEW = 3
KILLS_ROLLBACK_FEW = 2
KILLS_MANY = int(os.environ.get("TREEMEM_KILLS", "200"))
SEED = 20260301
# The sample: kills, and the number of the first chain, in two halves for two processes.
KILLS_SAMPLE = 10
SAMPLE_CHAINS = (1_000, 3_000)
# Kills on one file before it may end its work. A job whose worker died ATTEMPTS_MAX times is dead
# by design, so a chain is shorter than that.
CHAIN_LENGTHS = (1, 2, 1, 3, 1, 4)
GOLDEN = (math.sqrt(5) - 1) / 2

assert max(CHAIN_LENGTHS) < ATTEMPTS_MAX

# What a process is doing, by a function that runs; the first that matches counts.
PLACES = {
    "memory.Memory.close": "closing the file",
    "memory.Memory.open": "opening the file",
    "jobs.claim": "claiming a job",
    "files.FileIngest._store": "storing a batch",
    "imported_files.remember": "remembering a file",
    "imported_files.load": "reading a file",
    "files.FileIngest._batches": "reading a file",
    "source_jobs.SourceWork._seal": "sealing",
    "source_jobs.SourceWork._extract": "extractive summaries",
    "collection_jobs.CollectionWork._lay_out": "trees above the sources",
    "collection_jobs.CollectionWork._lay_out_topics": "topics",
    "collection_jobs.CollectionWork.run": "trees above the sources",
    "summary_jobs._PaidClient.answer": "asking the model",
    "summary_jobs.SummaryWork.run": "a model summary",
    "summary_jobs.SummaryWork.admit_all": "admitting model jobs",
    "summary_jobs.SummaryWork.prepare": "admitting model jobs",
    "worker.Worker.run": "ending the work",
    "files.FileIngest.run": "reading a file",
    "memory.Memory.work": "beginning the work",
}
# Phases of so few steps that no kill may hit them.
PLACES_SMALL = {"closing the file", "beginning the work", "ending the work", "remembering a file"}

# Functions that random kills seldom hit; the state of the logs; and whether the command is run
# again before the dead process's lease has expired.
FUNCTIONS = (
    ("imported_files.remember", 2, False),
    ("source_jobs.SourceWork._extract", 2, True),
    ("summary_jobs.SummaryWork._store", 1, True),
    ("collection_jobs.CollectionWork._cover", 2, False),
    pytest.param("assignment.place", 2, True, marks=pytest.mark.slow),
    pytest.param("assignment.read_batch", 1, False, marks=pytest.mark.slow),
    pytest.param("builder.release", 2, True, marks=pytest.mark.slow),
    pytest.param("summary_jobs.SummaryWork._store", 2, True, marks=pytest.mark.slow),
    pytest.param("messages._join", 2, False, marks=pytest.mark.slow),
    pytest.param("builder.extend", 2, True, marks=pytest.mark.slow),
    pytest.param("extractive_views.put", 2, False, marks=pytest.mark.slow),
    pytest.param("jobs.prune", 1, False, marks=pytest.mark.slow),
)


# Functions that single tests kill in.
KILLED_IN = ("imported_files.remember", "source_jobs.SourceWork._seal")


@dataclass(frozen=True, slots=True)
class Chain:
    """Kills on one file.

    state: of the logs. fraction: of the steps of an undisturbed run, before the first kill.
    length: the number of kills. work_first: a worker runs after each kill before the same command
    does, and finds a file that was read half. soon: the command runs again before the dead
    process's lease has expired, so that other jobs are done first.
    """

    state: int
    fraction: float
    length: int
    work_first: bool
    soon: bool


def chains(first: int = 0) -> Iterator[Chain]:
    """Endless chains, from a number on. Their first kills spread evenly over all steps."""
    for number in itertools.count(first):
        yield Chain(
            state=1 if number % 5 < 3 else 2,
            fraction=(number * GOLDEN + 0.1) % 1,
            length=CHAIN_LENGTHS[number % len(CHAIN_LENGTHS)],
            work_first=number % 4 >= 2,
            soon=number % 3 == 1,
        )


# -- one chain -------------------------------------------------------------------------


def break_off(place: Field, path: Path, chain: Chain, kill_in: str) -> list[Note]:
    """Kills children on one file, one after the other. Returns where each was killed."""
    draw = random.Random(f"{SEED} {chain}")
    steps = place.undisturbed[chain.state].steps
    kill_at = 0 if kill_in else 1 + int(chain.fraction * steps)
    for number in range(chain.length):
        minute = chain.state * MINUTES_A_STATE + (0 if chain.soon else number * MINUTES_BETWEEN)
        work_first = chain.work_first and number > 0
        child = place.run(
            path, minute=minute, kill_at=kill_at, kill_in=kill_in, work_first=work_first
        )
        if child.returncode == 0:  # it had fewer steps than expected
            break
        assert child.returncode == -signal.SIGKILL, child.stderr
        # The next child has fewer steps, since some of the work is done.
        kill_at = draw.randint(1, max(150, int((steps - kill_at) * 0.9)))
    return notes_in(path)


def problems_after(place: Field, chain: Chain, path: Path, *, kill_in: str = "") -> list[str]:
    """Runs a chain, then one child to its end, and returns the problems that this leaves.

    kill_in: a function of treemem to kill in, instead of at the chain's fraction.
    """
    if chain.state > 1:
        shutil.copy(place.undisturbed[chain.state - 1].path, path)
    fault_logs.write(place.logs, chain.state)
    notes = break_off(place, path, chain, kill_in)
    place.kills += notes
    expected = place.undisturbed[chain.state]
    if chain.soon:
        place.outcome(path, minute=chain.state * MINUTES_A_STATE, work_first=chain.work_first)
    minute = chain.state * MINUTES_A_STATE + chain.length * MINUTES_BETWEEN
    problems = complaints_of(place.outcome(path, minute=minute, work_first=chain.work_first))
    problems += findings_of(path)
    problems += expected.picture.differences(Picture.of(path))
    lost = sum(falls_between_answer_and_commit(note) for note in notes)
    # Where other sources are done first, or a worker runs before everything is stored, the nodes
    # above the sources are summarized once more at the end. No node of a source is.
    again = calls_above_sources(path) - calls_above_sources(expected.path)
    unfinished = chain.soon + chain.work_first * chain.length
    trees = trees_above_sources(path) | trees_above_sources(expected.path)
    if any(count > unfinished * trees[scope] for scope, count in again.items()):
        problems.append(f"{dict(again)} were asked for again")
    needed = expected.calls + again.total()
    if calls_in(path) > needed + lost:
        problems.append(f"{calls_in(path)} calls, {needed} were needed, {lost} lost")
    where = "; ".join(f"{note['step']}: {place_of(note)}, {note['what']}" for note in notes)
    return [f"{chain} killed at [{where}]: {problem}" for problem in problems]


def falls_between_answer_and_commit(note: Note) -> bool:
    return "summary_jobs._PaidClient.answer" in note["where"]


def place_of(note: Note) -> str:
    """What the process was doing when it was killed."""
    places = (place for function, place in PLACES.items() if function in note["where"])
    outside = [function for function in note["where"] if not function.startswith("database.")]
    return next(places, f"elsewhere: {' '.join(outside)}")


def kill_and_report(kills: int, place: Field, first_chain: int = 0) -> None:
    """Runs chains until there were that many kills. Fails with all problems after them."""
    began = time.monotonic()
    problems: list[str] = []
    for number, chain in enumerate(chains(first_chain)):
        path = place.folder / f"killed-{number}.sqlite3"
        problems += problems_after(place, chain, path)
        place.remove(path)
        if len(place.kills) >= kills:
            break
    print_report(place.kills, time.monotonic() - began)
    fail_with(problems)


def fail_with(problems: list[str]) -> None:
    if problems:
        pytest.fail(f"{len(problems)} problems:\n" + "\n".join(problems), pytrace=False)


def print_report(kills: list[Note], seconds: float) -> None:
    inside = sum(note["in_transaction"] for note in kills)
    print(f"\n{len(kills)} kills in {seconds:.0f} s, {inside} inside of a transaction:")
    for name, count in Counter(place_of(note) for note in kills).most_common():
        print(f"  {count:4}  {name}")


# -- the tests -------------------------------------------------------------------------


def field_in(factory: pytest.TempPathFactory, sqlite: str) -> Field:
    place = Field(factory.mktemp("kills"), sqlite)
    place.prepare()
    return place


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Field:
    return field_in(tmp_path_factory, "")


@pytest.fixture
def place(prepared: Field) -> Field:
    prepared.kills.clear()
    return prepared


def test_an_undisturbed_run_leaves_a_healthy_file(place: Field) -> None:
    for run in place.undisturbed.values():
        assert findings_of(run.path) == []
        assert run.picture.left_over == []
        assert {row[2] for row in run.picture.trees} == {0, 1}, "the logs are too short for a group"
        assert run.calls > 5


def test_every_function_to_kill_in_exists() -> None:
    functions = [*PLACES, *KILLED_IN, *(getattr(row, "values", row)[0] for row in FUNCTIONS)]
    assert [function for function in functions if not exists(function)] == []


def exists(function: str) -> bool:
    """Whether a module of treemem with the name before the first dot has the rest of the name."""
    module, _, names = function.partition(".")
    for path in (ROOT / "treemem").rglob(f"{module}.py"):
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        with contextlib.suppress(AttributeError):
            attrgetter(names)(importlib.import_module(dotted))
            return True
    return False


def test_killed_at_any_step_the_work_ends_the_same(place: Field) -> None:
    kill_and_report(KILLS_FEW, place)


@pytest.mark.parametrize(("function", "state", "soon"), FUNCTIONS)
def test_killed_within_a_function_the_work_ends_the_same(
    place: Field, function: str, state: int, soon: bool
) -> None:
    path = place.folder / f"{function}-{state}.sqlite3"
    chain = Chain(state=state, fraction=0.0, length=1, work_first=True, soon=soon)
    fail_with(problems_after(place, chain, path, kill_in=function))
    assert function in place.kills[0]["where"]


def test_no_loss_is_reported_after_a_kill_while_the_file_is_closed(place: Field) -> None:
    """The -wal file is missing then because the main file has all of it."""
    path = place.folder / "closing.sqlite3"
    fault_logs.write(place.logs, 1)
    steps = place.undisturbed[1].steps
    assert place.run(path, minute=0, kill_at=steps).returncode == -signal.SIGKILL
    assert notes_in(path)[0]["what"] == "after CLOSE"
    assert complaints_of(place.outcome(path, minute=MINUTES_BETWEEN)) == []


def test_a_document_put_back_after_a_kill_has_its_earlier_sections(place: Field) -> None:
    """The earlier file was read before, but the sections stored last are not from it."""
    path = place.folder / "put-back.sqlite3"
    shutil.copy(place.undisturbed[1].path, path)
    fault_logs.write(place.logs, 2)
    child = place.run(path, minute=2 * MINUTES_A_STATE, kill_in=KILLED_IN[0])
    assert child.returncode == -signal.SIGKILL, child.stderr
    fault_logs.write(place.logs, 1)
    minute = 2 * MINUTES_A_STATE + MINUTES_BETWEEN
    assert complaints_of(place.outcome(path, minute=minute)) == []
    assert findings_of(path) == []
    assert document_in(path) == document_in(place.undisturbed[1].path)


def document_in(path: Path) -> list[str]:
    with Memory.open(path) as memory:
        (source,) = (view.source.id for view in memory.sources() if "notes" in view.source.id)
        return sorted(message.text for message in memory.messages(source))


def test_a_job_that_always_kills_its_worker_ends_as_dead_and_repair_revives_it(
    place: Field,
) -> None:
    path = place.folder / "poisoned.sqlite3"
    fault_logs.write(place.logs, 1)
    for attempt in range(ATTEMPTS_MAX):
        child = place.run(path, minute=attempt * MINUTES_BETWEEN, kill_in=KILLED_IN[1])
        assert child.returncode == -signal.SIGKILL, child.stderr
    minute = ATTEMPTS_MAX * MINUTES_BETWEEN
    assert complaints_of(place.outcome(path, minute=minute)) == []
    with Memory.open(path, clock=lambda: START_MS + minute * 60_000) as memory:
        assert [job.kind for job in memory.jobs(["dead"])] == ["seal"]
        memory.repair()
    place.outcome(path, minute=minute + MINUTES_BETWEEN)
    assert place.undisturbed[1].picture.differences(Picture.of(path)) == []


@pytest.mark.slow
@pytest.mark.kill_sample
def test_killed_with_a_rollback_journal_the_work_ends_the_same(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With the standard library's SQLite treemem often uses no WAL."""
    kill_and_report(KILLS_ROLLBACK_FEW, field_in(tmp_path_factory, "stdlib"))


@pytest.mark.slow
@pytest.mark.kill_sample
@pytest.mark.parametrize("first_chain", SAMPLE_CHAINS)
def test_killed_at_a_sample_of_steps_the_work_ends_the_same(place: Field, first_chain: int) -> None:
    kill_and_report(KILLS_SAMPLE, place, first_chain)


@pytest.mark.slow
def test_killed_two_hundred_times_the_work_ends_the_same(place: Field) -> None:
    kill_and_report(KILLS_MANY, place)
    if KILLS_MANY >= 200:
        missed = set(PLACES.values()) - {place_of(note) for note in place.kills}
        assert missed <= PLACES_SMALL


@pytest.mark.slow
def test_killed_often_with_a_rollback_journal_the_work_ends_the_same(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    kill_and_report(KILLS_MANY // 4, field_in(tmp_path_factory, "stdlib"))
