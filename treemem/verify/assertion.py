"""Compares what a note asserts with what its source does: denial, doubt, plans, conditions.

Pure. Finds whether the one says it as a fact and the other does not, in any words for it.
Tested in tests/verify/test_assertion.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from treemem.verify import alignment, wording
from treemem.verify.terms import key_of
from treemem.verify.words import IRREGULAR, split_words


@dataclass(frozen=True, slots=True)
class Heard:
    """What a clause of a note rests on.

    part: the clauses of a sentence that it resembles most. beside: the same with the clauses
    beside them. others: further sentences. around: those before and after the sentence. asks: the
    sentence is a question that nobody confirms.
    """

    part: str
    beside: str
    others: str = ""
    around: str = ""
    asks: bool = False

    @property
    def all(self) -> str:
        return f"{self.beside} {self.others}"


def difference(clause: str, note: str, heard: Heard) -> str:
    """How what a clause of a note asserts differs from its source, "" if it does not.

    note: the whole note.

    Example:
        >>> source = "I might move the shop."
        >>> difference("Ana moved it.", "Ana moved it.", Heard(source, source))
        'certainty differs from its source'
    """
    if heard.asks and not wording.ASKS.search(note) and not note.rstrip().endswith("?"):
        return "a question told as a fact"
    if wording.CONDITION.search(heard.beside) and not wording.NOTED_CONDITION.search(note):
        return "a condition is left out"
    found = _denial(clause, note, heard) or _certainty(clause, note, heard)
    if found:
        return found
    if wording.STRICT_UNIVERSAL.search(clause) and not wording.UNIVERSAL.search(heard.all):
        return "amount not in its source"
    opposite = _is_opposite(clause, heard) or _contrasts(clause, note, heard.beside)
    return "turned into its opposite" if opposite else ""


def denies(text: str) -> bool:
    """Whether a text denies something.

    Example:
        >>> denies("No question marks, please."), denies("Question marks, please.")
        (True, False)
    """
    return (
        wording.DENIES.search(text) is not None or wording.DENIES_BY_WORD.search(text) is not None
    )


def is_open(text: str) -> bool:
    """Whether a text tells something as uncertain, planned or said by somebody.

    Example:
        >>> is_open("Ana suggests red."), is_open("The shed is red.")
        (True, False)
    """
    return wording.NOTED_OPEN.search(text) is not None


def _denial(clause: str, note: str, heard: Heard) -> str:
    part, others = (wording.NO_DENIAL.sub(" ", text) for text in (heard.part, heard.others))
    said = wording.DENIES.search(part) is not None
    noted = wording.DENIES.search(clause) is not None
    twice = len(wording.DENIES.findall(part)) > 1 and wording.REQUIRES.search(note) is not None
    answered = wording.DENIES.search(note) or wording.DENIES_BY_WORD.search(note)
    denied = denies(others) or wording.DENIES_BY_WORD.search(part) or _suggests_denial(heard)
    differs = (
        (said and not noted and not answered and not twice)
        or (noted and not said and not denied)
        or (wording.TURNS.search(part) and not noted and not answered)
        or (
            wording.TURNS.search(clause)
            and not said
            and not denied
            and not wording.TROUBLE.search(f"{part} {others}")
        )
    )
    return "negation differs from its source" if differs else ""


def _suggests_denial(heard: Heard) -> bool:
    """Whether a sentence may be told with a *not*, for what is around it or for a contrast in it:
    "I asked for Friday, but the divers have it" says that Friday could not be had."""
    around = wording.NO_DENIAL.sub(" ", heard.around)
    return denies(around) or wording.SETS_AGAINST.search(f"{heard.beside} {around}") is not None


def _certainty(clause: str, note: str, heard: Heard) -> str:
    part = heard.part
    noted = is_open(note)
    if (wording.OPEN.search(part) or wording.HEDGE.search(heard.beside)) and not noted:
        return "certainty differs from its source"
    ahead = wording.AHEAD.search(part) or wording.CAN.search(part) or wording.ORDER.match(part)
    if (
        ahead
        and not noted
        and not wording.AHEAD.search(clause)
        and is_past(clause)
        and not is_past(part)
    ):
        return "a plan told as done"
    if wording.DOUBTS.search(clause) and not (
        wording.OPEN.search(heard.all) or wording.AHEAD.search(heard.all)
    ):
        return "certainty differs from its source"
    planned = wording.AHEAD.search(clause) or wording.PLANS.search(clause)
    if (
        planned
        and is_past(part)
        and not (wording.OPEN.search(heard.all) or wording.AHEAD.search(heard.all))
    ):
        return "done told as a plan"
    return ""


def _is_opposite(clause: str, heard: Heard) -> bool:
    """Whether a clause has a word whose opposite, but not the word, is in its source."""
    if alignment.opposite(wording.VAGUE.sub(" ", clause), heard.part):
        return True
    own, part, near = _keys(clause), _keys(heard.part), _keys(heard.all)
    return any(
        own & one and part & other and not near & one and not own & other
        for left, right in wording.OPPOSITES
        for one, other in ((left, right), (right, left))
    )


def _keys(text: str) -> frozenset[str]:
    words = split_words(text)
    return frozenset(word.lower for word in words) | frozenset(key_of(word.name) for word in words)


def _contrasts(clause: str, note: str, source: str) -> bool:
    """Whether a clause asserts what its source denies in contrast: "in Linz" for "in Graz, not in
    Linz"."""
    for match in wording.CONTRAST.finditer(source):
        key = key_of(match[2].lower())
        asserted = [
            word for word in split_words(clause)
            if key and key_of(word.name) == key and not _denied_before(clause, word.start)
        ]  # fmt: skip
        if asserted and not _has_counterpart(note, source[: match.start()], match[1]):
            return True
    return False


def _has_counterpart(note: str, before: str, preposition: str | None) -> bool:
    """Whether a note has what the source affirms in contrast, after the same preposition."""
    if preposition is None:
        return False
    affirmed = re.findall(rf"\b{preposition}\s+(?:(?:the|an?)\s+)?([\w-]+)", before, re.IGNORECASE)
    keys = {key_of(word.name) for word in split_words(note)}
    return bool(affirmed) and key_of(affirmed[-1].lower()) in keys


def _denied_before(clause: str, start: int) -> bool:
    return any(match.end() <= start for match in wording.DENIES.finditer(clause))


def is_past(text: str) -> bool:
    """Whether a text has a verb in the past tense or a perfect.

    Example:
        >>> is_past("She moved it."), is_past("It can be moved.")
        (True, False)
    """
    before = ""
    for word in split_words(text):
        lower, previous, before = word.lower, before, word.lower
        if previous in wording.BE:
            continue
        if (
            lower in wording.PAST_BE
            or lower in wording.PAST
            or (lower in IRREGULAR and lower not in ("goes", "lost", "left"))
        ):
            return True
        if len(lower) > 4 and lower.endswith("ed") and lower not in wording.NO_PAST:
            return True
    return False
