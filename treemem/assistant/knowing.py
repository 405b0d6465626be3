"""Tells whether the messages that a search found can answer a question. Pure.

A search always finds something that is nearest. What answers has the words that the question is
about; how much of them, weighted by their rarity, was measured on questions that have an answer
and on others, see docs/how-to/ask.md.

Tested in tests/assistant/test_knowing.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from treemem.search import date_filter, intent
from treemem.text import bm25
from treemem.text.labels import quoted
from treemem.types import Message
from treemem.verify.words import IRREGULAR

# The share of a question's words, weighted by rarity, that one message must have, and of few words:
# one of two is often about something else, so it must be the rarer one. Measured: 87 of 100
# questions with an answer in a chat have such a message, and 12 of 100 that are about another one.
SHARE_MIN = 0.35
SHARES_OF_FEW = {2: 0.51, 3: 0.4}
# The share of the best such share that the messages of the only person must have whom the question
# names.
PERSON_SHARE_MIN = 0.75
# Words that ask, and say nothing of what is asked about.
_ASKING = (
    "kind type sort likely according recent recently current currently mention mentioned "
    "tell told say said ever name during many much long often happen happened please know "
    "remember exactly specific particular describe explain possibly probably "
    "he him his she her hers himself herself themselves myself yourself"
)
# Characters of the words that an explanation names.
WORDS_CHARS = 80


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about.

    kind: see search.intent. stems: of its words, without names of people in people, the time it
    names and words that only ask. people: the speakers whom it names. words: those of stems, as
    they were written.
    """

    kind: intent.QuestionKind
    stems: tuple[str, ...]
    people: frozenset[str]
    words: tuple[str, ...]


def read(question: str, speakers: Iterable[str], now: datetime) -> Asked:
    """Reads a question. speakers: the names of those who may be named in it.

    Example:
        >>> now = datetime(2026, 11, 3).astimezone()
        >>> asked = read("What did Ana paint last week?", ["Ana"], now)
        >>> asked.words, sorted(asked.people)
        (('paint',), ['Ana'])
    """
    when = date_filter.find(question, now)
    plain = question if when is None else f"{question[: when.start]} {question[when.end :]}"
    kind = intent.kind_of(question)
    said = set(bm25.stems(plain))
    people = frozenset(
        name for name in speakers if name and said.issuperset(bm25.stems(name)[:1] or [""])
    )
    names = {stem for name in people for stem in bm25.stems(name)}
    stems = bm25.query_stems(plain) if kind == "narrow" else intent.subject_of(plain, kind=kind)
    kept = [one for one in stems if len(one) > 1 and one not in names and one not in _asking()]
    words = [word for word in plain.split() if not set(bm25.stems(word)).isdisjoint(kept)]
    return Asked(kind, tuple(kept), people, tuple(word.strip(".,;:!?\"'()") for word in words))


def time_named(question: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The time that a question names, as limits of a search; (None, None) for none."""
    when = date_filter.find(question, now)
    return (None, None) if when is None else (when.since, when.until)


@cache
def _asking() -> frozenset[str]:
    return frozenset(bm25.stems(_ASKING))


def missing(asked: Asked, messages: Sequence[Message], total: int) -> str:
    """Why these messages do not answer a question, in a sentence; "" if they do. total: how many
    messages there are to be found in."""
    if not messages:
        return f"Nothing about {_words(asked)} was found." if asked.stems else "Nothing was found."
    if not asked.stems:
        return ""
    texts = [message.text for message in messages]
    if asked.kind != "narrow":  # what answers was said here and there
        texts = ["\n".join(texts)] * len(texts)
    shares = shares_of(asked, texts, total)
    best = max(shares)
    if best < SHARES_OF_FEW.get(len(asked.stems), SHARE_MIN):
        return f"No message that was found is about {_words(asked)}."
    if len(asked.people) == 1:
        (person,) = asked.people
        own = [
            max(share, _replied(messages, shares, at)) for at, share in enumerate(shares)
            if messages[at].author == person
        ]  # fmt: skip
        if max(own, default=0.0) < PERSON_SHARE_MIN * best:
            return f"What was found about {_words(asked)} was not said by {person}."
    return ""


def _replied(messages: Sequence[Message], shares: Sequence[float], at: int) -> float:
    """The share of the question of somebody else right before a message, which it answers."""
    before = messages[at - 1] if at else None
    if before is None or before.author == messages[at].author:
        return 0.0
    return shares[at - 1] if before.text.rstrip().endswith("?") else 0.0


def shares_of(asked: Asked, texts: Sequence[str], total: int) -> list[float]:
    """The share of the question's words that each text has, weighted by their rarity."""
    counts = [_counts(text) for text in texts]
    stems = list(dict.fromkeys(map(_base, asked.stems)))
    return bm25.matches(counts, stems, bm25.frequencies(counts, stems, total)).shares


def _counts(text: str) -> bm25.StemCounts:
    """The stems of a text, with "buy" for "bought"."""
    counts, length = bm25.stem_counts(text)
    return {_base(stem): count for stem, count in counts.items()}, length


def bases(text: str) -> list[str]:
    """The stems of a text, with "buy" for "bought"."""
    return [_base(stem) for stem in bm25.stems(text)]


def _base(stem: str) -> str:
    return _irregular().get(stem, stem)


@cache
def _irregular() -> dict[str, str]:
    return {bm25.stem(form): bm25.stem(base) for form, base in IRREGULAR.items()}


def _words(asked: Asked) -> str:
    return quoted(" ".join(asked.words), WORDS_CHARS)
