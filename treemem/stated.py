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

import orjson

from treemem import lexical
from treemem.database import Database
from treemem.model import StatementKind

CANDIDATES_MAX = 400
NOVELTY_POWER = 0.7
COST_POWER = 0.7
WORTH_ABOVE = 2.0
"""Added to a standard score, so that what is a little below the mean is still worth something."""
LINE_TOKENS = 6
"""A line's speaker and its mark."""

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
    score of the best of them. stems: of its words."""

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    tokens: int
    importance: float
    is_verbatim: bool
    message_seqs: list[int] = field(default_factory=list)
    worth: float = 0.0
    stems: frozenset[str] = frozenset()


_OF_MESSAGES = """
SELECT s.seq, s.kind, s.text, s.speaker, s.tokens, s.importance, p.name LIKE 'extractive/%',
  c.message_seq
FROM citation c JOIN json_each(:seqs) j ON j.value = c.message_seq
JOIN statement s ON s.seq = c.statement_seq
JOIN summary su ON su.seq = s.summary_seq JOIN producer p ON p.seq = su.producer_seq
WHERE su.usable = 1 AND (:kind IS NULL OR s.kind = :kind)
  AND NOT EXISTS (SELECT 1 FROM statement_relation r WHERE r.statement_seq = s.seq
                  AND r.kind IN ('closed', 'superseded'))
ORDER BY s.seq, c.ordinal
"""


def of_messages(
    database: Database, worth: Mapping[int, float], kind: StatementKind | None = None
) -> list[Stated]:
    """The statements that rest on these messages and still hold. worth: of each message."""
    seqs = orjson.dumps(list(worth)).decode()
    found: dict[int, Stated] = {}
    for *row, message_seq in database.rows(_OF_MESSAGES, {"seqs": seqs, "kind": kind}):
        stated = found.get(row[0])
        if stated is None:
            stated = found[row[0]] = Stated(*row)
            stated.worth = worth[message_seq]
            stated.stems = frozenset(
                stem for stem in lexical.stems(stated.text) if stem not in lexical.COMMON
            )
        stated.message_seqs.append(message_seq)
        stated.worth = max(stated.worth, worth[message_seq])
    return list(found.values())


def is_standing(stated: Stated) -> bool:
    """Whether a rule tells an assistant what to do from now on."""
    return _STANDING.search(stated.text) is not None


def choose(
    candidates: Sequence[Stated], budget_tokens: float, known: Iterable[str]
) -> list[Stated]:
    """The statements that together say most that is new, for their tokens.

    known: the stems of what was chosen before. Greedy: of a statement's words only those
    count that nothing chosen has, each by how rare it is among the candidates.
    """
    ranked = sorted(candidates, key=lambda each: (-each.worth, each.seq))[:CANDIDATES_MAX]
    held = Counter(stem for each in ranked for stem in each.stems)
    rarity = {stem: math.log(1 + len(ranked) / count) for stem, count in held.items()}
    seen = set(known)

    def utility(stated: Stated) -> float:
        gain = sum(rarity[stem] for stem in stated.stems if stem not in seen)
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
