"""Reads entries of the ledger by scope, kind, state and time.

An entry belongs to every scope that contains one of the leaves that say it; nothing is copied up
a tree. Callers read in one transaction, see Database.reading.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from treemem import times
from treemem.errors import SEE_ENTRIES
from treemem.ledger import matching, salience
from treemem.store import entries, json_text, lookup, messages
from treemem.store.database import Database, Row, json_list
from treemem.types import (
    ENTRY_KINDS,
    ENTRY_STATES,
    ORIGINS,
    Entry,
    EntryKind,
    EntryOrder,
    EntryState,
    Later,
    Origin,
    Scope,
)

# The most salient entries of a scope, which are ordered by how recent they are, too.
RANKED_MAX = 400

HOLDING: tuple[EntryState, ...] = ("holds",)

_COLUMNS = """
e.seq, e.id, e.kind, st.text, st.speaker, coalesce(st.origin, 'pasted'), e.state,
coalesce(so.project, parent.project), coalesce(e.since_ms, e.last_ms), e.last_ms, e.mentions,
e.leaves, e.by_seq, e.weight / 1000.0, so.id, n.id, e.last_source, e.last_position, st.importance
"""
_JOINS = """
FROM entry e JOIN stated st ON st.seq = e.statement_seq
JOIN summary su ON su.seq = st.summary_seq JOIN node n ON n.seq = su.node_seq
LEFT JOIN source so ON so.seq = e.last_source LEFT JOIN source parent ON parent.id = so.parent_id
"""
# Leaves of a scope; a source without a tree has none.
_LEAVES: dict[str, str] = {
    "source": """
SELECT tn.node_seq AS node_seq FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
WHERE t.scope = 'source' AND t.key = :key
UNION SELECT t.tail_seq FROM tree t WHERE t.scope = 'source' AND t.key = :key
UNION SELECT t.root_seq FROM tree t WHERE t.scope = 'source' AND t.key = :key
""",
    "topic": """
SELECT tl.node_seq FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq WHERE t.id = :key
""",
    "session": """
SELECT ls.node_seq FROM source_message sm JOIN leaf_span ls ON ls.message_seq = sm.message_seq
WHERE sm.session_seq = (SELECT seq FROM log_session WHERE id = :key)
""",
    "filter": """
SELECT tn.node_seq AS node_seq FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
WHERE t.scope = 'source' AND {admitted}
UNION SELECT t.tail_seq FROM tree t WHERE t.scope = 'source' AND {admitted}
UNION SELECT t.root_seq FROM tree t WHERE t.scope = 'source' AND {admitted}
""".replace("{admitted}", "(:sources IS NULL OR t.key IN (SELECT value FROM json_each(:sources)))"),
    "node": """
WITH RECURSIVE below (seq) AS (
  SELECT seq FROM node WHERE id = :key
  UNION SELECT nc.child_seq FROM below JOIN node_child nc ON nc.node_seq = below.seq)
SELECT seq AS node_seq FROM below
""",
}
_OF_LEAVES = """
e.seq IN (SELECT st2.entry_seq FROM ({leaves}) l
  CROSS JOIN summary su2 ON su2.node_seq = l.node_seq AND su2.usable = 1
  CROSS JOIN statement st2 ON st2.summary_seq = su2.seq WHERE st2.entry_seq IS NOT NULL
  AND (:speakers IS NULL OR st2.speaker IN (SELECT value FROM json_each(:speakers))))
"""
_ORDER: dict[EntryOrder, str] = {
    "salience": "e.weight DESC, e.seq",
    "time": "e.last_ms, e.last_source, e.last_position, e.seq",
    "latest": "e.last_ms DESC, e.last_source DESC, e.last_position DESC, e.seq DESC",
}
ORDERS = tuple(_ORDER)
# The statements of a scope that say entries, each with a message that it cites.
_SAID = """
SELECT st.entry_seq, st.seq, st.kind, st.text, st.speaker, coalesce(st.origin, 'pasted'),
  c.message_seq, m.sent_at_ms, n.id, (SELECT s.id FROM source_message sm
    JOIN source s ON s.seq = sm.source_seq WHERE sm.message_seq = c.message_seq
    ORDER BY (s.id IN (SELECT value FROM json_each(:sources))) DESC, s.seq LIMIT 1)
