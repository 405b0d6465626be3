"""Stores what the user decided about entries of the ledger, such as to drop a rule.

An entry is known by its words and the project it was said in, so a choice outlives the message: the
log may be ingested again, resealed or scrubbed. Owns the table entry_choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from treemem.store.database import Database, json_list, storable_text

ChoiceState = Literal["pinned", "dropped", "closed", "open"]
# What a choice is about: (text, project).
Key = tuple[str, str]

# Subtle: later than all others, also if the clock stands still or was set back.
_PUT = """
INSERT INTO entry_choice (text, project, state, chosen_at_ms)
SELECT ?1, ?2, ?3, max(?4, coalesce(max(chosen_at_ms) + 1, 0)) FROM entry_choice WHERE 1
ON CONFLICT (text, project) DO UPDATE SET state = excluded.state,
  chosen_at_ms = excluded.chosen_at_ms
"""
# Of two machines, whose clocks may agree: then the one whose name comes later holds.
_PUT_LATER = """
INSERT INTO entry_choice (text, project, state, chosen_at_ms) VALUES (?, ?, ?, ?)
ON CONFLICT (text, project) DO UPDATE SET state = excluded.state,
  chosen_at_ms = excluded.chosen_at_ms
WHERE (excluded.chosen_at_ms, excluded.state) > (chosen_at_ms, state)
"""


class EntryChoice(NamedTuple):
    """A choice of the user's. project: where the entry was said; "" for a rule that the user wrote
    here. chosen_at_ms: milliseconds since 1970 UTC."""

    text: str
    project: str
    state: ChoiceState
    chosen_at_ms: int


def choices(database: Database) -> list[EntryChoice]:
    """All choices, oldest first."""
    sql = "SELECT text, project, state, chosen_at_ms FROM entry_choice ORDER BY chosen_at_ms, text"
    return [EntryChoice(*row) for row in database.rows(sql)]


def about(database: Database, texts: Collection[str]) -> dict[Key, EntryChoice]:
    """The choices about these words, by what they are about."""
    sql = """
    SELECT text, project, state, chosen_at_ms FROM entry_choice
    WHERE text IN (SELECT value FROM json_each(?))
    """
    rows = database.rows(sql, (json_list(texts),)) if texts else []
    return {row[:2]: EntryChoice(*row) for row in map(tuple, rows)}


def latest(chosen: Mapping[Key, EntryChoice], keys: Iterable[Key]) -> ChoiceState | None:
    """The latest of these choices that is about one of these keys."""
    found = [chosen[key] for key in keys if key in chosen]
    return max(found, key=lambda choice: choice.chosen_at_ms).state if found else None


def put(database: Database, choice: EntryChoice) -> None:
    """Stores a choice in place of an earlier one about the same rule, in the caller's
    transaction."""
    text, project = storable_text(choice.text)[0], storable_text(choice.project)[0]
    database.execute(_PUT, (text, project, choice.state, choice.chosen_at_ms))


def put_later(database: Database, choice: EntryChoice) -> bool:
    """Stores a choice of another machine, as it is, if it is later than the one about the same
    entry. Returns whether it was."""
    return database.changed(_PUT_LATER, choice) > 0


def forget(database: Database, text: str, project: str) -> None:
    """Deletes the choice about a rule, in the caller's transaction."""
    database.execute("DELETE FROM entry_choice WHERE text = ? AND project = ?", (text, project))


def texts(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, text) of each choice, for a scrub."""
    return database.rows("SELECT seq, text FROM entry_choice")


def projects(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, project) of each choice, for a scrub."""
    return database.rows("SELECT seq, project FROM entry_choice")


def rewrite_text(database: Database, seq: int, text: str) -> None:
    """Replaces the words of a rule, unless there is a choice about the new words: then that one
    counts."""
    _rewrite(database, "text", seq, text)


def rewrite_project(database: Database, seq: int, project: str) -> None:
    """Replaces the project of a rule, as rewrite_text does the words."""
    _rewrite(database, "project", seq, project)


def _rewrite(database: Database, column: str, seq: int, value: str) -> None:
    sql = f"UPDATE OR IGNORE entry_choice SET {column} = ? WHERE seq = ?"  # noqa: S608
    database.execute(sql, (value, seq))
    database.execute(
        f"DELETE FROM entry_choice WHERE seq = ? AND {column} <> ?",  # noqa: S608
        (seq, value),
    )
