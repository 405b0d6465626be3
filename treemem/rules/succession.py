"""Decides whether a later sentence of the user's ends an earlier rule.

A sentence ends a rule by taking it back ("no longer", "forget what I said about …"), by the
opposite about the same thing ("always", "never"), or by another value where only one can hold: the
language of answers, a number, tabs or spaces. Pure. When in doubt a rule stays: one that is ended
by mistake is lost, one that is kept too long is only a nuisance.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from treemem.patterns import folded, for_folded, lazy_regex
from treemem.rules import languages, wording
from treemem.rules.lexicon import AT_HAND, EVERYWHERE, FORGOTTEN, LASTING, MANNER_OF_SPEECH
from treemem.rules.values import ALTERNATIVES, ANSWERING, GENERIC
from treemem.text.cache import SENTENCES_CACHED_MAX
from treemem.text.stop_words import STOP_WORDS
from treemem.verify.words import split_words

_FLAGS = re.IGNORECASE | re.VERBOSE

# A sentence without any of these words takes nothing back.
_HINTS = frozenset(
    """
    longer anymore more again forget ignore disregard scratch scrap drop cancel undo strike mind
    correction instead rather stop not no don't doesn't needn't fine ok okay allowed alright feel
    welcome
    """.split()
)
# What follows one of these, up to the end of its clause, is taken back.
_NOT_ANY_MORE = lazy_regex(
    r"""\b(?:no\ longer|(?:do(?:es)?\ not|don't|doesn't|needn't|no\ need|not)\ (?:have\ to
    |need(?:\ to)?|to)
        |needn't|no\ need\ (?:to|for)|there's\ no\ need\ (?:to|for)|stop(?=\ \w+ing)
        |instead\ of|rather\ than|not(?=\ (?:in|with|as|by)\b))\ (?P<what>[^,;:.!?]+)
    |\b(?:not|\w+n't|never|no)\ (?P<before>[^,;:.!?]+?)\ any\ ?(?:more|longer)\b
    |,\ (?:and\ )?not\ (?P<other>[^,;:.!?]+)""",
    _FLAGS,
)
_FORGOTTEN = lazy_regex(
    rf"""(?<!don't\ )(?<!not\ )(?<!never\ )\b(?:{FORGOTTEN})[^,;:.!?]*?
    \b(?:about|on|regarding|concerning|with)\ (?P<what>[^,;:.!?]+)""",
    _FLAGS,
)
# The verb of taking back, with the thing right behind it: "forget the window seats".
_FORGOTTEN_THING = lazy_regex(
    r"""(?<!don't\ )(?<!not\ )(?<!never\ )\b(?:forget|ignore|disregard|scratch|scrap|drop|cancel
    |undo)
    \ (?!what\b|everything\b)(?:about\ )?(?P<what>[^,;:.!?]+)""",
    _FLAGS,
)
_ALLOWED = lazy_regex(
    r"""\b(?:(?:you|we)\ (?:can|may)|feel\ free\ to|(?:it's|it\ is|that's)\ (?:ok(?:ay)?|fine
    |alright|allowed)
        \ (?:to|if\ you|for\ you\ to))\ (?P<what>[^,;:.!?]+)
    |(?:^|[,;:.!?]\ )(?P<thing>[^,;:.!?]+?)\ (?:is|are)\ (?:ok(?:ay)?|fine|allowed|welcome|alright)
        \ (?:again|now|after\ all|from\ now\ on)""",
    _FLAGS,
)
_ALLOWED_AGAIN = lazy_regex(
    r"""^\W*(?:\w+\ ){0,2}\w+s\ are\ (?:fine|ok(?:ay)?|allowed|welcome)\ (?:again|from\ now\ on)\b
    |^\W*(?:you\ (?:can|may)|feel\ free\ to|it(?:'s|\ is)\ (?:fine|ok(?:ay)?)\ (?:to|if\ you))\b""",
    _FLAGS,
)
_TAKING_BACK = (_FORGOTTEN, _FORGOTTEN_THING, _NOT_ANY_MORE, _ALLOWED)
_TAKING_BACK_FOLDED = tuple(map(for_folded, _TAKING_BACK))
_AGAIN = lazy_regex(r"\b(?:again|now|after\ all|from\ now\ on|feel\ free)\b", _FLAGS)
_AT_ONCE = lazy_regex(r"\b(?:here|this|today|tonight|tomorrow|these|right\ now|for\ now)\b", _FLAGS)
_UPDATE = lazy_regex(
    r"""\b(?:now|from\ now\ on|instead|actually|any\ ?more|no\ longer|going\ forward|rather
    |switch\w*
    |changed?|henceforth|in\ (?:the\ )?future|new)\b""",
    _FLAGS,
)
_NEGATIVE = lazy_regex(
    r"\b(?:never|not|no(?!,)|without|avoid\w*|stop\w*|refrain|hate|dislike|stand|\w+n't|dont|skip)\b",
    _FLAGS,
)
# Negations that together say yes.
_AFFIRMED = lazy_regex(
    r"\b(?:never|don't|do\ not|not)\ (?:forget|fail|hesitate|stop|skip|omit|miss)\b(?:\ to\b)?",
    _FLAGS,
)
_PREFERENCE = lazy_regex(r"\bprefer\w*\b|\brather\b|\bi(?:'d)?\ (?:want|like)\b", _FLAGS)
_FORM = lazy_regex(
    r"\b(?:every|each|all|any|in|your|my|time|future|tell|asking|me|first)\b", re.IGNORECASE
)
_NAMED = lazy_regex(r"\b(?:call|address|name)\ (?:me|yourself)\b", _FLAGS)
# The least share of what is taken back that the rule must be about.
COVERED_MIN = 0.75
# The least share of words that two rules with different numbers have in common.
NUMBERS_ALIKE_MIN = 0.6


@dataclass(frozen=True, slots=True)
class _Retraction:
    """What a sentence takes back. is_positive: the rule that ends says to do it, not to leave it;
    None ends either."""

    stems: frozenset[str]
    is_positive: bool | None


_LABELLED = lazy_regex(r"([^\W\d_]{3,})\s+#?(\d+)\b(?!\s*[%€$]|[.,]\d)")
# Words right before a number that is an amount or a setting.
_BEFORE_AMOUNT = frozenset(
    "most least than under over within below above about exactly only max min maximum minimum "
    "limit use keep port version python size width length until till every wait takes costs".split()
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a sentence asks for. order: its stems in order. values: by group of alternatives.
    is_name, is_choice, is_update, is_at_hand: it gives a name to call by, says what is preferred,
    announces a change, is about what is at hand."""

    order: tuple[str, ...]
    is_positive: bool
    values: dict[str, frozenset[str]]
    numbers: frozenset[str]
    retractions: tuple[_Retraction, ...]
    stems: frozenset[str]
    is_name: bool
    is_choice: bool
    is_update: bool
    is_at_hand: bool


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def takes_back(sentence: str) -> bool:
    """Whether a sentence takes back something; `ends` decides which rules.

    Example:
        >>> takes_back("You don't have to use tabs any more."), takes_back("Don't forget the tabs.")
        (True, False)
    """
    if sentence.rstrip("\"') ").endswith("?") or not _may_take_back(sentence):
        return False
    if not _taken_back(sentence)[0]:
        return False
    return wording.addresses(sentence) or _ALLOWED_AGAIN.search(sentence) is not None


def ends(newer: str, older: str) -> bool:
    """Whether a later sentence ends an earlier rule.

    Example:
        >>> ends("Answer in English from now on.", "Always answer me in German.")
        True
        >>> ends("Always run the linter.", "Always run the tests.")
        False
    """
    if newer == older:
        return False
    now, before = _said(newer), _said(older)
    if any(_covers(retraction, before) for retraction in now.retractions):
        return True
    if not now.order or now.is_at_hand:
        return False
    return (
        _has_other_value(now, before)
        or _is_opposite(now, before)
        or _has_other_number(now, before)
        or _is_other_choice(now, before)
    )


def keys(sentence: str) -> frozenset[str]:
    """Keys of which a sentence shares one with every sentence that it ends, or that ends it."""
    said = _said(sentence)
    about = said.stems.union(*(retraction.stems for retraction in said.retractions))
    groups = (f"group {group}" for group in said.values)
    return about.union(groups, ["name"] if said.is_name else ())


def _covers(retraction: _Retraction, rule: _Said) -> bool:
    """Whether a rule is what a sentence takes back."""
    if retraction.is_positive is not None and retraction.is_positive != rule.is_positive:
        return False
    about = _core(rule.stems)
    wanted = _core(retraction.stems)
    if not wanted:
        return False
    return len(wanted & about) >= COVERED_MIN * len(wanted)


def _has_other_value(now: _Said, before: _Said) -> bool:
    """Another value of the same group for the same thing: "aisle seats" after "window seats". A
    newer rule about more, as without "on trains", ends the narrower one; not the reverse."""
    if not (now.is_positive and before.is_positive):
        return False
    for group in now.values.keys() & before.values.keys():
        ours, theirs = now.values[group], before.values[group]
        if ours & theirs:
            continue
        rest, older_rest = _core(now.stems - ours), _core(before.stems - theirs)
        if rest == older_rest or (rest and rest < older_rest):
            return True
    return False


def _is_opposite(now: _Said, before: _Said) -> bool:
    if now.is_positive == before.is_positive:
        return False
    return bool(_core(now.stems)) and _core(now.stems) == _core(before.stems)


def _has_other_number(now: _Said, before: _Said) -> bool:
    if len(now.numbers) != 1 or len(before.numbers) != 1 or now.numbers == before.numbers:
        return False
    ours = {stem for stem in now.stems if not stem[0].isdigit()}
    theirs = {stem for stem in before.stems if not stem[0].isdigit()}
    return bool(ours) and len(ours & theirs) >= NUMBERS_ALIKE_MIN * len(ours | theirs)


def _is_other_choice(now: _Said, before: _Said) -> bool:
    """Another name for the user; or another preference, or an announced change, that differs in
    one word before the same word: "blue headings" after "red headings"."""
    if now.is_name and before.is_name:
        return now.is_positive and before.is_positive
    is_choice = now.is_choice and before.is_choice
    if not (is_choice or now.is_update) or now.is_positive != before.is_positive:
        return False
    ours, theirs = now.order, before.order
    if len(ours) != len(theirs):
        return False
    differing = [at for at, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
    return len(differing) == 1 and differing[0] + 1 < len(ours)


# -- what a sentence says --------------------------------------------------------------


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _said(sentence: str) -> _Said:
    retractions, text = _taken_back(sentence)
    order, is_positive = _order(text), _is_positive(text)
    if not order and _NOT_ANY_MORE.search(sentence):  # "stop using tables" is a rule too
        order, is_positive = _order(sentence), False
    return _Said(
        order,
        is_positive,
        _values(order),
        frozenset(stem for stem in order if stem[0].isdigit()) - _labels(text),
        retractions,
        frozenset(order),
        _NAMED.search(sentence) is not None,
        _PREFERENCE.search(sentence) is not None,
        _UPDATE.search(sentence) is not None,
        AT_HAND.search(sentence) is not None,
    )


def _labels(text: str) -> frozenset[str]:
    """The numbers that tell one thing from another, as in "worker 3", not how much of it."""
    return frozenset(
        number for word, number in _LABELLED.findall(text)
        if word.lower() not in STOP_WORDS and word.lower() not in _BEFORE_AMOUNT
    )  # fmt: skip


def _may_take_back(sentence: str) -> bool:
    """Whether _taken_back may find something: a quick look for each of its expressions."""
    text = sentence.replace("’", "'")
    if _HINTS.isdisjoint(languages.words_in(text)):
        return False
    low = folded(text)
    return any(expression.search(low) for expression in _TAKING_BACK_FOLDED)


def _taken_back(sentence: str) -> tuple[tuple[_Retraction, ...], str]:
    """What a sentence takes back, and its text without these phrases."""
    text = sentence.replace("’", "'")
    if _HINTS.isdisjoint(languages.words_in(text)):
        return (), text
    retractions: list[_Retraction] = []
    for pattern in _TAKING_BACK:
        spans = []
        for match in pattern.finditer(text):
            is_permitted = pattern is _ALLOWED
            if is_permitted and not _AGAIN.search(text):
                continue
            what = next(filter(None, match.groupdict().values()), "")
            if _AT_ONCE.search(what) and not is_permitted:
                continue
            retractions += _retraction(what, pattern)
            spans.append(match.span())
        for start, end in reversed(spans):
            text = f"{text[:start]}, {text[end:]}"
    return tuple(retractions), text


def _retraction(what: str, pattern: re.Pattern[str]) -> list[_Retraction]:
    stems = frozenset(_order(what))
    if not _core(stems):
        return []
    if pattern in (_FORGOTTEN, _FORGOTTEN_THING):
        return [_Retraction(stems, None)]
    if pattern is _ALLOWED:
        return [_Retraction(stems, not _is_positive(what))]
    return [_Retraction(stems, _is_positive(what))]


def _is_positive(text: str) -> bool:
    """Whether a rule says to do something, not to leave it."""
    return len(_NEGATIVE.findall(_AFFIRMED.sub(" ", text))) % 2 == 0


def _order(text: str) -> tuple[str, ...]:
    """The stems that say what a sentence is about, in order and each once. Words for answering are
    one stem; words of form, such as "always", are left out."""
    text = MANNER_OF_SPEECH.sub(" ", EVERYWHERE.sub(" ", LASTING.sub(_kept, text)))
    stems = [ANSWERING.get(word.stem, word.stem) for word in split_words(text) if word.stem]
    return tuple(dict.fromkeys(stem for stem in stems if stem not in GENERIC))


def _kept(lasting: re.Match[str]) -> str:
    """What a phrase that lasts says about the subject: "in every reply" is about replies."""
    return _FORM.sub(" ", lasting.group())


def _core(stems: frozenset[str]) -> frozenset[str]:
    """The stems without "answer", unless there are no others: what is asked of an assistant is
    asked of its answers."""
    return stems - {"answer"} or stems


def _values(order: tuple[str, ...]) -> dict[str, frozenset[str]]:
    values: dict[str, set[str]] = {}
    for stem in order:
        if stem in ALTERNATIVES:
            values.setdefault(ALTERNATIVES[stem], set()).add(stem)
    return {group: frozenset(members) for group, members in values.items()}
