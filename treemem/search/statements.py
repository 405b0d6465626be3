"""The statements of the summaries as part of an answer: single sentences, each checked when it
was made.

A statement is worth as much as the messages it rests on, and only by what it adds to what
was chosen already. Standing instructions are those of its rules that a person gave.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import orjson

from treemem.store import summaries
from treemem.store.database import Database, Row
from treemem.text import bm25
from treemem.topics import store as topic_store
from treemem.tree import builder
from treemem.types import STATEMENT_KINDS, Scope, StatementKind

CANDIDATES_MAX = 400
NOVELTY_POWER = 0.7
COST_POWER = 0.7
# Added to a standard score, so that what is a little below the mean is still worth something.
WORTH_ABOVE = 2.0
# A line's speaker and its mark.
LINE_TOKENS = 6

# How a person tells an assistant what holds from now on. What merely holds ("never worked")
# is no instruction.
_STANDING = re.compile(
    r"""^\W*(?:please\ )?(?:always|never|do\ not|don't|from\ now\ on|whenever|remember\ to|avoid
        |only\ use|make\ sure\ (?:you|to)|keep\ in\ mind)\b
    |\bi(?:'d|\ would)?\ (?:strongly\ |really\ |always\ |generally\ )?(?:prefer|rather)\b
    |\bmy\ preference\b|\bi\ want\ you\ to\b|\bfrom\ now\ on\b|\bgoing\ forward\b
    |\bi\ (?:don't|do\ not)\ (?:like|want)\ (?:you|it\ when)\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(slots=True)
class Stated:
    """A statement that may be returned. message_seqs: what it rests on. worth: the standard
    score of the best of them."""

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    tokens: int
    importance: float
    is_verbatim: bool
    message_seqs: list[int] = field(default_factory=list)
    worth: float = 0.0
    _stems: frozenset[str] | None = None

    @property
    def stems(self) -> frozenset[str]:
        """The distinct stems of its words but the very common ones."""
        if self._stems is None:
            self._stems = frozenset(bm25.telling_stems(self.text))
        return self._stems


_COLUMNS = """
s.seq, s.kind, s.text, s.speaker, s.tokens, s.importance, p.name LIKE 'extractive/%', c.message_seq
"""
_OF_MESSAGES = f"""
SELECT {_COLUMNS} FROM citation c JOIN json_each(:seqs) j ON j.value = c.message_seq
JOIN statement s ON s.seq = c.statement_seq
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
WHERE su.usable = 1 AND s.kind IN (SELECT value FROM json_each(:kinds))
ORDER BY s.seq, c.ordinal
"""  # noqa: S608
_OF_SUMMARY = f"""
SELECT {_COLUMNS} FROM summary_statement ss JOIN statement s ON s.seq = ss.statement_seq
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
JOIN citation c ON c.statement_seq = s.seq
WHERE ss.summary_seq = :summary ORDER BY ss.ordinal, c.ordinal
"""  # noqa: S608
# The same words of the same message may be stated for several nodes, as for an open tail and the
# leaf that it became. What is over for one of them is over.
_OVER = """
SELECT DISTINCT c.message_seq, s.kind, s.text FROM json_each(:seqs) j
JOIN citation c ON c.message_seq = j.value JOIN statement s ON s.seq = c.statement_seq
WHERE EXISTS (SELECT 1 FROM statement_relation r
  WHERE r.statement_seq = s.seq AND r.kind IN ('closed', 'superseded'))
"""
_SOURCES_OF_SESSION = """
SELECT DISTINCT s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.session = ? ORDER BY s.seq
"""
_RULES = """
SELECT DISTINCT s.text, c.message_seq FROM statement s
JOIN citation c ON c.statement_seq = s.seq JOIN message m ON m.seq = c.message_seq
WHERE s.kind = 'constraint' AND m.role = 'user'
"""


def of_messages(
    database: Database,
    worth: Mapping[int, float],
    kinds: Sequence[StatementKind] = STATEMENT_KINDS,
) -> list[Stated]:
    """The statements of these kinds that rest on these messages and still hold. worth: of each
    message."""
    parameters = {"seqs": orjson.dumps(list(worth)).decode(), "kinds": orjson.dumps(kinds).decode()}
    found = _from_rows(database, database.rows(_OF_MESSAGES, parameters))
    for stated in found:
        stated.worth = max(worth[seq] for seq in stated.message_seqs)
    return found


def of_root(database: Database, scope: Scope) -> list[Stated]:
    """What the root of a scope says and still holds, in its order. A session has no tree of its
    own: what its sources' roots say."""
    found: list[Stated] = []
    for kind, key in _trees(database, scope):
        tree = builder.find_tree(database, kind, key)
        if tree is not None and tree.root_seq is not None:
            summary = summaries.shown_summary(database, tree.root_seq)
            found += _from_rows(database, database.rows(_OF_SUMMARY, {"summary": summary}))
    return found


def _trees(database: Database, scope: Scope) -> list[tuple[str, str]]:
    if scope.kind == "everything":
        return [("global", "")]
    if scope.kind == "topic":
        return [("topic", topic_store.resolve(database, scope.key or ""))]
    if scope.kind == "source":
        return [("source", scope.key or "")]
    return [("source", key) for (key,) in database.rows(_SOURCES_OF_SESSION, (scope.key,))]


def _from_rows(database: Database, rows: Sequence[Row]) -> list[Stated]:
    """The statements that still hold."""
    found: dict[int, Stated] = {}
    seqs = orjson.dumps(list({row[-1] for row in rows})).decode()
    over = set(database.rows(_OVER, {"seqs": seqs}))
    gone: set[int] = set()
    for row in rows:
        seq, message_seq = row[0], row[-1]
        stated = found.get(seq)
        if stated is None:
            stated = found[seq] = Stated(*row[:-1])
        stated.message_seqs.append(message_seq)
        if over and (message_seq, stated.kind, stated.text) in over:
            gone.add(seq)
    return [stated for stated in found.values() if stated.seq not in gone]


def standing_messages(database: Database) -> list[int]:
    """The messages, of all there are, in which a person told an assistant what to do."""
    rows = database.rows(_RULES)
    return sorted({seq for text, seq in rows if _STANDING.search(text)})


def is_standing(stated: Stated) -> bool:
    """Whether a rule tells an assistant what to do from now on."""
    return _STANDING.search(stated.text) is not None


def in_order(candidates: Iterable[Stated], budget_tokens: float) -> list[Stated]:
    """The statements that fit, the first ones first, without those whose words another has."""
    chosen: list[Stated] = []
    left = budget_tokens
    for stated in candidates:
        cost = stated.tokens + LINE_TOKENS
        if cost <= left and not any(stated.stems <= other.stems for other in chosen):
            chosen.append(stated)
            left -= cost
    return chosen


def rank(each: Stated) -> tuple[float, int]:
    """For sorting: what is worth more comes first."""
    return -each.worth, each.seq


def choose(
    candidates: Sequence[Stated], budget_tokens: float, known: Iterable[str]
) -> list[Stated]:
    """The statements that together say most that is new, for their tokens.

    known: the stems of what was chosen before. Greedy: of a statement's words only those
    count that nothing chosen has, each by how rare it is among the candidates.
    """
    ranked = sorted(candidates, key=rank)[:CANDIDATES_MAX]
    held = Counter(chain.from_iterable(each.stems for each in ranked))
    rarity_of = {count: math.log(1 + len(ranked) / count) for count in set(held.values())}
    rarity = {stem: rarity_of[count] for stem, count in held.items()}
    seen = set(known)

    def utility(stated: Stated) -> float:
        # Subtle: a set's order differs from run to run, and with it what a plain sum rounds to.
        gain = math.fsum(map(rarity.__getitem__, stated.stems - seen))
        weight = max(0.01, stated.worth + WORTH_ABOVE)
        price = (stated.tokens + LINE_TOKENS) ** COST_POWER
        return float(weight * gain**NOVELTY_POWER / price)

    heap = [(-utility(each), index) for index, each in enumerate(ranked)]
    heapq.heapify(heap)
    chosen: list[Stated] = []
    left = budget_tokens
    while heap and left > LINE_TOKENS:
        before, index = heapq.heappop(heap)
        stated = ranked[index]
        if stated.tokens + LINE_TOKENS > left:
            continue
        now = -utility(stated)  # only less than before: what was chosen since took from it
        if now > before + 1e-9 and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, index))
            continue
        if now < 0:
            chosen.append(stated)
            seen |= stated.stems
            left -= stated.tokens + LINE_TOKENS
    return chosen
