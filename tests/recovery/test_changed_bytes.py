"""A changed byte of a memory file is found by doctor, or it changed nothing that is stored; and no
reading ends with a traceback.

`make test-bytes` changes ten thousand.
"""

from __future__ import annotations

import os
import random
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.damages import Whole
from treemem import Memory, Scope, TreememError
from treemem.store.database import driver

CHANGES = int(os.environ.get("TREEMEM_CHANGES", "20"))
PARTS = 8 if CHANGES > 100 else 1
QUESTIONS = ("Which paint did we choose?", "what must never be done?", "goats")
# Without those of which steps of the schema were taken, of which nobody reads when.
_TABLES = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'
  AND name <> '_sqlite_migrations' AND name NOT LIKE '%\\_fts\\_%' ESCAPE '\\' ORDER BY name
"""


def rows_of(path: Path) -> dict[str, object]:
    """All rows that SQLite reads, by table; of a table that it cannot read, the error."""
    found: dict[str, object] = {}
    try:
        with closing(driver.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            for (name,) in connection.execute(_TABLES).fetchall():
                try:
                    sql = f'SELECT * FROM "{name.decode()}"'
                    found[name.decode()] = connection.execute(sql).fetchall()
                except driver.Error as error:
                    found[name.decode()] = str(error)
    except (driver.Error, UnicodeDecodeError) as error:
        found["all"] = str(error)
    return found


def answers_of(path: Path) -> dict[str, object]:
    """What messages, tree, search and ledger answer."""
    with Memory.open(path, must_exist=True) as memory:
        views = memory.sources()
        scopes = [Scope.everything(), *(Scope.source(view.source.id) for view in views)]
        return {
            "messages": [memory.messages(view.source.id) for view in views],
            "tree": [
                (node.id, node.level, node.statements)
                for scope in scopes
                for node in memory.tree(scope).nodes()
            ],
            "search": [memory.search(one, budget_tokens=800).text for one in QUESTIONS],
            "ledger": [(entry.text, entry.state) for entry in memory.ledger()],
            "topics": [(topic.name, topic.leaf_ids) for topic in memory.topics.list()],
        }


def is_healthy(path: Path) -> bool:
    with Memory.open(path, must_exist=True) as memory:
        return memory.diagnose().healthy


class Traceback(str):
    """Of an error that is none of treemem's."""

    __slots__ = ()


def attempt(action: Callable[[Path], object], path: Path) -> object:
    """What an action returns; the error that says why it cannot; or a traceback."""
    try:
        return action(path)
    except TreememError as error:
        return error
    except Exception:  # whatever it is
        return Traceback(traceback.format_exc())


@pytest.mark.parametrize("part", range(PARTS))
def test_a_changed_byte_is_found_or_changes_nothing(
    whole: Whole, tmp_path: Path, part: int
) -> None:
    chance = random.Random(part)
    rows, answers = rows_of(whole.path), answers_of(whole.path)
    hurt = tmp_path / "hurt.sqlite3"
    problems, changed = [], 0
    for _ in range(CHANGES // PARTS):
        at = chance.randrange(len(whole.data))
        by = chance.choice((1 << chance.randrange(8), chance.randrange(1, 256)))
        content = bytearray(whole.data)
        content[at] ^= by
        hurt.write_bytes(content)
        differs = rows_of(hurt) != rows
        changed += differs
        verdict, given = attempt(is_healthy, hurt), attempt(answers_of, hurt)
        where = f"byte {at} of page {at // whole.size + 1}, changed by {by}"
        if differs and verdict is True:
            problems.append(f"NOT FOUND: {where}")
        if isinstance(given, dict) and given != answers and verdict is True:
            wrong = [name for name, answer in answers.items() if given[name] != answer]
            problems.append(f"WRONG: {wrong} with {where}")
        problems += [
            f"TRACEBACK: {where}: {result}"
            for result in (verdict, given)
            if isinstance(result, Traceback)
        ]
        for file in tmp_path.glob("hurt.sqlite3?*"):
            file.unlink()
    print(f"{CHANGES // PARTS} bytes changed, {changed} of what is stored")
    assert not problems, "\n".join(problems)
    assert changed
