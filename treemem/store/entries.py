"""Stores the entries of the ledger, and what later ones do to earlier ones.

An entry holds no words: it refers to the statements of leaves that say the same. A statement that
is deleted, or that moves to another entry, marks its entry as dirty; a link marks the earlier one.
ledger/update.py makes dirty entries again. Owns the tables entry, subject_list and entry_link.

Tested in tests/ledger/test_update.py and test_subjects.py.
"""

from __future__ import annotations

import itertools
import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from treemem.store.database import Database, json_list
from treemem.types import EntryKind, EntryState, Origin, StatementKind

LinkKind = Literal["closed", "superseded", "withdrawn", "returns"]
Packed = bytes | bytearray
# Packed entries by home and stem.
Lists = Mapping[int, Mapping[int, Packed]]

# Step 8 of the schema.
MARKED = """
ALTER TABLE entry ADD COLUMN for_good INTEGER;  -- 1 for a rule of the user's that is to hold in
                                                -- future; NULL until work has looked at it
UPDATE entry SET dirty = 2 WHERE seq IN (
  SELECT entry_seq FROM statement WHERE kind = 'constraint' AND origin = 'typed');
"""

# Step 15, once pack_subjects has read the table.
FORMER = "DROP TABLE entry_subject;\n"

# -- statements that belong to entries -------------------------------------------------

# Statements of the shown extractive view of a leaf that have no entry yet.
_NEW = """
SELECT st.seq, st.kind, st.text, coalesce(st.origin, 'pasted')
FROM summary su JOIN stated st ON st.summary_seq = su.seq
WHERE su.node_seq = ? AND su.producer_seq = ? AND st.entry_seq IS NULL ORDER BY st.seq
"""
_ENSURE = """
INSERT INTO entry (id, kind, home) SELECT value, 'fact', :home FROM json_each(:ids) WHERE 1
ON CONFLICT (id) DO UPDATE SET dirty = 2 RETURNING id, seq
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
SELECT st.entry_seq, e.id, e.home, st.seq, st.kind, st.text, coalesce(st.speaker, ''),
  coalesce(st.origin, 'pasted'), st.importance, st.settles, su.node_seq, c.message_seq,
  m.sent_at_ms, sm.source_seq, sm.position, coalesce(so.project, parent.project, ''),
  coalesce(so.project, parent.project, parent.id, so.id), so.id, so.origin
FROM json_each(:entries) j
JOIN entry e ON e.seq = j.value JOIN stated st ON st.entry_seq = e.seq
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

    home: of the entry. statement_seq: the statement that cites it. node_seq: its leaf. project: of
    the source, "" if there is none. rule_home: the project, or the source if there is none. file:
    that the source was read from.
    """

    entry_seq: int
    entry_id: str
    home: int
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
    file: str | None


class EntryRow(NamedTuple):
    """What is derived of an entry, see the schema. salience: has three digits at most."""

    kind: EntryKind
    statement_seq: int
    first_ms: int | None
    last_ms: int | None
    last_source: int
    last_position: int
    mentions: int
    leaves: int
    for_good: bool
    salience: float
    dirty: int
    seq: int


def new_statements(
    database: Database, node_seq: int, producer_seq: int
) -> list[tuple[int, StatementKind, str, Origin]]:
    """(seq, kind, text, origin) of the statements of a leaf's view that have no entry yet."""
    return [(*row,) for row in database.rows(_NEW, (node_seq, producer_seq))]


def ensure(database: Database, entry_ids: Iterable[str], home: int) -> dict[str, int]:
    """The seqs of entries, by id. They are created in this order if they are missing, and marked as
    dirty."""
    parameters = {"ids": json_list(dict.fromkeys(entry_ids)), "home": home}
    return dict(database.rows(_ENSURE, parameters))


def attach(database: Database, pairs: Iterable[tuple[int | None, int]]) -> None:
    """Makes statements belong to entries. pairs: (entry, statement)."""
    database.many(_ATTACH, pairs)


