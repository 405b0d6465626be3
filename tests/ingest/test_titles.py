"""A session is called what another file of its project calls it."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from tests.helpers.logs import ClaudeSession
from treemem import Memory


def summary(session: ClaudeSession, title: str, turn: int = -1) -> str:
    record = {"type": "summary", "summary": title, "leafUuid": session.turns[turn].uuid}
    return json.dumps(record) + "\n"


def write(folder: Path, session: ClaudeSession, *summaries: str) -> Path:
    path = session.write(folder)
    path.write_text("".join(summaries) + path.read_text())
    return path


@pytest.fixture
def old() -> ClaudeSession:
    session = ClaudeSession("old")
    session.say("Please look at the pump.", "It leaks.", "Then mend it.", "Done.")
    return session


@pytest.fixture
def new() -> ClaudeSession:
    session = ClaudeSession("new")
    session.say("Now to the gate.", "Which one?", "The old one.", "I see.")
    return session


def titles(memory: Memory) -> dict[str, str | None]:
    return {view.source.id: view.source.title for view in memory.sources()}


@pytest.mark.parametrize("order", list(permutations(range(2))))
@pytest.mark.parametrize("at_once", [True, False])
def test_a_session_gets_its_title_from_another_file(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession,
    order: tuple[int, ...], at_once: bool,
) -> None:  # fmt: skip
    paths = [write(tmp_path, old), write(tmp_path, new, summary(old, "Mend the pump"))]
    chosen = [paths[at] for at in order]
    for some in [chosen] if at_once else [[path] for path in paths]:
        memory.ingest(some)
    assert titles(memory) == {old.source_id: "Mend the pump", new.source_id: None}
    assert memory.source("the pump").title == memory.source(old.source_id).title == "Mend the pump"
    memory.ingest(paths)
    assert titles(memory)[old.source_id] == "Mend the pump"


def test_a_session_that_continues_another_is_not_called_as_that(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    longer = old.resumed_as("longer")
    longer.say("And the hose?", "It is fine.")
    memory.ingest([
        write(tmp_path, longer), write(tmp_path, old),
        write(tmp_path, new, summary(old, "Mend the pump")),
    ])  # fmt: skip
    assert titles(memory) == {
        old.source_id: "Mend the pump", longer.source_id: None, new.source_id: None,
    }  # fmt: skip


def test_a_title_of_its_own_stays(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    memory.ingest(write(tmp_path, old, summary(old, "The pump leaks")))
    memory.ingest(write(tmp_path, new, summary(old, "Something else")))
    assert titles(memory)[old.source_id] == "The pump leaks"


def test_the_latest_of_several_titles_is_that_of_the_last_record(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    memory.ingest([
        write(tmp_path, old),
        write(tmp_path, new, summary(old, "Look at the pump"), summary(old, "Mend the pump")),
    ])  # fmt: skip
    assert titles(memory)[old.source_id] == "Mend the pump"


def test_a_secret_in_a_title_is_not_stored(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    secret = "ghp_" + "a1B2" * 9
    memory.ingest([write(tmp_path, old), write(tmp_path, new, summary(old, f"Use {secret} now"))])
    title = titles(memory)[old.source_id] or ""
    assert title.startswith("Use [redacted")
    assert secret not in title
