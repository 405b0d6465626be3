"""Finds text in the memory file that is not valid UTF-8, and names its rows.

SQLite stores any bytes as text. Readers show U+FFFD for bytes that are damaged; this check reads
every text column as bytes.

Tested in tests/diagnostics/test_encodings.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.store.database import Database

_TABLES = """
SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
"""
_COLUMNS = "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid"


def damaged_texts(database: Database) -> Iterator[str]:
    """Yields "" for each row whose text is valid, and a sentence for each damaged text."""
    for (table,) in database.rows(_TABLES):
        columns = database.rows(_COLUMNS, (table,))
        texts = [name for name, kind, _ in columns if kind == "TEXT"]
        if texts:
            yield from _damaged_in(database, table, texts, _key_of(columns))


def _key_of(columns: list[tuple[str, str, int]]) -> list[str]:
    """The columns that name a row: its id, or its primary key."""
    if any(name == "id" for name, _, _ in columns):
        return ["id"]
    keys = sorted((position, name) for name, _, position in columns if position)
    return [name for _, name in keys] or ["rowid"]


def _damaged_in(database: Database, table: str, texts: list[str], key: list[str]) -> Iterator[str]:
    as_bytes = ", ".join(f'CAST("{name}" AS BLOB)' for name in texts)
    names = ", ".join(f'"{name}"' for name in key)
    sql = f'SELECT {names}, {as_bytes} FROM "{table}"'  # noqa: S608
    for row in database.execute(sql):
        finding = ""
        for name, data in zip(texts, row[len(key) :], strict=True):
            try:
                if data is not None:
                    data.decode()
            except UnicodeDecodeError as error:
                label = " ".join(str(value) for value in row[: len(key)])
                finding = (
                    f"{table} {label}: column {name} is not valid UTF-8 from byte {error.start} on"
                )
        yield finding
