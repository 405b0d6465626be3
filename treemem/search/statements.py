"""Reads the statements of summaries that can be part of an answer, and chooses among them.

A statement was checked against its messages when it was stored. It is worth as much as the best
of them, and gains only by words not chosen before.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import orjson

from treemem.store import summaries
from treemem.store.database import Database, Row, json_list
from treemem.text import bm25
from treemem.topics import store as topic_store
from treemem.tree import builder
from treemem.types import ENTRY_KINDS, STATEMENT_KINDS, EntryState, Origin, Scope, StatementKind

# The number of best statements that are compared with each other.
CANDIDATES_MAX = 400
# The most salient entries of each kind that answer a broad question.
ENTRIES_MAX = 120
# The gists of leaves that do.
GISTS_MAX = 200
# The most sources of a filter whose roots do; of more, the gists of the leaves say enough.
ROOTS_MAX = 40
# Exponents of a statement's new words and of its tokens: both count less than proportionally.
NOVELTY_POWER = 0.7
COST_POWER = 0.7
# Added to a standard score, so that a statement a little below the mean is still worth something.
WORTH_ABOVE = 2.0
# Tokens of the speaker and the mark of a line.
LINE_TOKENS = 6


@dataclass(frozen=True)
class RankedStatement:
    """A statement that can be returned.

    origin: the weakest of the words it rests on; None for a statement of an older version.
    message_seqs: the messages it cites. worth: the standard score of the best of them, 0 if none
    was scored.
    """

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    tokens: int
    importance: float
    is_verbatim: bool
    origin: Origin | None
    message_seqs: tuple[int, ...]
    worth: float = 0.0

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of its words, without function words."""
        return frozenset(bm25.content_stems(self.text))

    @property
    def cost_tokens(self) -> int:
        """The tokens of its line in a context."""
        return self.tokens + LINE_TOKENS


class _Row(NamedTuple):
    """A statement with one of the messages it cites. state: of its entry; None without one."""

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    tokens: int
    importance: float
    is_verbatim: bool
    origin: Origin | None
    state: EntryState | None
    message_seq: int


# The columns of _Row.
_COLUMNS = """
s.seq, s.kind, s.text, s.speaker, s.tokens, s.importance, p.name LIKE 'extractive/%',
s.origin, e.state, c.message_seq
"""
_OF_MESSAGES = f"""
SELECT {_COLUMNS} FROM citation c JOIN json_each(:seqs) j ON j.value = c.message_seq
JOIN stated s ON s.seq = c.statement_seq
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
LEFT JOIN entry e ON e.seq = s.entry_seq
WHERE su.usable = 1 AND s.grade <> 'unproven'
  AND s.kind IN (SELECT value FROM json_each(:kinds))
ORDER BY s.seq, c.ordinal
"""  # noqa: S608
_OF_SUMMARY = f"""
SELECT {_COLUMNS} FROM summary_statement ss JOIN stated s ON s.seq = ss.statement_seq
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
LEFT JOIN entry e ON e.seq = s.entry_seq
JOIN citation c ON c.statement_seq = s.seq
WHERE ss.summary_seq = :summary AND s.kind = 'gist' ORDER BY ss.ordinal, c.ordinal
"""  # noqa: S608
_OF_ENTRIES = f"""
SELECT {_COLUMNS} FROM json_each(:seqs) j JOIN stated s ON s.seq = j.value
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
LEFT JOIN entry e ON e.seq = s.entry_seq
JOIN citation c ON c.statement_seq = s.seq ORDER BY j.key, c.ordinal
"""  # noqa: S608
# What a model wrote in the words of an entry is over with the entry.
_OVER = """
SELECT DISTINCT c.message_seq, s.text FROM json_each(:seqs) j
JOIN citation c ON c.message_seq = j.value JOIN stated s ON s.seq = c.statement_seq
JOIN entry e ON e.seq = s.entry_seq AND e.state <> 'holds'
"""
_SOURCES_OF_SESSION = """
SELECT DISTINCT s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.session_seq = (SELECT seq FROM log_session WHERE id = ?) ORDER BY s.seq
"""


def of_messages(
    database: Database,
    worth: Mapping[int, float],
    kinds: Sequence[StatementKind] = STATEMENT_KINDS,
    over: Collection[tuple[int, str]] = (),
) -> list[RankedStatement]:
    """The statements of these kinds that cite these messages and are not closed or superseded.
    worth: of each message. over: the message and the words of rules that no longer hold."""
    parameters = {"seqs": orjson.dumps(list(worth)).decode(), "kinds": orjson.dumps(kinds).decode()}
    return _from_rows(database, database.rows(_OF_MESSAGES, parameters), worth, over)


