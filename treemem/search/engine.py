"""Searches a memory: prepares the query, collects candidates, scores, selects, renders.

Each step is a function of frozen values. The result names what was not available. Text from logs
is returned unchanged; callers that print it must make it safe for a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING

from treemem.digest import reading, scopes
from treemem.ledger import rulebook
from treemem.ledger.rulebook import Book
from treemem.search import intent, packing, scoring, selection, standing, statements, subjects
from treemem.search.candidates import Gathered, gather
from treemem.search.context import Clock, ContextRenderer, MessageCache, Selection
from treemem.search.packing import Place
from treemem.search.query import Prepared, Query, SearchOrder, prepare, without_pruned_vectors
from treemem.search.scoring import Candidate, Scored
from treemem.search.selection import Material
from treemem.search.standing import RankedRule
from treemem.search.statements import RankedStatement
from treemem.search.subjects import Found
from treemem.search.weights import CROWD_OF_LIST, Weights, fitting
from treemem.store.database import Database
from treemem.text import bm25
from treemem.types import STATEMENT_KINDS, SearchResult

if TYPE_CHECKING:
    from treemem.models.rerankers import Rerank
    from treemem.search.query import Embed

# The number of best messages whose statements are read.
STATED_MESSAGES_MAX = 200
# They are read in steps of so many messages, until there are enough statements to choose among.
STATED_STEP = 40
STATED_MAX = 600
# The number of best candidates that a reranker rates.
RERANKED_MAX = 60
# The number of best candidates that say what a query is about.
SUBJECT_MAX = 3
# The share for titles of sources of what a budget has above this many tokens.
TITLES_SHARE = 0.06
TITLES_BUDGET_MIN = 300


def search(database: Database, query: Query, embedder: str | None, embed: Embed) -> SearchResult:
    """The passages that answer a query, in its order.

    embedder: the setting of that name, None if unset. embed: if it raises ModelError, only words
    are compared. Raises UsageError, and NotFoundError for the scope.
    """
    return Search(database, query, embedder, embed).result()


@dataclass(frozen=True, slots=True)
class Judged:
    """The candidates of one file with their scores, and which of them may be returned."""

    scored: Scored
    allowed: Sequence[bool]
    weights: Weights
    companions: Mapping[Place, Sequence[Place]]


class Search:
    """One search of one file, in steps, so that several files can be scored together. The steps
    after the first are called in order, in one read transaction.

    Raises UsageError, and NotFoundError for the scope.
    """

    def __init__(
        self, database: Database, query: Query, embedder: str | None, embed: Embed
    ) -> None:
        self.database = database
        with database.reading():
            query = replace(query, scope=scopes.resolved(database, query.scope))
        self.prepared = prepare(database, query, embedder, embed)
        self._cache = MessageCache(database, mark_inactive=bool(query.include))

    def result(self) -> SearchResult:
        """All steps, for this file alone."""
        with self.database.reading():
            collected = self.gather().compared()
            weights = weights_for(self.prepared, collected.candidates)
            scored = scoring.score(collected.candidates, weights, collected.total)
            allowed = allowed_of(self.prepared, scored)
            scored, failure = reranked(
                self.prepared, self.prepared.query.rerank, scored, allowed, weights, self.text_of
            )
            return self.answer(Judged(scored, allowed, weights, collected.companions), failure)

    def gather(self) -> Gathered:
        """Reads what may be a candidate."""
        self.prepared = without_pruned_vectors(self.database, self.prepared)
        target = self.prepared.target
        self._rules = rulebook.read(self.database)
        kinds = intent.STATEMENTS_FIRST.get(self.prepared.kind, STATEMENT_KINDS)
        self._roots = (
            statements.of_scope(self.database, target.scope, self._rules.over, kinds)
            if target.is_broad else []
        )  # fmt: skip
        cited = {seq for statement in self._roots for seq in statement.message_seqs}
        return gather(self.database, target, cited)

    def text_of(self, candidates: Sequence[Candidate]) -> list[str]:
        """The words of candidates."""
        messages = self._cache.read(part.message_seq for part in candidates)
        return [messages[part.message_seq].text[part.start : part.end] for part in candidates]

    def subject(self, candidates: Sequence[Candidate]) -> Found:
        """Whether there is anything about what the query names."""
        return subjects.found(self.database, subjects.named(self.prepared), candidates)

    def answer(
        self, judged: Judged, notes: Sequence[str] = (), *, budget_tokens: int | None = None,
        order: SearchOrder | None = None,
    ) -> SearchResult:  # fmt: skip
        """The result. notes: further ones. budget_tokens, order: in place of the query's."""
        prepared, database, scored = self.prepared, self.database, judged.scored
        budget = prepared.query.budget_tokens if budget_tokens is None else budget_tokens
        prepared = replace(prepared, query=replace(prepared.query, budget_tokens=budget))
        query = prepared.query
        is_about = self.subject(scored.candidates)
        notes = [*prepared.notes, *_not_in_time(prepared, scored.candidates), *notes]
        if is_about == "none":
            notes.append(subjects.note(subjects.named(prepared)))
        renderer = ContextRenderer(
            database, scored, prepared.kind, self._cache,
            bm25.query_stems(prepared.target.words), self._rules.over,
            Clock(query.now.tzinfo, is_shown=prepared.is_about_time),
            order or order_of(query.order, prepared, is_about),
        )  # fmt: skip
        if not prepared.has_words:
            return renderer.result(Selection(), 0, notes)
        has_titles = query.scope.kind in ("everything", "topic", "filter")
        if has_titles and reading.have_subjects(database):
            room = budget - _titles_room(budget)
            prepared = replace(prepared, query=replace(query, budget_tokens=room))
        material = _material(database, prepared, judged, self._roots, self._rules, self._cache)
        notes += _none_found(material, notes)
        chosen, tokens = selection.select(material, renderer, self._cache)
        return renderer.result(chosen, tokens, notes, budget=budget if has_titles else 0)


