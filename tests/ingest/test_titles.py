"""A session is called what another file of its project calls it."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from tests.helpers.logs import ClaudeSession
from treemem import Memory
from treemem.ingest import titles as ingest_titles
from treemem.store import imported_files
from treemem.store.database import Database


def summary(session: ClaudeSession, title: str, turn: int = -1) -> str:
    return summary_of(session.turns[turn].uuid, title)


def summary_of(leaf: str, title: str) -> str:
    return json.dumps({"type": "summary", "summary": title, "leafUuid": leaf}) + "\n"


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
    for some in [chosen] if at_once else [[path] for path in chosen]:
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


# -- a message of several records ------------------------------------------------------

OLD = ClaudeSession("old").id


def fragment(text: str, number: int, parent: str | None = None, *, answer: str = "m1") -> str:
    """A record of the session "old" that is one of several of an answer."""
    record = {
        "type": "assistant", "uuid": f"f{number}", "parentUuid": parent, "sessionId": OLD,
        "isSidechain": False, "timestamp": f"2026-01-05T10:00:{number:02}Z",
        "message": {"id": answer, "role": "assistant", "content": [{"type": "text", "text": text}]},
    }  # fmt: skip
    return json.dumps(record) + "\n"


def write_old(folder: Path, old: ClaudeSession, *fragments: str) -> Path:
    path = old.write(folder)
    path.write_text(path.read_text() + "".join(fragments))
    return path


@pytest.fixture
def fragments(old: ClaudeSession) -> list[str]:
    """An answer of three records, after which a hook ran, as some versions log it."""
    hook = {"type": "system", "uuid": "s1", "parentUuid": "f3", "sessionId": OLD, "content": "ok"}
    return [
        fragment("I look.", 1, old.turns[-1].uuid), fragment("I mend it.", 2, "f1"),
        fragment("It is dry now.", 3, "f2"), json.dumps(hook) + "\n",
    ]  # fmt: skip


@pytest.mark.parametrize("order", list(permutations(range(2))))
@pytest.mark.parametrize("at_once", [True, False])
def test_a_session_is_called_by_the_last_record_of_a_message_of_several(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession, fragments: list[str],
    order: tuple[int, ...], at_once: bool,
) -> None:  # fmt: skip
    paths = [
        write_old(tmp_path, old, *fragments),
        write(tmp_path, new, summary_of("f3", "Mend the pump")),
    ]
    chosen = [paths[at] for at in order]
    for some in [chosen] if at_once else [[path] for path in chosen]:
        memory.ingest(some)
    assert titles(memory) == {old.source_id: "Mend the pump", new.source_id: None}


def test_only_the_ends_of_branches_are_kept_and_replaced_as_the_session_grows(
    memory: Memory, database: Database, tmp_path: Path, old: ClaudeSession, fragments: list[str]
) -> None:
    path = write_old(tmp_path, old, *fragments)
    other = [fragment("Or not.", 4, old.turns[0].uuid, answer="m2"),
             fragment("Leave it.", 5, "f4", answer="m2")]  # fmt: skip
    path.write_text(path.read_text() + "".join(other))
    memory.ingest(path)
    ends = {*map(ingest_titles._identity, ("f3", "f5"))}
    stored = "SELECT identity FROM source_end"
    assert {identity for (identity,) in database.rows(stored)} == ends
    more = [fragment("And more.", 6, "f5", answer="m3"), fragment("Done.", 7, "f6", answer="m3")]
    path.write_text(path.read_text() + "".join(more))
    memory.ingest(path)
    ends = {*map(ingest_titles._identity, ("f3", "f7"))}
    assert {identity for (identity,) in database.rows(stored)} == ends


# -- titles that wait ------------------------------------------------------------------


def waiting(database: Database) -> list[str]:
    return [title for (title,) in database.rows("SELECT title FROM awaited_title ORDER BY title")]


def test_a_title_waits_until_its_session_is_stored(
    memory: Memory, database: Database, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    memory.ingest(write(tmp_path, new, summary(old, "Look"), summary(old, "Mend the pump")))
    assert waiting(database) == ["Mend the pump"]
    memory.ingest(write(tmp_path, old))
    assert titles(memory)[old.source_id] == "Mend the pump"
    assert waiting(database) == []


def test_a_title_survives_a_run_that_dies_before_its_end(
    memory: Memory, tmp_path: Path, old: ClaudeSession, new: ClaudeSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    paths = [write(tmp_path, new, summary(old, "Mend the pump")), write(tmp_path, old)]
    with monkeypatch.context() as patched:
        patched.setattr(ingest_titles.TitlesElsewhere, "give", interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.ingest(paths)
    assert titles(memory)[old.source_id] is None
    memory.ingest(paths)
    assert titles(memory)[old.source_id] == "Mend the pump"


def test_a_title_is_stored_with_the_mark_that_its_file_was_read(
    memory: Memory, database: Database, tmp_path: Path, old: ClaudeSession, new: ClaudeSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = write(tmp_path, new, summary(old, "Mend the pump"))
    with monkeypatch.context() as patched:
        patched.setattr(imported_files, "remember", interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.ingest(path)
    assert waiting(database) == []
    memory.ingest(path)
    assert waiting(database) == ["Mend the pump"]


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_no_more_titles_wait_than_are_allowed(
    memory: Memory, database: Database, tmp_path: Path, old: ClaudeSession, new: ClaudeSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(ingest_titles, "TITLES_MAX", 2)
    summaries = [summary(old, f"Title {turn}", turn) for turn in range(4)]
    memory.ingest(write(tmp_path, new, *summaries))
    assert waiting(database) == ["Title 0", "Title 1"]


def test_a_waiting_title_has_no_secret_and_is_scrubbed(
    memory: Memory, database: Database, tmp_path: Path, old: ClaudeSession, new: ClaudeSession
) -> None:
    secret = "ghp_" + "a1B2" * 9
    path = write(tmp_path, new, summary(old, f"Use {secret} now"))
    memory.ingest(path)
    assert waiting(database)[0].startswith("Use [redacted")
    database.execute("UPDATE awaited_title SET title = ?", (f"Use {secret} now",))
    memory.scrub()
    assert waiting(database)[0].startswith("Use [redacted")
