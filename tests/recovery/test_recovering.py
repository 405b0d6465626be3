"""What can be read of a damaged memory is in the new one, and nothing else."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import treemem
from tests.helpers.damages import (
    PLACES,
    RULE,
    SECRET,
    TASK,
    Whole,
    content,
    damaged,
    truth_of,
)
from tests.helpers.memories import assert_whole, run_child
from treemem import (
    DatabaseCorruptError,
    DatabaseError,
    DiskFullError,
    Memory,
    Message,
    UsageError,
)
from treemem.forgetting.tombstones import Tombstones, mark_of
from treemem.recovery.places import NAMELESS
from treemem.store.database import Database, driver
from treemem.store.file.aside import PART

# `make test-damages` tries many.
DAMAGES = int(os.environ.get("TREEMEM_DAMAGES", "10"))
SEED = 19


def test_a_first_page_of_random_bytes_is_not_taken_for_encryption(
    whole: Whole, tmp_path: Path
) -> None:
    hurt = tmp_path / "hurt.sqlite3"
    hurt.write_bytes(random.Random(1).randbytes(4_096) + whole.data[4_096:])
    with pytest.raises(DatabaseCorruptError, match="recover"):
        Memory.open(hurt)
    assert treemem.recover(hurt, tmp_path / "new.sqlite3").messages == len(whole.said)


def test_of_a_file_without_damage_everything_is_there_again(whole: Whole, tmp_path: Path) -> None:
    new = tmp_path / "folder" / "new.sqlite3"
    report = treemem.recover(whole.path, new)
    assert (report.messages, report.lost, report.lost_places) == (len(whole.said), 0, ())
    assert (report.kept_apart, report.apart_path, report.mended) == (0, None, 0)
    assert (report.choices, report.topics, report.sessions) == (2, 2, 1)
    assert [file.name for file in new.parent.iterdir()] == ["new.sqlite3"]
    assert new.stat().st_mode & 0o777 == 0o600
    with Memory.open(whole.path) as before, Memory.open(new) as after:
        assert content(after) == content(before)
        live, again = before.session("s/live"), after.session("s/live")
        assert (again.pins, again.messages()) == (live.pins, live.messages())
        assert_whole(after)
        added = after.append("chat/1", [Message(text=RULE), Message(text=f"The key is {SECRET}!")])
        assert len(added) == 2  # what is redacted is known as such
        assert SECRET not in str([message.text for message in after.messages("chat/1")])


@pytest.mark.parametrize("number", range(DAMAGES))
def test_every_message_whose_pages_are_whole_is_there_and_nothing_that_nobody_said(
    whole: Whole, hurt: Path, number: int
) -> None:
    what, data = damaged(whole.data, whole.size, random.Random(SEED * 10_000 + number))
    hurt.write_bytes(data)
    intact = whole.intact(data)
    try:
        said, places, recovery = truth_of(hurt)
    except DatabaseCorruptError:
        assert not intact, what
        return
    assert intact <= {row[0] for row in said}, what
    # The time and the marks of a message may have been damaged; they are left out then.
    words = {(*row[:4], row[5]) for row in said}
    assert words <= {(*row[:4], row[5]) for row in whole.said}, what
    with closing(Database(whole.path)) as database:
        before = {row[:3] for row in database.rows(PLACES)}
    named = {row[:3] for row in places if not str(row[0]).startswith(NAMELESS)}
    assert named <= before, what
    report = recovery.report(hurt, None, 0)
    assert report.messages + report.lost >= len(intact)
    assert report.lost <= len(whole.said)


def test_a_recovered_memory_says_what_is_lost_and_takes_it_from_the_logs_again(
    whole: Whole, hurt: Path, tmp_path: Path
) -> None:
    (page,) = whole.pages[next(row[0] for row in whole.said if row[5] == TASK)]
    data = bytearray(whole.data)
    data[(page - 1) * whole.size : page * whole.size] = bytes(whole.size)
    hurt.write_bytes(data)
    intact = whole.intact(bytes(data))
    refused = pytest.raises(DatabaseCorruptError, match=r"treemem\.recover")
    with Memory.open(hurt) as memory, refused:
        memory.messages("chat/1")
    report = treemem.recover(hurt, tmp_path / "new.sqlite3")
    assert report.messages == len(intact) < len(whole.said)
    assert report.lost == len(whole.said) - len(intact)
    assert sum(place.messages for place in report.lost_places) >= report.lost
    lost = {
        (place.source_id, position)
        for place in report.lost_places
        for gap in place.positions
        for position in range(gap.first, gap.last + 1)
    }
    with closing(Database(whole.path)) as old, closing(Database(tmp_path / "new.sqlite3")) as new:
        before, after = set(old.rows(PLACES)), set(new.rows(PLACES))
    assert after == {place for place in before if place[:2] not in lost}
    with Memory.open(whole.path) as old_memory, Memory.open(tmp_path / "new.sqlite3") as memory:
        assert_whole(memory)
        memory.append("chat/1", old_memory.messages("chat/1"))
        assert memory.messages("chat/1") == old_memory.messages("chat/1")


def test_a_changed_word_is_kept_apart_from_the_memory(
    whole: Whole, hurt: Path, tmp_path: Path
) -> None:
    hurt.write_bytes(whole.data.replace(b"We chose the red paint.", b"We chose the mud paint."))
    new = tmp_path / "new.sqlite3"
    report = treemem.recover(hurt, new)
    assert (report.lost, report.kept_apart) == (1, 1)
    assert report.apart_path == tmp_path / "new.sqlite3.unproven.jsonl"
    assert report.apart_path.stat().st_mode & 0o777 == 0o600
    (row,) = [json.loads(line) for line in report.apart_path.read_text().splitlines()]
    assert (row["text"], row["author"]) == ("We chose the mud paint.", "Ana")
    with Memory.open(new) as memory:
        assert "mud paint" not in str([message.text for message in memory.messages("chat/1")])
        assert "mud paint" not in memory.search("the mud paint", budget_tokens=500).text
        assert_whole(memory)


def test_a_decision_of_which_two_copies_differ_is_kept_apart(
    whole: Whole, hurt: Path, tmp_path: Path
) -> None:
    with closing(driver.connect(str(whole.path))) as connection:
        sql = "SELECT text FROM entry_choice ORDER BY seq LIMIT 1"
        (text,) = connection.execute(sql).fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'entry_choice'"
        ).fetchone()
    begin = (root - 1) * whole.size
    page = whole.data[begin : begin + whole.size]
    changed = page.replace(text.encode(), text.encode().swapcase(), 1)
    assert changed != page
    hurt.write_bytes(whole.data[:begin] + changed + whole.data[begin + whole.size :])
    report = treemem.recover(hurt, tmp_path / "new.sqlite3")
    assert (report.choices, report.kept_apart, report.lost) == (1, 1, 0)


def test_what_was_forgotten_or_is_about_to_be_does_not_come_back(
    whole: Whole, hurt: Path, tmp_path: Path
) -> None:
    hurt.write_bytes(whole.data)
    with Memory.open(hurt) as memory:
        before = memory.messages("chat/1")
        kept, forgotten, condemned = before[0], before[2], before[6]
        memory.forget(messages=[forgotten.id])
    with closing(driver.connect(str(hurt))) as connection:
        sql = "INSERT INTO condemned SELECT seq, 1 FROM message WHERE id = ?"
        connection.execute(sql, (condemned.id,))
        # As if its row were in a page that was not overwritten.
        sql = "INSERT INTO tombstone VALUES (?, 1)"
        (key,) = connection.execute(
            "SELECT value FROM setting WHERE name = 'redaction key'"
        ).fetchone()
        connection.execute(sql, (mark_of(f"id:{kept.id}", bytes.fromhex(key)),))
        tombstones = connection.execute("SELECT * FROM tombstone ORDER BY mark").fetchall()
        record = connection.execute("SELECT * FROM forgetting").fetchall()
        connection.commit()
    assert record
    report = treemem.recover(hurt, tmp_path / "new.sqlite3")
    with Memory.open(tmp_path / "new.sqlite3") as memory:
        ids = [message.id for message in memory.messages("chat/1")]
        gone = {kept.id, forgotten.id, condemned.id}
        assert ids == [message.id for message in before if message.id not in gone]
    with closing(Database(tmp_path / "new.sqlite3")) as database:
        assert database.rows("SELECT * FROM tombstone ORDER BY mark") == tombstones
        assert database.rows("SELECT * FROM forgetting") == record
        assert Tombstones(database).has_id(str(forgotten.id))
    assert report.kept_apart == 0


def test_nothing_is_written_over_and_what_is_no_memory_is_said_so(
    whole: Whole, tmp_path: Path
) -> None:
    there = tmp_path / "there.sqlite3"
    there.write_text("mine")
    for new in (there, whole.path):
        with pytest.raises(UsageError, match="exists already"):
            treemem.recover(whole.path, new)
    assert there.read_text() == "mine"
    for content_, error in ((None, DatabaseError), (b"", DatabaseCorruptError),
                            (b"# A farm\n" * 9_000, DatabaseCorruptError)):  # fmt: skip
        file = tmp_path / "other"
        if content_ is not None:
            file.write_bytes(content_)
        with pytest.raises(error, match="other"):
            treemem.recover(file, tmp_path / "new.sqlite3")
    with pytest.raises(DatabaseError):
        treemem.recover(tmp_path, tmp_path / "new.sqlite3")
    with closing(driver.connect(str(tmp_path / "foreign.db"))) as connection:
        connection.execute("CREATE TABLE message (seq INTEGER PRIMARY KEY, id TEXT, text TEXT)")
        connection.execute("INSERT INTO message VALUES (1, 'a', 'b')")
        connection.commit()
    with pytest.raises(DatabaseCorruptError, match="no memory file"):
        treemem.recover(tmp_path / "foreign.db", tmp_path / "new.sqlite3")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "foreign.db", "other", "there.sqlite3"]  # fmt: skip


RECOVER = "import sys, treemem; treemem.recover(sys.argv[1], sys.argv[2])"


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_recovery_that_is_killed_leaves_no_memory_and_can_be_repeated(
    whole: Whole, tmp_path: Path, share: float
) -> None:
    new = tmp_path / "new.sqlite3"
    root = Path(treemem.__file__).parent.parent
    child = subprocess.Popen(
        [sys.executable, "-c", RECOVER, str(whole.path), str(new)],
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    part = tmp_path / f"new.sqlite3{PART}"
    deadline = time.monotonic() + 30
    while not part.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(share)
    child.send_signal(signal.SIGKILL)
    child.wait()
    if not new.exists():
        assert treemem.recover(whole.path, new).lost == 0
    with Memory.open(new) as memory:
        assert memory.status().messages == len(whole.said)
        assert_whole(memory)
    assert not [file for file in tmp_path.iterdir() if PART in file.name]


def test_a_full_disk_is_said_and_nothing_is_left(whole: Whole, tmp_path: Path) -> None:
    limited = (
        "import resource, sys, treemem\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try: treemem.recover(sys.argv[1], sys.argv[2])\n"
        "except treemem.DiskFullError as error: print('full', error)\n"
    )
    done = run_child(limited, whole.path, tmp_path / "new.sqlite3")
    assert done.stdout.startswith("full"), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert issubclass(DiskFullError, DatabaseError)
