"""Weighs how much an entry of the ledger matters to a reader. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

from treemem.text.quality import is_unclear, quality_of
from treemem.types import EntryKind, EntryState, Origin

# The weight of each reason. They add up, so that one strong reason is enough.
LEAF_WEIGHT = 0.6
MENTION_WEIGHT = 0.2
RETURN_WEIGHT = 0.3
TYPED_WEIGHT = 0.5
LASTING_WEIGHT = 0.8
OPEN_WEIGHT = 0.4
CONTENT_WEIGHT = 0.6
# A fact matters by what it says: names, numbers and times. That its subject comes up again says
# little, since what is said in passing is about everybody's subject.
FACT_CONTENT_WEIGHT = 3.0
FACT_RETURN_WEIGHT = 0.1
FACT_LEAF_WEIGHT = 0.1
# What a fact gets that a reader would surely call one.
FACT_QUALITY_WEIGHT = 0.5
# Taken off, of the other kinds, for words that say little out of their context, and from long ones.
UNCLEAR_WEIGHT = 0.7
LONG_WEIGHT = 0.3
# A statement of an extractive summary with this importance has its full content.
IMPORTANCE_FULL = 1.5
WORDS_LONG = 45
# Added to the last of the entries that are shown together, and in part to those before it.
RECENT_WEIGHT = 0.4


class Features(NamedTuple):
    """What is known of an entry. importance: of its best statement. is_lasting: the user said it
    for good. returns: later entries about the same."""

    kind: EntryKind
    state: EntryState
    origin: Origin
    text: str
    importance: float
    mentions: int = 1
    leaves: int = 1
    returns: int = 0
    is_lasting: bool = False
    speaker: str | None = None


def parts(entry: Features) -> tuple[tuple[str, float], ...]:
    """The reasons why an entry matters, each with its weight; their sum is its salience.

    Example:
        >>> said = Features("open", "holds", "typed", "Nobody asked.", 0.3, leaves=3)
        >>> dict(parts(said))["said in several leaves"]
        0.951
    """
    is_fact = entry.kind == "fact"
    weights = {
        "content": (FACT_CONTENT_WEIGHT if is_fact else CONTENT_WEIGHT)
        * min(1.0, entry.importance / IMPORTANCE_FULL),
        "said in several leaves": (FACT_LEAF_WEIGHT if is_fact else LEAF_WEIGHT)
        * math.log2(max(1, entry.leaves)),
        "said again": (0.0 if is_fact else MENTION_WEIGHT) * math.log2(max(1, entry.mentions)),
        "comes up again": (FACT_RETURN_WEIGHT if is_fact else RETURN_WEIGHT)
        * math.log2(1 + entry.returns),
        **(_of_fact(entry) if is_fact else _of_others(entry)),
    }
    return tuple([(name, round(weight, 3)) for name, weight in weights.items() if weight])


def _of_fact(entry: Features) -> dict[str, float]:
    quality = quality_of(entry.text, entry.origin, entry.speaker).fact
    return {
        "for good": LASTING_WEIGHT * entry.is_lasting,
        "clear alone": FACT_QUALITY_WEIGHT * quality,
    }


def _of_others(entry: Features) -> dict[str, float]:
    return {
        "a person's words": TYPED_WEIGHT * (entry.origin in ("typed", "person")),
        "for good": LASTING_WEIGHT * entry.is_lasting,
        "still open": OPEN_WEIGHT * (entry.kind == "open" and entry.state == "holds"),
        "unclear alone": -UNCLEAR_WEIGHT * is_unclear(entry.text),
        "long": -LONG_WEIGHT * (len(entry.text.split()) > WORDS_LONG),
    }


def total(entry: Features) -> float:
    """How much an entry matters, without how recent it is."""
    return round(sum(weight for _, weight in parts(entry)), 3)


def recency(place: int, total: int) -> float:
    """What is added to the entry at this place, from 0, of total entries in time order.

    Example:
        >>> recency(9, 10), recency(0, 10)
        (0.4, 0.0)
    """
    return round(RECENT_WEIGHT * place / max(1, total - 1), 3)
