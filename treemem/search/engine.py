"""Search: route, propagate, zoom and pack, and the context as text.

It puts route.py, propagation.py, stated.py and packing.py together and names what was not
available. Text from logs is returned as it is; whoever prints it cares for the terminal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import compress, islice
from typing import TYPE_CHECKING, Literal

from treemem.errors import ModelError, UsageError
from treemem.search import candidates as route
from treemem.search import date_filter, intent, packing, scoring
from treemem.search import statements as statement_search
from treemem.search.context import Chosen, Teller
from treemem.search.history import Range, Vectors
from treemem.search.intent import QuestionKind
from treemem.search.packing import Packed, Packer
from treemem.search.statements import Stated
from treemem.search.weights import fitting
from treemem.store import vectors
from treemem.store.database import Database
from treemem.text import bm25
from treemem.text import fts as search_text
from treemem.text.tokens import count_by_lines
from treemem.types import INCLUDES, Include, Message, Scope, SearchResult

# Given a query and texts, how well each answers it, larger is better; on any scale.
Rerank = Callable[[str, Sequence[str]], Sequence[float]]

if TYPE_CHECKING:
    from treemem.store.quantization import Vector

    VectorOf = Callable[[str, str], Vector]

Mode = Literal["auto", "verbatim", "summary"]
MODES: tuple[Mode, ...] = ("auto", "verbatim", "summary")
BUDGET_MIN = 50
# Statements are looked for at so many of the best messages.
STATED_FROM = 200
# Units that a reranker sees.
RERANKED = 60
# What a standing instruction is worth that has nothing to do with the query.
NOT_REACHED = -3.0
# Of the budget, for the kind of statement that a question asks for.
STATED_FIRST_SHARE = 0.6
# What is shorter, such as "Yes, please", is often said twice and means it.
REPEATED_TOKENS_MIN = 16
TRIES = 5
# Tries with ever less room, where nothing fitted by then.
HALVINGS = 6
# A context that fills so much of its budget is full.
FULL = 0.97
_NO_EMBEDDER = (
    "Searched by words only: no embedder is in use. See: treemem model list, then "
    "treemem model use embedder NAME"
)

_PRUNED = "Searched by words only: the vectors were pruned meanwhile. Make new ones: treemem embed"
_MATCH = "SELECT 1 FROM message_fts WHERE message_fts MATCH ? LIMIT 1"


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked. now: the time that words such as "last week" are seen from, with its zone.

    changes: weights in place of the tuned ones. fts: text is an expression in FTS5's syntax.
    rerank: see Rerank. include: what else than the history is searched, see model.INCLUDES.
    """

    text: str
    scope: Scope
    now: datetime
    budget_tokens: int = 2_000
    since: str | datetime | None = None
    until: str | datetime | None = None
    mode: Mode = "auto"
    changes: Mapping[str, float] = field(default_factory=dict)
    fts: bool = False
    rerank: Rerank | None = None
    include: frozenset[Include] = frozenset()


def search(
    database: Database, query: Query, embedder: str | None, vector_of: VectorOf
) -> SearchResult:
    """The passages that answer a query, in the order of time.

    embedder: the setting of that name. vector_of: gives a text's vector under a setting; may
    raise ModelError, then words alone have to do.
    """
    _check(database, query)
    times = Range(_bound(query, "since"), _bound(query, "until"))
    missing: list[str] = []
    by = _vectors(database, query, embedder, vector_of, missing)
    with database.reading():
        if by is not None and not vectors.is_there(database, by.embedder_seq):
            missing.append(_PRUNED)
            by = None
        return _Search(database, query, times, _hint(query, times), by, missing).run()


def _check(database: Database, query: Query) -> None:
    if query.budget_tokens < BUDGET_MIN:
        raise UsageError(f"A budget of {query.budget_tokens} tokens is too small; give at least "
                         f"{BUDGET_MIN}.")  # fmt: skip
    if query.mode not in MODES:
        raise UsageError(f"There is no mode {query.mode!r}; there are {', '.join(MODES)}.")
    if unknown := sorted(query.include.difference(INCLUDES)):
        raise UsageError(f"There is no {unknown[0]!r} to include; there are {', '.join(INCLUDES)}.")
    if query.fts:
        search_text.check_fts(query.text, lambda told: database.rows(_MATCH, (told,)))


