"""The ground of a search: the messages of a scope within some times, and the places in it that
words and vectors name.

Named SQL over the histories of the sources; it scores nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from treemem.errors import NotFoundError
from treemem.store import vectors
from treemem.store.database import Database, Row
from treemem.topics import store as topic_store
from treemem.types import Include, Scope

if TYPE_CHECKING:
    from treemem.store.quantization import Vector

# Places that words and vectors name, each.
HITS_MAX = 80
# So many times as many are asked for: some are no messages of a history any more.
TRIED = 4
# Messages before and after such a place.
REACH = 8


@dataclass(frozen=True, slots=True)
class Range:
    """Times in milliseconds UTC, both inclusive; None is open."""

    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_open(self) -> bool:
        return self.since_ms is None and self.until_ms is None

    def holds(self, ms: int | None) -> bool:
        if ms is None:
            return self.is_open
        return (self.since_ms is None or self.since_ms <= ms) and (
            self.until_ms is None or ms <= self.until_ms
        )


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors to search by: an embedder's number, and the query under it."""

    embedder_seq: int
    query: Vector


_HISTORY = """
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE {history}
"""
_ACTIVE = "sm.state = 'active'"
_SAID_BY_SOMEONE = "m.kind = 'said'"
_COUNT_ALL = "SELECT count(*) FROM source_message WHERE state = 'active'"
_COLUMNS = "sm.position, m.tokens, m.role, m.author, m.sent_at_ms, m.chars, m.extras"
# Subtle: with min() the other columns come from the row that has the minimum, so a message
# that several sources share stands once, in the first of them.
_ROWS_OF = f"""
SELECT sm.message_seq, min(sm.source_seq), {_COLUMNS} {_HISTORY} {{where}}
GROUP BY sm.message_seq ORDER BY 2, 3
"""
_ROWS = f"""
SELECT sm.message_seq, sm.source_seq, {_COLUMNS} {_HISTORY} {{where}}
ORDER BY sm.source_seq, sm.position
"""
_PLACES = f"""
SELECT min(sm.source_seq), sm.position {_HISTORY} {{where}} GROUP BY sm.message_seq
"""
_IN_TIME = """
AND (:{0}since IS NULL OR m.sent_at_ms >= :{0}since)
AND (:{0}until IS NULL OR m.sent_at_ms <= :{0}until)
"""
_THESE = " AND sm.message_seq IN (SELECT value FROM json_each(:these))"
_STRETCHES = f"""
SELECT sm.message_seq, sm.source_seq, {_COLUMNS}
FROM json_each(:stretches) j CROSS JOIN source_message sm ON sm.source_seq = j.value ->> 0
  AND sm.position BETWEEN j.value ->> 1 AND j.value ->> 2
JOIN message m ON m.seq = sm.message_seq
WHERE {{history}} {{where}} ORDER BY j.key, sm.position
"""  # noqa: S608
_OF_LEAVES = """
AND sm.message_seq IN (
  SELECT ls.message_seq FROM leaf_span ls JOIN json_each(:leaves) j ON ls.node_seq = j.value)
"""


