"""Forgetting leaves nothing of a message, keeps everything else, and can be killed anywhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import START_MS, FakeClock
from tests.helpers import themes
from tests.helpers.logs import ClaudeSession, prose
from treemem import Memory, Message, NotFoundError, Scope, UsageError
from treemem.forgetting import tombstones
from treemem.ingest import growth
from treemem.store.database import Database

BOAT = "We decided to call the boat Zanzibarrossa and to tell nobody in Qzyxwvutsk."
PIECES = ("zanzibarross", "qzyxwvutsk")
OTHER = ClaudeSession("other")
OTHER.say(*(prose(500 + number, 15) for number in range(16)))


def session(name: str = "one", *, turns: int = 44, at: tuple[int, ...] = (26, 34)) -> ClaudeSession:
    log = ClaudeSession(name)
    for number in range(turns):
        log.say(prose(number, 15) + (f" {BOAT}" if number in at else ""))
    return log


def left(path: Path) -> list[str]:
    """Which pieces of the forgotten words the file and those beside it have, in whatever case."""
    beside = path.parent.glob(f"{path.name}*")
    data = b"".join(file.read_bytes() for file in sorted(beside)).lower()
    return [piece for piece in PIECES if piece.encode() in data]


def findings(memory: Memory) -> list[str]:
    return [finding for check in memory.diagnose().checks for finding in check.findings]


def texts(memory: Memory) -> dict[str, list[str]]:
    return {
        view.source.id: [message.text for message in memory.messages(view.source.id)]
        for view in memory.sources()
    }


def leaf_ids(memory: Memory, source: str) -> list[str]:
    nodes = memory.tree(Scope.source(source), cite=False).nodes()
    return [node.id for node in nodes if node.is_leaf and not node.provisional]


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """A session in which something was said that is to be forgotten, a fork of it, and another."""
    log = session()
    fork = log.resumed_as("two")
    fork.say(*(prose(100 + number, 15) for number in range(6)))
    return [one.write(tmp_path) for one in (log, fork, OTHER)]


@pytest.fixture
def filled(memory: Memory, logs: list[Path]) -> Memory:
    memory.use_model("embedder", "hashing")
    memory.ingest(logs)
    memory.embed()
    assert left(memory.path) == [*PIECES]
    return memory


def test_a_dry_run_reports_what_would_go_and_changes_nothing(
    filled: Memory, database: Database
) -> None:
    before = database.rows("SELECT * FROM message")
    planned = filled.forget(text="zanzibarrossa", dry_run=True)
    assert database.rows("SELECT * FROM message") == before
    assert filled.forget.list() == []
    done = filled.forget(text="zanzibarrossa")
    assert planned == replace(done, id=None)
    assert (planned.messages, planned.id, done.id) == (2, None, 1)
    assert [(source.messages, source.is_whole) for source in planned.sources] == [(2, False)] * 2
    assert planned.leaves >= 1
    assert planned.groups["source"] == 2
    assert planned.entries > 0
    assert planned.vectors > planned.leaves
    assert planned.model_calls == 0


def test_no_byte_is_left_and_everything_else_stays(filled: Memory) -> None:
    before, leaves = texts(filled), leaf_ids(filled, session().source_id)
    others = leaf_ids(filled, OTHER.source_id)
    filled.forget(text="Zanzibarrossa")
    assert texts(filled) == {
        source: [text for text in said if BOAT not in text] for source, said in before.items()
    }
    # Only the first leaf with such words and those behind it are sealed anew.
    assert leaf_ids(filled, session().source_id)[:2] == leaves[:2]
    assert leaf_ids(filled, OTHER.source_id) == others
    assert findings(filled) == []
    assert left(filled.path) == []
    assert "Zanzi" not in filled.search("what did we decide to call the boat?").text
    filled.close()
    assert left(filled.path) == []


def test_reading_the_logs_again_brings_nothing_back(filled: Memory, logs: list[Path]) -> None:
    filled.forget(text="Zanzibarrossa")
    grown = session()
    grown.say("One more turn.")
    grown.write(logs[0].parent)
    fork = session().resumed_as("three")
    fork.say("Something new.")
    report = filled.ingest([*logs, fork.write(logs[0].parent)])
    assert report.added == 2
    assert report.skipped == {"forgotten, see treemem forget --list": 6}
    assert left(filled.path) == []
    assert findings(filled) == []
    assert filled.ingest(logs).added == 0


def test_reading_a_forgotten_log_again_does_not_bring_its_name_back(
    memory: Memory, tmp_path: Path
) -> None:
    (note := tmp_path / "Zanzibarrossa.md").write_text(f"# The boat\n\n{BOAT}\n" + prose(1, 40))
    log = session("Zanzibarrossa", turns=80).write(tmp_path)
    assert log.stat().st_size > growth.SIZE_BYTES_MIN
    memory.ingest([note, log])
    for view in memory.sources():
        memory.forget(Scope.source(view.source.id))
    assert left(memory.path) == []
    assert memory.ingest([note, log]).added == 0
    assert left(memory.path) == []


def test_what_was_forgotten_comes_back_once_it_is_undone(filled: Memory, logs: list[Path]) -> None:
    before = texts(filled)
    filled.forget(text="Zanzibarrossa")
    (forgotten,) = filled.forget.list()
    assert forgotten.chosen_by == ("text",)
    assert (forgotten.messages, forgotten.sources, forgotten.is_done) == (2, 2, True)
    assert filled.forget.undo(forgotten.id).undone_at is not None
    assert filled.ingest(logs).added == 2
    assert {source: sorted(said) for source, said in texts(filled).items()} == {
        source: sorted(said) for source, said in before.items()
    }
    assert findings(filled) == []
    with pytest.raises(UsageError, match="undone already"):
        filled.forget.undo(forgotten.id)
    with pytest.raises(NotFoundError, match="Nothing was forgotten as 7"):
        filled.forget.undo(7)


def test_a_whole_source_goes_with_its_name(
    filled: Memory, database: Database, logs: list[Path]
) -> None:
    stem = OTHER.id
    report = filled.forget(Scope.source(OTHER.source_id))
    assert [(source.id, source.is_whole) for source in report.sources] == [(OTHER.source_id, True)]
    assert OTHER.source_id not in texts(filled)
    assert stem.encode() not in filled.path.read_bytes()
    assert filled.ingest(logs).added == 0
    assert OTHER.source_id not in texts(filled)
    assert findings(filled) == []


def test_titles_names_choices_and_turns_lose_the_words(filled: Memory, database: Database) -> None:
    database.execute("UPDATE source SET title = ? WHERE seq = 1", (f"About: {BOAT}",))
    database.execute("UPDATE source SET title = 'Plans for the harvest' WHERE seq = 3")
    filled.topics.rename(filled.topics.list()[0].id, "call the boat Zanzibarrossa")
    entry = next(one for one in filled.ledger() if "Zanzibarrossa" in one.text)
    filled.ledger.drop(entry.id)
    filled.ledger.restore(entry.id)
    filled.ledger.drop(entry.id)
    live = filled.session("assistant/1", window=8_000)
    live.pin(goal="Paint the boat Zanzibarrossa blue")
    live.append({"role": "user", "content": f"Remember this. {BOAT}"})
    live.append({"role": "assistant", "content": "I will tell nobody."})
    filled.forget(text="Zanzibarrossa")
    titles = dict(database.rows("SELECT seq, title FROM source"))
    assert (titles[1], titles[3]) == (None, "Plans for the harvest")
    assert left(filled.path) == []
    assert findings(filled) == []
    shown = filled.session("assistant/1", window=8_000).context().messages
    said = [turn["content"] for turn in shown]
    assert said[-2:] == ["[forgotten]", "I will tell nobody."]
    assert "Paint [forgotten] blue" in said[0]


def test_a_live_session_without_a_turn_stays(memory: Memory) -> None:
    memory.session("assistant/1", window=8_000).pin(goal="Paint the fence")
    memory.append("chat", [Message(text="I hate my aunt Philippa.")])
    memory.forget(text="aunt Philippa")
    assert [view.source.id for view in memory.sources()] == ["assistant/1"]
    assert memory.session("assistant/1", window=8_000).pins.goal == "Paint the fence"


def test_words_that_others_say_too_stay(filled: Memory, database: Database) -> None:
    filled.append("chat", [Message(text="The harvest festival begins on Friday, I think.")])
    filled.append("gone", [Message(text="I hate the harvest festival and my aunt Philippa.")])
    filled.work(max_calls=0)
    database.execute("UPDATE source SET title = 'The harvest festival' WHERE id = 'chat'")
    filled.forget(text="my aunt Philippa")
    assert database.value("SELECT title FROM source WHERE id = 'chat'") == "The harvest festival"


def test_a_long_text_appended_again_is_a_new_message(memory: Memory) -> None:
    memory.append("chat", [Message(text=prose(1, 40))])
    memory.forget(text=prose(1, 40)[:30])
    memory.append("chat", [Message(text=prose(1, 40))])
    assert texts(memory) == {"chat": [prose(1, 40)]}


def test_the_same_words_said_later_are_a_new_message(memory: Memory) -> None:
    (first,) = memory.append("chat", [Message(text="I am ill.")])
    memory.forget(messages=first)
    (second,) = memory.append("chat", [Message(text="I am ill.")])
    assert second != first
    assert texts(memory) == {"chat": ["I am ill."]}


def test_a_document_that_moves_stays_forgotten(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "diary.md"
    note.write_text(f"# Diary\n\n{prose(1, 30)}\n")
    memory.ingest(note)
    (source,) = memory.sources()
    memory.forget(Scope.source(source.source.id))
    note.rename(tmp_path / "other.md")
    assert memory.ingest(tmp_path / "other.md").added == 0
    assert memory.sources() == []


def test_topics_with_forgotten_leaves_are_made_again(memory: Memory) -> None:
    themes.store(memory)
    topic = memory.topics.list()[0]
    report = memory.forget(Scope.topic(topic.id))
    assert report.messages > 0
    assert topic.id not in [one.id for one in memory.topics.list()]
    assert findings(memory) == []


def test_nothing_is_forgotten_where_nothing_is_named_or_fits(filled: Memory) -> None:
    with pytest.raises(UsageError, match="Say what to forget"):
        filled.forget()
    with pytest.raises(UsageError, match="Say what to forget"):
        filled.forget(Scope.everything())
    report = filled.forget(text="nobody said this")
    assert (report.messages, report.id) == (0, None)
    assert filled.forget.list() == []


def test_a_mark_tells_nothing_without_the_key(filled: Memory, database: Database) -> None:
    filled.forget(text="Zanzibarrossa")
    (mark,) = database.row("SELECT mark FROM tombstone LIMIT 1") or (None,)
    names = [f"id:{message.id}" for message in filled.messages(OTHER.source_id)]
    assert mark not in [tombstones.mark_of(name, b"another key") for name in names]
    assert len(mark) == 16


# -- killed in between -----------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from treemem import Memory
from treemem.store.database import Database

at, steps = int(sys.argv[2]), 0

def counting(method):
    def run(self, *arguments):
        global steps
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments)
    return run

for name in ("execute", "many", "changed", "insert", "_commit", "compact"):
    setattr(Database, name, counting(getattr(Database, name)))
with Memory.open(Path(sys.argv[1]), clock=lambda: {now}) as memory:
    memory.forget(text="Zanzibarrossa")
print(steps)
"""


