"""Stores the entries of the ledger, and what later ones do to earlier ones.

An entry holds no words: it refers to the statements of leaves that say the same. A statement that
is deleted, or that moves to another entry, marks its entry as dirty; a link marks the earlier one.
ledger/update.py makes dirty entries again. Owns the tables entry, entry_subject and entry_link.

Tested in tests/ledger/test_update.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import orjson

from treemem.store.database import Database, json_list
from treemem.types import EntryKind, EntryState, Origin, StatementKind

LinkKind = Literal["closed", "superseded", "withdrawn", "returns"]

# Step 8 of the schema.
MARKED = """
ALTER TABLE entry ADD COLUMN for_good INTEGER;  -- 1 for a rule of the user's that is to hold in
                                                -- future; NULL until work has looked at it
UPDATE entry SET dirty = 2 WHERE seq IN (
  SELECT entry_seq FROM statement WHERE kind = 'constraint' AND origin = 'typed');
"""

# -- statements that belong to entries -------------------------------------------------

# Statements of the shown extractive view of a leaf that have no entry yet.
_NEW = """
SELECT st.seq, st.kind, st.text, coalesce(st.origin, 'pasted')
FROM summary su JOIN statement st ON st.summary_seq = su.seq
WHERE su.node_seq = ? AND su.producer_seq = ? AND st.entry_seq IS NULL ORDER BY st.seq
"""
_ENSURE = """
INSERT INTO entry (id, kind, home) VALUES (?, 'fact', ?)
ON CONFLICT (id) DO UPDATE SET dirty = 2 RETURNING seq
"""
_ATTACH = "UPDATE statement SET entry_seq = ? WHERE seq = ?"
# The first condition is that of the index, which is not used without it.
_DIRTY = "SELECT seq FROM entry WHERE dirty > 0 AND dirty = ? ORDER BY seq LIMIT ?"
# An open tail that has been replaced may still belong to a topic or to the tree over everything.
_CURRENT = """
(EXISTS (SELECT 1 FROM tree_node tn JOIN tree t ON t.seq = tn.tree_seq
   WHERE tn.node_seq = su.node_seq AND t.scope = 'source')
 OR EXISTS (SELECT 1 FROM tree t WHERE t.tail_seq = su.node_seq AND t.scope = 'source')
 OR EXISTS (SELECT 1 FROM tree t WHERE t.root_seq = su.node_seq AND t.scope = 'source'))
"""
# Each message that says an entry, at its place in the first source that has it. The project of an
# agent's source is that of the session that started it.
_MENTIONS = f"""
SELECT st.entry_seq, e.id, st.seq, st.kind, st.text, st.speaker, st.origin, st.importance,
  st.settles, su.node_seq, c.message_seq, m.sent_at_ms, sm.source_seq, sm.position,
  coalesce(so.project, parent.project), coalesce(so.project, parent.project, parent.id, so.id),
  so.id
FROM json_each(:entries) j
JOIN entry e ON e.seq = j.value JOIN statement st ON st.entry_seq = e.seq
JOIN summary su ON su.seq = st.summary_seq AND su.usable = 1 AND {_CURRENT}
JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq
JOIN source_message sm ON sm.message_seq = c.message_seq
JOIN source so ON so.seq = sm.source_seq LEFT JOIN source parent ON parent.id = so.parent_id
ORDER BY st.entry_seq, st.seq, c.ordinal, sm.source_seq
"""  # noqa: S608
_PROJECT = """
SELECT coalesce(so.project, parent.project, ''),
  coalesce(so.project, parent.project, parent.id, so.id) FROM leaf_span ls
JOIN source_message sm ON sm.message_seq = ls.message_seq
JOIN source so ON so.seq = sm.source_seq LEFT JOIN source parent ON parent.id = so.parent_id
WHERE ls.node_seq = ? ORDER BY ls.ordinal, sm.source_seq LIMIT 1
"""
_HOME = "SELECT coalesce(min(seq), 0) FROM source WHERE project = ?"


class Mention(NamedTuple):
    """A message that says an entry, in one of its sources.

    statement_seq: the statement that cites it. node_seq: its leaf. project: of the source, "" if
    there is none. rule_home: the project, or the source if there is none.
    """

    entry_seq: int
    entry_id: str
    statement_seq: int
    kind: StatementKind
    text: str
    speaker: str
    origin: Origin
    importance: float
    settles: bool
    node_seq: int
    message_seq: int
    sent_at_ms: int | None
    source_seq: int
    position: int
    project: str
    rule_home: str
    source_id: str


class EntryRow(NamedTuple):
    """The derived columns of an entry, see the schema."""

    seq: int
    kind: EntryKind
    statement_seq: int
    first_ms: int | None
    last_ms: int | None
    last_source: int
    last_position: int
    mentions: int
    leaves: int
    for_good: bool


def new_statements(
    database: Database, node_seq: int, producer_seq: int
) -> list[tuple[int, StatementKind, str, Origin]]:
    """(seq, kind, text, origin) of the statements of a leaf's view that have no entry yet."""
    return [(*row,) for row in database.rows(_NEW, (node_seq, producer_seq))]


