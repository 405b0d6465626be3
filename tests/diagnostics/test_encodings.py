"""Bytes that are no text stop no command, whatever row and column they are in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from tests.helpers.logs import prose
from tests.helpers.memories import texts
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory, Message, Scope
from treemem.store import json_text
from treemem.store.database import Database, driver

# Without them, a command would store what must not be stored, so it stops and says so.
NEEDED = {("setting", "value")}
# The readers show a damaged id, but nobody can name its node or topic by it.
IDS = {("node", "id"), ("topic", "id")}


def text_columns() -> list[tuple[str, str]]:
    database = Database(Path(":memory:"))
    columns = database.rows(
        "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c "
        "WHERE t.schema = 'main' AND t.type = 'table' AND c.type = 'TEXT' "
        "AND t.name NOT LIKE 'sqlite%' ORDER BY 1, 2"
    )
    database.close()
    return columns


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a row in most tables, and the log that it was read from."""
    folder = tmp_path_factory.mktemp("encodings")
    log = folder / "log.jsonl"
    rows = [
        {"role": ("user", "assistant")[n % 2], "id": f"m{n}",
         "content": f"{prose(n, 8)} Never move the ledger. We decided to keep the cache apart."}
        for n in range(20)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Memory.open(folder / "memory.sqlite3", shape=SMALL_LEAVES) as memory:
        memory.append(
            "s", [Message(text=prose(n, 8), author="Ana", external_id=f"x{n}") for n in range(9)]
        )
        memory.ingest(log)
        memory.use_model("embedder", "hashing")
        memory.work()
    return folder


def damage(path: Path, table: str, column: str) -> bool:
    """Replaces the end of one text by bytes that are no UTF-8. Returns whether there was one."""
    connection = driver.connect(str(path), isolation_level=None)
    execute = connection.execute
    execute("PRAGMA ignore_check_constraints = ON")
    execute("PRAGMA foreign_keys = OFF")
    keys = [key for (key,) in execute("SELECT name FROM pragma_table_info(?) WHERE pk", (table,))]
    names = ", ".join(keys)
    there = f'FROM "{table}" WHERE "{column}" IS NOT NULL'
    row = execute(f"SELECT {names} {there} ORDER BY {names} DESC LIMIT 1").fetchone()
    if row is not None:
        begin = f'CAST(substr("{column}", 1, max(length("{column}") - 2, 0)) AS BLOB)'
        these = " AND ".join(f"{key} = ?" for key in keys)
        sql = f'UPDATE "{table}" SET "{column}" = CAST({begin} || x\'FFFE\' AS TEXT)'
        execute(f"{sql} WHERE {these}", row)
    connection.close()
    return row is not None


def readers(memory: Memory, table: str, column: str) -> list[Callable[[], object]]:
    ids = [view.source.id for view in memory.sources()]
    is_id = (table, column) in IDS
    needed = (table, column) in NEEDED
    return [
        *(lambda source=source: memory.messages(source) for source in ids),
        lambda: [
            is_id or memory.node(node.id)
            for source in ids
            for node in memory.tree(Scope.source(source)).nodes()
        ],
        lambda: memory.tree(Scope.everything()),
        lambda: memory.search("why was the ledger moved?"),
        lambda: memory.search("what did we decide?"),
        memory.status,
        memory.upgradable,
        lambda: [is_id or memory.topics.show(topic.id) for topic in memory.topics.list()],
        lambda: memory.jobs(["todo", "running", "done", "dead"]),
        lambda: needed or memory.append("new", [Message(text="Words that are whole.")]),
        lambda: memory.work(max_calls=0),
    ]


@pytest.mark.parametrize(("table", "column"), text_columns())
def test_undecodable_bytes_in_any_column_stop_no_command_and_are_named(
    filled: Path, tmp_path: Path, table: str, column: str
) -> None:
    path = tmp_path / "memory.sqlite3"
    shutil.copy(filled / path.name, path)
    if not damage(path, table, column):
        pytest.skip("no row has a text in this column")
    with Memory.open(path, shape=SMALL_LEAVES) as memory:
        (check,) = (check for check in memory.diagnose().checks if check.name == "text in UTF-8")
        (finding,) = check.findings
        assert finding.startswith(f"{table} ")
        assert f"column {column} is not valid UTF-8" in finding
        for reader in readers(memory, table, column):
            reader()
        assert (table, column) in NEEDED or texts(memory, "new") == ["Words that are whole."]


def test_a_log_is_read_again_if_what_was_remembered_of_it_is_damaged(
    filled: Path, tmp_path: Path
) -> None:
    for column in ("source_ids", "skipped", "problems"):
        path = tmp_path / column
        shutil.copy(filled / "memory.sqlite3", path)
        assert damage(path, "imported_file", column)
        with Memory.open(path, shape=SMALL_LEAVES) as memory:
            report = memory.ingest(filled / "log.jsonl")
            assert (report.added, report.known) == (0, 20)


def test_a_command_goes_on_and_says_that_some_text_is_damaged(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    shutil.copy(filled / path.name, path)
    assert damage(path, "message", "text")
    with Memory.open(path) as memory:
        ids = [view.source.id for view in memory.sources()]
        (source,) = (id_ for id_ in ids if "\ufffd" in "".join(texts(memory, id_)))
    for command in (("source", "show", source, "--messages"), ("tree", source), ("status",)):
        result = run("--db", str(path), *command)
        assert result.exit_code == 0, result.output
    shown = run("--db", str(path), "source", "show", source, "--messages")
    assert "\ufffd" in shown.stdout
    assert shown.stderr.count("not valid UTF-8") == 1
    doctor = run("--db", str(path), "doctor")
    assert doctor.exit_code == 1
    assert "column text is not valid UTF-8 from byte" in doctor.stderr


@pytest.mark.parametrize("text", [None, "", "{", "nonsense", "[1, 2]", "3", "\ufffd"])
def test_damaged_json_is_read_as_an_empty_object(text: str | None) -> None:
    assert json_text.object_of(text) == {}


@pytest.mark.parametrize("text", [None, "", "[", '{"a": 1}', '"x"', "nan"])
def test_damaged_json_is_read_as_an_empty_list(text: str | None) -> None:
    assert json_text.list_of(text) == []