def run_killed(path: Path, at: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED.replace("{now}", str(START_MS)), str(path), str(at)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def assert_it_goes_on(filled: Path, folder: Path, at: int, expected: dict[str, list[str]]) -> None:
    """Killed at this step, the file is whole, and either nothing was decided, or work ends it."""
    path = folder / f"killed-{at}.sqlite3"
    shutil.copy(filled, path)
    assert run_killed(path, at).returncode == -9
    with Memory.open(path, clock=FakeClock(START_MS + 3_600_000)) as memory:
        assert findings(memory) == [], at
        begun = bool(memory.forget.list())
        memory.work(max_calls=0)
        assert findings(memory) == [], at
        if not begun:
            memory.forget(text="Zanzibarrossa")
        assert texts(memory) == expected, at
        assert [one.is_done for one in memory.forget.list()] == [True]
        assert findings(memory) == [], at
    assert left(path) == [], at
    for file in folder.glob(f"{path.name}*"):
        file.unlink()


def steps_and_texts(filled: Memory, folder: Path) -> tuple[int, dict[str, list[str]]]:
    filled.close()
    path = folder / "counted.sqlite3"
    shutil.copy(filled.path, path)
    done = run_killed(path, 0)
    assert done.returncode == 0, done.stderr
    with Memory.open(path) as memory:
        return int(done.stdout), texts(memory)


def test_what_is_killed_goes_on(filled: Memory, tmp_path: Path) -> None:
    steps, expected = steps_and_texts(filled, tmp_path)
    for at in (steps // 4, steps // 2, 3 * steps // 4, steps - 1, steps):
        assert_it_goes_on(filled.path, tmp_path, at, expected)


@pytest.mark.slow
def test_it_can_be_killed_at_any_step(filled: Memory, tmp_path: Path) -> None:
    steps, expected = steps_and_texts(filled, tmp_path)
    for at in range(1, steps + 1, 5):
        assert_it_goes_on(filled.path, tmp_path, at, expected)
