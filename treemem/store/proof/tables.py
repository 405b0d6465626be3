"""Says which tables of a memory file have digests, and how their rows are grouped for them.

A group is what is read again when one of its rows changes, so it is small where rows are large. Its
number is made of the key of a row alone, so that it stays what it is when the file is compacted.

Tested in tests/store/proof/test_digests.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treemem.store.schema import known

# The table of the digests.
PROOF = "proof"
# Tables without digests, and why.
WITHOUT = {
    "subject_list": "it is compared with the entries that it is made of",
    "_sqlite_migrations": "it is read to change the schema alone, and no step can be taken twice",
}
# Columns without a digest: the id of a message is a hash of its text, and the other forms of its
# words are computed again. Reading them takes as long as all the rest.
COLUMNS_WITHOUT = {
    "message": {
        "text": "the id is a hash of it",
        "exact": "the id is a hash of it",
        "search_text": "it is computed again from the text",
    }
}
# By table: a group has the rows of 2 ** SHIFT keys.
_SHIFT = 6
_SHIFTS = {"message": 4, "turn": 3, "live_session": 2, "program_state": 2, "leaf_span": 3}
_SHIFTS |= {"phrase_count": 53}  # its key is a hash of 64 bits
_SHIFT_VECTORS = 2
# Tables whose last key column counts within the others.
_NESTED = {
    "source_message": ("source_seq", "position"),
    "turn": ("session_seq", "position"),
    "tree_node": ("tree_seq", "level", "position"),
}
_NESTED_BITS = {"source_seq": 32, "session_seq": 32, "tree_seq": 38, "level": 31}
_LEVEL_MASK = (1 << 7) - 1
# Keys that are paths begin alike; so many characters of their end are used.
_BY_END = ("log_mark", "log_mark_key")
_END_CHARS = 12
# Other keys are digests, or the tables are short.
_START_CHARS = 2
# Tables without a key have one group.
_KEYLESS = ("rowid",)
_AFTER_ALL = "\U0010ffff"

_TABLES = """
SELECT t.name, c.name, c.type, c.pk FROM pragma_table_list t JOIN pragma_table_info(t.name) c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name <> 'sqlite_sequence' ORDER BY t.name, c.cid
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with digests. part: an expression of its columns, with {0} before each, for the group
    of a row; columns: those that are in the digest; key: what the rows are ordered by; shift: a
    group has the rows of 2 ** shift keys."""

    name: str
    part: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    shift: int

    @property
    def is_scattered(self) -> bool:
        """Whether rows of other groups are between those of a group."""
        return self.name in _BY_END

    @property
    def rows(self) -> str:
        """A query of all rows, in the order of their key."""
        return f"SELECT {', '.join(self.columns)} FROM main.{self.name}"  # noqa: S608

    @property
    def order(self) -> str:
        """The clause that orders them."""
        return " ORDER BY " + ", ".join(f'"{column}"' for column in self.key)

    def rows_of(self, part: Any) -> tuple[str, tuple[Any, ...]]:
        """A query of the rows of a group, in the order of their key, and its parameters."""
        condition, values = self.group(part)
        return f"{self.rows} WHERE {condition}{self.order}", values

    def name_of(self, part: Any) -> str:
        """What a group is called in a sentence."""
        if isinstance(part, int):
            condition, values = self.group(part)
            for value in values:
                condition = condition.replace("?", f"{value:,}", 1)
            return f"{self.name} with {condition.replace(chr(34), '')}"
        where = "end" if self.is_scattered else "begin"
        key = part if isinstance(part, str) else part.hex()
        return f"{self.name} of which {self.key[0]} {where}s with {key!r}"

    def group(self, part: Any) -> tuple[str, tuple[Any, ...]]:
        """The condition of the rows of a group, and its parameters."""
        if self.name in _NESTED:
            *outer, last = _NESTED[self.name]
            values = [part >> _NESTED_BITS[outer[0]]]
            inner = part & ((1 << _NESTED_BITS[outer[-1]]) - 1)
            if len(outer) == 2:
                values.append((part >> _NESTED_BITS[outer[1]]) & _LEVEL_MASK)
            low = inner << self.shift
            equal = " AND ".join(f"{column} = ?" for column in outer)
            return f"{equal} AND {last} BETWEEN ? AND ?", (
                *values, low, low + (1 << self.shift) - 1,
            )  # fmt: skip
        column = f'"{self.key[0]}"'
        if self.key == _KEYLESS:
            return "? = 0", (part,)
        if self.is_scattered:
            return f"substr({column}, -{_END_CHARS}) = ?", (part,)
        if isinstance(part, int):
            low = part << self.shift
            return f"{column} BETWEEN ? AND ?", (low, low + (1 << self.shift) - 1)
        end = part + (_AFTER_ALL if isinstance(part, str) else b"\xff" * 64)
        return f"{column} BETWEEN ? AND ?", (part, end)


def with_digests(connection: Any) -> list[Table]:
    """The tables of a file that have digests; those of other programs have none."""
    columns: dict[str, list[tuple[str, str, int]]] = {}
    for table, column, kind, key in connection.execute(_TABLES).fetchall():
        columns.setdefault(table, []).append((column, kind, key))
    return [
        _table(name, columns[name])
        for name in columns
        if (name in known.TABLES or is_vectors(name)) and name not in WITHOUT and name != PROOF
    ]


def is_vectors(name: str) -> bool:
    """Whether a table has the vectors of an embedder."""
    return name.startswith("vector_") and name[7:].isdigit()


def _table(name: str, columns: list[tuple[str, str, int]]) -> Table:
    left_out = COLUMNS_WITHOUT.get(name, {})
    shown = tuple(f'"{column}"' for column, _, _ in columns if column not in left_out)
    by_key = sorted((place, column, kind) for column, kind, place in columns if place)
    key = tuple(column for _, column, _ in by_key) or _KEYLESS
    shift = _SHIFT_VECTORS if is_vectors(name) else _SHIFTS.get(name, _SHIFT)
    if name in _NESTED:
        *outer, last = _NESTED[name]
        terms = [f"({{0}}{column} << {_NESTED_BITS[column]})" for column in outer]
        part = " | ".join([*terms, f"({{0}}{last} >> {shift})"])
    elif name in _BY_END:
        part = f'substr({{0}}"{key[0]}", -{_END_CHARS})'
    elif not by_key:
        part = "0"
    elif by_key[0][2] == "INTEGER":
        part = f'{{0}}"{key[0]}" >> {shift}'
    else:
        part = f'substr({{0}}"{key[0]}", 1, {_START_CHARS})'
    return Table(name, part, shown, key, shift)
