"""Which messages answer a query: route by full text, propagate through the tree.

It reads the file and scores; what is returned of the messages, and how, is packing.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treemem import search_text
from treemem.database import Database
from treemem.errors import NotFoundError
from treemem.model import Scope

HITS_MAX = 200
ENOUGH_HITS = 20
WINDOW_TOKENS = 500
# Measured on chats (DESIGN: turn + window + neighbours); tuned further by later benchmarks.
NEIGHBOUR_WEIGHT = 0.35
WINDOW_WEIGHT = 0.5
LEAF_WEIGHT = 0.2
STATEMENT_WEIGHT = 0.4
TOOL_WEIGHT = 0.5
_COMMON = frozenset(
    "a about an and any are as at be been but by can could did do does for from had has have "
    "how i if in into is it its me my no not of on or our should so than that the their them "
    "then there these they this to up was we were what when where which who why will with "
    "would you your".split()
)


@dataclass(slots=True)
class Hit:
    """A message in one source, with the parts of its score.

    own: BM25 of its text, 0 to 1 within the query. statement: of the best statement that
    rests on it. near: what its neighbours, window and leaf add.
    """

    message_seq: int
    source_seq: int
    position: int
    tokens: int
    role: str
    leaf_seq: int | None = None
    own: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Range:
    """Times in milliseconds UTC, both inclusive; None is open."""

    since_ms: int | None = None
    until_ms: int | None = None


def route(database: Database, query: str, scope: Scope, times: Range) -> list[Hit]:
    """The messages whose own words, or whose statements, match the query, unpropagated."""
    words = search_text.terms(query)
    if not words:
        return []
    telling = [word for word in words if word not in _COMMON] or words
    scope_sql, parameters = _scope_filter(database, scope)
    own = _ranked(database, _MESSAGE_HITS, telling, scope_sql, parameters, times)
    stated = _ranked(database, _STATEMENT_HITS, telling, scope_sql, parameters, times)
    hits: dict[int, Hit] = {}
    for message_seq in {*own, *stated}:
        for hit in _placed(database, message_seq, scope_sql, parameters):
            hit.own = own.get(message_seq, 0.0) * _weight(hit)
            hit.parts = {
                "own": hit.own,
                "statement": STATEMENT_WEIGHT * stated.get(message_seq, 0.0),
            }
            hits.setdefault(message_seq, hit)
    return list(hits.values())


_MESSAGE_HITS = """
SELECT f.rowid, -bm25(message_fts) FROM message_fts f JOIN message m ON m.seq = f.rowid
WHERE message_fts MATCH :match AND m.kind = 'said'
  AND (:since IS NULL OR m.sent_at_ms >= :since) AND (:until IS NULL OR m.sent_at_ms <= :until)
  AND EXISTS (SELECT 1 FROM source_message sm
              WHERE sm.message_seq = f.rowid AND sm.state = 'active' {scope})
ORDER BY bm25(message_fts) LIMIT :limit
"""
_STATEMENT_HITS = """
WITH stated (statement_seq, score) AS MATERIALIZED (
  SELECT rowid, -bm25(statement_fts) FROM statement_fts WHERE statement_fts MATCH :match
  ORDER BY bm25(statement_fts) LIMIT 4 * :limit)
SELECT c.message_seq, max(stated.score) FROM stated
JOIN citation c ON c.statement_seq = stated.statement_seq JOIN message m ON m.seq = c.message_seq
WHERE m.kind = 'said'
  AND (:since IS NULL OR m.sent_at_ms >= :since) AND (:until IS NULL OR m.sent_at_ms <= :until)
  AND EXISTS (SELECT 1 FROM source_message sm
              WHERE sm.message_seq = c.message_seq AND sm.state = 'active' {scope})
GROUP BY c.message_seq ORDER BY 2 DESC LIMIT :limit
"""


def _ranked(
    database: Database,
    sql: str,
    words: Sequence[str],
    scope_sql: str,
    scope_parameters: dict[str, object],
    times: Range,
) -> dict[int, float]:
    """Message numbers with their BM25, scaled so that the best has 1. All words first; any
    of them where that finds too little."""
    found: dict[int, float] = {}
    for every in (True, False):
        parameters = {
            "match": search_text.match_expression(words, every=every), "limit": HITS_MAX,
            "since": times.since_ms, "until": times.until_ms, **scope_parameters,
        }  # fmt: skip
        for message_seq, bm25 in database.rows(sql.format(scope=scope_sql), parameters):
            found[message_seq] = max(found.get(message_seq, 0.0), float(bm25))
        if len(found) >= ENOUGH_HITS:
            break
    best = max(found.values(), default=0.0)
    return {seq: bm25 / best for seq, bm25 in found.items()} if best > 0 else found


def _scope_filter(database: Database, scope: Scope) -> tuple[str, dict[str, object]]:
    """SQL over source_message sm, and its parameters."""
    if scope.kind == "source":
        sql = "SELECT seq FROM source WHERE id = ?"
        seq = database.value(sql, (scope.key,))
        if seq is None:
            raise NotFoundError(f"There is no source {scope.key!r}. See: treemem source list")
        return "AND sm.source_seq = :source", {"source": seq}
    if scope.kind == "session":
        return "AND sm.session = :session", {"session": scope.key}
    if scope.kind == "topic":
        return _TOPIC_FILTER, {"topic": scope.key}
    return "", {}


_TOPIC_FILTER = """
AND sm.message_seq IN (
  SELECT ls.message_seq FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq
  JOIN leaf_span ls ON ls.node_seq = tn.node_seq
  WHERE t.scope = 'topic' AND t.key = :topic AND tn.level = 0)
