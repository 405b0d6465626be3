"""Tests `treemem doctor`."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from tests.helpers.command_line import run
from treemem import Memory, Message
from treemem.store.database import driver


def test_a_repair_says_how_many_summaries_of_a_model_it_has_removed() -> None:
    with Memory.open() as memory:
        for number in range(3):
            memory.append(f"chat/{number}", [Message(text="We decided to fill the barn. " * 40)])
        memory.work(max_calls=0)
    with closing(driver.connect(os.environ["TREEMEM_DB"], isolation_level=None)) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(summary)")]
        others = ", ".join(name for name in columns if name not in ("seq", "producer_seq"))
        connection.execute("INSERT INTO producer (seq, name, rank) VALUES (99, 'tiny@1', 50)")
        connection.execute(
            f"INSERT INTO summary (producer_seq, {others}) "
            f"SELECT 99, {others} FROM summary WHERE producer_seq <> 99 LIMIT 2"
        )
    done = run("doctor", "--repair")
    assert "Removed, since damage was in them: 2 summaries by tiny@1." in done.stderr
    assert "extractive" not in done.stderr.replace("Extracted", "")
    assert "Removed" not in run("doctor", "--repair").stderr


def test_copies_that_may_have_what_was_forgotten_are_counted(tmp_path: Path) -> None:
    with Memory.open() as memory:
        memory.append("chat", [Message(text="The party is a surprise.")])
        memory.backup(tmp_path / "copy.sqlite3")
        memory.forget(text="surprise")
    done = run("doctor")
    assert done.exit_code == 0
    assert "1 copy of the memory may have what was forgotten since" in done.stderr


def test_damage_is_answered_with_the_last_backup(tmp_path: Path) -> None:
    with Memory.open() as memory:
        memory.append("chat", [Message(text="The party is a surprise.")])
        memory.backup(tmp_path / "copy.sqlite3")
    with closing(driver.connect(os.environ["TREEMEM_DB"], isolation_level=None)) as connection:
        connection.execute("UPDATE message SET text = text || '.'")
    done = run("doctor")
    assert done.exit_code == 1
    assert f"back: treemem restore {tmp_path}/copy.sqlite3 restored.sqlite3" in done.stderr