def ensure(database: Database, entry_id: str, home: int) -> int:
    """The seq of an entry, which is created if it is missing, and marked as dirty."""
    return int(database.value(_ENSURE, (entry_id, home)))


def attach(database: Database, pairs: Iterable[tuple[int | None, int]]) -> None:
    """Makes statements belong to entries. pairs: (entry, statement)."""
    database.many(_ATTACH, pairs)


def dirty(database: Database, level: int, limit: int) -> list[int]:
    """The first entries of which something is to be made again. level: 1 the state, 2 all."""
    return [seq for (seq,) in database.rows(_DIRTY, (level, limit))]


def mark_dirty(database: Database, texts: Sequence[str]) -> None:
    """Has the states of the entries made again that are said in one of these texts."""
    sql = """
    UPDATE entry SET dirty = max(dirty, 1) WHERE seq IN (
      SELECT st.entry_seq FROM statement st WHERE st.entry_seq IS NOT NULL
      AND st.text IN (SELECT value FROM json_each(?)))
    """
    database.execute(sql, (json_list(texts),))


def mentions(database: Database, entry_seqs: Sequence[int]) -> dict[int, list[Mention]]:
    """The mentions of entries, by entry; one for each source of a message."""
    found: dict[int, list[Mention]] = {}
    for row in database.rows(_MENTIONS, {"entries": json_list(entry_seqs)}):
        mention = Mention(*row)
        mention = mention._replace(
            speaker=mention.speaker or "", origin=mention.origin or "pasted",
            settles=bool(mention.settles), project=mention.project or "",
        )  # fmt: skip
        found.setdefault(mention.entry_seq, []).append(mention)
    return found


def project_of(database: Database, node_seq: int) -> tuple[str, str]:
    """The project of a leaf's first source, "" without one, and the rule_home, see Mention."""
    return tuple(database.row(_PROJECT, (node_seq,)) or ("", ""))


def home_of(database: Database, project: str) -> int:
    """The number of a project; 0 for "" or an unknown one."""
    return int(database.value(_HOME, (project,))) if project else 0


# -- entries ---------------------------------------------------------------------------

_UPDATE = """
UPDATE entry SET kind = ?, statement_seq = ?, first_ms = ?, last_ms = ?, last_source = ?,
  last_position = ?, mentions = ?, leaves = ?, for_good = ?, dirty = 1 WHERE seq = ?
"""
_STATE = "UPDATE entry SET state = ?, by_seq = ?, salience = ?, dirty = 0 WHERE seq = ?"
_RETURNS = """
SELECT entry_seq, count(*) FROM entry_link
WHERE kind = 'returns' AND entry_seq IN (SELECT value FROM json_each(?)) GROUP BY entry_seq
"""
_ENDINGS = """
SELECT l.entry_seq, l.kind, l.later_seq, e.last_ms, e.last_source, e.last_position
FROM entry_link l JOIN entry e ON e.seq = l.later_seq
WHERE l.kind IN ('closed', 'superseded', 'withdrawn')
  AND l.entry_seq IN (SELECT value FROM json_each(?))
ORDER BY l.entry_seq, l.later_seq
"""
_PLACES = """
SELECT e.seq, e.kind, e.home, e.last_ms, e.last_source, e.last_position, e.mentions, e.leaves,
  st.text, coalesce(st.origin, 'pasted'), st.settles, st.importance, st.speaker,
  coalesce(so.project, parent.project, parent.id, so.id, ''), so.origin
FROM entry e JOIN statement st ON st.seq = e.statement_seq
LEFT JOIN source so ON so.seq = e.last_source LEFT JOIN source parent ON parent.id = so.parent_id
WHERE e.seq IN (SELECT value FROM json_each(?))
"""


class Placed(NamedTuple):
    """An entry as it is compared with others: its words, and where it was last said. rule_home: as
    in Mention. file: that its source was read from."""

    seq: int
    kind: EntryKind
    home: int
    last_ms: int | None
    last_source: int
    last_position: int
    mentions: int
    leaves: int
    text: str
    origin: Origin
    settles: bool
    importance: float
    speaker: str | None = None
    rule_home: str = ""
    file: str | None = None