def _bound(query: Query, edge: Literal["since", "until"]) -> int | None:
    value = query.since if edge == "since" else query.until
    return None if value is None else date_filter.bound(value, edge, query.now)


def _hint(query: Query, times: Range) -> Range | None:
    """When the query itself says that it was."""
    found = date_filter.find(query.text, query.now) if times.is_open and not query.fts else None
    return None if found is None else Range(found.since_ms, found.until_ms)


def _vectors(
    database: Database, query: Query, embedder: str | None, vector_of: VectorOf, missing: list[str]
) -> Vectors | None:
    """The query under the embedder that covers most; what stands against it goes into missing.
    An expression has no meaning that could be compared."""
    if query.fts:
        return None
    if embedder is None:
        missing.append(_NO_EMBEDDER)
        return None
    choice = vectors.choose(database, embedder)
    lack = vectors.missing(database, embedder) if choice is None else choice.missing
    if lack is not None:
        missing.append(lack)
    if choice is None or not search_text.terms(query.text):
        return None
    try:
        vector = vector_of(choice.setting, query.text)
    except ModelError as error:
        missing.append(f"Searched by words only: {error}")
        return None
    if vector.shape != (choice.dimensions,):
        missing.append(
            f"Searched by words only: {choice.name} gives {vector.size} numbers where its vectors "
            f"here have {choice.dimensions}. Embed again: treemem embed --prune {choice.name}"
        )
        return None
    return Vectors(choice.seq, vector)


def _kind(query: Query) -> QuestionKind:
    """What the question wants; where messages are asked for, or an expression, just those."""
    if query.mode == "verbatim" or query.fts:
        return "narrow"
    return intent.kind_of(query.text)


