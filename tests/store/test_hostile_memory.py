"""A memory file that somebody else made runs nothing when it is opened, read or written."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from tests.helpers.memories import assert_whole, run_child, texts
from treemem import DatabaseCorruptError, DatabaseVersionError, Memory, Message
from treemem.store.database import Database
from treemem.store.schema import matching

ENDLESS = (
    "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
)
SCHEMA = "PRAGMA writable_schema = ON;"
# What stands in the file under an innocent name, or in the place of something of treemem's.
ATTACKS = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM setting; END",
    "a trigger with the name of ours": "DROP TRIGGER message_fts_delete; CREATE TRIGGER "
    "message_fts_delete AFTER DELETE ON message BEGIN DELETE FROM setting; END",
    "an endless view": f"CREATE VIEW v AS {ENDLESS}",
    "an endless view in place of ours": f"{SCHEMA} UPDATE sqlite_schema SET sql = 'CREATE VIEW "
    f"message_search AS SELECT 1 AS seq, (' || '{ENDLESS}' || ') AS text' "
    "WHERE name = 'message_search'",
    "a view in place of a table": f"{SCHEMA} UPDATE sqlite_schema SET rootpage = 0, "
    f"sql = 'CREATE VIEW setting AS SELECT 1 AS name, (' || '{ENDLESS}' || ') AS value' "
    "WHERE name = 'setting'",
    "a trigger that is called a table": f"{SCHEMA} INSERT INTO sqlite_schema VALUES ('table', "
    "'t', 'message', 0, 'CREATE TRIGGER t AFTER INSERT ON message BEGIN SELECT 1; END')",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(text)",
    "a generated column": "ALTER TABLE message ADD COLUMN g TEXT AS (hex(zeroblob(900000000)))",
    "a generated column of its own": "CREATE TABLE x (a, g AS (hex(zeroblob(900000000))))",
    "an index on an expression": "CREATE INDEX i ON message (length(hex(text)))",
    "a partial index": "CREATE INDEX i ON message (id) WHERE length(hex(text)) > 1",
    "a check": f"{SCHEMA} UPDATE sqlite_schema SET sql = replace(sql, 'value TEXT NOT NULL', "
    "'value TEXT NOT NULL CHECK (length(hex(zeroblob(900000000))))') WHERE name = 'setting'",
    "a default": "CREATE TABLE x (a DEFAULT (hex(zeroblob(900000000))))",
    "a reference that keeps rows from being deleted": "CREATE TABLE x (a REFERENCES message)",
    "a table for vectors with more": "CREATE TABLE vector_8 (a, g AS (hex(a)))",
    "ours behind a comment": f"{SCHEMA} UPDATE sqlite_schema SET sql = replace(sql, "
    "'value TEXT NOT NULL', 'value TEXT -- NOT NULL') WHERE name = 'setting'",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "memory.sqlite3"
    with Memory.open(made) as memory:
        memory.append("chat/1", [Message(text="Never open the east gate.")])
    return made


def attack(path: Path, script: str) -> bytes:
    """Runs a script on a file as its author would, and returns the digest of the file."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return hashlib.sha256(path.read_bytes()).digest()


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("version", [5, None])
def test_what_a_file_could_run_keeps_it_from_being_opened(
    path: Path, name: str, version: int | None
) -> None:
    """A file that says that it is older would be migrated, too."""
    made = attack(path, ATTACKS[name] + (f"; PRAGMA user_version = {version}" if version else ""))
    # SQLite itself refuses what is called something else than it is.
    with pytest.raises(
        DatabaseVersionError if "in place of a table" not in name and "called" not in name
        else DatabaseCorruptError, match=r"something that treemem did not put there|malformed",
    ):  # fmt: skip
        Memory.open(path)
    assert hashlib.sha256(path.read_bytes()).digest() == made


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);"
        "CREATE TABLE _litestream_lock (id INTEGER)",
        "ANALYZE",
        'CREATE TABLE "notes" (\n  [a] TEXT NOT NULL,\n  b\n)',
    ],
)
def test_tables_of_other_programs_with_columns_alone_are_let_be(path: Path, script: str) -> None:
    attack(path, script)
    with Memory.open(path) as memory:
        assert texts(memory, "chat/1") == ["Never open the east gate."]
        assert_whole(memory)


