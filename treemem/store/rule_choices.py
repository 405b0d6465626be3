"""Stores which rules the user pinned or dropped.

A rule is known by its words and the project it was given in, so a choice outlives the message: the
log may be ingested again, resealed or scrubbed. Owns the table rule_choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from treemem.store.database import Database, storable_text

ChoiceState = Literal["pinned", "dropped"]

_PUT = """
INSERT INTO rule_choice (text, project, state, chosen_at_ms) VALUES (?, ?, ?, ?)
ON CONFLICT (text, project) DO UPDATE SET state = excluded.state,
  chosen_at_ms = excluded.chosen_at_ms
"""


class RuleChoice(NamedTuple):
    """A choice of the user's. project: where the rule was given; "" for one that the user wrote
    here. chosen_at_ms: milliseconds since 1970 UTC."""

    text: str
    project: str
    state: ChoiceState
    chosen_at_ms: int


def choices(database: Database) -> list[RuleChoice]:
    """All choices, oldest first."""
    sql = "SELECT text, project, state, chosen_at_ms FROM rule_choice ORDER BY chosen_at_ms, text"
    return [RuleChoice(*row) for row in database.rows(sql)]


def put(database: Database, choice: RuleChoice) -> None:
    """Stores a choice in place of an earlier one about the same rule, in the caller's
    transaction."""
    text, project = storable_text(choice.text)[0], storable_text(choice.project)[0]
    database.execute(_PUT, (text, project, choice.state, choice.chosen_at_ms))


def forget(database: Database, text: str, project: str) -> None:
    """Deletes the choice about a rule, in the caller's transaction."""
    database.execute("DELETE FROM rule_choice WHERE text = ? AND project = ?", (text, project))


def texts(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, text) of each choice, for a scrub."""
    return database.rows("SELECT seq, text FROM rule_choice")


def projects(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, project) of each choice, for a scrub."""
    return database.rows("SELECT seq, project FROM rule_choice")


def rewrite_text(database: Database, seq: int, text: str) -> None:
    """Replaces the words of a rule, unless there is a choice about the new words: then that one
    counts."""
    _rewrite(database, "text", seq, text)


def rewrite_project(database: Database, seq: int, project: str) -> None:
    """Replaces the project of a rule, as rewrite_text does the words."""
    _rewrite(database, "project", seq, project)


def _rewrite(database: Database, column: str, seq: int, value: str) -> None:
    sql = f"UPDATE OR IGNORE rule_choice SET {column} = ? WHERE seq = ?"  # noqa: S608
    database.execute(sql, (value, seq))
    database.execute(
        f"DELETE FROM rule_choice WHERE seq = ? AND {column} <> ?",  # noqa: S608
        (seq, value),
    )
