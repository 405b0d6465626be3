"""Makes memory files of earlier versions from what those versions wrote.

tests/store/released has one for each schema, written by the last commit that had it, with the same
nine messages. After a change of the schema, `python -m tests.helpers.released` writes the next one.
Comments of the tables are left out, and full-text indexes are made when it is read.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from treemem import Memory, Message
from treemem.store.database import driver
from treemem.store.migrations import SCHEMA_VERSION, split_script

FOLDER = Path(__file__).parent.parent / "store" / "released"
VERSIONS = [int(path.stem.rpartition("-")[2]) for path in sorted(FOLDER.glob("schema-*.sql"))]
EARLIER = [version for version in VERSIONS if version < SCHEMA_VERSION]
# What no upgrade may change.
FACTS = """
SELECT s.id, s.format, sm.position, sm.state, m.id, m.identity, m.external_id, m.role, m.author,
  m.kind, m.sent_at, m.sent_at_ms, m.text, m.exact
FROM source_message sm JOIN source s ON s.seq = sm.source_seq JOIN message m ON m.seq = message_seq
ORDER BY s.id, sm.position
"""


def make(path: Path, version: int) -> Path:
    """Writes the file of a version."""
    script = (FOLDER / f"schema-{version:02}.sql").read_text("utf-8")
    with closing(driver.connect(str(path), isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for sql in split_script(script, driver.complete_statement):
            connection.execute(sql)
        connection.execute("COMMIT")
    path.chmod(0o600)
    return path


def version_of(path: Path) -> int:
    with closing(driver.connect(str(path))) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def facts_of(path: Path) -> list[tuple[object, ...]]:
    with closing(driver.connect(str(path))) as connection:
        return list(connection.execute(FACTS))


# -- writing one -----------------------------------------------------------------------


def fill(memory: Memory) -> None:
    """Stores what the files of all versions have."""
    first, second, third = (f"2026-03-0{day}T10:00:00+01:00" for day in (1, 2, 3))
    memory.append("chat/1", [
        Message(text="Always count the goats twice.", sent_at=first),
        Message(role="assistant", text="Noted. We decided to paint the barn red.", sent_at=first),
        Message(text="TODO: ask Ana for the key of the barn. Дедлайн O'Brien переносим на среду.",
                sent_at=second),
        Message(text="yes"), Message(text="yes"),
        Message(text="The key is AKIAQ7XWV2ZLPT4MNB5K, keep it.", sent_at=third),
    ])  # fmt: skip
    memory.append("chat/2", [
        Message(role="user", text="A lone \ud83d surrogate.", author="Ana"),
        Message(text="The goats eat hay.", external_id="m1"),
        Message(role="assistant", text="Gone back.", active=False),
    ])  # fmt: skip
    memory.work(max_calls=0)


_SCHEMA = """
SELECT s.type, s.name, s.sql, t.type FROM sqlite_schema s
LEFT JOIN pragma_table_list t ON t.schema = 'main' AND t.name = s.name
WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
  AND coalesce(t.type, '') <> 'shadow' ORDER BY s.rowid
"""
_RANKS = {"index": 0, "view": 1, "table": 2, "trigger": 3}


def dump(connection: Any) -> Iterator[str]:
    """A line of SQL for each table and row of a file, and for what is made after them."""
    schema = connection.execute(_SCHEMA).fetchall()
    tables = [row for row in schema if row[3] == "table"]
    for row in tables:
        yield _bare(row[2])
    for name in [*(row[1] for row in tables), "sqlite_sequence"]:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
        values = " || ',' || ".join(f'quote("{column}")' for column in columns)
        for (row,) in connection.execute(f'SELECT {values} FROM "{name}"'):
            yield f'INSERT INTO "{name}" VALUES ({row});'
    for _, name, sql, kind in sorted(
        (row for row in schema if row[3] != "table"), key=lambda row: _RANKS[row[0]]
    ):
        yield _bare(sql)
        if kind == "virtual":
            yield f"INSERT INTO {name} ({name}) VALUES ('rebuild');"
    for pragma in ("user_version", "application_id"):
        yield f"PRAGMA {pragma} = {connection.execute(f'PRAGMA {pragma}').fetchone()[0]};"


def _bare(sql: str) -> str:
    """DDL on one line, without comments."""
    return re.sub(r"\s*\n\s*", " ", re.sub(r"\s*--[^\n]*", "", sql)) + ";"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.sqlite3"
        with Memory.open(path, clock=lambda: 1_772_000_000_000) as memory:
            fill(memory)
        target = FOLDER / f"schema-{SCHEMA_VERSION:02}.sql"
        with closing(driver.connect(str(path))) as connection:
            target.write_text("".join(f"{line}\n" for line in dump(connection)), "utf-8")
    print(target)


if __name__ == "__main__":
    main()