def order_of(order: SearchOrder, prepared: Prepared, is_about: Found) -> SearchOrder:
    """The order of passages: if it is left open, the best first, unless the question is broad and
    names no subject."""
    if order != "auto":
        return order
    return "score" if prepared.kind == "narrow" or is_about == "some" else "time"


def _none_found(material: Material, notes: Sequence[str]) -> list[str]:
    """A note if a question asks for decisions, open points or rules and there is none."""
    note = intent.NONE_FOUND.get(material.kind)
    has_rules = material.kind == "rules" and bool(material.standing)
    if note is None or material.first or has_rules:
        return []
    return [] if any(one.startswith("Nothing ") for one in notes) else [note]


def _titles_room(budget_tokens: int) -> int:
    """The tokens of a budget that are kept for titles of sources. Subtle: what is left grows with
    the budget everywhere, so that no larger budget gives less."""
    return int(TITLES_SHARE * max(0, budget_tokens - TITLES_BUDGET_MIN))


def _is_assisted(candidates: Sequence[Candidate]) -> bool:
    """Whether both people and an assistant speak."""
    return {"user", "assistant"} <= {candidate.role for candidate in candidates}


def weights_for(prepared: Prepared, candidates: Sequence[Candidate]) -> Weights:
    """The weights for these candidates and this kind of question. Raises UsageError."""
    fitted = fitting(scoring.fragments(candidates), assisted=_is_assisted(candidates))
    weights = fitted.of_kind(prepared.kind)
    if prepared.kind == "narrow" and intent.asks_for_list(prepared.query.text):
        weights = replace(weights, crowd=CROWD_OF_LIST)
    return weights.changed(prepared.query.tuning)


def _not_in_time(prepared: Prepared, candidates: Sequence[Candidate]) -> list[str]:
    """A note if a broad question is about a time in the past of which there is nothing."""
    target = prepared.target
    if target.hint is None or target.days is None or not target.is_broad or any(
        one.in_time or one.event >= scoring.EVENT_SHARE_MIN for one in candidates
    ):  # fmt: skip
        return []
    first, last = target.days
    when = f"of {first}" if first == last else " ".join([
        *([f"from {first}"] if first else []), *([f"until {last}"] if last else []),
    ])  # fmt: skip
    return [f"Nothing {when} was found."]


def allowed_of(prepared: Prepared, scored: Scored) -> list[bool]:
    """Which candidates may be returned: for an expression, those that match it; for a broad
    question about a time, all from that time; for any other broad question, all; for a narrow one,
    those related to the query. Of all of them, none that is hidden or private."""
    allowed = _answering(prepared, scored)
    hidden = prepared.query.hidden | prepared.query.private.message_seqs
    if not hidden:
        return allowed
    return [
        may and candidate.message_seq not in hidden
        for may, candidate in zip(allowed, scored.candidates, strict=True)
    ]


def _answering(prepared: Prepared, scored: Scored) -> list[bool]:
    """The candidates that may answer a query, whether they are hidden or not."""
    candidates = scored.candidates
    if prepared.query.is_fts:
        return [candidate.bm25 > 0 for candidate in candidates]
    if not prepared.target.is_broad:
        return scoring.related(scored)
    in_time = [
        prepared.target.hint is not None
        and (candidate.in_time or candidate.event >= scoring.EVENT_SHARE_MIN)
        for candidate in candidates
    ]
    return in_time if any(in_time) else [True] * len(in_time)


def reranked(
    prepared: Prepared,
    rerank: Rerank | None,
    scored: Scored,
    allowed: Sequence[bool],
    weights: Weights,
    text_of: Callable[[Sequence[Candidate]], list[str]],
) -> tuple[Scored, list[str]]:
    """Adds a reranker's ratings to the scores; returns a note if it failed.

    Only the best candidates are rated; the others get the lowest of these ratings.
    """
    indexes = compress(range(len(allowed)), allowed)
    best = sorted(indexes, key=lambda index: -scored.scores[index])[:RERANKED_MAX]
    if rerank is None or not best:
        return scored, []
    texts = text_of([scored.candidates[index] for index in best])
    try:
        ratings = [float(rating) for rating in rerank(prepared.query.text, texts)]
        if len(ratings) != len(texts):
            raise ValueError(f"{len(ratings)} scores for {len(texts)} texts")
    except Exception as error:
        return scored, [f"The reranker failed, so it was not used: {error}"]
    rating_of = dict(zip(best, scoring.standard(ratings, len(ratings)), strict=True))
    worst = min(rating_of.values())
    every = range(len(scored.candidates))
    values = [weights.rerank * rating_of.get(index, worst) for index in every]
    return scored.with_part("rerank", values), []