def of_scope(
    database: Database,
    scope: Scope,
    over: Collection[tuple[int, str]] = (),
    kinds: Sequence[StatementKind] = STATEMENT_KINDS,
) -> list[RankedStatement]:
    """What a scope is about: the gists of its root, then those of its leaves that matter most, then
    of each kind the most salient entries of the ledger that hold. A session has no tree, so its
    gists are those of its sources' roots. kinds: of the statements.
    """
    from treemem.ledger import reading

    if scope.kind == "topic":
        scope = Scope.topic(topic_store.resolve(database, scope.key or ""))
    rows: list[Row] = []
    for kind, key in _trees(database, scope) if "gist" in kinds else ():
        tree = builder.find_tree(database, kind, key)
        if tree is not None and tree.root_seq is not None:
            summary = summaries.shown_summary(database, tree.root_seq)
            rows += database.rows(_OF_SUMMARY, {"summary": summary})
    shown = {row[0] for row in rows}
    found = reading.gist_seqs(database, scope, GISTS_MAX) if "gist" in kinds else []
    gists = [seq for seq in found if seq not in shown]
    rows += database.rows(_OF_ENTRIES, {"seqs": json_list(gists)})
    shown.update(gists)
    for entry_kind in (kind for kind in ENTRY_KINDS if kind in kinds):
        seqs = reading.statement_seqs(
            database, scope, reading.Filter((entry_kind,)), ENTRIES_MAX
        )  # fmt: skip
        left = [seq for seq in seqs if seq not in shown]
        rows += database.rows(_OF_ENTRIES, {"seqs": json_list(left)})
    return _from_rows(database, rows, {}, over)


def _trees(database: Database, scope: Scope) -> list[tuple[str, str]]:
    """The trees of a scope, by their kind and key."""
    if scope.kind == "everything":
        return [("global", "")]
    if scope.kind == "topic":
        return [("topic", scope.key or "")]
    if scope.kind == "source":
        return [("source", scope.key or "")]
    if scope.kind == "filter":
        if scope.speakers is not None or scope.topic_id or scope.session_id:
            return []
        if scope.source_ids is None:  # it admits everything
            return [("global", "")]
        ids = scope.source_ids
        return [("source", key) for key in ids] if len(ids) <= ROOTS_MAX else []
    return [("source", key) for (key,) in database.rows(_SOURCES_OF_SESSION, (scope.key,))]


def _from_rows(
    database: Database,
    rows: Sequence[Row],
    worth: Mapping[int, float],
    over: Collection[tuple[int, str]],
) -> list[RankedStatement]:
    """The statements that still hold. rows: of _COLUMNS. worth: of messages; empty if unknown.
    over: see of_messages."""
    by_seq: dict[int, list[_Row]] = {}
    for row in map(_Row._make, rows):
        by_seq.setdefault(row.seq, []).append(row)
    without_entry = {row.message_seq for citing in by_seq.values() for row in citing
                     if row.state is None}  # fmt: skip
    ended = set(database.rows(_OVER, {"seqs": json_list(without_entry)}))
    statements = []
    for citing in by_seq.values():
        if citing[0].state not in (None, "holds"):
            continue
        if ended and any((row.message_seq, row.text) in ended for row in citing):
            continue
        if over and any((row.message_seq, row.text) in over for row in citing):
            continue
        cited = tuple(row.message_seq for row in citing)
        best = max(worth[seq] for seq in cited) if worth else 0.0
        statements.append(RankedStatement(*citing[0][:-2], cited, best))
    return statements


def in_order(candidates: Iterable[RankedStatement], budget_tokens: float) -> list[RankedStatement]:
    """The statements that fit, in order, without those whose words an earlier one contains."""
    chosen: list[RankedStatement] = []
    left = budget_tokens
    for statement in candidates:
        if statement.cost_tokens > left:
            continue
        if not any(statement.stems <= other.stems for other in chosen):
            chosen.append(statement)
            left -= statement.cost_tokens
    return chosen


def rank(statement: RankedStatement) -> tuple[float, int]:
    """A sort key: the statements with the highest worth come first."""
    return -statement.worth, statement.seq


def choose(
    candidates: Sequence[RankedStatement], budget_tokens: float, known: Iterable[str]
) -> list[RankedStatement]:
    """Chooses the statements that together add most for their tokens, greedily.

    known: the stems chosen before. Only words of a statement that are not chosen yet count, each
    by its rarity among the candidates.
    """
    ranked = sorted(candidates, key=rank)[:CANDIDATES_MAX]
    counts = Counter(chain.from_iterable(statement.stems for statement in ranked))
    rarity_of = {count: math.log(1 + len(ranked) / count) for count in set(counts.values())}
    rarity = {stem: rarity_of[count] for stem, count in counts.items()}
    seen = set(known)

    def utility(statement: RankedStatement) -> float:
        # Subtle: the order of a set differs between runs, and a plain sum would round differently.
        gain = math.fsum(map(rarity.__getitem__, statement.stems - seen))
        weight = max(0.01, statement.worth + WORTH_ABOVE)
        return float(weight * gain**NOVELTY_POWER / statement.cost_tokens**COST_POWER)

    heap = [(-utility(statement), index) for index, statement in enumerate(ranked)]
    heapq.heapify(heap)
    chosen: list[RankedStatement] = []
    left = budget_tokens
    while heap and left > LINE_TOKENS:
        before, index = heapq.heappop(heap)
        statement = ranked[index]
        if statement.cost_tokens > left:
            continue
        now = -utility(statement)  # never better than before, as fewer of its words are new
        if now > before + 1e-9 and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, index))
            continue
        if now < 0:
            chosen.append(statement)
            seen |= statement.stems
            left -= statement.cost_tokens
    return chosen