class _Search:
    """One search, step by step: what is looked at, what is chosen, and how it is told."""

    def __init__(
        self,
        database: Database,
        query: Query,
        times: Range,
        hint: Range | None,
        by: Vectors | None,
        missing: list[str],
    ) -> None:
        self._database = database
        self._query = query
        self._missing = missing
        self._kind = _kind(query)
        self._roots = (
            [] if self._kind == "narrow" else statement_search.of_root(database, query.scope)
        )
        self._words = bm25.expression_words(query.text) if query.fts else query.text
        expression = query.text if query.fts else None
        found = route.route(
            database, self._words, query.scope, times, by, hint, expression, self._also,
            is_broad=self._kind != "narrow", include=query.include,
        )  # fmt: skip
        self._units = found.units
        self._companions = found.companions
        self._assisted = {"user", "assistant"} <= {unit.role for unit in found.units}
        fitted = fitting(scoring.fragments(found.units), assisted=self._assisted)
        fitted = fitted.of_kind(self._kind)
        self._weights = fitted.changed(query.changes)
        scoring.propagate(found.units, self._weights, found.total)
        self._teller = Teller(database, found.units, self._kind, mark=bool(query.include))
        allowed = self._allowed()
        self._rerank(allowed)
        values = packing.utilities(found.units, self._weights)
        self._values = [value if fits else -math.inf
                        for value, fits in zip(values, allowed, strict=True)]  # fmt: skip
        self._packer = self._new_packer()
        self._worth = self._worth_of_messages(allowed)
        self._stems: dict[int, Collection[str]] = {}

    def run(self) -> SearchResult:
        budget = float(self._query.budget_tokens)
        room = budget
        best, best_tokens = Chosen(), 0
        if not (search_text.terms(self._words) or self._query.fts):
            return self._teller.result(best, 0, self._missing)
        for attempt in range(TRIES + HALVINGS):
            chosen = self._chosen(room)
            while self._drop_repeated(chosen):
                chosen = self._chosen(room)
            tokens = count_by_lines(self._teller.told(chosen))
            if best_tokens < tokens <= budget:
                best, best_tokens = chosen, tokens
            if FULL * budget <= tokens <= budget or not tokens:
                break
            # What headers and marks cost is only reckoned; now it is known.
            room = max(1.0, room + (1 + FULL) / 2 * budget - tokens)
            if attempt >= TRIES - 1:
                if best_tokens:
                    break
                room = budget / 2 ** (attempt + 2 - TRIES)  # reckoned too low, such as long names
        return self._teller.result(best, best_tokens, self._missing)

    def _also(self) -> list[int]:
        """What is looked at in a large scope whatever the words of the query are."""
        cited = {seq for each in self._roots for seq in each.message_seqs}
        return [*statement_search.standing_messages(self._database), *sorted(cited)]

    def _allowed(self) -> list[bool]:
        """What may be returned: for a broad question about a time all of that time, for any
        other broad one all there is, and else what has to do with the query."""
        if self._kind == "narrow":
            return scoring.reached(self._units)
        in_time = [unit.in_time for unit in self._units]
        return in_time if any(in_time) else [True] * len(in_time)

    def _rerank(self, allowed: Sequence[bool]) -> None:
        """Adds what a reranker says of the best units; the others get what the worst of them
        got. One that fails costs nothing but its help."""
        rerank = self._query.rerank
        best = sorted(compress(self._units, allowed), key=lambda unit: -unit.score)[:RERANKED]
        if rerank is None or not best:
            return
        texts = self._teller.texts(unit.message_seq for unit in best)
        said = [texts[unit.message_seq].text[unit.start : unit.end] for unit in best]
        try:
            given = [float(value) for value in rerank(self._query.text, said)]
            if len(given) != len(said):
                raise ValueError(f"{len(given)} scores for {len(said)} texts")
        except Exception as error:
            self._missing.append(f"The reranker failed, so it was not used: {error}")
            return
        scores = dict(zip(map(id, best), scoring.standard(given, len(given)), strict=True))
        worst = min(scores.values())
        for unit in self._units:
            part = self._weights.rerank * scores.get(id(unit), worst)
            unit.part_names, unit.part_values = (
                (*unit.part_names, "rerank"),
                (*unit.part_values, part),
            )
            unit.score += part

    def _worth_of_messages(self, allowed: Sequence[bool]) -> dict[int, float]:
        """The standard score of each message's best unit, of those that may be returned."""
        scores = scoring.standard([unit.score for unit in self._units], len(self._units))
        found: dict[int, float] = {}
        for unit, score in compress(zip(self._units, scores, strict=True), allowed):
            if score > found.get(unit.message_seq, -math.inf):
                found[unit.message_seq] = score
        return found

    # -- choosing ----------------------------------------------------------------------

    def _chosen(self, budget: float) -> Chosen:
        """What fits into a budget, the standing instructions first."""
        mode = self._query.mode
        standing = statement_search.in_order(self._standing, self._weights.standing * budget)
        packed = packing.Packed(budget - _tokens(standing))
        first_share = 1.0 if mode == "summary" else STATED_FIRST_SHARE
        if self._kind == "about":
            first = statement_search.in_order(self._first, first_share * packed.left)
        else:
            first = statement_search.choose(self._first, first_share * packed.left, ())
        packed.left -= _tokens(first)
        share = {"verbatim": 0.0, "summary": 1.0}.get(mode, self._weights.stated)
        self._packer.pack(packed, keep=share * packed.left)
        more: list[Stated] = []
        if share:
            more = self._statements_beside(packed, [*standing, *first])
            packed.left -= _tokens(more)
        if mode != "summary":
            self._packer.pack(packed)
        return Chosen(standing, [*first, *more], sorted(packed.chosen))

    def _drop_repeated(self, chosen: Chosen) -> bool:
        """Whether a chosen message says word for word what another one does, as copies of a
        forked session do; of those only the first can be chosen again for itself."""
        texts = self._teller.texts(self._units[index].message_seq for index in chosen.units)
        first: dict[tuple[str, str], int] = {}
        dropped = False
        for index in chosen.units:
            unit = self._units[index]
            message = texts[unit.message_seq]
            said = (message.speaker, message.text[unit.start : unit.end])
            is_long = unit.tokens > REPEATED_TOKENS_MIN
            if is_long and first.setdefault(said, unit.message_seq) != unit.message_seq:
                dropped = dropped or self._values[index] > -math.inf
                self._values[index] = -math.inf
        if dropped:
            self._packer = self._new_packer()
        return dropped

    def _new_packer(self) -> Packer:
        return Packer(self._units, self._values, self._weights, self._companions)

    @cached_property
    def _standing(self) -> list[Stated]:
        """What a person told an assistant to do always, the most fitting first."""
        if not self._assisted or not self._weights.standing:
            return []
        said = {unit.message_seq: self._worth.get(unit.message_seq, NOT_REACHED)
                for unit in self._units if unit.role == "user"}  # fmt: skip
        rules = statement_search.of_messages(self._database, said, ("constraint",))
        found = [rule for rule in rules if statement_search.is_standing(rule)]
        return sorted(found, key=lambda each: (-each.worth, each.seq))

    @cached_property
    def _first(self) -> list[Stated]:
        """The decisions, open points or rules, where the question asks for them; of the roots,
        where it asks what all of it is about, or what they say of the thing it asks about."""
        kinds = intent.STATEMENTS_FIRST.get(self._kind, ())
        if self._kind != "about":
            return statement_search.of_messages(self._database, self._worth, kinds) if kinds else []
        subject = self._subject()
        found = []
        for each in self._roots:
            each.message_seqs = [seq for seq in each.message_seqs if seq in self._worth]
            fits = each.kind == "gist" and subject & each.stems if subject else each.kind in kinds
            if fits and each.message_seqs:
                found.append(each)
        return sorted(found, key=lambda each: kinds.index(each.kind))

    def _subject(self) -> set[str]:
        """The stems of what a question asks a summary of; none where it is all there is."""
        text = self._query.text
        when = date_filter.find(text, self._query.now)
        if when is not None:
            text = text[: when.start] + text[when.end :]
        forms = bm25.telling_stems(" ".join(intent.FORMS))
        return set(bm25.telling_stems(text)).difference(forms)

    @cached_property
    def _statements(self) -> list[Stated]:
        """The statements that rest on the best messages, the best ones first."""
        best = sorted(self._worth, key=lambda seq: (-self._worth[seq], seq))[:STATED_FROM]
        found = statement_search.of_messages(
            self._database, {seq: self._worth[seq] for seq in best}
        )
        return sorted(found, key=statement_search.rank)

    def _statements_beside(self, packed: Packed, others: Sequence[Stated]) -> list[Stated]:
        """Statements for what is left of a budget, but for what stands in the context anyway."""
        units = [self._units[index] for index in packed.chosen]
        whole = {unit.message_seq for unit in units if unit.is_whole}
        taken = {each.seq for each in others}
        left = (each for each in self._statements
                if each.seq not in taken and not whole.issuperset(each.message_seqs))  # fmt: skip
        candidates = list(islice(left, statement_search.CANDIDATES_MAX))
        known = {stem for each in others for stem in each.stems}
        texts = self._teller.texts(unit.message_seq for unit in units)
        for index in packed.chosen:
            known.update(self._stems_of(index, texts))
        return statement_search.choose(candidates, packed.left, known)

    def _stems_of(self, index: int, texts: Mapping[int, Message]) -> Collection[str]:
        found = self._stems.get(index)
        if found is None:
            unit = self._units[index]
            text = texts[unit.message_seq].text[unit.start : unit.end]
            found = self._stems[index] = bm25.held(text)[0]
        return found


def _tokens(statements: Sequence[Stated]) -> float:
    return sum(each.tokens + statement_search.LINE_TOKENS for each in statements)
