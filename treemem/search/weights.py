"""The numbers that decide what a search returns, in one place.

Tuned on half of the conversations of public data sets and checked on the other half, see
benchmarks/recall.py. Scores are sums of standard scores: 1 is one standard deviation over
what stands in the scope. Distances are in tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from treemem.errors import UsageError
from treemem.search.intent import QuestionKind


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each thing counts.

    words, meaning: BM25 of the text, and the cosine of its vector; words_alone: where there
    are no vectors. speaker: it is by someone whom the query names. own: of all three for
    the message itself. near, around, best: the mean of the own scores close by, of those
    farther about, and the best one close by. person: what a person said beside an
    assistant's words. rerank: what a reranker says, where one is
    given. in_time: it was said when the query says. again: taken off for each other part of
    a message that is taken. cost: taken off for each e-fold of tokens. fill: gaps of so
    many tokens between chosen messages are filled. stated: the share of the budget for
    single sentences of the summaries. standing: the most that instructions and preferences
    may take of it.
    """

    words: float = 0.6
    words_alone: float = 1.0
    meaning: float = 1.0
    speaker: float = 0.5
    own: float = 1.0
    near: float = 2.0
    near_tokens: float = 100.0
    around: float = 0.0
    around_tokens: float = 400.0
    best: float = 1.0
    best_tokens: float = 150.0
    person: float = 3.0
    in_time: float = 4.0
    rerank: float = 4.0
    again: float = 1.0
    cost: float = 0.0
    cost_tokens: float = 20.0
    fill: float = 20.0
    stated: float = 0.0
    standing: float = 0.15

    def blended(self, other: Weights, share: float) -> Weights:
        """A mixture: share 0 is these weights, 1 the others."""
        mixed = {
            each.name: (1 - share) * getattr(self, each.name) + share * getattr(other, each.name)
            for each in fields(self)
        }
        return Weights(**mixed)

    def of_kind(self, kind: QuestionKind) -> Weights:
        """As a question of this kind wants them."""
        return replace(self, **KINDS.get(kind, {}))

    def changed(self, changes: Mapping[str, float]) -> Weights:
        """With some weights replaced. Raises UsageError for a name that is none."""
        known = {each.name for each in fields(self)}
        for name in changes:
            if name not in known:
                raise UsageError(
                    f"There is no weight {name!r}; there are {', '.join(sorted(known))}."
                )
        return replace(self, **changes)


# What differs for broad questions: many messages, those of people first, each once.
KINDS: dict[QuestionKind, dict[str, float]] = {
    "order": {"near": 0.0, "best": 0.0, "person": 6.0, "again": 5.0},
    "about": {"person": 6.0, "again": 9.0, "cost": 3.0},
}
# Where a message says something by itself: chats, and sessions with an assistant.
TALK = Weights()
# Where people speak in fragments: what a stretch is about counts more than a message.
MEETING = Weights(
    own=0.3, near=1.0, near_tokens=200, around=3.0, around_tokens=500, best=0.3,
    cost=3.0, fill=50, stated=0.26,
)  # fmt: skip
# What differs where an assistant takes part: its answers are long, so what a person said, and
# single sentences of the rest, tell more for their tokens.
ASSISTED: dict[str, float] = {"person": 4.0, "stated": 0.07}
# A message of so few, its speaker included, says nothing by itself.
WORTHLESS_TOKENS = 9
# The share of such messages at which talk begins to be a meeting, and is one.
FRAGMENTS_NONE, FRAGMENTS_ALL = 0.1, 0.35


def fitting(fragments: float, *, assisted: bool = False) -> Weights:
    """The weights for a scope where so large a share of the messages are fragments. assisted:
    people and an assistant speak there."""
    share = (fragments - FRAGMENTS_NONE) / (FRAGMENTS_ALL - FRAGMENTS_NONE)
    talk = replace(TALK, **ASSISTED) if assisted else TALK
    return talk.blended(MEETING, min(1.0, max(0.0, share)))
