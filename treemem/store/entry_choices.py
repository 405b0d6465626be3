"""Stores what the user decided about entries of the ledger, such as to drop a rule.

An entry is known by its words and the project it was said in, so a choice outlives the message: the
log may be ingested again, resealed or scrubbed. Every choice is kept with its time, and the latest
about an entry holds; so the histories of two machines are united by putting them together. Owns the
table entry_choice.

Tested in tests/store/test_entry_choices.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from treemem.store.database import Database, json_list, storable_text

# "restored": from then on none of the earlier choices holds.
ChoiceState = Literal["pinned", "dropped", "closed", "open", "restored"]
# What a choice is about: (text, project).
Key = tuple[str, str]

# Subtle: later than all others, also if the clock stands still or was set back.
_PUT = """
INSERT INTO entry_choice (text, project, state, chosen_at_ms)
SELECT ?1, ?2, ?3, max(?4, coalesce(max(chosen_at_ms) + 1, 0)) FROM entry_choice
"""
_ADD = """
INSERT OR IGNORE INTO entry_choice (text, project, state, chosen_at_ms) VALUES (?, ?, ?, ?)
"""
# Of two machines, whose clocks may agree, the choice whose state comes later holds.
_HELD = """
SELECT text, project, state, chosen_at_ms FROM (
  SELECT text, project, state, chosen_at_ms, row_number() OVER (
    PARTITION BY text, project ORDER BY chosen_at_ms DESC, state DESC) AS place
  FROM entry_choice WHERE chosen_at_ms <= ? {})
WHERE place = 1 ORDER BY chosen_at_ms, text, project
"""
_ABOUT = "AND text IN (SELECT value FROM json_each(?))"
_ALWAYS = (1 << 63) - 1


class EntryChoice(NamedTuple):
    """A choice of the user's. project: where the entry was said; "" for a rule that the user wrote
    here. chosen_at_ms: milliseconds since 1970 UTC."""

    text: str
    project: str
    state: ChoiceState
    chosen_at_ms: int

    @property
    def order(self) -> tuple[int, str]:
        """Of two choices about the same, the later in this order holds."""
        return (self.chosen_at_ms, self.state)


def choices(database: Database, until_ms: int = _ALWAYS) -> list[EntryChoice]:
    """The choice that held at a time about each entry, oldest first, also those by which none of
    the earlier ones holds. until_ms: milliseconds since 1970 UTC; now without it."""
    return [EntryChoice(*row) for row in database.rows(_HELD.format(""), (until_ms,))]


def about(
    database: Database, texts: Collection[str], until_ms: int = _ALWAYS
) -> dict[Key, EntryChoice]:
    """Of these choices, those about these words, by what they are about."""
    values = (until_ms, json_list(texts))
    rows = database.rows(_HELD.format(_ABOUT), values) if texts else []
    return {row[:2]: EntryChoice(*row) for row in map(tuple, rows)}


def latest(chosen: Mapping[Key, EntryChoice], keys: Iterable[Key]) -> ChoiceState | None:
    """The latest of these choices that is about one of these keys; None if none holds."""
    found = [chosen[key] for key in keys if key in chosen]
    state = max(found, key=lambda choice: choice.order).state if found else None
    return None if state == "restored" else state


def put(database: Database, choice: EntryChoice) -> None:
    """Stores a choice of the user's as the latest of all, in the caller's transaction."""
    text, project = storable_text(choice.text)[0], storable_text(choice.project)[0]
    database.execute(_PUT, (text, project, choice.state, choice.chosen_at_ms))


def restore(database: Database, keys: Iterable[Key], now_ms: int) -> None:
    """Lets no earlier choice about these hold, in the caller's transaction."""
    wanted = set(keys)
    for key, choice in about(database, {text for text, _ in wanted}).items():
        if key in wanted and choice.state != "restored":
            put(database, EntryChoice(*key, "restored", now_ms))


def add(database: Database, choice: EntryChoice) -> bool:
    """Stores a choice of another machine, as it is. Returns whether another choice holds now."""
    key = choice[:2]
    before = about(database, [choice.text]).get(key)
    is_new = database.changed(_ADD, choice) > 0
    return is_new and (before is None or choice.order > before.order)


def texts(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, text) of each choice, for a scrub."""
    return database.rows("SELECT seq, text FROM entry_choice")


def projects(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, project) of each choice, for a scrub."""
    return database.rows("SELECT seq, project FROM entry_choice")


def rewrite_text(database: Database, seq: int, text: str) -> None:
    """Replaces the words of a choice, which then is one of those about the new words."""
    _rewrite(database, "text", seq, text)


def rewrite_project(database: Database, seq: int, project: str) -> None:
    """Replaces the project of a choice, as rewrite_text does the words."""
    _rewrite(database, "project", seq, project)


def _rewrite(database: Database, column: str, seq: int, value: str) -> None:
    sql = f"UPDATE OR IGNORE entry_choice SET {column} = ? WHERE seq = ?"  # noqa: S608
    database.execute(sql, (value, seq))
    database.execute(
        f"DELETE FROM entry_choice WHERE seq = ? AND {column} <> ?",  # noqa: S608
        (seq, value),
    )