def dirty(database: Database, level: int, limit: int) -> list[int]:
    """The first entries of which something is to be made again. level: 1 the state, 2 all."""
    return [seq for (seq,) in database.rows(_DIRTY, (level, limit))]


def mark_dirty(database: Database, texts: Sequence[str]) -> None:
    """Has the states of the entries made again that are said in one of these texts."""
    database.execute(_MARK_SAID, {"texts": json_list(texts)})


def mentions(database: Database, entry_seqs: Iterable[int]) -> dict[int, list[Mention]]:
    """The mentions of entries, by entry; one for each source of a message."""
    rows = database.rows(_MENTIONS, {"entries": json_list(entry_seqs)})
    by_entry = itertools.groupby(map(Mention._make, rows), itemgetter(0))
    return {seq: list(found) for seq, found in by_entry}


def project_of(database: Database, node_seq: int) -> tuple[str, str]:
    """The project of a leaf's first source, "" without one, and the rule_home, see Mention."""
    return tuple(database.row(_PROJECT, (node_seq,)) or ("", ""))


def home_of(database: Database, project: str) -> int:
    """The number of a project; 0 for "" or an unknown one."""
    return int(database.value(_HOME, (project,))) if project else 0


# -- entries ---------------------------------------------------------------------------

_UPDATE = """
UPDATE entry SET kind = ?1, statement_seq = ?2, since_ms = nullif(?3, ?4), last_ms = ?4,
  last_source = ?5, last_position = ?6, mentions = ?7, leaves = ?8, for_good = ?9,
  weight = CAST(round(1000 * ?10) AS INTEGER), dirty = ?11, state = 'holds', by_seq = NULL
WHERE seq = ?12
"""
_STATE = """
UPDATE entry SET state = ?, by_seq = ?, weight = CAST(round(1000 * ?) AS INTEGER), dirty = 0
WHERE seq = ?
"""
_RETURNS = """
SELECT entry_seq, count(*) FROM entry_link
WHERE kind = 'returns' AND entry_seq IN (SELECT value FROM json_each(?)) GROUP BY entry_seq
"""
_JUDGED = """
SELECT entry_seq FROM entry_link WHERE entry_seq IN (SELECT value FROM json_each(?))
"""
_CHOSEN = """
SELECT DISTINCT st.entry_seq FROM json_each(?) j JOIN stated st ON st.entry_seq = j.value
WHERE EXISTS (SELECT 1 FROM entry_choice ch WHERE ch.text = st.text)
"""
_ENDINGS = """
SELECT l.entry_seq, l.kind, l.later_seq, e.id, e.last_ms, coalesce(so.id, ''), e.last_position
FROM entry_link l JOIN entry e ON e.seq = l.later_seq LEFT JOIN source so ON so.seq = e.last_source
WHERE l.kind IN ('closed', 'superseded', 'withdrawn')
  AND l.entry_seq IN (SELECT value FROM json_each(?))
ORDER BY l.entry_seq, l.later_seq
"""
# Only the stretches that are as long as a text are read.
_MARK_SAID = """
UPDATE entry SET dirty = max(dirty, 1) WHERE seq IN (
  SELECT st.entry_seq FROM stated st WHERE st.entry_seq IS NOT NULL AND st.seq IN (
    SELECT seq FROM statement WHERE written IN (SELECT value FROM json_each(:texts))
    UNION SELECT statement_seq FROM citation
    WHERE chars IN (SELECT length(value) FROM json_each(:texts)))
  AND st.text IN (SELECT value FROM json_each(:texts)))
"""
_PLACES = """
SELECT e.seq, e.kind, e.home, e.last_ms, e.last_source, e.last_position, e.mentions, e.leaves,
  st.text, coalesce(st.origin, 'pasted'), st.settles, st.importance, st.speaker,
  coalesce(so.project, parent.project, parent.id, so.id, ''), so.origin
FROM entry e JOIN stated st ON st.seq = e.statement_seq
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
    later_id: str
    last_ms: int | None
    source_id: str
    last_position: int

    @property
    def order(self) -> tuple[int, str, int, str]:
        """By time, and else by what is the same in every memory that has both."""
        return (self.last_ms or 0, self.source_id, self.last_position, self.later_id)


def delete(database: Database, seqs: Sequence[int]) -> None:
    """Deletes entries, with their links and subjects."""
    if not seqs:
        return
    put_subjects(database, dict.fromkeys(seqs, ()))
    sql = "DELETE FROM entry WHERE seq IN (SELECT value FROM json_each(?))"
    database.execute(sql, (json_list(seqs),))


def put(database: Database, rows: Iterable[EntryRow]) -> None:
    """Stores the derived columns of entries, as of some that hold."""
    database.many(_UPDATE, rows)


def put_states(
    database: Database, rows: Iterable[tuple[EntryState, int | None, float, int]]
) -> None:
    """Stores states. rows: (state, the entry that ended it, salience, entry)."""
    database.many(_STATE, rows)


def placed(database: Database, seqs: Iterable[int]) -> dict[int, Placed]:
    """Entries as they are compared, by seq."""
    return {row[0]: Placed(*row) for row in database.rows(_PLACES, (json_list(seqs),))}


def judged_by_others(database: Database, seqs: Sequence[int]) -> set[int]:
    """The entries of these that later ones or the user's choices say something of."""
    found = database.rows(_JUDGED, (json_list(seqs),))
    return {seq for (seq,) in found} | chosen(database, seqs)


