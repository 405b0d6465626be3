"""Chooses the standing instructions that head a context, and lays out their lines.

Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from itertools import chain

from treemem import times
from treemem.digest import scopes
from treemem.ledger.rulebook import Book, Rule
from treemem.patterns import lazy_regex
from treemem.rules import projects
from treemem.rules.lexicon import MANNER
from treemem.rules.values import GENERIC
from treemem.search import snippets
from treemem.store.database import Database
from treemem.text import bm25
from treemem.text.cache import cached
from treemem.text.labels import label
from treemem.text.tokens import count_tokens
from treemem.types import ROLES, Scope, Standing
from treemem.verify import relations
from treemem.verify.words import stems

# Stems that a rule and a query must share, if neither has fewer, and the share of a long rule.
SHARED_MIN, SHARED_SHARE = 2, 0.2
# The share of the stems of one of them that is enough for a rule of where the user is.
HOME_SHARE = 0.5
# The share of the stems of an occasion that what a query finds first must have.
OCCASION_SHARE = 0.5
# The fewest tokens of a rule's line: a mark, a speaker and some words.
LINE_TOKENS_MIN = 6
# "… when I ask about libraries": the user says which questions the rule is for.
_OCCASION = lazy_regex(
    r"\b(?:when(?:ever)?|if|(?:any|each|every) ?time) (?:i|we) (?:\w+ )?(?:ask|talk|speak|write"
    r"|inquire|discuss|mention|request|want to know)\w*(?: you| to you)?"
    r"(?: about| for| of| on| how to)? (?P<subject>[^.;]+)",
    re.IGNORECASE,
)
# Of nouns, only what an assistant gives: "never cache API responses" is about something else.
_ANSWERS = lazy_regex(
    r"""\b(?:(?:your|all|in|every|each|short|shorter|brief|long|longer|detailed)
        \ (?:answers?|repl(?:y|ies)|responses?|explanations?)
    |(?<!\bthe\ )(?<!\ba\ )(?<!\ban\ )(?:answer|reply|respond)(?:ing)?\ (?!to\b)
    |explain\w*|call\ me|address\ me|(?:speak|talk)\ (?:to\ me|in)\b|write\ to\ me)
    |(?:antwort|r[ée]pon(?:d|se)|respond[ea]|rispond|rispost|respuesta|отвеча|cevap|yanıt
    |odpowiad|antwoord|svara?\b|回答|回复|答え|답변)""",
    re.IGNORECASE | re.VERBOSE,
)
# Bytes of the cache of the tokens of lines.
LINES_BYTES_MAX = 1_000_000


@dataclass(frozen=True)
class RankedRule:
    """A standing instruction that can head a context.

    is_foreign: it was given in another project than the one that is searched.
    """

    standing: Standing
    is_foreign: bool = False

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of its words, without function words."""
        return frozenset(bm25.content_stems(self.standing.text))

    @cached_property
    def cost_tokens(self) -> int:
        """The tokens of its line in a context."""
        return _count(line(self)) + 1


@cached(LINES_BYTES_MAX)
def _count(text: str) -> int:
    """The tokens of a line. Cached: most searches meet the rules of the search before."""
    return count_tokens(text)


def line(rule: RankedRule, zone: tzinfo | None = None) -> str:
    """A rule as a line of a context, with its day, and with its project or source if it is foreign.

    zone: of the reader, whose day it is; None for the machine's.

    Example:
        >>> line(RankedRule(Standing("Always ask.", "user", "2026-03-01T09:00:00Z")))
        '- [2026-03-01] user: Always ask.'
        >>> line(RankedRule(Standing("Always ask.", "user", project="shop"), is_foreign=True))
        '- [shop] user: Always ask.'
    """
    said = rule.standing
    moment = times.shown(said.sent_at, zone)
    place = (said.project or said.source_id) if rule.is_foreign else None
    marks = [*([moment.date().isoformat()] if moment else []), *([label(place)] if place else [])]
    head = f"- [{', '.join(marks)}] " if marks else "- "
    speaker = said.speaker if said.speaker in ROLES else label(said.speaker)
    return head + snippets.speech(speaker, said.text)


