"""Reports what the bytes of a memory file are used for.

Tested in tests/diagnostics/test_space.py.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from treemem.errors import DatabaseCorruptError, DatabaseLockedError
from treemem.store.database import SQLITE_VERSION, Database
from treemem.store.file.btree import TreeSize, TreeSizes
from treemem.store.file.pages import Pages

# The leaves of a tree that are read at most. All those of 185 MB take 0.25 s of processor time.
LEAVES_MAX = 20_000
# How often the file is read again while another process writes to it.
_TRIES = 5
_TREES = "SELECT name, tbl_name, type, rootpage FROM sqlite_schema WHERE rootpage > 0"
_FULL_TEXT = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
# Since 3.43 the length of a text is read from the head of its row.
_BYTES = "octet_length(text)" if SQLITE_VERSION >= (3, 43, 0) else "length(CAST(text AS BLOB))"
_TEXT = f"SELECT coalesce(sum({_BYTES}), 0) FROM message"  # noqa: S608


@dataclass(frozen=True, slots=True)
class TableSpace:
    """The bytes of one table.

    size_bytes: of its rows, its indexes and its full-text index. index_bytes, full_text_bytes: of
    these alone. unused_bytes: those in its pages that hold nothing yet. share: of the file, 0 to
    1. per_text: bytes for each byte of stored text; None without one.
    """

    name: str
    size_bytes: int
    index_bytes: int
    full_text_bytes: int
    unused_bytes: int
    share: float
    per_text: float | None


@dataclass(frozen=True, slots=True)
class Space:
    """What the bytes of a memory file are used for.

    size_bytes: of the file, with what its -wal file adds to it. text_bytes: of the messages' texts.
    free_bytes: pages that are kept for later rows. tables: the largest first. estimated: whether
    the tables are too large for all their pages to be read.
    """

    size_bytes: int
    text_bytes: int
    free_bytes: int
    page_bytes: int
    estimated: bool
    tables: tuple[TableSpace, ...]


def read_space(database: Database, leaves_max: int = LEAVES_MAX) -> Space | None:
    """Returns what the bytes of the file are used for; None for a database in memory. Call it
    outside of transactions.

    Raises DatabaseCorruptError if the file is damaged, and DatabaseLockedError if another process
    writes to it all the time.
    """
    damage: ValueError | None = None
    for _ in range(_TRIES):
        with database.reading():
            text_bytes = int(database.value(_TEXT))  # from here on nothing of the file changes
            version = database.value("PRAGMA schema_version")
            try:
                if (pages := database.pages()) is None:
                    return None
                if pages.schema_version == version:
                    space = _space(database, pages, text_bytes, leaves_max)
                    if pages.is_current():
                        return space
                damage = None
            except ValueError as error:
                damage = error
    if damage is not None:
        raise DatabaseCorruptError(f"{database.path} is damaged: {damage}.") from damage
    raise DatabaseLockedError(f"{database.path} is being written to. Try again.")


def _space(database: Database, pages: Pages, text_bytes: int, leaves_max: int) -> Space:
    sizes = TreeSizes(pages, leaves_max)
    full_text = [name for (name,) in database.rows(_FULL_TEXT)]
    parts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    exact = True
    for name, table, kind, root in [("", "sqlite_schema", "table", 1), *database.rows(_TREES)]:
        tree: TreeSize = sizes.of(root)
        exact = exact and tree.exact
        owner, part = table, kind
        for index in full_text:
            if name.startswith(f"{index}_"):
                owner, part = index.removesuffix("_fts"), "full text"
        parts[owner][part] += tree.pages * pages.size
        parts[owner]["unused"] += tree.unused
    file_bytes = pages.count * pages.size
    tables = [_table(name, bytes_of, file_bytes, text_bytes) for name, bytes_of in parts.items()]
    tables.sort(key=lambda table: (-table.size_bytes, table.name))
    return Space(
        file_bytes, text_bytes, pages.free * pages.size, pages.size, not exact, tuple(tables)
    )


def _table(name: str, bytes_of: dict[str, int], file_bytes: int, text_bytes: int) -> TableSpace:
    size = bytes_of["table"] + bytes_of["index"] + bytes_of["full text"]
    return TableSpace(
        name=name,
        size_bytes=size,
        index_bytes=bytes_of["index"],
        full_text_bytes=bytes_of["full text"],
        unused_bytes=bytes_of["unused"],
        share=size / file_bytes,
        per_text=size / text_bytes if text_bytes else None,
    )