FROM ({leaves}) l
CROSS JOIN summary su ON su.node_seq = l.node_seq AND su.usable = 1
CROSS JOIN stated st ON st.summary_seq = su.seq
JOIN node n ON n.seq = su.node_seq JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq
WHERE st.entry_seq IN (SELECT value FROM json_each(:entries))
  AND (:speakers IS NULL OR st.speaker IN (SELECT value FROM json_each(:speakers)))
ORDER BY st.seq, c.ordinal
"""
_OF_ORIGINS = """
(SELECT coalesce(st3.origin, 'pasted') FROM statement st3 WHERE st3.seq = e.statement_seq)
  IN (SELECT value FROM json_each(:origins))
"""
_BY_PREFIX = f"SELECT {_COLUMNS} {_JOINS} WHERE e.id >= ? AND e.id < ? LIMIT 6"
_BY_SEQ = f"""
SELECT {_COLUMNS} {_JOINS} WHERE e.seq IN (SELECT value FROM json_each(?))
"""  # noqa: S608
_CITED = """
SELECT DISTINCT m.id FROM statement st JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq WHERE st.entry_seq = ? ORDER BY m.sent_at_ms, m.seq
LIMIT ?
"""
_WORDS = """
SELECT e.seq, st.text, (SELECT json_group_array(m.id) FROM citation c
  JOIN message m ON m.seq = c.message_seq WHERE c.statement_seq = st.seq)
