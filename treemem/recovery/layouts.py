"""Says what the rows of a memory look like, in the files of all versions.

A row is taken for one of a table only if each of its columns may be in it, so that a page that lost
its place in the tables can still be told by its rows, and a damaged row is left out. Pure.

Tested in tests/recovery/test_finding.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treemem.recovery.records import Value
from treemem.store import settings
from treemem.types import MESSAGE_KINDS, ORIGINS, ROLES

Check = Callable[[Any], bool]
Row = tuple[Any, ...]
_HEX = frozenset("0123456789abcdef")
_TEXT_OF_32_BYTES = 13 + 2 * 32
STATES = ("active", "abandoned", "replaced")
CHOICES = ("pinned", "dropped", "closed", "open", "restored")
SETTINGS = tuple(
    value
    for name, value in vars(settings).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_")
)


def _seq(value: Value) -> bool:
    return isinstance(value, int) and 0 < value < 1 << 62


def _count(value: Value) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 62


def _int(value: Value) -> bool:
    return isinstance(value, int)


def _flag(value: Value) -> bool:
    return value in (0, 1) and isinstance(value, int)


def _number(value: Value) -> bool:
    return isinstance(value, int | float)


def _text(value: Value) -> bool:
    return isinstance(value, str)


def _name(value: Value) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 512 and value[0] not in "[{"


def _source_id(value: Value) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 512 and value.isprintable()


def _hash(value: Value) -> bool:
    return isinstance(value, str) and len(value) == 32 and _HEX.issuperset(value)


def _topic_id(value: Value) -> bool:
    return isinstance(value, str) and len(value) == 8 and value[0] == "t" and {*value[1:]} <= _HEX


def _mark(value: Value) -> bool:
    return isinstance(value, bytes) and len(value) == 16


def _any(value: Value) -> bool:  # noqa: ARG001
    return True


def _one_of(*values: object) -> Check:
    return lambda value: value in values


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a table, or of an index.

    name: of the table or index in the schema. columns: what each may be, in stored order.
    needed: so many columns are in the rows of every version; later ones are None in older rows.
    has_rowid: the first column is stored as the row's number. key: how many columns make a row
    unique. is_distinct: no row of another table looks like these.
    """

    name: str
    columns: tuple[Check, ...]
    needed: int
    key: int = 1
    has_rowid: bool = True
    is_distinct: bool = False

    def row(self, values: Sequence[Value], rowid: int | None) -> Row | None:
        """The columns of a row; None if it is none of this table."""
        if self.has_rowid is (rowid is None) or not self.needed <= len(values) <= len(self.columns):
            return None
        if self.has_rowid and (values[0] is not None or rowid is None):
            return None
        whole = (rowid, *values[1:]) if self.has_rowid else tuple(values)
        if not all(check(value) for check, value in zip(self.columns, whole, strict=False)):
            return None
        return whole + (None,) * (len(self.columns) - len(whole))


def _table(name: str, *columns: Check, needed: int = 0, distinct: bool = False) -> Layout:
    return Layout(name, columns, needed or len(columns), is_distinct=distinct)


def _keyed(name: str, key: int, *columns: Check, needed: int = 0, distinct: bool = False) -> Layout:
    needed = needed or len(columns)
    return Layout(name, columns, needed, key, has_rowid=False, is_distinct=distinct)


