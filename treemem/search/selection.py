"""Selects the statements and candidates of a context that fits a budget of tokens.

Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from treemem.search import packing, standing, statements
from treemem.search.context import ContextRenderer, MessageCache, Selection
from treemem.search.intent import QuestionKind
from treemem.search.packing import Packed, Ranking
from treemem.search.query import Query
from treemem.search.standing import RankedRule
from treemem.search.statements import RankedStatement
from treemem.search.weights import Weights
from treemem.text import bm25
from treemem.text.tokens import count_by_lines

# The share of the budget for the kind of statement that a question asks for.
FIRST_SHARE = 0.6
# Equal texts of at most this many tokens, such as "Yes, please", do not count as a repetition.
REPEATED_TOKENS_MIN = 16
# Words of a run, and the share of its runs that a text which repeats others has from them.
RUN_WORDS = 8
REPEATED_SHARE = 0.7
# Tokens of standing instructions for which twice their share may be used.
STANDING_TOKENS_MIN = 60
# Attempts to fill the budget with whole candidates, and further ones that halve the room each time
# if nothing fitted.
TRIES = 5
HALVINGS = 6
# The fewest tokens of a budget that are filled with a part of a candidate, and the most such parts.
FILLED_MIN = 4
FILLINGS = 8
# In the mode "summary", the number of statements of which one must fit.
LEAST_TRIED = 50
# A context that uses this share of the budget counts as full.
FULL = 0.97
# Tokens of the room that statements leave to the best message.
BEST_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that the context of a query may contain.

    ranking: of the candidates. standing, first: statements selected before all else, in order of
    preference. beside: further statements, the best first.
    """

    query: Query
    kind: QuestionKind
    weights: Weights
    ranking: Ranking
    standing: Sequence[RankedRule]
    first: Sequence[RankedStatement]
    beside: Sequence[RankedStatement]


def stated_share(query: Query, weights: Weights) -> float:
    """The share of the budget left by the standing and first statements that goes to others."""
    return {"verbatim": 0.0, "summary": 1.0}.get(query.mode, weights.stated)


def select(
    material: Material, renderer: ContextRenderer, cache: MessageCache
) -> tuple[Selection, int]:
    """The selection that fills the query's budget best, and the tokens of its text.

    The tokens of headers and marks are estimates, so each selection is rendered and counted, and
    the next attempt corrects the room.
    """
    ranking = material.ranking
    budget = float(material.query.budget_tokens)
    room = budget
    head = standing.fitting(material.standing, _standing_room(material))
    best, best_tokens = _NOTHING, 0
    for number in range(TRIES + HALVINGS):
        attempt = _attempt(material, head, ranking, room, cache)
        while repeated := _repeated(ranking, attempt.selection, cache):
            ranking = _without(material, ranking, repeated)
            attempt = _attempt(material, head, ranking, room, cache)
        tokens = count_by_lines(renderer.text(attempt.selection))
        if best_tokens < tokens <= budget:
            best, best_tokens = attempt, tokens
        if FULL * budget <= tokens <= budget or not tokens:
            break
        room = max(1.0, room + (1 + FULL) / 2 * budget - tokens)
        if number >= TRIES - 1:
            if best_tokens:
                break
            room = budget / 2 ** (number + 2 - TRIES)  # the estimate is too low, as for long names
    if not best_tokens:
        best, best_tokens = _least(material, ranking, int(budget), renderer)
    if material.query.mode != "summary":
        best, best_tokens = _filled(ranking, best, best_tokens, budget, renderer)
    return best.selection, best_tokens


def _least(
    material: Material, ranking: Ranking, budget: int, renderer: ContextRenderer
) -> tuple[_Attempt, int]:
    """The best candidate alone, cut until it fits the budget, and the tokens of its text. In the
    mode "summary", the first statement that fits."""
    if material.query.mode == "summary":
        for statement in islice((*material.first, *material.beside), LEAST_TRIED):
            selection = Selection(statements=[statement])
            if (tokens := count_by_lines(renderer.text(selection))) <= budget:
                return _Attempt(selection, Packed(0.0)), tokens
        return _NOTHING, 0
    for index in ranking.order[:1]:
        limit = budget
        while limit:
            packed = Packed(0.0, {index}, limits={index: limit})
            selection = Selection(indexes=[index], limits=packed.limits)
            if (tokens := count_by_lines(renderer.text(selection))) <= budget:
                return _Attempt(selection, packed), tokens
            limit = limit * 3 // 4
    return _NOTHING, 0