def _material(
    database: Database,
    prepared: Prepared,
    judged: Judged,
    roots: Sequence[RankedStatement],
    rules: Book,
    cache: MessageCache,
) -> Material:
    """Everything that may be selected, each kind in order of preference."""
    scored, weights, allowed = judged.scored, judged.weights, judged.allowed
    utilities = [
        utility if is_allowed else -math.inf
        for utility, is_allowed in zip(packing.utilities(scored, weights), allowed, strict=True)
    ]
    worth = _worth_of_messages(scored, allowed)
    needs_more = selection.stated_share(prepared.query, weights)

    def left(found: Sequence[RankedStatement]) -> list[RankedStatement]:
        speakers = prepared.query.scope.speakers
        private = prepared.query.private.citing(database, [statement.seq for statement in found])
        return [
            statement for statement in found
            if statement.origin not in prepared.query.exclude
            and statement.seq not in private
            and (speakers is None or statement.speaker in speakers)
        ]  # fmt: skip

    ranking = packing.rank(
        scored, utilities, weights, judged.companions, is_narrow=prepared.kind == "narrow"
    )
    best = [scored.candidates[index] for index in ranking.order[:SUBJECT_MAX]]
    return Material(
        prepared.query,
        prepared.kind,
        weights,
        ranking,
        standing=_standing(database, prepared.query, weights, rules, best, cache),
        first=left(_first(database, prepared, worth, roots, rules)),
        beside=left(_beside(database, worth, rules)) if needs_more else [],
    )


def _worth_of_messages(scored: Scored, allowed: Sequence[bool]) -> dict[int, float]:
    """The standard score of the best candidate of each message, among those that may be
    returned."""
    standard = scoring.standard(scored.scores, len(scored.scores))
    worth: dict[int, float] = {}
    for candidate, score in compress(zip(scored.candidates, standard, strict=True), allowed):
        if score > worth.get(candidate.message_seq, -math.inf):
            worth[candidate.message_seq] = score
    return worth


def _standing(
    database: Database,
    query: Query,
    weights: Weights,
    rules: Book,
    best: Sequence[Candidate],
    cache: MessageCache,
) -> list[RankedRule]:
    """The standing instructions that may head the context, in order of preference; none for an
    expression, which asks for its matches alone. best: the best candidates."""
    if not weights.standing or query.is_fts:
        return []
    homes = standing.homes_of(database, query.scope, query.project)
    messages = cache.read(part.message_seq for part in best)
    beside = {
        messages[part.message_seq].id or "": standing.about(
            messages[part.message_seq].text[part.start : part.end]
        )
        for part in best
    }
    return [
        rule for rule in standing.choose(rules, homes, query.text, beside)
        if query.private.message_ids.isdisjoint(rule.standing.message_ids)
    ]  # fmt: skip


def _first(
    database: Database,
    prepared: Prepared,
    worth: Mapping[int, float],
    roots: Sequence[RankedStatement],
    rules: Book,
) -> list[RankedStatement]:
    """The statements that the question asks for: decisions, open points or rules. If it asks for a
    summary, those of the roots, limited to its subject if it names one."""
    kinds = intent.STATEMENTS_FIRST.get(prepared.kind, ())
    if prepared.kind != "about":
        return statements.of_messages(database, worth, kinds, rules.over) if kinds else []
    subject = prepared.subject
    first = []
    for statement in roots:
        cited = tuple(seq for seq in statement.message_seqs if seq in worth)
        is_about = statement.kind == "gist" and not subject.isdisjoint(statement.stems)
        if cited and (is_about if subject else statement.kind in kinds):
            first.append(replace(statement, message_seqs=cited))
    return sorted(first, key=lambda statement: kinds.index(statement.kind))


def _beside(database: Database, worth: Mapping[int, float], rules: Book) -> list[RankedStatement]:
    """The statements that cite the best messages, the best ones first."""
    best = sorted(worth, key=lambda seq: (-worth[seq], seq))[:STATED_MESSAGES_MAX]
    citing: dict[int, RankedStatement] = {}
    for start in range(0, len(best), STATED_STEP):
        step = {seq: worth[seq] for seq in best[start : start + STATED_STEP]}
        for statement in statements.of_messages(database, step, over=rules.over):
            known = citing.get(statement.seq)  # it may cite messages of several steps
            citing[statement.seq] = statement if known is None else replace(
                known, message_seqs=(*known.message_seqs, *statement.message_seqs)
            )  # fmt: skip
        if len(citing) >= STATED_MAX:
            break
    return sorted(citing.values(), key=statements.rank)
