"""Selects the statements and candidates of a context that fits a budget of tokens.

Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from treemem.search import packing, statements
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
# Tokens of standing instructions for which twice their share may be used.
STANDING_TOKENS_MIN = 60
# Attempts to fill the budget, and further ones that halve the room each time if nothing fitted.
TRIES = 5
HALVINGS = 6
# A context that uses this share of the budget counts as full.
FULL = 0.97


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
    best, best_tokens = Selection(), 0
    for attempt in range(TRIES + HALVINGS):
        selection = _attempt(material, ranking, room, cache)
        while repeated := _repeated(ranking, selection, cache):
            ranking = _without(ranking, repeated, material.weights)
            selection = _attempt(material, ranking, room, cache)
        tokens = count_by_lines(renderer.text(selection))
        if best_tokens < tokens <= budget:
            best, best_tokens = selection, tokens
        if FULL * budget <= tokens <= budget or not tokens:
            break
        room = max(1.0, room + (1 + FULL) / 2 * budget - tokens)
        if attempt >= TRIES - 1:
            if best_tokens:
                break
            room = budget / 2 ** (attempt + 2 - TRIES)  # the estimate is too low, as for long names
    return best, best_tokens


def _attempt(material: Material, ranking: Ranking, room: float, cache: MessageCache) -> Selection:
    """Selects statements and candidates of at most room estimated tokens."""
    mode = material.query.mode
    standing = statements.in_order(material.standing, _standing_room(material))
    left = room - _tokens(standing)
    first_budget = (1.0 if mode == "summary" else FIRST_SHARE) * left
    if material.kind == "about":
        first = statements.in_order(material.first, first_budget)
    else:
        first = statements.choose(material.first, first_budget, ())
    left -= _tokens(first)
    share = stated_share(material.query, material.weights)
    packed = packing.pack(ranking, Packed(left), keep=share * left)
    beside: list[RankedStatement] = []
    if share:
        beside = _beside(material, packed, standing, first, cache)
        packed.left -= _tokens(beside)
    if mode != "summary":
        packed = packing.pack(ranking, packed)
    if not (packed.chosen or first or beside):
        # Rules of other projects alone would look like an answer.
        standing = [rule for rule in standing if not rule.is_foreign]
    return Selection(standing, [*first, *beside], sorted(packed.chosen))


def _standing_room(material: Material) -> float:
    """The tokens for standing instructions: their share of the budget, but in a small budget
    enough for two or three. Independent of the room, so that all attempts have the same ones."""
    budget, share = material.query.budget_tokens, material.weights.standing
    return max(share * budget, min(STANDING_TOKENS_MIN, 2 * share * budget))


def _beside(
    material: Material,
    packed: Packed,
    standing: Sequence[RankedRule],
    others: Sequence[RankedStatement],
    cache: MessageCache,
) -> list[RankedStatement]:
    """Further statements that add to the packed candidates and to the other statements."""
    parts = [material.ranking.scored.candidates[index] for index in packed.chosen]
    whole = {part.message_seq for part in parts if part.is_whole}
    taken = {statement.seq for statement in others}
    left = (
        statement
        for statement in material.beside
        if statement.seq not in taken and not whole.issuperset(statement.message_seqs)
    )
    candidates = list(islice(left, statements.CANDIDATES_MAX))
    known = {stem for rule in standing for stem in rule.stems}
    known.update(stem for statement in others for stem in statement.stems)
    messages = cache.read(part.message_seq for part in parts)
    for part in parts:
        known.update(bm25.stem_counts(messages[part.message_seq].text[part.start : part.end])[0])
    return statements.choose(candidates, packed.left, known)


def _repeated(ranking: Ranking, selection: Selection, cache: MessageCache) -> set[int]:
    """The selected candidates that repeat another word for word, such as those of a forked
    session."""
    candidates = ranking.scored.candidates
    messages = cache.read(candidates[index].message_seq for index in selection.indexes)
    first: dict[tuple[str, str], int] = {}
    repeated = set()
    for index in selection.indexes:
        part = candidates[index]
        message = messages[part.message_seq]
        words = (message.speaker, message.text[part.start : part.end])
        is_long = part.tokens > REPEATED_TOKENS_MIN
        if is_long and first.setdefault(words, part.message_seq) != part.message_seq:
            repeated.add(index)
    # Subtle: a candidate that was excluded before can return as a companion; excluding it again
    # would change nothing.
    return {index for index in repeated if ranking.utilities[index] > -math.inf}


def _without(ranking: Ranking, excluded: set[int], weights: Weights) -> Ranking:
    """The ranking with these candidates excluded: they can only be packed as companions."""
    utilities = [
        -math.inf if index in excluded else utility
        for index, utility in enumerate(ranking.utilities)
    ]
    return packing.rank(ranking.scored, utilities, weights, ranking.companions)


def _tokens(lines: Sequence[RankedStatement | RankedRule]) -> float:
    return sum(statement.cost_tokens for statement in lines)