def _filled(
    ranking: Ranking, attempt: _Attempt, tokens: int, budget: float, renderer: ContextRenderer
) -> tuple[_Attempt, int]:
    """An attempt with the rest of the budget filled, and its tokens."""
    share = 1.0
    for _ in range(FILLINGS):
        room = share * ((1 + FULL) / 2 * budget - tokens)
        packed = packing.fill(ranking, attempt.packed, room)
        if room < FILLED_MIN or (packed.chosen, packed.limits) == (
            attempt.packed.chosen, attempt.packed.limits
        ):  # fmt: skip
            break
        selection = replace(attempt.selection, indexes=sorted(packed.chosen), limits=packed.limits)
        filled_tokens = count_by_lines(renderer.text(selection))
        if tokens < filled_tokens <= budget:
            attempt, tokens = _Attempt(selection, packed), filled_tokens
        else:
            share /= 2
    return attempt, tokens


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A selection, and its candidates as packed."""

    selection: Selection
    packed: Packed


_NOTHING = _Attempt(Selection(), Packed(0.0))


def _attempt(
    material: Material,
    head: Sequence[RankedRule],
    ranking: Ranking,
    room: float,
    cache: MessageCache,
) -> _Attempt:
    """Selects statements and candidates of at most room estimated tokens. head: the standing
    instructions."""
    mode = material.query.mode
    left = room - _tokens(head)
    first_budget = left if mode == "summary" else min(FIRST_SHARE * left, left - BEST_TOKENS)
    if material.kind == "about":
        first = statements.in_order(material.first, first_budget)
    else:
        first = statements.choose(material.first, first_budget, ())
    left -= _tokens(first)
    share = stated_share(material.query, material.weights)
    packed = packing.pack(ranking, Packed(left), keep=share * left)
    beside: list[RankedStatement] = []
    if share:
        beside = _beside(material, packed, head, first, cache)
        packed.left -= _tokens(beside)
    if mode != "summary":
        packed = packing.pack(ranking, packed)
    if not (packed.chosen or first or beside):
        # Rules of other projects alone would look like an answer.
        head = [rule for rule in head if not rule.is_foreign]
    selection = Selection(head, [*first, *beside], sorted(packed.chosen), packed.limits)
    return _Attempt(selection, packed)


def _standing_room(material: Material) -> float:
    """The tokens for standing instructions: their share of the budget, but in a small budget
    enough for two or three."""
    budget, share = material.query.budget_tokens, material.weights.standing
    return max(share * budget, min(STANDING_TOKENS_MIN, 2 * share * budget))


def _beside(
    material: Material,
    packed: Packed,
    head: Sequence[RankedRule],
    others: Sequence[RankedStatement],
    cache: MessageCache,
) -> list[RankedStatement]:
    """Further statements that add to the packed candidates and to the other statements."""
    parts = [material.ranking.scored.candidates[index] for index in packed.chosen]
    whole = {
        part.message_seq
        for index, part in zip(packed.chosen, parts, strict=True)
        if part.is_whole and index not in packed.limits
    }
    taken = {statement.seq for statement in others}
    left = (
        statement
        for statement in material.beside
        if statement.seq not in taken and not whole.issuperset(statement.message_seqs)
    )
    candidates = list(islice(left, statements.CANDIDATES_MAX))
    known = {stem for rule in head for stem in rule.stems}
    known.update(stem for statement in others for stem in statement.stems)
    messages = cache.read(part.message_seq for part in parts)
    for part in parts:
        known.update(bm25.stem_counts(messages[part.message_seq].text[part.start : part.end])[0])
    return statements.choose(candidates, packed.left, known)


def _repeated(ranking: Ranking, selection: Selection, cache: MessageCache) -> set[int]:
    """The selected candidates that say nothing new, such as those of a forked session: better ones
    of the same speaker contain every word, and nearly all of what stands in a row."""
    candidates = ranking.scored.candidates
    messages = cache.read(candidates[index].message_seq for index in selection.indexes)
    # The message in which each speaker first said a word, or words in a row.
    said_in: dict[tuple[str, ...], int] = {}
    repeated = set()
    # The best copy is kept, so that the best candidate always is.
    for index in sorted(selection.indexes, key=lambda index: -ranking.scored.scores[index]):
        part = candidates[index]
        if part.tokens <= REPEATED_TOKENS_MIN:
            continue
        message, seq = messages[part.message_seq], part.message_seq
        text = message.text[part.start : part.end].split()
        words = {(message.speaker, word) for word in text}
        starts = range(max(1, len(text) - RUN_WORDS + 1))
        runs = {(message.speaker, *text[start : start + RUN_WORDS]) for start in starts}
        new_words, new_runs = (
            sum(said_in.get(said, seq) == seq for said in parts) for parts in (words, runs)
        )
        # A number that has changed is a new word.
        if not new_words and new_runs <= (1 - REPEATED_SHARE) * len(runs):
            repeated.add(index)
        else:
            for said in words | runs:
                said_in.setdefault(said, seq)
    # Subtle: a candidate that was excluded before can return as a companion; excluding it again
    # would change nothing.
    return {index for index in repeated if ranking.utilities[index] > -math.inf}


def _without(material: Material, ranking: Ranking, excluded: set[int]) -> Ranking:
    """The ranking with these candidates excluded: they can only be packed as companions."""
    utilities = [
        -math.inf if index in excluded else utility
        for index, utility in enumerate(ranking.utilities)
    ]
    is_narrow = material.kind == "narrow"
    return packing.rank(
        ranking.scored, utilities, material.weights, ranking.companions, is_narrow=is_narrow
    )


def _tokens(lines: Sequence[RankedStatement | RankedRule]) -> float:
    return sum(statement.cost_tokens for statement in lines)
