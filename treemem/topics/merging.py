"""Merges topics, and takes merged topics out again.

A merged topic lives on as an alias of the topic that has its leaves now, with its name, its pin and
its leaves (topic_part). Of each leaf the file says whether its topic has it of its own, and which
merged topics have it. A leaf that comes later goes with the leaf of its chat before it, so that no
chat is torn apart when the merge is undone.

Owns the tables topic_alias and topic_part, and the column topic_leaf.own. Tested in
tests/topics/test_merging.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treemem.errors import SEE_TOPICS, UsageError
from treemem.store import lookup
from treemem.store.database import Database
from treemem.topics import store as topic_store

_PUT_ALIAS = """
INSERT INTO topic_alias (id, topic_seq, into_id, name, gave_name, pinned)
SELECT t.id, i.seq, i.id, iif(t.named, t.name, NULL), t.named AND NOT i.named, t.pinned
FROM topic t, topic i WHERE t.id = :topic AND i.id = :into
"""
_PUT_PARTS = """
INSERT INTO topic_part (alias, node_seq)
SELECT t.id, tl.node_seq FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
WHERE t.id = :topic AND tl.own = 1
"""
_MOVE_LEAVES = """
INSERT OR IGNORE INTO topic_leaf (topic_seq, node_seq, own)
SELECT i.seq, tl.node_seq, 0 FROM topic i, topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
WHERE i.id = :into AND t.id = :topic
"""
_MOVE_ALIASES = """
UPDATE topic_alias SET topic_seq = (SELECT seq FROM topic WHERE id = :into)
WHERE topic_seq = (SELECT seq FROM topic WHERE id = :topic)
"""
_MOVE_NAME = """
UPDATE topic SET name = old.name, named = 1
FROM (SELECT name, named FROM topic WHERE id = :topic) old
WHERE id = :into AND topic.named = 0 AND old.named = 1
"""


def merge(database: Database, into: str, topic_id: str) -> None:
    """Merges a topic into another, which takes over its leaves, its ids, and the user's name for it
    unless it has one. Both are ids of different topics."""
    parameters = {"into": into, "topic": topic_id}
    for sql in (_PUT_ALIAS, _PUT_PARTS, _MOVE_LEAVES, _MOVE_ALIASES, _MOVE_NAME):
        database.execute(sql, parameters)
    topic_store.remove(database, topic_id)


# -- taking a topic out again ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alias:
    """A merged topic. topic_id: the topic that has its leaves now. into_id: the one that it was
    merged into. name: the user's. gave_name: whether that is the name of into_id since. pinned:
    None if an earlier version merged it, which did not keep its leaves."""

    id: str
    topic_id: str
    into_id: str
    name: str | None
    gave_name: bool
    pinned: bool | None


_ALIASES = """
SELECT a.id, t.id, a.into_id, a.name, a.gave_name, a.pinned
FROM topic_alias a JOIN topic t ON t.seq = a.topic_seq
WHERE substr(a.id, 1, length(:id)) = :id ORDER BY a.id
"""
# The merged topic and those that were merged into it before.
_WITHIN = """
WITH RECURSIVE within (id) AS (
  SELECT :alias UNION SELECT a.id FROM within JOIN topic_alias a ON a.into_id = within.id)
"""
_TAKE_OWN = """
INSERT INTO topic_leaf (topic_seq, node_seq)
SELECT t.seq, p.node_seq FROM topic t, topic_part p WHERE t.id = :alias AND p.alias = :alias
"""
_TAKE_MERGED = f"""
{_WITHIN}
INSERT OR IGNORE INTO topic_leaf (topic_seq, node_seq, own)
SELECT t.seq, p.node_seq, 0 FROM topic t, within JOIN topic_part p ON p.alias = within.id
WHERE t.id = :alias
"""  # noqa: S608
_TAKE_ALIASES = f"""
{_WITHIN}
UPDATE topic_alias SET topic_seq = (SELECT seq FROM topic WHERE id = :alias)
WHERE id IN (SELECT id FROM within)
"""  # noqa: S608
_LEAVE = f"""
{_WITHIN}
DELETE FROM topic_leaf
WHERE topic_seq = (SELECT seq FROM topic WHERE id = :topic) AND own = 0
  AND node_seq IN (SELECT p.node_seq FROM topic_part p JOIN within ON within.id = p.alias)
  AND NOT EXISTS (
    SELECT 1 FROM topic_part p JOIN topic_alias a ON a.id = p.alias
    WHERE p.node_seq = topic_leaf.node_seq AND a.topic_seq = topic_leaf.topic_seq)
