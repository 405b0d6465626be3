"""Reads how much was said on each day, and what was said on one: its sources and their leaves.

Days are found by the times of leaves, since messages have no index by time. Memory inherits the
method. Tested in tests/browsing/test_on_day.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import tzinfo

from treemem import times
from treemem.arguments import checked
from treemem.browsing import days
from treemem.sessions.boundary import Bounded
from treemem.store.database import Database, json_list
from treemem.store.file import memo
from treemem.times import Clock
from treemem.types import Scope

# Leaves whose messages are counted, and sources that are named, at most.
LEAVES_MAX, SOURCES_MAX = 600, 60
# Tools that are told apart.
TOOLS_MAX = 7
OTHER = "other"
# Leaves of a source that are named, at most.
LEAVES_NAMED = 8


@dataclass(frozen=True, slots=True)
class DaySource:
    """What of a source was said on a day.

    messages: how many. started_at, ended_at: the first and the last of them, ISO 8601 in UTC.
    node_ids: of the leaves with most of them, in time order, at most LEAVES_NAMED.
    """

    id: str
    format: str
    messages: int
    started_at: str | None
    ended_at: str | None
    node_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SaidOnDay:
    """What was said on a day. sources: those with most messages, the earliest first, at most
    SOURCES_MAX. total: how many sources there are. is_whole: False if only a part of a very long
    day was read."""

    sources: tuple[DaySource, ...] = ()
    total: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class DaysByTool:
    """How many messages of each tool were sent on each day.

    tools: formats, those with most messages first; the last one is "other" if there are more than
    TOOLS_MAX. days: by day, YYYY-MM-DD, in order, the number of each tool.
    """

    tools: tuple[str, ...]
    days: dict[str, tuple[int, ...]]


# Over all nodes, which are few beside the messages.
_FORMATS = "SELECT DISTINCT format FROM source ORDER BY format"
_LEAVES = """
SELECT seq FROM node WHERE level = 0 AND started_at_ms <= :last AND ended_at_ms >= :first
ORDER BY started_at_ms, seq LIMIT :limit
"""
# Subtle: CROSS JOIN keeps SQLite from beginning with the trees of all sources.
_SAID = """
WITH leaf AS (SELECT value AS seq FROM json_each(:leaves)),
placed AS (
  SELECT leaf.seq AS leaf, t.key AS source FROM leaf
  CROSS JOIN tree_node tn ON tn.node_seq = leaf.seq CROSS JOIN tree t ON t.seq = tn.tree_seq
  WHERE t.scope = 'source'
  UNION
  SELECT leaf.seq, t.key FROM leaf CROSS JOIN tree t ON t.tail_seq = leaf.seq
  WHERE t.scope = 'source')
SELECT s.id, s.format, n.id, m.seq, m.sent_at_ms FROM placed
JOIN source s ON s.id = placed.source
JOIN node n ON n.seq = placed.leaf
JOIN leaf_span ls ON ls.node_seq = placed.leaf
JOIN message m ON m.seq = ls.message_seq
WHERE m.sent_at_ms BETWEEN :first AND :last
ORDER BY m.sent_at_ms, m.seq
"""


@checked
class DayMethods(Bounded):
    """The method of Memory for a day."""

    _clock: Clock

    def days_by_tool(self) -> DaysByTool:
        """Returns how many messages of each tool were sent on each day of this machine's clock.
        A message that is in sources of several tools counts for each."""
        zone = times.local(self._clock()).tzinfo
        with self._database.reading():
            return memo.kept(
                self._database, ("days by tool", zone), lambda: _by_tool(self._database, zone)
            )

    def said_on(self, day: str) -> SaidOnDay:
        """Returns what was said on a day, YYYY-MM-DD, as this machine's clock counts days. Raises
        UsageError."""
        from treemem.search import date_filter

        first, last = date_filter.bounds(day, day, times.local(self._clock()))
        with self._database.reading():
            found = _read(self._database, first or 0, last or 0)
            private = self._private().sources
        if not private:
            return found
        shown = tuple(one for one in found.sources if one.id not in private)
        return SaidOnDay(shown, len(shown), found.is_whole)


def _by_tool(database: Database, zone: tzinfo | None) -> DaysByTool:
    formats = [name for (name,) in database.rows(_FORMATS)]
    found = {name: _days_of(database, name if len(formats) > 1 else None, zone) for name in formats}
    order = sorted(filter(found.get, found), key=lambda name: (-found[name].total(), name))
    if len(order) > TOOLS_MAX:
        rest = [found.pop(name) for name in order[TOOLS_MAX - 1 :]]
        order = [*order[: TOOLS_MAX - 1], OTHER]
        found[OTHER] = sum(rest, Counter())
    known = sorted(set().union(*(found[name] for name in order)))
    return DaysByTool(
        tuple(order), {day: tuple(found[name][day] for name in order) for day in known}
    )


def _days_of(database: Database, name: str | None, zone: tzinfo | None) -> Counter[str]:
    """The messages by day of the sources of a format; None for all."""
    scope = None if name is None else Scope.where(tool=name)
    return Counter({one.day: one.messages for one in days.counts(database, scope, zone)})


def _read(database: Database, first_ms: int, last_ms: int) -> SaidOnDay:
    limits = {"first": first_ms, "last": last_ms}
    leaves = [row[0] for row in database.rows(_LEAVES, {**limits, "limit": LEAVES_MAX + 1})]
    said: dict[str, _Said] = {}
    rows = database.rows(_SAID, {**limits, "leaves": json_list(leaves[:LEAVES_MAX])})
    for source_id, format_name, node_id, message_seq, sent_at_ms in rows:
        said.setdefault(source_id, _Said(format_name)).add(node_id, message_seq, sent_at_ms)
    largest = sorted(said, key=lambda one: -len(said[one].times))[:SOURCES_MAX]
    sources = [said[source_id].as_source(source_id) for source_id in largest]
    sources.sort(key=lambda one: (one.started_at or "", one.id))
    return SaidOnDay(tuple(sources), len(said), len(leaves) <= LEAVES_MAX)


class _Said:
    """The messages of a source on a day, with their leaves."""

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self.times: dict[int, int] = {}
        self.leaves: dict[str, int] = {}

    def add(self, node_id: str, message_seq: int, sent_at_ms: int) -> None:
        self.times[message_seq] = sent_at_ms
        self.leaves[node_id] = self.leaves.get(node_id, 0) + 1

    def as_source(self, source_id: str) -> DaySource:
        largest = sorted(self.leaves, key=lambda one: -self.leaves[one])[:LEAVES_NAMED]
        return DaySource(
            source_id, self.format, len(self.times), times.from_ms(min(self.times.values())),
            times.from_ms(max(self.times.values())),
            tuple(node_id for node_id in self.leaves if node_id in largest),
        )  # fmt: skip