"""
_PLACE = """
SELECT sm.message_seq, sm.source_seq, sm.position, m.tokens, m.role
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.message_seq = :message AND sm.state = 'active' {scope}
ORDER BY sm.source_seq LIMIT 1
"""


def _placed(
    database: Database, message_seq: int, scope_sql: str, parameters: dict[str, object]
) -> list[Hit]:
    """The message where it stands; of several sources that share it, the first."""
    sql = _PLACE.format(scope=scope_sql)
    rows = database.rows(sql, {"message": message_seq, **parameters})
    return [Hit(*row) for row in rows]


# -- propagation -----------------------------------------------------------------------

_AROUND = """
SELECT sm.message_seq, sm.source_seq, sm.position, m.tokens, m.role,
  (SELECT ls.node_seq FROM leaf_span ls JOIN node n ON n.seq = ls.node_seq
   WHERE ls.message_seq = sm.message_seq ORDER BY n.provisional, ls.node_seq LIMIT 1)
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.position BETWEEN ? AND ? AND sm.state = 'active'
  AND m.kind = 'said'
ORDER BY sm.position
"""
NEIGHBOURS = 6


def propagate(database: Database, hits: Sequence[Hit]) -> list[Hit]:
    """The hits and what stands beside them, each scored by itself, its neighbours, its
    window of about WINDOW_TOKENS and its leaf; the best first."""
    own = {(hit.source_seq, hit.position): hit for hit in hits}
    found: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        first, last = hit.position - NEIGHBOURS, hit.position + NEIGHBOURS
        for row in database.rows(_AROUND, (hit.source_seq, first, last)):
            key = (row[1], row[2])
            if key not in found:
                known = own.get(key)
                found[key] = Hit(*row) if known is None else known
                found[key].leaf_seq = row[5]
    _spread(found)
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.source_seq, hit.position))


def _spread(found: dict[tuple[int, int], Hit]) -> None:
    """Adds to each message what the messages around it have of their own."""
    ordered = sorted(found.values(), key=lambda hit: (hit.source_seq, hit.position))
    leaves: dict[int, float] = {}
    for hit in ordered:
        if hit.leaf_seq is not None:
            leaves[hit.leaf_seq] = max(leaves.get(hit.leaf_seq, 0.0), hit.own)
    for index, hit in enumerate(ordered):
        before = _adjacent(ordered, index, -1)
        after = _adjacent(ordered, index, 1)
        weight = _weight(hit)
        hit.parts["neighbours"] = weight * NEIGHBOUR_WEIGHT * (before + after)
        hit.parts["window"] = weight * WINDOW_WEIGHT * _window_best(ordered, index)
        if hit.leaf_seq is not None:
            hit.parts["leaf"] = weight * LEAF_WEIGHT * leaves[hit.leaf_seq]


def _weight(hit: Hit) -> float:
    """What a tool printed matters less than what was said about it, however many words match."""
    return TOOL_WEIGHT if hit.role == "tool" else 1.0


def _adjacent(ordered: Sequence[Hit], index: int, step: int) -> float:
    other = index + step
    if not 0 <= other < len(ordered):
        return 0.0
    neighbour = ordered[other]
    same = neighbour.source_seq == ordered[index].source_seq
    return neighbour.own if same and neighbour.tokens <= WINDOW_TOKENS else 0.0


def _window_best(ordered: Sequence[Hit], index: int) -> float:
    """The best own score within half a window before and after, fading with the distance in
    tokens: what a long message separates is not near."""
    best = ordered[index].own
    for step in (-1, 1):
        distance, other = 0, index + step
        while 0 <= other < len(ordered):
            hit = ordered[other]
            if hit.source_seq != ordered[index].source_seq or distance > WINDOW_TOKENS // 2:
                break
            best = max(best, hit.own * (1 - distance / WINDOW_TOKENS))
            distance += hit.tokens
            other += step
    return best