def chosen(database: Database, seqs: Sequence[int]) -> set[int]:
    """The entries of these that are said in words about which the user chose something."""
    if not database.value("SELECT EXISTS (SELECT 1 FROM entry_choice)"):
        return set()
    return {seq for (seq,) in database.rows(_CHOSEN, (json_list(seqs),))}


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
# Words of more entries than this do not tell what an entry is about, and are not looked up.
STEM_ENTRIES_MAX = 200
# The same for the user's rules: those with a word in common that are compared with a new one.
RULES_MAX = 20_000
# A list that is so many times as long as one that is looked up is not kept. Subtle: more than once,
# so that a list whose length goes up and down near the limit is seldom made again.
KEPT_TIMES = 2
# Entries that are read at once to make lists again.
READ_AT_ONCE = 10_000
_POSTINGS = """
SELECT su.stem, su.entries, su.unlisted FROM json_each(:stems) j
CROSS JOIN subject_list su ON su.home = :home AND su.stem = j.value
WHERE length(su.entries) <= 4 * :limit AND su.unlisted <= :limit
"""
_LISTED = """
SELECT seq, home, subjects FROM entry WHERE seq IN (SELECT value FROM json_each(?))
"""
_ABOUT = """
SELECT seq, kind, coalesce(subjects, x'') FROM entry WHERE seq IN (SELECT value FROM json_each(?))
"""
_ROWS = """
SELECT stem, entries, unlisted FROM subject_list
WHERE home = ? AND stem IN (SELECT value FROM json_each(?))
"""
_ALL_ROWS = "SELECT home, stem, entries, unlisted FROM subject_list"
_PUT = "INSERT OR REPLACE INTO subject_list (home, stem, entries, unlisted) VALUES (?, ?, ?, ?)"
_DELETE_EMPTY = """
DELETE FROM subject_list WHERE home = ? AND stem = ? AND entries = x'' AND unlisted = 0
"""
_ALL_LISTED = """
SELECT seq, home, subjects FROM entry
WHERE seq > ? AND length(subjects) > 0 ORDER BY seq LIMIT ?
"""
_LINK = "INSERT OR IGNORE INTO entry_link (entry_seq, kind, later_seq) VALUES (?, ?, ?)"
_UNLINK = """
DELETE FROM entry_link WHERE entry_seq IN (SELECT value FROM json_each(:seqs))
  OR later_seq IN (SELECT value FROM json_each(:seqs))
"""