"""  # noqa: S608
_HAS_LEAVES = f"""
{_WITHIN}
SELECT EXISTS (SELECT 1 FROM topic_part p JOIN within ON within.id = p.alias)
"""  # noqa: S608
_CREATE = "INSERT INTO topic (id, name, named, pinned) VALUES (?, ?, ?, ?)"


def unmerge(database: Database, topic_id: str) -> Alias:
    """Makes a merged topic a topic of its own again, with its leaves as far as the topic that it
    was merged into still has them, its name, its pin, and the topics merged into it before.

    topic_id: its id, or an unambiguous beginning. Returns it as it was until now. Raises
    NotFoundError, AmbiguousIdError, and UsageError if it is not merged or has no leaf left.
    """
    alias = _alias(database, topic_id)
    parameters = {"alias": alias.id, "topic": alias.topic_id}
    if not database.value(_HAS_LEAVES, parameters):
        raise UsageError(
            f"No leaf of {alias.id} is in {alias.topic_id} any more: a rebuild or a scrub has "
            "moved them, so there is nothing to take out."
        )
    database.execute(_CREATE, (alias.id, alias.name, alias.name is not None, alias.pinned))
    # Subtle: a leaf that leaves a topic is forgotten for its aliases, so these move before it.
    for sql in (_TAKE_OWN, _TAKE_MERGED, _TAKE_ALIASES, _LEAVE):
        database.execute(sql, parameters)
    database.execute("DELETE FROM topic_alias WHERE id = ?", (alias.id,))
    _take_name_back(database, alias)
    return alias


def _alias(database: Database, topic_id: str) -> Alias:
    """The merged topic with this id or unambiguous beginning of one."""
    wanted = topic_id.strip().lower()
    rows = database.rows(_ALIASES, {"id": wanted}) if len(wanted) > 1 else []
    matches = [row for row in rows if row[0] == wanted] or rows
    if len(matches) > 1:
        raise lookup.ambiguous("merged topic", topic_id, [row[0] for row in matches[:5]])
    if not matches:
        known = topic_store.resolve(database, topic_id)
        merged = [row[0] for row in database.rows(_ALIASES, {"id": ""}) if row[1] == known]
        others = f"; {', '.join(merged)} was merged into it" if merged else ""
        raise UsageError(f"Topic {known} is not merged into another one{others}.", hint=SEE_TOPICS)
    alias_id, into, into_id, name, gave_name, pinned = matches[0]
    if pinned is None:
        raise UsageError(
            f"{alias_id} was merged into {into} by an earlier version of treemem, which did not "
            "keep which leaves it had. It stays merged."
        )
    return Alias(alias_id, into, into_id, name, bool(gave_name), bool(pinned))


_CLEAR_NAME = "UPDATE topic SET name = NULL, named = 0 WHERE id = ? AND named = 1 AND name = ?"
_CLEAR_ALIAS = """
UPDATE topic_alias SET name = NULL, gave_name = 0 WHERE id = ? AND name = ?
"""
_ABOVE = "SELECT into_id, gave_name FROM topic_alias WHERE id = ? AND name = ?"


def _take_name_back(database: Database, alias: Alias) -> None:
    """Takes back the name that a merged topic gave to the one it was merged into, which may have
    handed it on in turn. A name that the user has given since stays."""
    above, gave = alias.into_id, alias.gave_name
    while gave:
        named = (above, alias.name)
        database.execute(_CLEAR_NAME, named)
        row = database.row(_ABOVE, named)
        database.execute(_CLEAR_ALIAS, named)
        above, gave = (row[0], bool(row[1])) if row else ("", False)


# -- leaves that come later ------------------------------------------------------------

_COPY_PARTS = """
INSERT OR IGNORE INTO topic_part (alias, node_seq)
SELECT p.alias, :leaf FROM topic_part p JOIN topic_alias a ON a.id = p.alias
JOIN topic t ON t.seq = a.topic_seq WHERE t.id = :topic AND p.node_seq = :before
"""
_COPY_OWN = """
UPDATE topic_leaf SET own = before.own
FROM (SELECT tl.topic_seq, tl.own FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
      WHERE t.id = :topic AND tl.node_seq = :before) before
WHERE topic_leaf.topic_seq = before.topic_seq AND topic_leaf.node_seq = :leaf
"""


def follow(database: Database, topic_id: str, pairs: Sequence[tuple[int, int]]) -> None:
    """Lets new leaves of a topic go where others of it go when a merge is undone. pairs: (the new
    leaf, the other)."""
    for leaf, before in pairs:
        parameters = {"topic": topic_id, "leaf": leaf, "before": before}
        for sql in (_COPY_PARTS, _COPY_OWN):
            database.execute(sql, parameters)


# -- names, for a scrub ----------------------------------------------------------------

_NAMES = "SELECT id, name FROM topic_alias WHERE name IS NOT NULL"


def names(database: Database) -> Sequence[tuple[str, str]]:
    """The user's names of merged topics, by id."""
    return [(*row,) for row in database.rows(_NAMES)]


def rewrite_name(database: Database, alias_id: str, name: str) -> None:
    """Stores another name of a merged topic."""
    database.execute("UPDATE topic_alias SET name = ? WHERE id = ?", (name, alias_id))
