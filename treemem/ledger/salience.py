"""Weighs how much an entry of the ledger matters to a reader. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

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
FACT_CONTENT_WEIGHT = 1.8
FACT_RETURN_WEIGHT = 0.1
FACT_LEAF_WEIGHT = 0.1
# Taken off for words that say little out of their context, and from long ones, and for a question
# among the facts.
UNCLEAR_WEIGHT = 0.7
LONG_WEIGHT = 0.3
QUESTION_WEIGHT = 1.0
# A statement of an extractive summary with this importance has its full content.
IMPORTANCE_FULL = 1.5
WORDS_LONG = 45
# Added to the last of the entries that are shown together, and in part to those before it.
RECENT_WEIGHT = 0.4
# A sentence that begins with one of these goes on with another one.
_GOES_ON = re.compile(
    r"[^\w\"“'`(\[]*(?:and|but|so|then|or|also|because|that|this|these|those|it|its|they|them|he|she|his|her"
    r"|him|there|here|which|otherwise|instead|however|yes|no|yeah|well|ok|okay|oh)\b",
    re.IGNORECASE,
)
# Speech as it is heard: a sound instead of a word, or a word broken off.
_HESITATES = re.compile(
    r"\b(?:u[hm]+|[eh]rm?|hmm+|mm+|mhm|uh[- ]huh|(?:you know|i mean|sort of|kind of) ,)(?!\w)"
    r"|\w - \w|-\s|\b(\w+) \1\b",
    re.IGNORECASE,
)


# A part of a sentence, as transcripts and lists have: it begins small, or ends open.
_FRAGMENT = re.compile(r"^[a-z]+(?:['’ ]|$)|[,;:–-]\s*$|\b(?:and|or|but|the|a|of|to|that)\s*$")


@dataclass(frozen=True, slots=True)
class Features:
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


def parts(entry: Features) -> tuple[tuple[str, float], ...]:
    """The reasons why an entry matters, each with its weight; their sum is its salience.

    Example:
        >>> said = Features("open", "holds", "typed", "Nobody asked for the key.", 0.3, leaves=3)
        >>> dict(parts(said))["said in several leaves"]
        0.951
    """
    words = len(entry.text.split())
    is_users = entry.origin in ("typed", "person")
    is_fact = entry.kind == "fact"
    content_weight = FACT_CONTENT_WEIGHT if is_fact else CONTENT_WEIGHT
    leaf_weight = FACT_LEAF_WEIGHT if is_fact else LEAF_WEIGHT
    return_weight = FACT_RETURN_WEIGHT if is_fact else RETURN_WEIGHT
    is_question = is_fact and entry.text.rstrip("\"')* ").endswith("?")
    weights = {
        "content": content_weight * min(1.0, entry.importance / IMPORTANCE_FULL),
        "said in several leaves": leaf_weight * math.log2(max(1, entry.leaves)),
        "said again": (0.0 if is_fact else MENTION_WEIGHT) * math.log2(max(1, entry.mentions)),
        "comes up again": return_weight * math.log2(1 + entry.returns),
        "a person's words": TYPED_WEIGHT * is_users,
        "for good": LASTING_WEIGHT * entry.is_lasting,
        "still open": OPEN_WEIGHT * (entry.kind == "open" and entry.state == "holds"),
        "unclear alone": -UNCLEAR_WEIGHT * is_unclear(entry.text),
        "a question": -QUESTION_WEIGHT * is_question,
        "long": -LONG_WEIGHT * (words > WORDS_LONG),
    }
    return tuple((name, round(weight, 3)) for name, weight in weights.items() if weight)


def total(entry: Features) -> float:
    """How much an entry matters, without how recent it is."""
    return round(sum(weight for _, weight in parts(entry)), 3)


def is_unclear(text: str) -> bool:
    """Whether a sentence says little alone: it goes on with another one, or hesitates.

    Example:
        >>> is_unclear("And that broke it."), is_unclear("The disk was full.")
        (True, False)
        >>> is_unclear("We take uh the disk.")
        True
    """
    return bool(_GOES_ON.match(text) or _HESITATES.search(text) or _FRAGMENT.search(text))


def recency(place: int, total: int) -> float:
    """What is added to the entry at this place, from 0, of total entries in time order.

    Example:
        >>> recency(9, 10), recency(0, 10)
        (0.4, 0.0)
    """
    return round(RECENT_WEIGHT * place / max(1, total - 1), 3)
