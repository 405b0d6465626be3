"""Finds a row by the beginning of its id, and words what is not found, with similar names.

Tested in tests/store/test_lookup.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from treemem.errors import AmbiguousIdError, Hint, NotFoundError
from treemem.store.database import Database, Row

# The fewest hexadecimal digits that identify a thing.
PREFIX_LENGTH_MIN = 4
# Similar names in an error, of the first names that are compared, and how alike they must be
# (difflib's ratio).
SIMILAR_MAX = 3
COMPARED_MAX = 5_000
SIMILAR_RATIO_MIN = 0.6

IdKind = Literal[
    "source", "session", "live session", "checkpoint", "topic", "merged topic", "node", "message",
    "entry", "job",
]  # fmt: skip
# The ids from the first parameter up to the second, with a few words about each.
_IDS: dict[IdKind, str] = {
    "source": "SELECT id, coalesce(title, format) FROM source {} ORDER BY seq DESC",
    "session": "SELECT id, '' FROM log_session {} ORDER BY id",
    "live session": "SELECT id, coalesce(title, format) FROM source {} "
    "AND seq IN (SELECT source_seq FROM live_session) ORDER BY seq DESC",
    "checkpoint": "SELECT id, (SELECT s.id FROM live_session ls JOIN source s "
    "ON s.seq = ls.source_seq WHERE ls.seq = session_seq) FROM checkpoint {} ORDER BY seq DESC",
    "topic": "SELECT id, coalesce(name, '') FROM topic {} ORDER BY seq",
    "merged topic": "SELECT id, (SELECT 'in ' || coalesce(t.name, t.id) FROM topic t "
    "WHERE t.seq = topic_seq) FROM topic_alias {} ORDER BY id",
    "node": "SELECT id, iif(level = 0, 'leaf', 'level ' || level) FROM node {} ORDER BY level DESC",
    "message": "SELECT id, role FROM message {}",
    "entry": "SELECT id, kind FROM entry {} ORDER BY weight DESC",
    "job": "SELECT CAST(seq AS TEXT) AS id, kind || ', ' || state FROM job {} ORDER BY seq",
}
_BEGINS = {"job": "WHERE state <> 'done' AND CAST(seq AS TEXT) BETWEEN ?1 AND ?2"}


def ids(database: Database, kind: IdKind, start: str, limit: int) -> list[tuple[str, str]]:
    """The ids of a kind that begin with `start`, and a few words about each. Of sources, if none
    begins with it, those that contain it.

    Example:
        A source "claude-code/5c03…" begins with "clau" and contains "5c03".
    """
    begins = _BEGINS.get(kind, "WHERE id >= ?1 AND id < ?2")
    statement = f"{_IDS[kind].format(begins)} LIMIT ?3"
    found = database.rows(statement, (start, f"{start}\U0010ffff", limit))
    if not found and kind in ("source", "live session"):
        statement = f"{_IDS[kind].format('WHERE instr(id, ?1)')} LIMIT ?2"
        found = database.rows(statement, (start, limit))
    return [(str(name), str(about)) for name, about in found]


def only_row(database: Database, sql: str, prefix: str, what: str, see: Hint) -> Row:
    """The only row whose second column, a hexadecimal id, begins with prefix.

    sql: selects rows with an id from its first parameter up to its second. what: such as "node".
    see: what lists the ids. Raises NotFoundError or AmbiguousIdError.
    """
    digits = prefix.strip().lower()
    is_hexadecimal = all(c in "0123456789abcdef" for c in digits)
    if len(digits) < PREFIX_LENGTH_MIN or not is_hexadecimal:
        raise NotFoundError(
            f"{prefix!r} is not the id of a {what}: give at least {PREFIX_LENGTH_MIN} of its "
            "hexadecimal digits.",
            hint=see,
        )
    rows = database.rows(sql, (digits, digits + "g"))
    if not rows:
        raise not_found(what, prefix, see)
    if len(rows) > 1:
        raise ambiguous(what, prefix, (row[1][:12] for row in rows))
    return rows[0]


def not_found(what: str, name: str, see: Hint, known: Iterable[str] = ()) -> NotFoundError:
    """The error for a name that nothing has. known: the names that there are."""
    return NotFoundError(f"There is no {what} {name!r}.{similar_to(name, known)}", hint=see)


def similar_to(name: str, known: Iterable[str]) -> str:
    """A sentence, after a space, with the known names that are most like a name; "" if none is."""
    similar = _similar(name, known)
    return f" Similar: {', '.join(similar)}." if similar else ""


def ambiguous(what: str, name: str, found: Iterable[str]) -> AmbiguousIdError:
    """The error for a name that fits several things."""
    return AmbiguousIdError(
        f"{name!r} fits several {what}s: {', '.join(found)}. Give more of the id."
    )


def _similar(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are most like a name, compared whole and by their last part, without
    regard to case."""
    import difflib

    wanted = name.strip().casefold()
    by_form: dict[str, str] = {}
    for full in list(known)[:COMPARED_MAX]:
        by_form.setdefault(full.casefold(), full)
        by_form.setdefault(full.casefold().rstrip("/").rsplit("/", 1)[-1], full)
    found = difflib.get_close_matches(wanted, by_form, 2 * SIMILAR_MAX, SIMILAR_RATIO_MIN)
    return list(dict.fromkeys(by_form[form] for form in found))[:SIMILAR_MAX]