_TEXTS, _SEQS, _COUNTS, _INTS = (_or_none(check) for check in (_text, _seq, _count, _int))
SCHEMA = Layout(
    "sqlite_schema",
    (_one_of("table", "index", "view", "trigger"), _name, _name, _count, _TEXTS),
    needed=5,
    has_rowid=False,
)
MESSAGE = _table(
    "message", _seq, _hash, _or_none(_hash), _TEXTS, _one_of(*ROLES), _TEXTS,
    _one_of(*MESSAGE_KINDS), _TEXTS, _INTS, _text, _any, _any, _any, _any, _TEXTS,
    _one_of(None, *ORIGINS), needed=15, distinct=True,
)  # fmt: skip
_ALL = (
    MESSAGE,
    _table(
        "source", _seq, _source_id, _name, _TEXTS, _TEXTS, _or_none(_source_id), _count, _int,
        _TEXTS, _or_none(_flag), needed=8, distinct=True,
    ),
    # Its last column is the row number of a session, or in older files, moved there, its id.
    _keyed("source_message", 2, _seq, _count, _seq, _one_of(*STATES), _COUNTS, _SEQS,
           needed=5, distinct=True),
    _table("log_session", _seq, _name, distinct=True),
    _keyed("setting", 1, _one_of(*SETTINGS), _text, distinct=True),
    _keyed("message_alias", 2, _hash, _seq),
    _table("entry_choice", _seq, _text, _text, _one_of(*CHOICES), _int, distinct=True),
    _table("topic", _seq, _topic_id, _TEXTS, _flag, _flag, _any, _any, needed=5, distinct=True),
    _keyed("topic_alias", 1, _topic_id, _seq, _or_none(_topic_id), _TEXTS, _or_none(_flag),
           _or_none(_flag), needed=2),
    _keyed("topic_leaf", 2, _seq, _seq, _or_none(_flag), needed=2),
    _keyed("topic_part", 2, _topic_id, _seq),
    _table("node", _seq, _hash, _count, _any, _any, _any, _any, _flag, distinct=True),
    _table("tree", _seq, _one_of("source"), _source_id, _SEQS, _SEQS, _any, _any, _any, _any,
           needed=6, distinct=True),
    _keyed("awaited_title", 1, _text, _text),
    _keyed("source_end", 2, _seq, _hash),
    _keyed("log_file", 2, _text, _text, _text, _text, _count, _text, _count, distinct=True),
    _table("usage", _seq, _int, _seq, _text, _count, _TEXTS, _TEXTS, _count, _count, _number),
    _table("live_session", _seq, _seq, _TEXTS, _flag, _one_of(None, "openai", "anthropic"), _seq,
           _count, _text, _text, _number, _count, _count, _int, _int, _or_none(_flag),
           needed=14, distinct=True),
    _keyed("turn", 2, _seq, _count, _text, _count, _SEQS, _flag, _text, _TEXTS, _COUNTS, _TEXTS,
           _or_none(_flag), needed=10, distinct=True),
    _table("pin_change", _seq, _seq, _one_of("goal", "task", "constraint"), _text, _flag, _count,
           _int, distinct=True),
    _table("checkpoint", _seq, _name, _seq, _count, _text, _int, _int, distinct=True),
    _table("program_state", _seq, _text, _text, _text, _text, _SEQS, _int, _int, distinct=True),
    # What was forgotten. Files of versions without it have none of these.
    _table("forgetting", _seq, _int, _text, _count, _count, _count, _flag, _INTS),
    _keyed("tombstone", 1, _mark, _seq, distinct=True),
    _table("condemned", _seq, _seq),
    # Indexes, which say some of it again.
    _keyed("source_message_once", 2, _seq, _seq, _count),
    _keyed("message_identity", 2, _hash, _seq),
    _keyed("sqlite_autoindex_message_1", 1, _hash, _seq),
    _keyed("sqlite_autoindex_source_1", 1, _source_id, _seq),
    _keyed("sqlite_autoindex_log_session_1", 1, _name, _seq),
    _keyed("sqlite_autoindex_entry_choice_1", 4, _text, _text, _one_of(None, *CHOICES), _INTS,
           _seq, needed=3),
    _keyed("sqlite_autoindex_topic_1", 1, _topic_id, _seq),
)  # fmt: skip
LAYOUTS = {layout.name: layout for layout in _ALL}
DISTINCT = tuple(layout for layout in _ALL if layout.is_distinct)
# The layout of other tables and indexes, by their names in older files.
FORMER = {"rule_choice": "entry_choice", "sqlite_autoindex_rule_choice_1":
          "sqlite_autoindex_entry_choice_1"}  # fmt: skip
# Rows of older files, and the places of the columns of today in them; None for one that is not.
_FORMER_ROWS = {
    "source_message": (
        _keyed("", 2, _seq, _count, _seq, _TEXTS, _one_of(*STATES), _COUNTS, distinct=True),
        (0, 1, 2, 4, 5, 3),
    ),
    "sqlite_autoindex_entry_choice_1": (_keyed("", 2, _text, _text, _seq), (0, 1, None, None, 2)),
}


def row_of(layout: Layout, values: Sequence[Value], rowid: int | None) -> Row | None:
    """The columns of a row of a table in the order of the newest version; None if it is none."""
    row = layout.row(values, rowid)
    if row is None and layout.name in _FORMER_ROWS:
        former_layout, places = _FORMER_ROWS[layout.name]
        former = former_layout.row(values, rowid)
        if former is not None:
            return tuple(None if place is None else former[place] for place in places)
    return row


def is_message(kinds: Sequence[int]) -> bool:
    """Whether columns of these types are perhaps those of a message. Tells it without reading what
    continues in other pages."""
    return (
        len(kinds) in (MESSAGE.needed, len(MESSAGE.columns))
        and kinds[0] == 0
        and kinds[1] == _TEXT_OF_32_BYTES
        and kinds[9] >= 13
        and kinds[9] % 2 == 1
    )
