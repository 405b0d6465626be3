"""Prepares a search: checks the query, and finds its time limits, its kind and its vector.

Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from treemem.errors import Hint, ModelError, Notice, UsageError
from treemem.patterns import lazy_regex
from treemem.search import date_filter, intent
from treemem.search.candidates import SPREAD_IN_ORDER_MAX, SPREAD_MAX, Target
from treemem.search.date_filter import When
from treemem.search.history import QueryVector, TimeRange
from treemem.search.intent import QuestionKind
from treemem.store import vectors
from treemem.store.database import Database
from treemem.store.live.private import NOTHING, Private
from treemem.text import bm25, fts
from treemem.types import INCLUDES, ORIGINS, Include, Origin, Scope

if TYPE_CHECKING:
    from treemem.models.rerankers import Rerank
    from treemem.store.vectors import Vector

    # Makes the vector of a text under an embedder setting. May raise ModelError.
    Embed = Callable[[str, str], Vector]

SearchMode = Literal["auto", "verbatim", "summary"]
MODES: tuple[SearchMode, ...] = ("auto", "verbatim", "summary")
SearchOrder = Literal["auto", "time", "score"]
ORDERS: tuple[SearchOrder, ...] = ("auto", "time", "score")
# Tokens.
BUDGET_MIN = 50

_NO_EMBEDDER = Notice(
    "Searched by words only: no embedder is in use.",
    Hint(
        'Choose one: memory.use_model("embedder", name)',
        "See: treemem model list, then treemem model use embedder NAME",
    ),
    is_lasting=True,
)
_PRUNED = Notice(
    "Searched by words only: the vectors were pruned meanwhile.",
    Hint("Make new ones: memory.embed()", "Make new ones: treemem embed"),
)
# Questions for a time, in English.
_WHEN = lazy_regex(
    r"(?:\A|[.!?]\s+)when\b|\bwhen\s+(?:did|was|were|is|are|will|do|does|has|have|had|can|should)\b"
    r"|\b(?:what|which)\s+(?:\w+\s+)?(?:time|day|date|weekday|month|year)\b|\bdate\s+of\b"
    r"|\bhow\s+long\s+ago\b",
    re.IGNORECASE,
)
_MATCH = "SELECT 1 FROM message_fts WHERE message_fts MATCH ? LIMIT 1"


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a search, as the caller gives them.

    now: the time, with its zone, that expressions such as "last week" are relative to. tuning:
    weights that replace the defaults. is_fts: text is an expression in FTS5's syntax. include:
    further kinds of messages to search, see types.INCLUDES. project: where the user is; its rules
    head a search of several projects. exclude: origins; messages and statements of no other words
    are left out. order: of the passages: by time, or the best first. hidden: row numbers of
    messages that are not returned, such as those that the caller has anyway. private: what is
    private to other agents; it is neither returned nor cited.
    """

    text: str
    scope: Scope
    now: datetime
    budget_tokens: int = 2_000
    since: str | datetime | None = None
    until: str | datetime | None = None
    mode: SearchMode = "auto"
    tuning: Mapping[str, float] = field(default_factory=dict)
    is_fts: bool = False
    rerank: Rerank | None = None
    include: frozenset[Include] = frozenset()
    project: str | None = None
    exclude: frozenset[Origin] = frozenset()
    order: SearchOrder = "time"
    hidden: frozenset[int] = frozenset()
    private: Private = NOTHING


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked query. subject: the stems of what a broad question names, without the time; empty
    if it names nothing. notes: sentences about what is missing, for the result."""

    query: Query
    kind: QuestionKind
    target: Target
    subject: frozenset[str]
    notes: tuple[str, ...]

    @property
    def is_about_time(self) -> bool:
        """Whether the query asks for a time, or is limited to one."""
        target = self.target
        return target.days is not None or not target.times.is_open or bool(
            _WHEN.search(self.query.text)
        )  # fmt: skip

    @property
    def has_words(self) -> bool:
        """Whether there is anything to search for."""
        return self.query.is_fts or bool(fts.terms(self.query.text))


def prepare(database: Database, query: Query, embedder: str | None, embed: Embed) -> Prepared:
    """Checks a query and embeds it, outside of a transaction.

    embedder: the setting of that name, None if unset. Raises UsageError.
    """
    _check(database, query)
    times = TimeRange(*date_filter.bounds(query.since, query.until, query.now))
    vector, notes = _embedded(database, query, embedder, embed)
    kind = _kind(query)
    subject = intent.subject_of(_without_time(query), kind=kind)
    named = _named_time(query, times)
    hint = None if named is None else TimeRange(named.since_ms, named.until_ms)
    target = Target(
        words=_words(query),
        scope=query.scope,
        times=times,
        hint=hint,
        days=_named_days(query, times, named),
        vector=vector,
        expression=query.text if query.is_fts else None,
        is_broad=kind != "narrow",
        spread=SPREAD_IN_ORDER_MAX if kind == "order" and subject else SPREAD_MAX,
        has_subject=kind == "narrow" or bool(subject),
        include=query.include,
        exclude=query.exclude,
    )
    return Prepared(query, kind, target, subject, notes)


def _words(query: Query) -> str:
    """What messages are compared with: the words of the query, but not those that only ask for a
    summary, since a message that contains "summary" does not answer for it."""
    if query.is_fts:
        return bm25.expression_words(query.text)
    if _kind(query) != "about":
        return query.text
    words = fts.terms(query.text)
    return " ".join(word for word in words if intent.asking().isdisjoint(bm25.stems(word)))


def without_pruned_vectors(database: Database, prepared: Prepared) -> Prepared:
    """The query, without its vector if the vectors to compare it with have since been deleted."""
    vector = prepared.target.vector
    if vector is None or vectors.exists(database, vector.embedder_seq):
        return prepared
    target = replace(prepared.target, vector=None)
    return replace(prepared, target=target, notes=(*prepared.notes, _PRUNED))


def _check(database: Database, query: Query) -> None:
    if query.budget_tokens < BUDGET_MIN:
        raise UsageError(f"A budget of {query.budget_tokens} tokens is too small; give at least "
                         f"{BUDGET_MIN}.")  # fmt: skip
    if query.mode not in MODES:
        raise UsageError(f"There is no mode {query.mode!r}; the modes are {', '.join(MODES)}.")
    if query.order not in ORDERS:
        raise UsageError(f"There is no order {query.order!r}; use {', '.join(ORDERS)}.")
    if unknown := sorted(query.include.difference(INCLUDES)):
        raise UsageError(f"{unknown[0]!r} cannot be included; use {', '.join(INCLUDES)}.")
    if foreign := sorted(query.exclude.difference(ORIGINS)):
        raise UsageError(f"{foreign[0]!r} cannot be excluded; use {', '.join(ORIGINS)}.")
    if query.is_fts:
        fts.check_fts(query.text, lambda expression: database.rows(_MATCH, (expression,)))


def _named_time(query: Query, times: TimeRange) -> When | None:
    """The time that the query's own words name, unless the caller gives one."""
    if query.is_fts or not times.is_open:
        return None
    return date_filter.find(query.text, query.now)