def put_subjects(database: Database, subjects: Mapping[int, Iterable[int]]) -> Lists:
    """Stores what entries are about, in place of what is stored. subjects: by entry, the hashes of
    its stems, with RULES_HOME if it is one of the user's rules. Returns the changed lists by home
    and stem, as postings takes them."""
    added, removed = _Lists(), _Lists()
    changed = []
    for seq, home, before in database.rows(_LISTED, (json_list(subjects),)):
        stems = sorted(subjects[seq])
        after = _pack("i", stems)
        if after != before:
            changed.append((after, seq))
            added.put(seq, home, stems)
            if before:
                removed.put(seq, home, _unpack("i", before))
    database.many("UPDATE entry SET subjects = ? WHERE seq = ?", changed)
    homes = added.keys() | removed.keys()
    return {home: _change_lists(database, home, added[home], removed[home]) for home in homes}


def mark_all_dirty(database: Database) -> None:
    """Has everything made again."""
    database.execute("DELETE FROM subject_list")
    database.execute("UPDATE entry SET dirty = 2, subjects = NULL")


class _Lists(defaultdict[int, defaultdict[int, bytearray]]):
    """Entries by home and stem, packed as in the file."""

    def __init__(self) -> None:
        super().__init__(lambda: defaultdict(bytearray))

    def put(self, seq: int, home: int, stems: Collection[int]) -> None:
        """Adds an entry to the lists of its home and, if it is a rule, to those of all rules."""
        packed = _pack("I", [seq])
        for one in (home, RULES_HOME) if RULES_HOME in stems else (home,):
            lists = self[one]
            for stem in stems:
                lists[stem] += packed