FROM entry e JOIN stated st ON st.seq = e.statement_seq
WHERE e.seq IN (SELECT value FROM json_each(?))
"""


class Filter(NamedTuple):
    """Which entries to read. since_ms, until_ms: inclusive limits of the time from its first to
    its last mention; None is open. node_id: only those below this node. origins: of the words that
    are shown."""

    kinds: Collection[EntryKind] = ENTRY_KINDS
    states: Collection[EntryState] = HOLDING
    since_ms: int | None = None
    until_ms: int | None = None
    node_id: str | None = None
    origins: Collection[Origin] = ORIGINS

    @property
    def is_narrow(self) -> bool:
        """Whether it may admit few entries of a kind."""
        return (self.since_ms, self.until_ms) != (None, None) or set(self.origins) != set(ORIGINS)


def entries_of(
    database: Database,
    scope: Scope,
    wanted: Filter,
    *,
    order: EntryOrder = "salience",
    limit: int | None = None,
    offset: int = 0,
) -> list[Entry]:
    """The entries of a scope: the most salient first, or in the order in which they were last
    said, or the latest first. limit, offset: at most limit after the first offset; None for all
    of them."""
    end = None if limit is None else offset + limit
    block = RANKED_MAX if order == "salience" else 1
    most = -1 if end is None else math.ceil(end / block) * block
    ranks = _ranks(database, scope, wanted, order, most)
    if order == "salience":  # block by block, so that a page does not depend on its limit
        blocks = (ranks[at : at + block] for at in range(0, len(ranks), block))
        ranks = [rank for of_block in blocks for rank in _with_recency(of_block)]
    return _read(database, scope, wanted, [rank.seq for rank in ranks[offset:end]])


def most_salient(
    database: Database, scope: Scope, limit: int
) -> tuple[list[Entry], dict[EntryKind, int]]:
    """The most salient entries of each kind that hold in a scope, at most limit of each, and how
    many there are of each kind. The leaves of the scope are listed once for all kinds."""
    wanted = Filter()
    if _leaves(scope, wanted)[0] is None:  # then an index has the order of each kind
        by_kind = {
            kind: _ranks(database, scope, Filter((kind,)), "salience", RANKED_MAX)
            for kind in ENTRY_KINDS
        }
        numbers = counts(database, scope, wanted)
    else:
        by_kind = {kind: [] for kind in ENTRY_KINDS}
        for rank in _ranks(database, scope, wanted, "salience", -1):
            by_kind[rank.kind].append(rank)
        numbers = {kind: len(ranks) for kind, ranks in by_kind.items()}
    best = [rank.seq for ranks in by_kind.values()
            for rank in _with_recency(ranks[:RANKED_MAX])[:limit]]  # fmt: skip
    return _read(database, scope, wanted, best), numbers


class _Rank(NamedTuple):
    """What orders an entry among others."""

    seq: int
    kind: EntryKind
    salience: float
    last_ms: int | None
    last_source: int | None
    last_position: int | None


def _ranks(
    database: Database, scope: Scope, wanted: Filter, order: EntryOrder, limit: int
) -> list[_Rank]:
    """The first entries of a scope in an order. limit: -1 for all of them."""
    several = len(set(wanted.kinds)) * len(set(wanted.states)) > 1
    # An index has the order of each kind and state. Subtle: where it must be read to its end to
    # find few entries, the rows in their own order are many times as quick.
    is_ordered = order == "salience" and not wanted.is_narrow
    if several and is_ordered and limit >= 0 and _leaves(scope, wanted)[0] is None:
        by_one = (
            _ranks(database, scope, wanted._replace(kinds=(kind,), states=(state,)), order, limit)
            for kind, state in itertools.product(set(wanted.kinds), set(wanted.states))
        )
        ranks = sorted(itertools.chain(*by_one), key=lambda one: (-one.salience, one.seq))
        return ranks[:limit]
    sql, parameters = _rank_query(scope, wanted, order, by_index=is_ordered)
    return list(map(_Rank._make, database.rows(sql, parameters | {"limit": limit})))


def _rank_query(
    scope: Scope, wanted: Filter, order: EntryOrder, *, by_index: bool
) -> tuple[str, dict[str, object]]:
    """The query of _ranks, and its parameters but the limit. by_index: uses the index of kinds."""
    where, parameters = _conditions(scope, wanted, by_kind="" if by_index else "+")
    sql = f"""
    SELECT e.seq, e.kind, e.weight / 1000.0, e.last_ms, e.last_source, e.last_position FROM entry e
    WHERE {where} AND e.statement_seq IS NOT NULL ORDER BY {_ORDER[order]} LIMIT :limit
    """  # noqa: S608
    return sql, parameters


def _read(database: Database, scope: Scope, wanted: Filter, seqs: Sequence[int]) -> list[Entry]:
    """These entries, in this order, as a scope says them."""
    by_seq = {row[0]: row for row in database.rows(_BY_SEQ, (json_list(seqs),))}
    rows = [by_seq[seq] for seq in seqs]
    return _in_their_words(database, scope, wanted, rows, _values(database, rows))


def statement_seqs(database: Database, scope: Scope, wanted: Filter, limit: int) -> list[int]:
    """The statements whose words are shown of the most salient entries of a scope."""
    where, parameters = _conditions(scope, wanted)
    sql = f"""
    SELECT e.seq, e.kind, e.statement_seq FROM entry e
    WHERE {where} AND e.statement_seq IS NOT NULL
    ORDER BY e.weight DESC, e.seq LIMIT :limit
    """  # noqa: S608
    rows = database.rows(sql, parameters | {"limit": limit})
    said = _said(database, scope, wanted, {seq: kind for seq, kind, _ in rows})
    return [said[seq].statement_seq if seq in said else shown for seq, _, shown in rows]


def gist_seqs(database: Database, scope: Scope, limit: int) -> list[int]:
    """The gists of the leaves of a scope that matter most; each is the statement of an entry."""
    kinds: tuple[EntryKind, ...] = ("fact",)
    where, parameters = _conditions(scope, Filter(kinds))
    sql = f"""
    SELECT e.seq, e.kind, e.statement_seq FROM entry e JOIN statement st ON st.seq = e.statement_seq
    WHERE {where} AND st.kind = 'gist' ORDER BY e.weight DESC, e.seq LIMIT :limit
    """  # noqa: S608
    rows = database.rows(sql, parameters | {"limit": limit})
    said = _said(database, scope, Filter(kinds), {seq: kind for seq, kind, _ in rows})
    return [said[seq].statement_seq if seq in said else shown for seq, _, shown in rows]


def counts(database: Database, scope: Scope, wanted: Filter) -> dict[EntryKind, int]:
    """How many entries a scope has, by kind."""
    where, parameters = _conditions(scope, wanted)
    sql = f"""
    SELECT e.kind, count(*) FROM entry e WHERE {where} AND e.statement_seq IS NOT NULL
    GROUP BY e.kind
    """  # noqa: S608
    found: dict[str, int] = dict(database.rows(sql, parameters))
    return {kind: found.get(kind, 0) for kind in ENTRY_KINDS}


def entry(database: Database, prefix: str, messages_max: int | None = None) -> Entry:
    """The only entry whose id begins with prefix, with the messages that say it, or the first
    messages_max of them. Raises NotFoundError or AmbiguousIdError."""
    row = row_of(database, prefix)
    (found,) = _values(database, [row])
    ids = [
        message_id
        for (message_id,) in database.rows(
            _CITED, (row[0], -1 if messages_max is None else messages_max)
        )
    ]
    by_seq = messages.by_seq(database, messages.seqs_by_id(database, ids).values())
    by_id = {message.id: message for message in by_seq.values()}
    features = salience.Features(
        found.kind, found.state, found.origin, found.text, row[-1],
        found.mentions, found.leaves, entries.returns(database, [row[0]]).get(row[0], 0),
        matching.is_for_good(found.kind, found.text, found.origin), found.speaker,
    )  # fmt: skip
    return replace(
        found, messages=tuple(by_id[message_id] for message_id in ids),
        explanation=salience.parts(features),
    )  # fmt: skip


def row_of(database: Database, prefix: str) -> Row:
    """The row of the only entry whose id begins with prefix; its first column is the seq."""
    return lookup.only_row(database, _BY_PREFIX, prefix, "ledger entry", SEE_ENTRIES)


def _conditions(scope: Scope, wanted: Filter, by_kind: str = "") -> tuple[str, dict[str, object]]:
    """The condition of a query, and its parameters. by_kind: "+" not to use the index of kinds."""
    conditions, parameters = [], dict[str, object]()
    for column, values, every in (
        ("kind", wanted.kinds, ENTRY_KINDS), ("state", wanted.states, ENTRY_STATES),
    ):  # fmt: skip
        if len(set(values)) == 1:
            # So that the index gives the entries in the order of their salience.
            conditions.append(f"{by_kind}e.{column} = :{column}")
            parameters[column] = next(iter(values))
        elif set(values) != set(every):
            values_sql = f"(SELECT value FROM json_each(:{column}))"  # noqa: S608
            conditions.append(f"{by_kind}e.{column} IN {values_sql}")
            parameters[column] = json_list(values)
    if set(wanted.origins) != set(ORIGINS):
        conditions.append(_OF_ORIGINS)
        parameters["origins"] = json_list(wanted.origins)
    if wanted.since_ms is not None:
        conditions.append("e.last_ms >= :since")
        parameters["since"] = wanted.since_ms
    if wanted.until_ms is not None:
        conditions.append("coalesce(e.since_ms, e.last_ms) <= :until")
        parameters["until"] = wanted.until_ms
    leaves, of_scope = _leaves(scope, wanted)
    if leaves is not None:
        conditions.append(_OF_LEAVES.format(leaves=leaves))
        parameters |= of_scope
    return " AND ".join(conditions) or "1", parameters


def _leaves(scope: Scope, wanted: Filter) -> tuple[str | None, dict[str, object]]:
    """The SQL of the leaves of a scope, None for all, and the parameters of what is read in
    them."""
    kind, key = ("node", wanted.node_id) if wanted.node_id else (scope.kind, scope.key)
    limits = (scope.source_ids, scope.speakers, scope.topic_id, scope.session_id)
    if kind == "filter" and limits == (None,) * 4:
        return None, {}  # it admits every source
    ids = [scope.key] if scope.kind == "source" else scope.source_ids
    leaves = _LEAVES.get(kind)
    if leaves is not None and kind == "filter":
        for part, part_key in (("topic", scope.topic_id), ("session", scope.session_id)):
            if part_key is not None:
                inside = _LEAVES[part].replace(":key", f":{part}")
                leaves = f"SELECT node_seq FROM ({leaves}) WHERE node_seq IN ({inside})"  # noqa: S608
    parameters: dict[str, object] = {
        "key": key,
        "topic": scope.topic_id,
        "session": scope.session_id,
        "sources": None if ids is None else json_list(ids),
        "speakers": None if scope.speakers is None else json_list(scope.speakers),
    }
    return leaves, parameters


class _Said(NamedTuple):
    """How a scope says an entry: its last statement there, and how often it says it."""

    statement_seq: int
    text: str
    speaker: str
    origin: Origin
    last_ms: int | None
    first_ms: int | None
    node_id: str
    source_id: str | None
    mentions: int
    leaves: int


def _said(
    database: Database, scope: Scope, wanted: Filter, kinds: Mapping[int, EntryKind]
) -> dict[int, _Said]:
    """How a scope says entries, by entry; empty for everything, where each has its own words. What
    another source says alike is no statement of this one. kinds: of the entries."""
    leaves, of_scope = _leaves(scope, wanted)
    if leaves is None or not kinds:
        return {}
    rows: dict[int, list[Row]] = {}
    parameters = of_scope | {"entries": json_list(kinds)}
    for row in database.rows(_SAID.format(leaves=leaves), parameters):
        rows.setdefault(row[0], []).append(row)
    found = {}
    for seq, statements in rows.items():
        alike = [row for row in statements
                 if matching.entry_kind(row[2], row[3], row[5]) == kinds[seq]]  # fmt: skip
        _, statement_seq, _, text, speaker, origin, _, ms, node_id, source_id = (
            alike or statements
        )[-1]
        times_said = [row[7] for row in statements if row[7] is not None]
        found[seq] = _Said(
            statement_seq, text, speaker, origin, ms, min(times_said, default=None), node_id,
            source_id, len({row[6] for row in statements}), len({row[8] for row in statements}),
        )  # fmt: skip
    return found


def _in_their_words(
    database: Database, scope: Scope, wanted: Filter, rows: Sequence[Row], found: list[Entry]
) -> list[Entry]:
    """The entries as their scope says them. rows: of the entries."""
    said = _said(database, scope, wanted, {row[0]: row[2] for row in rows})
    return [
        entry if (own := said.get(row[0])) is None
        else replace(
            entry, text=own.text, speaker=own.speaker or None, origin=own.origin,
            first_at=times.from_ms(own.first_ms), last_at=times.from_ms(own.last_ms),
            mentions=own.mentions, leaves=own.leaves, source_id=own.source_id, node_id=own.node_id,
        )
        for row, entry in zip(rows, found, strict=True)
    ]  # fmt: skip


def _with_recency(ranks: Sequence[_Rank]) -> list[_Rank]:
    """The entries in the order of their salience and of how recent they are among these."""
    in_time = sorted(
        ranks, key=lambda one: (one.last_ms or 0, one.last_source or 0, one.last_position or 0)
    )
    bonus = {one.seq: salience.recency(at, len(in_time)) for at, one in enumerate(in_time)}
    return sorted(ranks, key=lambda one: (-(one.salience + bonus[one.seq]), one.seq))


def _values(database: Database, rows: Iterable[Row]) -> list[Entry]:
    rows = list(rows)
    ended_by = {row[12] for row in rows if row[12] is not None}
    later = {
        seq: Later(text, tuple(json_text.list_of(ids)))
        for seq, text, ids in database.rows(_WORDS, (json_list(ended_by),))
    }
    return [
        Entry(
            id=entry_id, kind=kind, text=text, speaker=speaker or None, origin=origin, state=state,
            project=project, first_at=times.from_ms(first), last_at=times.from_ms(last),
            mentions=mentions, leaves=leaves, by=later.get(by), salience=weight,
            source_id=source_id, node_id=node_id,
        )
        for _, entry_id, kind, text, speaker, origin, state, project, first, last, mentions,
            leaves, by, weight, source_id, node_id, *_ in rows
    ]  # fmt: skip