class Ending(NamedTuple):
    """A later entry that ends an earlier one, and where it was last said."""

    entry_seq: int
    kind: LinkKind
    later_seq: int
    last_ms: int | None
    last_source: int
    last_position: int


def delete(database: Database, seqs: Sequence[int]) -> None:
    """Deletes entries, with their links."""
    sql = "DELETE FROM entry WHERE seq IN (SELECT value FROM json_each(?))"
    database.execute(sql, (json_list(seqs),))


def put(database: Database, rows: Iterable[EntryRow]) -> None:
    """Stores the derived columns of entries; their states are to be made next."""
    database.many(_UPDATE, [(*row[1:], row[0]) for row in rows])


def put_states(
    database: Database, rows: Iterable[tuple[EntryState, int | None, float, int]]
) -> None:
    """Stores states. rows: (state, the entry that ended it, salience, entry)."""
    database.many(_STATE, rows)


def placed(database: Database, seqs: Iterable[int]) -> dict[int, Placed]:
    """Entries as they are compared, by seq."""
    return {row[0]: Placed(*row) for row in database.rows(_PLACES, (json_list(seqs),))}


def returns(database: Database, seqs: Iterable[int]) -> dict[int, int]:
    """By entry, how many later entries are about the same; without those of which none is."""
    return dict(database.rows(_RETURNS, (json_list(seqs),)))


def endings(database: Database, seqs: Iterable[int]) -> dict[int, list[Ending]]:
    """By entry, the later entries that end it."""
    found: dict[int, list[Ending]] = {}
    for row in database.rows(_ENDINGS, (json_list(seqs),)):
        found.setdefault(row[0], []).append(Ending(*row))
    return found


# -- subjects and links ----------------------------------------------------------------

# Instead of the home of an entry: the user's rules of all projects.
RULES_HOME = -1
# Subtle: one row more than the limit tells a stem of too many entries.
_POSTINGS = """
SELECT j.value, (SELECT json_group_array(entry_seq) FROM (
  SELECT entry_seq FROM entry_subject WHERE home = :home AND stem = j.value LIMIT :limit + 1))
FROM json_each(:stems) j
"""
_LINK = "INSERT OR IGNORE INTO entry_link (entry_seq, kind, later_seq) VALUES (?, ?, ?)"
_UNLINK = """
DELETE FROM entry_link WHERE entry_seq IN (SELECT value FROM json_each(:seqs))
  OR later_seq IN (SELECT value FROM json_each(:seqs))
"""


def put_subjects(
    database: Database, subjects: Mapping[int, tuple[Iterable[int], Iterable[int]]]
) -> None:
    """Stores what entries are about, in place of what is stored. subjects: by entry, its homes and
    the hashes of its stems."""
    sql = "DELETE FROM entry_subject WHERE entry_seq IN (SELECT value FROM json_each(?))"
    database.execute(sql, (json_list(subjects),))
    database.many(
        "INSERT OR IGNORE INTO entry_subject (home, stem, entry_seq) VALUES (?, ?, ?)",
        [
            (home, stem, seq)
            for seq, (homes, stems) in subjects.items()
            for home in homes
            for stem in stems
        ],
    )


def postings(
    database: Database, home: int, stems: Iterable[int], limit: int
) -> dict[int, list[int]]:
    """By stem, the entries of a home about it; without stems of more than limit entries."""
    parameters = {"home": home, "stems": json_list(stems), "limit": limit}
    rows = ((stem, orjson.loads(found)) for stem, found in database.rows(_POSTINGS, parameters))
    return {stem: found for stem, found in rows if 0 < len(found) <= limit}


def text_at(database: Database, source_seq: int, position: int) -> str:
    """The words of the message at a place; "" if it is gone."""
    sql = """
    SELECT m.text FROM source_message sm JOIN message m ON m.seq = sm.message_seq
    WHERE sm.source_seq = ? AND sm.position = ?
    """
    return str(database.value(sql, (source_seq, position)) or "")


def unlink(database: Database, seqs: Sequence[int]) -> None:
    """Deletes the links from and to entries."""
    database.execute(_UNLINK, {"seqs": json_list(seqs)})


def link(database: Database, links: Iterable[tuple[int, LinkKind, int]]) -> None:
    """Stores links. links: (earlier entry, kind, later entry)."""
    database.many(_LINK, links)
