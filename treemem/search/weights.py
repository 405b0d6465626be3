"""Lists the weights of a search, and chooses those for a scope and a question.

Most were tuned on half of the conversations of public data sets and checked on the other half;
benchmarks/README.md names those that were not. Scores are sums of standard scores: 1 is one
standard deviation above the mean of the scope. Distances are in tokens.
Tested in tests/search/test_scoring.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from treemem.errors import UsageError
from treemem.search.intent import QuestionKind


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the parts of a score, and of the budget.

    words, meaning: the BM25 of the text, and the cosine of its vector; words_alone: the BM25 if
    there are no vectors. phrase: the text contains the query as it was asked. speaker: the
    query names the speaker. own: all three, for the message itself. near, around: the mean of
    the own scores, fading over near_tokens or around_tokens; best: the best of them, fading
    over best_tokens. person: a person speaks, if an assistant takes part. in_time: it was sent
    in the time that the query mentions; event: otherwise, its words mean days of that time.
    rerank: the rating of a reranker. again: subtracted for each better part of the same message.
    cost: subtracted for each e-fold of tokens. crowd: subtracted for each e-fold of better
    candidates of the same stretch of a source. fill: the largest gap that is filled, in tokens.
    stated: the share of the budget for statements of summaries. standing: the largest share for
    standing instructions.
    """

    words: float = 0.6
    words_alone: float = 1.0
    phrase: float = 80.0
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
    event: float = 4.0
    rerank: float = 4.0
    again: float = 1.0
    cost: float = 0.0
    cost_tokens: float = 20.0
    crowd: float = 0.0
    fill: float = 20.0
    stated: float = 0.0
    standing: float = 0.1

    def blended(self, other: Weights, share: float) -> Weights:
        """A mixture of two sets of weights: share 0 is this one, 1 the other."""
        return Weights(**{
            name: (1 - share) * getattr(self, name) + share * getattr(other, name)
            for name in (weight.name for weight in fields(self))
        })  # fmt: skip

    def of_kind(self, kind: QuestionKind) -> Weights:
        """The weights for a question of this kind."""
        return replace(self, **KINDS.get(kind, {}))

    def changed(self, changes: Mapping[str, float]) -> Weights:
        """The weights with some replaced. Raises UsageError for an unknown name."""
        known = {weight.name for weight in fields(self)}
        for name in changes:
            if name not in known:
                raise UsageError(
                    f"There is no weight {name!r}; there are {', '.join(sorted(known))}."
                )
        return replace(self, **changes)


# Changes for broad questions: many messages, those of people first, one part of each.
KINDS: dict[QuestionKind, dict[str, float]] = {
    "order": {"near": 0.0, "best": 0.0, "person": 6.0, "again": 5.0},
    "about": {"person": 6.0, "again": 9.0, "cost": 3.0},
}
# For scopes where a message is meaningful by itself: chats, and sessions with an assistant.
TALK = Weights()
# For scopes where people speak in fragments: the subject of a stretch counts more than a message.
MEETING = Weights(
    own=0.3, near=1.0, near_tokens=200, around=3.0, around_tokens=500, best=0.3,
    cost=3.0, fill=50, stated=0.26,
)  # fmt: skip
# Changes where an assistant takes part: its answers are long, so messages of people say more for
# their tokens, and what is next to a match is often about something else.
ASSISTED: dict[str, float] = {"person": 6.0, "near": 1.0, "cost": 1.0}
# For a question for several things.
CROWD_OF_LIST = 2.0
# A message of at most this many tokens, with the speaker, is not meaningful by itself.
WORTHLESS_TOKENS = 9
# A scope is treated partly as a meeting above the first share of such messages, and wholly above
# the second.
FRAGMENTS_NONE, FRAGMENTS_ALL = 0.1, 0.35


def fitting(fragments: float, *, assisted: bool = False) -> Weights:
    """The weights for a scope. fragments: the share of messages too short to be meaningful by
    themselves. assisted: people and an assistant speak."""
    share = (fragments - FRAGMENTS_NONE) / (FRAGMENTS_ALL - FRAGMENTS_NONE)
    talk = replace(TALK, **ASSISTED) if assisted else TALK
    return talk.blended(MEETING, min(1.0, max(0.0, share)))