def choose(
    book: Book, homes: Homes, query: str, beside: Mapping[str, frozenset[str]]
) -> list[RankedRule]:
    """The rules that may head the context of a query, in order of preference.

    Those that were pinned, then those of where the user is, or that hold everywhere, if they bear
    on the query, say how to answer, or are for an occasion that the query or what it finds first
    is about; the nearest to the query first, then the latest. After them, in a search of several
    projects, those of others that bear on the query. beside: what it finds first, the stems of
    each message by its id.
    """
    asked = about(query)
    at_home, foreign = [], []
    for rule in book.held_in(homes.own):
        if rule.state == "pinned":
            at_home.append(rule)
        elif rule.is_everywhere or homes.own in rule.homes:
            if _is_wanted(rule, asked, beside):
                at_home.append(rule)
        elif homes.has_others and (
            bears_on(about(rule.text), asked) or occasion_of(rule.text) & asked
        ):
            foreign.append(rule)
    at_home.sort(key=lambda rule: (rule.state != "pinned", -len(about(rule.text) & asked)))
    return [*(RankedRule(_standing(rule)) for rule in at_home),
            *(RankedRule(_standing(rule), is_foreign=True) for rule in foreign)]  # fmt: skip


def _is_wanted(rule: Rule, asked: frozenset[str], beside: Mapping[str, frozenset[str]]) -> bool:
    """Whether a rule of where the user is may head the answer to a query. asked, beside: see
    choose."""
    occasion = occasion_of(rule.text)
    if not occasion:
        return says_how_to_answer(rule.text) or bears_on(about(rule.text), asked, HOME_SHARE)
    others = (stems for message_id, stems in beside.items() if message_id not in rule.message_ids)
    found = len(occasion.intersection(chain.from_iterable(others)))
    return bool(occasion & asked) or found >= OCCASION_SHARE * len(occasion)


def fitting(rules: Sequence[RankedRule], budget_tokens: float) -> list[RankedRule]:
    """The rules that fit, in order, each of the same words once."""
    chosen: dict[object, RankedRule] = {}
    for rule in rules:
        if budget_tokens < LINE_TOKENS_MIN:
            break
        words = relations.key(rule.standing.text)
        if words not in chosen and rule.cost_tokens <= budget_tokens:
            chosen[words] = rule
            budget_tokens -= rule.cost_tokens
    return list(chosen.values())


def about(text: str) -> frozenset[str]:
    """The stems that say what a rule or a question is about."""
    return stems(text) - GENERIC


def bears_on(rule: frozenset[str], query: frozenset[str], share: float = 1.0) -> bool:
    """Whether a rule bears on a query: they share two stems and a fifth of the rule's, or this
    share of the stems of one of them.

    Example:
        >>> bears_on(about("Never leave the server on."), about("When does the ferry leave?"))
        False
        >>> bears_on(about("Never use semicolons."), about("why are there semicolons in main.py?"))
        True
    """
    shared = len(rule & query)
    return shared >= max(SHARED_MIN, SHARED_SHARE * len(rule)) or (
        shared > 0 and shared >= share * min(len(rule), len(query))
    )


def says_how_to_answer(rule: str) -> bool:
    """Whether a rule is for any answer: it names the assistant's answers, or a way of answering.

    Example:
        >>> says_how_to_answer("Always reply in German."), says_how_to_answer("Never push to main.")
        (True, False)
    """
    return bool(_ANSWERS.search(rule) or MANNER.search(rule))


def occasion_of(rule: str) -> frozenset[str]:
    """The stems of the questions that the user gave a rule for; empty if it names none.

    Example:
        >>> sorted(occasion_of("Always give versions when I ask about libraries."))
        ['librari']
    """
    match = _OCCASION.search(rule)
    return about(match["subject"]) if match else frozenset()


def _standing(rule: Rule) -> Standing:
    return Standing(
        rule.text, rule.speaker, rule.sent_at, rule.project, rule.message_ids, rule.source_id,
        rule.state == "pinned",
    )  # fmt: skip


# -- where the user is -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Homes:
    """The projects of a search. own: where the user is; None if that is not known. has_others:
    whether rules of other projects may be shown."""

    own: str | None
    has_others: bool


def homes_of(database: Database, scope: Scope, project: str | None) -> Homes:
    """The projects of a scope. If they are one, or one and what is below it, the user is there.
    project: where the user is, for a scope of several; a folder below a project is in it."""
    searched = projects.homes(database, scopes.source_seqs(database, scope))
    if len(searched) == 1:
        return Homes(searched[0], has_others=False)
    known = searched if scope.project is not None else projects.homes(database)
    own = None if project is None else projects.home_at(known, project)
    if own is None and scope.project is not None:
        own = projects.common_home(searched)
    return Homes(own, has_others=scope.kind in ("everything", "topic"))
