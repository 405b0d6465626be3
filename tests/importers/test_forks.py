"""Tests that a chain of resumes and forks adds only its new turns in messages, leaves and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import ClaudeSession, CodexSession, prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory
from treemem.config import ROOT_INTERVAL_MS
from treemem.store.database import Database
from treemem.types import TreeShape

if TYPE_CHECKING:
    from tests.conftest import FakeClock

pytest.importorskip("treemem.models.client")

FORKS = 10
FIRST_TURNS = 24

Session = ClaudeSession | CodexSession


class Cost(NamedTuple):
    """messages, leaves: stored. calls: to the model, for each level of the sources' trees."""

    messages: int
    leaves: int
    calls: dict[int, int]


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


def claude(name: str) -> ClaudeSession:
    return ClaudeSession(name)


def codex(name: str) -> CodexSession:
    return CodexSession(name)


def old_codex(name: str) -> CodexSession:
    """A session of versions without turn names."""
    return CodexSession(name, with_turn_ids=False)


def chain(session: Session) -> Iterator[Session]:
    """Yields the session, and ten more that each continue the one before with a turn."""
    session.say(*(prose(n, 3) for n in range(FIRST_TURNS)))
    yield session
    for number in range(FORKS):
        name = f"{session.name} {number}"
        session = session.resumed_as(name)
        say_more(session, number)
        yield session


def growing(session: Session) -> Iterator[Session]:
    """Yields one session with the same turns added."""
    session.say(*(prose(n, 3) for n in range(FIRST_TURNS)))
    yield session
    for number in range(FORKS):
        say_more(session, number)
        yield session


def say_more(session: Session, number: int) -> None:
    session.say(*(prose(100 + 2 * number + n, 3) for n in range(2)))


def cost_of(
    sessions: Iterator[Session], memory: Memory, database: Database, clock: FakeClock, folder: Path
) -> Cost:
    """Ingests each session in turn, and lets the model summarize the new leaves.

    The trees above the sources are left out, since eleven sources need more calls than one.
    """
    for session in sessions:
        memory.ingest(session.write(folder))
        clock.advance(ROOT_INTERVAL_MS / 1000)
        assert memory.work().stopped_by == "empty"
    sql = "SELECT level, count(*) FROM usage WHERE scope = 'source' GROUP BY level"
    calls = dict(database.rows(sql))
    status = memory.status()
    return Cost(status.messages, status.leaves, calls)


def paid(
    sessions: Iterator[Session], clock: FakeClock, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Cost:
    folder.mkdir()
    database = Database(folder / "memory.sqlite3")
    with Memory(database, clock, SMALL_LEAVES) as memory:
        use(monkeypatch, memory, FakeClient())
        return cost_of(sessions, memory, database, clock, folder)


@pytest.mark.parametrize("begin", [claude, codex, old_codex])
def test_ten_forks_add_only_their_ten_new_turns(
    begin: Callable[[str], Session],
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forked = paid(chain(begin("chain")), clock, tmp_path / "chain", monkeypatch)
    grown = paid(growing(begin("grown")), clock, tmp_path / "grown", monkeypatch)
    assert forked == grown
    assert forked.messages == FIRST_TURNS + 2 * FORKS
    assert sum(forked.calls.values()) > forked.leaves > FORKS


@pytest.mark.parametrize("begin", [claude, codex, old_codex])
def test_each_fork_has_its_whole_history_and_adds_its_own_turn(
    begin: Callable[[str], Session], tmp_path: Path, memory: Memory
) -> None:
    added = []
    for session in chain(begin("c")):
        (report,) = memory.ingest(session.write(tmp_path)).files
        assert [m.text for m in memory.messages(session.source_id)] == texts_of(session)
        added.append(report.added)
    assert added == [FIRST_TURNS, *[2] * FORKS]
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def texts_of(session: Session) -> list[str]:
    if isinstance(session, ClaudeSession):
        return session.active_texts()
    return [text for _, text in session.turns]


def test_forks_of_one_turn_that_say_the_same_share_no_message(
    tmp_path: Path, memory: Memory
) -> None:
    """They are two turns at two times, although their texts and histories are equal."""
    first = codex("first")
    first.say("list the files", "three files")
    forks = [first.resumed_as(name) for name in ("one", "other")]
    for fork in forks:
        fork.say("go on", "done")
    paths = [session.write(tmp_path) for session in (first, *forks)]
    assert [file.added for file in memory.ingest(paths).files] == [2, 2, 2]