def _named_days(
    query: Query, times: TimeRange, named: When | None
) -> tuple[date | None, date | None] | None:
    """The first and the last day that the query's own words name, in the past or to come."""
    if named is not None:
        return named.days
    if query.is_fts or not times.is_open:
        return None
    return date_filter.days_ahead(query.text, query.now)


def _without_time(query: Query) -> str:
    """The words of a query without the time that they name."""
    when = date_filter.find(query.text, query.now)
    return query.text if when is None else query.text[: when.start] + query.text[when.end :]


def _kind(query: Query) -> QuestionKind:
    """The kind of the question; always narrow for the mode "verbatim" and for an expression."""
    if query.mode == "verbatim" or query.is_fts:
        return "narrow"
    return intent.kind_of(query.text)


def _embedded(
    database: Database, query: Query, embedder: str | None, embed: Embed
) -> tuple[QueryVector | None, tuple[str, ...]]:
    """The query's vector under the embedder that covers most, and notes about what is missing.
    An FTS5 expression is not embedded."""
    if query.is_fts:
        return None, ()
    if embedder is None:
        return None, (_NO_EMBEDDER,)
    choice = vectors.choose(database, embedder)
    lack = vectors.missing(database, embedder) if choice is None else choice.missing
    notes = () if lack is None else (lack,)
    if choice is None or not fts.terms(query.text):
        return None, notes
    try:
        vector = embed(choice.setting, query.text)
    except ModelError as error:
        return None, (*notes, Notice(f"Searched by words only: {error.message}", error.hint))
    if vector.shape != (choice.dimensions,):
        return None, (
            *notes,
            Notice(
                f"Searched by words only: {choice.name} gives {vector.size} numbers where its "
                f"vectors here have {choice.dimensions}.",
                vectors.embed_again(choice.name),
            ),
        )
    return QueryVector(choice.seq, vector), notes