def test_comments_and_white_space_are_no_difference() -> None:
    row = ("table", "setting", "setting", "CREATE TABLE setting (name -- a\n  TEXT)")
    same = "CREATE TABLE setting\n(name /* b */ TEXT )"
    assert matching.digest_of(row) == matching.digest_of((*row[:3], same))
    for other in (
        "CREATE TABLE setting (name -- a TEXT)",
        "CREATE TABLE setting (name '-- a' TEXT)",
    ):
        assert matching.digest_of(row) != matching.digest_of((*row[:3], other))


def test_a_connection_takes_nothing_from_the_file_for_granted(database: Database) -> None:
    expected = {"trusted_schema": 0, "cell_size_check": 1, "mmap_size": 0, "writable_schema": 0}
    assert {name: database.value(f"PRAGMA {name}") for name in expected} == expected


def test_no_statement_loads_an_extension_once_the_vector_functions_are_there(
    database: Database,
) -> None:
    database.has_vector_functions()
    with pytest.raises(Exception, match=r"not authorized|no such function"):
        database.execute("SELECT load_extension('/tmp/evil')")


CLAIM = """
import resource, sys
from treemem import Memory, DatabaseCorruptError
with Memory.open(sys.argv[1]) as memory:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        memory.messages("chat/1")
    except DatabaseCorruptError:
        print("refused", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_message_that_claims_to_be_longer_than_the_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    text = "goat " * 500_000
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text=text)])
    page_bytes = 4_096
    data = bytearray(path.read_bytes())
    at = data.index(text[:100].encode())
    page = at - at % page_bytes
    cell = page + int.from_bytes(data[page + 8 : page + 10])  # the only one
    length, more = 0, bytes(data[cell : cell + 4])
    assert all(byte & 0x80 for byte in more[:3])
    for byte in more:
        length = length << 7 | byte & 0x7F
    claimed = length + (200 * 2**20 - length) // (page_bytes - 4) * (page_bytes - 4)
    data[cell : cell + 4] = bytes(
        claimed >> shift & 0x7F | (0x80 if shift else 0) for shift in (21, 14, 7, 0)
    )
    path.write_bytes(data)
    outcome = run_child(CLAIM, path)
    assert outcome.stdout.startswith("refused"), outcome
    assert int(outcome.stdout.split()[1]) < 50_000  # KiB


CIRCLES = {
    "a node is its own child": "UPDATE node_child SET child_seq = node_seq WHERE ordinal = 0",
    "a leaf has its root as a child": "INSERT INTO node_child "
    "SELECT (SELECT min(node_seq) FROM leaf_span), 0, root_seq FROM tree WHERE scope = 'source'",
    "a node is as high as its children": "UPDATE node SET level = 0",
    "a source is its own parent": "UPDATE source SET parent_id = id",
    "an entry is settled by itself": "UPDATE entry SET by_seq = seq",
}
READS = """
import sys
from treemem import Memory, Scope, TreememError
source = Scope.source("chat/1")
with Memory.open(sys.argv[1]) as memory:
    for read in (lambda: memory.tree(source), memory.ledger, lambda: memory.digest(source),
                 lambda: memory.search("Who counts the goats?", budget_tokens=300).text,
                 lambda: memory.source("chat/1"), lambda: memory.work(max_calls=0),
                 memory.diagnose, memory.status):
        try:
            read()
        except TreememError as error:
            print(error)
print("done")
"""


@pytest.mark.parametrize("name", CIRCLES)
def test_nothing_runs_for_ever_where_parents_and_children_go_round(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    for number in range(12):
        memory.append(
            "chat/1", [Message(text=f"We decided to count goat {number}. " + "The gate. " * 900)]
        )
    memory.work(max_calls=0)
    memory.close()
    attack(memory.path, CIRCLES[name])
    outcome = run_child(READS, memory.path)
    assert outcome.stdout.endswith("done\n"), outcome