class Ground:
    """The messages of a scope, within times: those of its history that were really said, and
    what else is to be included. Raises NotFoundError for a scope that is not there."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        times: Range,
        include: Container[Include] = (),
    ) -> None:
        self._database = database
        self._include = include
        kept = (
            "1" if "abandoned" in include else _ACTIVE,
            "1" if "injected" in include else _SAID_BY_SOMEONE,
        )
        self._history = " AND ".join(kept)
        self._where, self._parameters = _scoped(database, scope)
        if not times.is_open:
            self._where += _IN_TIME.format("")
            self._parameters |= {"since": times.since_ms, "until": times.until_ms}

    def count(self) -> int:
        """How many there are, at least."""
        if not self._where and not self._include:
            return int(self._database.value(_COUNT_ALL))
        sql = self._filled(f"SELECT count(*) {_HISTORY} {{where}}", self._where)
        return int(self._database.value(sql, self._parameters))

    def rows(self) -> list[Row]:
        """All of them, in the order of their places: (number, source, position, tokens, role,
        author, time in ms, characters, extras). Meant for few: one that several sources share is
        read for each of them."""
        sql = self._filled(_ROWS, self._where)
        return _first_of_each(self._database.rows(sql, self._parameters))

    def rows_of(self, seqs: Iterable[int]) -> list[Row]:
        """Those of these messages that belong to it."""
        given = {**self._parameters, "these": orjson.dumps(list(seqs)).decode()}
        return self._database.rows(self._filled(_ROWS_OF, self._where + _THESE), given)

    def rows_around(self, seqs: Iterable[int]) -> list[Row]:
        """These messages and what stands within REACH of them."""
        given = {**self._parameters, "these": orjson.dumps(list(seqs)).decode()}
        places = self._database.rows(self._filled(_PLACES, self._where + _THESE), given)
        given = {**self._parameters, "stretches": orjson.dumps(stretches(places)).decode()}
        sql = self._filled(_STRETCHES, self._where)
        return _first_of_each(self._database.rows(sql, given))

    def seqs_in(self, times: Range, limit: int) -> list[int]:
        """The messages of a time; of more than limit some, evenly spread over the histories."""
        inside = self._filled(f"{_HISTORY} {{where}}", self._where + _IN_TIME.format("hint_"))
        hint = {"hint_since": times.since_ms, "hint_until": times.until_ms}
        parameters = self._parameters | hint
        count = int(self._database.value(f"SELECT count(*) {inside}", parameters))
        sql = f"SELECT sm.message_seq {inside} AND sm.position % :step = 0 LIMIT :limit"
        step = max(1, -(-count // limit))
        rows = self._database.rows(sql, parameters | {"step": step, "limit": 2 * limit})
        return [row[0] for row in rows]

    def best_by_words(self, matches: Iterable[str | None]) -> list[int]:
        """The HITS_MAX messages that match best; by the first expression, and by the later ones
        where that gives too few."""
        scoped = self._filled(_SCOPED, self._where) if self._where else ""
        found: dict[int, None] = {}
        for match in dict.fromkeys(matches):
            if match is not None and len(found) < HITS_MAX // 4:
                given = {**self._parameters, "match": match, "limit": TRIED * HITS_MAX}
                rows = self._database.rows(_BEST.format(scoped=scoped), given)
                found.update(dict.fromkeys(self._said(row[0] for row in rows)))
        return list(found)

    def best_by_vectors(self, by: Vectors) -> list[int]:
        """The HITS_MAX messages that are nearest to the query."""
        leaves = None
        if self._where:
            sql = self._filled(_LEAVES, self._where)
            leaves = [row[0] for row in self._database.rows(sql, self._parameters)]
        limit = TRIED * HITS_MAX
        best = vectors.scores(self._database, by.embedder_seq, by.query, leaves, limit=limit)
        spans = orjson.dumps([(row.node_seq, row.first_span) for row in best]).decode()
        return self._said(row[0] for row in self._database.rows(_OF_SPANS, {"spans": spans}))

    def _filled(self, sql: str, where: str) -> str:
        return sql.format(history=self._history, where=where)

    def _said(self, seqs: Iterable[int]) -> list[int]:
        """The first HITS_MAX of these messages that belong to it."""
        told = orjson.dumps(list(dict.fromkeys(seqs))).decode()
        given = {**self._parameters, "seqs": told, "limit": HITS_MAX}
        return [row[0] for row in self._database.rows(self._filled(_SAID, self._where), given)]


def _first_of_each(rows: Iterable[Row]) -> list[Row]:
    """The rows without further ones of the same message."""
    found: dict[int, Row] = {}
    for row in rows:
        found.setdefault(row[0], row)
    return list(found.values())


def _scoped(database: Database, scope: Scope) -> tuple[str, dict[str, object]]:
    if scope.kind == "source":
        seq = database.value("SELECT seq FROM source WHERE id = ?", (scope.key,))
        if seq is None:
            raise NotFoundError(f"There is no source {scope.key!r}. See: treemem source list")
        return " AND sm.source_seq = :source", {"source": seq}
    if scope.kind == "session":
        return " AND sm.session = :session", {"session": scope.key}
    if scope.kind == "topic":
        leaves = topic_store.leaf_seqs(database, scope.key or "")
        return _OF_LEAVES, {"leaves": orjson.dumps(leaves).decode()}
    return "", {}


# -- what matches ----------------------------------------------------------------------

_AMONG = """
SELECT f.rowid FROM message_fts f
WHERE message_fts MATCH :match AND f.rowid BETWEEN :first AND :last
"""
_SCOPED = f"""
AND EXISTS (SELECT 1 {_HISTORY} AND sm.message_seq = f.rowid {{where}})
"""
_BEST = """
SELECT f.rowid FROM message_fts f
WHERE message_fts MATCH :match {scoped}
ORDER BY bm25(message_fts), f.rowid LIMIT :limit
"""
_SAID = f"""
SELECT j.value FROM json_each(:seqs) j
WHERE EXISTS (SELECT 1 {_HISTORY} AND sm.message_seq = j.value {{where}})
ORDER BY j.key LIMIT :limit
"""  # noqa: S608
_LEAVES = f"""
SELECT DISTINCT ls.node_seq FROM leaf_span ls
JOIN (SELECT sm.message_seq {_HISTORY} {{where}}) said ON said.message_seq = ls.message_seq
"""  # noqa: S608
_OF_SPANS = """
SELECT ls.message_seq FROM json_each(:spans) j JOIN leaf_span ls
  ON ls.node_seq = j.value ->> 0 AND ls.ordinal = j.value ->> 1
ORDER BY j.key
"""


def matched_among(database: Database, match: str | None, seqs: Sequence[int]) -> set[int]:
    """Those of the messages that an FTS5 expression finds."""
    if match is None or not seqs:
        return set()
    parameters = {"match": match, "first": min(seqs), "last": max(seqs)}
    return {row[0] for row in database.rows(_AMONG, parameters)}.intersection(seqs)


def stretches(places: Iterable[Row]) -> list[tuple[int, int, int]]:
    """What stands within REACH of the places, given as (source, position): stretches as (source,
    first, last), apart from each other.

    Example:
        >>> stretches([(1, 40), (1, 50), (2, 50)])
        [(1, 32, 58), (2, 42, 58)]
    """
    found: list[tuple[int, int, int]] = []
    for source_seq, position in sorted(places):
        first, last = position - REACH, position + REACH
        if found and found[-1][0] == source_seq and first <= found[-1][2] + 1:
            found[-1] = (source_seq, found[-1][1], last)
        else:
            found.append((source_seq, first, last))
    return found
