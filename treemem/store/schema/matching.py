"""Refuses a memory file whose schema has anything that treemem did not put there.

Triggers, views, virtual tables, generated columns and the expressions of indexes and checks are
programs that run when a file is read or written, so a file from elsewhere may only have those of
known.py. Tables of other programs, such as Litestream's, may be there if they have nothing but
columns.

Tested in tests/store/test_hostile_memory.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from treemem.errors import OTHER_FILE, DatabaseCorruptError, DatabaseVersionError
from treemem.packages import upgrade_hint
from treemem.patterns import lazy_regex
from treemem.store import migrations
from treemem.store.file.sqlite_errors import recover_hint
from treemem.store.schema import known

SchemaRow = tuple[Any, Any, Any, Any]

# Vectors have tables with the number of their embedder.
_VECTORS = lazy_regex(r"\bvector_\d{1,9}(?=\b|_digest\b|_node\b)")
# The tokens of SQL. A definition may have other comments and white space than ours.
_TOKENS = lazy_regex(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|[ \t\n\f\r]+"
    r"|('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+|.)",
    re.DOTALL,
)
# The words of a table that has columns and nothing else.
_COLUMNS_ALONE = lazy_regex(
    r"CREATE TABLE (?:\w+|\"\w+\"|'\w+'|\[\w+\]|`\w+`) ?\((?:(?!\bREFERENCES\b)[\w\s,\"\[\]`])*\)"
)
# So much of a name, and of a definition, is read and shown.
_NAME_MAX = 60
_SQL_MAX = 20_000
ROWS = f"""
SELECT type, name, tbl_name, substr(sql, 1, {_SQL_MAX}) FROM sqlite_schema WHERE sql IS NOT NULL
"""  # noqa: S608


def refuse_others(connection: Any, version: int, path: Path) -> None:
    """Raises DatabaseVersionError for a file of a newer treemem or of another program, or whose
    schema has anything that is not treemem's; DatabaseCorruptError if its schema is damaged."""
    if version > migrations.SCHEMA_VERSION:
        raise DatabaseVersionError(
            f"{path} was written by a newer treemem (schema {version}, this one knows "
            f"{migrations.SCHEMA_VERSION}). It was not touched. {upgrade_hint()}"
        )
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except UnicodeDecodeError:  # SQLite's message shows bytes of the schema that are no text
        raise DatabaseCorruptError(
            f"{path} is damaged: its schema cannot be read. It was not changed.",
            hint=recover_hint(path),
        ) from None
    if tables and application != migrations.APPLICATION_ID:
        raise DatabaseVersionError(
            f"{path} is a SQLite database, but not one of treemem's (application id "
            f"{application:#x}). It was not touched.", hint=OTHER_FILE,
        )  # fmt: skip
    refuse_strangers(connection, path)


def refuse_strangers(connection: Any, path: Path) -> None:
    """Raises DatabaseVersionError if the schema of a file has anything that is not treemem's."""
    stranger = next(strangers(connection.execute(ROWS)), None)
    if stranger is not None:
        raise DatabaseVersionError(
            f"{path} has something that treemem did not put there: {stranger}. It could run SQL of "
            "whoever made it. The file was not touched. Drop it there with sqlite3 if you know "
            "where it is from.",
        )


def strangers(rows: Iterable[SchemaRow]) -> Iterator[str]:
    """Yields what a schema has that is not treemem's, as "trigger NAME"."""
    for row in rows:
        if digest_of(row) not in known.OBJECTS and not _has_columns_alone(row):
            yield f"{str(row[0])[:_NAME_MAX]} {str(row[1])[:_NAME_MAX]}"


def digest_of(row: SchemaRow) -> str:
    """The digest of an object of a schema: type, name, table and definition."""
    tokens = [token.strip('"') for token in _TOKENS.findall(str(row[3])) if token]
    text = _VECTORS.sub("vector_N", " ".join([*map(str, row[:3]), *tokens]))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _has_columns_alone(row: SchemaRow) -> bool:
    kind, _, _, sql = row
    return kind == "table" and isinstance(sql, str) and bool(_COLUMNS_ALONE.fullmatch(sql))
