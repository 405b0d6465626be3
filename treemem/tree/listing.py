"""Orders the sources by their last messages, without reading all messages.

The times of sealed messages are those of their leaves; only those of other messages are read.
Callers read in one transaction. Tested in tests/tree/test_listing.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treemem import times
from treemem.store.database import Database, json_list
from treemem.tree import remembered

_NAMES = "SELECT seq, id FROM source"
# The messages that are in no sealed leaf are those after the sealed ones, and those that are in no
# history any more.
_SPANS = """
SELECT seq, min(first_ms), max(last_ms) FROM (
  SELECT s.seq AS seq, n.started_at_ms AS first_ms, n.ended_at_ms AS last_ms
  FROM json_each(:seqs) j CROSS JOIN source s ON s.seq = j.value
  CROSS JOIN tree t ON t.scope = 'source' AND t.key = s.id
  CROSS JOIN tree_node tn ON tn.tree_seq = t.seq AND tn.level = 0
  CROSS JOIN node n ON n.seq = tn.node_seq
  UNION ALL
  SELECT s.seq, m.sent_at_ms, m.sent_at_ms
  FROM json_each(:seqs) j CROSS JOIN source s ON s.seq = j.value
  CROSS JOIN source_message sm ON sm.source_seq = s.seq
    AND (sm.position >= s.open_position OR sm.state <> 'active' OR sm.open_from IS NOT NULL)
  CROSS JOIN message m ON m.seq = sm.message_seq
) GROUP BY seq
"""


class Span(NamedTuple):
    """The times of the first and of the last message of a source; None without times."""

    first_ms: int | None
    last_ms: int | None


def spans(database: Database, seqs: Sequence[int]) -> dict[int, Span]:
    """The times of these sources, by row number."""

    def read(some: Sequence[int]) -> dict[int, Span]:
        found = {seq: Span(*of) for seq, *of in database.rows(_SPANS, {"seqs": json_list(some)})}
        return {seq: found.get(seq, Span(None, None)) for seq in some}

    return remembered.of_sources(database, _SPANS, seqs, read)


def newest(
    database: Database,
    seqs: Iterable[int] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> list[int]:
    """The row numbers of these sources, or of all, the most recent first. since_ms, until_ms: only
    those with messages on both sides of each or between them, by their first and last times; None
    is open."""
    ids: dict[int, str] = dict(database.rows(_NAMES))
    chosen = list(ids) if seqs is None else [seq for seq in seqs if seq in ids]
    found = spans(database, chosen)
    chosen = [seq for seq in chosen if _is_within(found[seq], since_ms, until_ms)]
    return sorted(
        chosen, key=lambda seq: (times.from_ms(found[seq].last_ms) or "", ids[seq]), reverse=True
    )


def _is_within(span: Span, since_ms: int | None, until_ms: int | None) -> bool:
    if since_ms is not None and (span.last_ms is None or span.last_ms < since_ms):
        return False
    return until_ms is None or (span.first_ms is not None and span.first_ms <= until_ms)
