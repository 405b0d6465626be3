"""Scores the candidates of several files together, and divides the budget among the files.

The frequencies of words are counted, and scores are standardized, over all candidates as if they
were in one file: a score by itself says only how far a passage stands out in its own file, and the
best of a file that has nothing to say would look as good as any. The budget is divided as the
messages of a joint packing are.

Tested in tests/several/test_searching.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING

from treemem.errors import Notice
from treemem.search import engine, packing, scoring
from treemem.search.candidates import Collected, Gathered
from treemem.search.engine import Judged, Search
from treemem.search.packing import Packed, Place
from treemem.search.scoring import Candidate, Scored
from treemem.store import vectors

if TYPE_CHECKING:
    from treemem.models.rerankers import Rerank

# Sources of different files have different numbers when they are this far apart.
_FILE_STEP = 1 << 40
# A file with a smaller share of the budget than this many tokens gives nothing.
SHARE_MIN = 30
OTHER_VECTORS = Notice(
    "Searched by words only: the files have vectors of different embedders, which cannot be "
    "compared."
)


def without_mixed_vectors(searches: Sequence[Search]) -> bool:
    """Lets the searches go by words only if their vectors are of different embedders; returns
    whether they are."""
    names = {
        vectors.name_of(one.database, vector.embedder_seq)
        for one in searches
        if (vector := one.prepared.target.vector) is not None
    }
    if len(names) < 2:
        return False
    for one in searches:
        target = replace(one.prepared.target, vector=None)
        one.prepared = replace(one.prepared, target=target)
    return True


def judged(
    searches: Sequence[Search], gathered: Sequence[Gathered], rerank: Rerank | None
) -> tuple[list[Judged], list[str]]:
    """The candidates of each file with the scores that they have among all, and a note if the
    reranker failed."""
    among = reduce(add, (one.frequencies for one in gathered))
    collected = [one.compared(among) for one in gathered]
    candidates = _joined(collected)
    prepared = searches[0].prepared
    weights = engine.weights_for(prepared, candidates)
    scored = scoring.score(candidates, weights, sum(one.total for one in collected))
    parts = _split(scored, collected)
    allowed = [engine.allowed_of(search.prepared, part)
               for search, part in zip(searches, parts, strict=True)]  # fmt: skip

    def text_of(chosen: Sequence[Candidate]) -> list[str]:
        texts: list[str] = []
        for one in chosen:
            number, source = divmod(one.source_seq, _FILE_STEP)
            texts += searches[number].text_of([one._replace(source_seq=source)])
        return texts

    scored, notes = engine.reranked(
        prepared, rerank, scored, list(chain.from_iterable(allowed)), weights, text_of
    )
    return [
        Judged(part, may, weights, one.companions)
        for part, may, one in zip(_split(scored, collected), allowed, collected, strict=True)
    ], notes


def shares(judgements: Sequence[Judged], budget: int, *, is_narrow: bool) -> list[float]:
    """The tokens of a budget for each file: as many as its messages have in a joint packing, in
    proportion. Too small a share goes to the others."""
    counts = [len(one.scored.candidates) for one in judgements]
    if not any(counts):
        return [0.0] * len(judgements)
    weights = judgements[0].weights
    scored = _all(judgements)
    utilities = [
        utility if may else -math.inf
        for utility, may in zip(
            packing.utilities(scored, weights),
            chain.from_iterable(one.allowed for one in judgements), strict=True,
        )
    ]  # fmt: skip
    ranking = packing.rank(scored, utilities, weights, _companions(judgements), is_narrow=is_narrow)
    packed = packing.pack(ranking, Packed(float(budget)))
    taken = [0.0] * len(judgements)
    headed: set[int] = set()
    for index in packed.chosen:
        one = scored.candidates[index]
        taken[one.source_seq // _FILE_STEP] += packed.limits.get(index, one.tokens)
        if one.source_seq not in headed:
            headed.add(one.source_seq)
            taken[one.source_seq // _FILE_STEP] += packing.HEADER_TOKENS
    least = min(SHARE_MIN, max(taken))
    taken = [tokens if tokens >= least else 0.0 for tokens in taken]
    whole = sum(taken)
    return [budget * tokens / whole if whole else 0.0 for tokens in taken]


def _all(judgements: Sequence[Judged]) -> Scored:
    """The candidates of all files with their scores."""
    parts: dict[str, list[float]] = {}
    for one in judgements:
        for name, values in one.scored.parts.items():
            parts.setdefault(name, []).extend(values)
    candidates = _shifted([one.scored.candidates for one in judgements])
    return Scored(candidates, parts, [score for one in judgements for score in one.scored.scores])


def _joined(collected: Sequence[Collected]) -> list[Candidate]:
    return _shifted([one.candidates for one in collected])


def _shifted(candidates: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """All candidates, with numbers of sources that tell the files apart."""
    return [
        one._replace(source_seq=one.source_seq + number * _FILE_STEP)
        for number, of_file in enumerate(candidates)
        for one in of_file
    ]


def _companions(judgements: Sequence[Judged]) -> Mapping[Place, Sequence[Place]]:
    def there(place: Place, number: int) -> Place:
        return place[0] + number * _FILE_STEP, place[1]

    return {
        there(place, number): [there(other, number) for other in others]
        for number, one in enumerate(judgements)
        for place, others in one.companions.items()
    }


def _split(scored: Scored, collected: Sequence[Collected]) -> list[Scored]:
    """The scores of each file's own candidates."""
    ends = list(accumulate(len(one.candidates) for one in collected))
    starts = [0, *ends[:-1]]
    return [
        Scored(
            one.candidates,
            {name: values[start:end] for name, values in scored.parts.items()},
            scored.scores[start:end],
        )
        for one, start, end in zip(collected, starts, ends, strict=True)
    ]
