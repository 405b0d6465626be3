"""Stores the cost of each model call, and sums it.

A row is written in the transaction that stores the answer, so neither exists without the other. It
remains when its node is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from treemem.errors import UsageError
from treemem.store.database import Database

UsageKey = Literal["day", "source", "level", "model", "job"]


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a call: a job, a node and its level, and the first tree that contains the
    node. scope, key: None if no tree does."""

    job_seq: int
    node_seq: int
    level: int
    scope: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sums over the calls with one key: a day (YYYY-MM-DD), the id of a source, a level, the
    name of a summarizer, or the number of a job; "" for nodes that were in no tree.

    jobs: that made at least one of the calls. seconds: spent waiting for answers.
    """

    key: str
    calls: int
    jobs: int
    tokens_in: int
    tokens_out: int
    seconds: float


# -- writing ---------------------------------------------------------------------------

_PURPOSE = """
SELECT n.seq, n.level, t.scope, t.key FROM node n LEFT JOIN tree t ON t.seq = coalesce(
  (SELECT min(tree_seq) FROM tree_node WHERE node_seq = n.seq),
  (SELECT min(seq) FROM tree WHERE root_seq = n.seq))
WHERE n.id = ?
"""
_RECORD = """
INSERT INTO usage (at_ms, job_seq, producer, level, scope, key, tokens_in, tokens_out, seconds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def purpose_of(database: Database, job_seq: int, node_id: str) -> Purpose | None:
    """The purpose of the calls that a job makes for a node; None if the node is gone."""
    row = database.row(_PURPOSE, (node_id,))
    return None if row is None else Purpose(job_seq, *row)


def record(
    database: Database,
    purpose: Purpose,
    producer_name: str,
    spent: tuple[int, int, float],
    now_ms: int,
) -> None:
    """Records a paid call, in the caller's transaction. spent: tokens in, tokens out, seconds."""
    database.execute(
        _RECORD,
        (now_ms, purpose.job_seq, producer_name, purpose.level, purpose.scope, purpose.key, *spent),
    )


# -- reading ---------------------------------------------------------------------------

_KEYS: dict[UsageKey, str] = {
    "day": "strftime('%Y-%m-%d', at_ms / 1000, 'unixepoch', 'localtime')",
    "source": "CASE WHEN scope = 'source' THEN key ELSE coalesce(trim(scope || ' ' || key), '') "
    "END",
    "level": "level",
    "model": "producer",
    "job": "job_seq",
}
_SUMS = """
SELECT {key}, count(*), count(DISTINCT job_seq), sum(tokens_in), sum(tokens_out), sum(seconds)
FROM usage WHERE at_ms >= :since AND at_ms <= :until GROUP BY 1 ORDER BY 1
"""
_RECENT = """
SELECT tokens_in, tokens_out, seconds FROM usage WHERE producer = ? ORDER BY seq DESC LIMIT ?
"""
_LATEST_MS = 1 << 62


def sums(
    database: Database,
    by: UsageKey = "day",
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> list[UsageRow]:
    """Sums the calls between two moments, inclusive, one row per key, ordered by key. Raises
    UsageError for an unknown key."""
    if by not in _KEYS:
        raise UsageError(f"Usage is summed by {', '.join(_KEYS)}, not by {by!r}.")
    limits = {
        "since": 0 if since_ms is None else since_ms,
        "until": _LATEST_MS if until_ms is None else until_ms,
    }
    rows = database.rows(_SUMS.format(key=_KEYS[by]), limits)
    return [UsageRow(str(row[0]), *row[1:]) for row in rows]


def recent_calls(
    database: Database, producer_name: str, limit: int
) -> list[tuple[int, int, float]]:
    """(tokens in, tokens out, seconds) of up to limit calls of a summarizer, newest first."""
    return [(row[0], row[1], row[2]) for row in database.rows(_RECENT, (producer_name, limit))]