def _change_lists(
    database: Database, home: int, added: Mapping[int, Packed], removed: Mapping[int, Packed]
) -> dict[int, Packed]:
    """Changes the lists of a home, by stem. Returns them as they are looked up: empty if they are
    too long, and without those that have to be made again."""
    stems = sorted(added.keys() | removed.keys())  # in the order of the table
    found = {stem: rest for stem, *rest in database.rows(_ROWS, (home, json_list(stems)))}
    rows: list[tuple[int, int, Packed, int]] = []
    for stem in stems:
        entries, unlisted = found.get(stem, (b"", 0))
        more, fewer = added.get(stem, b""), removed.get(stem, b"")
        if unlisted:
            rows.append((home, stem, b"", unlisted + (len(more) - len(fewer)) // 4))
            continue
        if fewer:
            left = set(_unpack("I", entries)).difference(_unpack("I", fewer))
            entries = _pack("I", sorted(left))
        rows.append(_row_of(home, stem, entries + more))
    database.many(_PUT, rows)
    if removed:
        database.many(_DELETE_EMPTY, [(home, stem) for stem in removed])
    limit = _limit(home)
    return {
        stem: entries if len(entries) <= 4 * limit else b""
        for _, stem, entries, unlisted in rows
        if not 0 < unlisted <= limit
    }


def _row_of(home: int, stem: int, entries: Packed) -> tuple[int, int, Packed, int]:
    """The row of a list, or of the number of its entries, if it is too long."""
    count = len(entries) // 4
    is_kept = count <= KEPT_TIMES * _limit(home)
    return (home, stem, entries, 0) if is_kept else (home, stem, b"", count)


def _limit(home: int) -> int:
    return RULES_MAX if home == RULES_HOME else STEM_ENTRIES_MAX


def postings(
    database: Database, home: int, stems: Set[int], changed: Lists | None = None
) -> dict[int, Packed]:
    """By stem, the entries of a home about it, for unpacked; without stems that tell nothing, since
    there are too many entries about them. changed: what put_subjects has just returned. In a
    transaction: lists may have to be made again."""
    known = (changed or {}).get(home, {})
    found = {stem: known[stem] for stem in stems & known.keys()}
    limit = _limit(home)
    parameters = {"home": home, "stems": json_list(stems - known.keys()), "limit": limit}
    rows = database.rows(_POSTINGS, parameters)
    if shrunk := {stem for stem, _, unlisted in rows if unlisted}:
        _list_again(database, home, shrunk)
        rows = database.rows(_POSTINGS, parameters)
    found |= {stem: entries for stem, entries, _ in rows}
    return {stem: entries for stem, entries in found.items() if entries}


def unpacked(lists: Iterable[Packed]) -> array[int]:
    """The entries of several lists, one after the other."""
    return _unpack("I", b"".join(lists))


def about(database: Database, seqs: Iterable[int]) -> dict[int, tuple[EntryKind, array[int]]]:
    """By entry, its kind and what it is about, as it was stored by put_subjects."""
    rows = database.rows(_ABOUT, (json_list(seqs),))
    return {seq: (kind, _unpack("i", stems)) for seq, kind, stems in rows}


def _list_again(database: Database, home: int, stems: Set[int]) -> None:
    """Makes lists that were not kept from what is stored with the entries."""
    lists = _Lists()
    last = 0
    while rows := database.rows(_ALL_LISTED, (last, READ_AT_ONCE)):
        last = rows[-1][0]
        for seq, entry_home, subjects in rows:
            about = set(_unpack("i", subjects))
            if not about.isdisjoint(stems):
                lists.put(seq, entry_home, about & {*stems, RULES_HOME})
    database.many(_PUT, [_row_of(home, stem, lists[home][stem]) for stem in stems])


def _pack(kind: str, numbers: Iterable[int]) -> bytes:
    """The numbers as bytes, the least significant first. kind: of each, as in the module array."""
    packed = array(kind, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(kind: str, blob: Packed) -> array[int]:
    numbers = array(kind, blob)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def pack_subjects(connection: Any) -> None:
    """Step 15 of the schema: brings what entries are about from its former table to the entries.
    Their numbers are the upper halves of the former ones."""
    by_entry = connection.execute(
        "SELECT entry_seq, home, stem >> 32 FROM entry_subject ORDER BY entry_seq"
    )
    for seq, rows in itertools.groupby(by_entry, itemgetter(0)):
        stems = set[int]()
        for _, home, stem in rows:
            stems |= {stem, RULES_HOME} if home == RULES_HOME else {stem}
        connection.execute(
            "UPDATE entry SET subjects = ? WHERE seq = ?", (_pack("i", sorted(stems)), seq)
        )
    connection.execute(FORMER)


def list_subjects(connection: Any) -> None:
    """Step 19 of the schema: makes all lists from what is stored with the entries."""
    lists = _Lists()
    for seq, home, subjects in connection.execute(_ALL_LISTED, (0, -1)):
        lists.put(seq, home, _unpack("i", subjects))
    for home, by_stem in lists.items():
        connection.executemany(_PUT, [_row_of(home, *listed) for listed in by_stem.items()])


def wrong_lists(database: Database) -> Iterator[str]:
    """Yields a sentence for each list that does not match its entries, "" for others."""
    lists = _Lists()
    for seq, home, subjects in database.execute(_ALL_LISTED, (0, -1)):
        lists.put(seq, home, _unpack("i", subjects))
    for home, stem, found, unlisted in database.execute(_ALL_ROWS):
        packed = lists[home].pop(stem, b"")
        is_right = (
            not found and len(packed) == 4 * unlisted
            if unlisted
            else sorted(_unpack("I", packed)) == sorted(_unpack("I", found))
        )
        yield "" if is_right else f"The list of entries about stem {stem} of {home} is wrong."
    missing = sum(map(len, lists.values()))
    yield f"{missing:,} lists of entries are missing." if missing else ""


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
