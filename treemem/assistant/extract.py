"""Chooses the sentences of messages that answer a question best, word for word. Pure.

Tested in tests/assistant/test_extract.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from treemem.assistant import knowing
from treemem.assistant.knowing import Asked
from treemem.origins.marking import mark
from treemem.patterns import lazy_regex
from treemem.search import intent
from treemem.summarize.detectors import kind_of, words_of
from treemem.text import bm25
from treemem.text.sentences import spoken_sentences
from treemem.types import Message, Passage

# The most sentences of an extract, and of one that answers a broad question.
NARROW_MAX, BROAD_MAX = 4, 8
# Sentences of one message, and the share of the best score below which none is taken, also for a
# broad question that names no subject.
OF_MESSAGE_MAX, SCORE_SHARE_MIN, SCORE_SHARE_OF_ALL = 2, 0.5, 0.25
# Two sentences with this share of their words in common say the same.
SAME_SHARE = 0.7
# Weights, of a share of the question's words in: the sentence itself, its message, the question of
# somebody else right before it; and of: the search's score from 0 to 1, the speaker being named, a
# day or a number where one is asked for, being a question, being a tool's or a document's words.
OWN, MESSAGE, REPLIED, FOUND, PERSON, FITS, ASKS, NOT_SPOKEN = (
    1.0,
    0.5,
    0.8,
    0.4,
    0.2,
    0.2,
    0.8,
    0.2,
)
# Added where a broad question asks for the kind of a sentence.
KIND = 1.0
# What a sentence is extended to at most, in characters, if it begins with a pronoun.
CHARS_MAX = 400
_PRONOUN = lazy_regex(r"(?i)(?:it|this|that|they|these|those|he|she|there|then|so|and|but)\b")
# What cannot be answered in the words of the question alone.
_WIDE = lazy_regex(r"(?i)\s*(?:who|whom|whose|what|when|where|which|why|how)\b")
_NUMBER_ASKED = lazy_regex(
    r"(?i)\bhow (?:many|much|long|often|old|far|big)\b|\bwhat (?:number|port)"
)
_NUMBER = lazy_regex(
    r"(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twice|once|dozen)\b"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a message that was found. start: its first character there. share: of the
    question's words. score: the better, the likelier it answers."""

    text: str
    message: Message
    passage: Passage
    start: int
    share: float = 0.0
    score: float = 0.0
    kind: str = "fact"

    @property
    def words(self) -> frozenset[str]:
        return frozenset(bm25.content_stems(self.text))


def quotes(question: str, asked: Asked, passages: Sequence[Passage], total: int) -> list[Quote]:
    """The sentences of passages that answer a question best, the best first.

    total: how many messages there are to be found in.
    """
    candidates = [one for passage in passages for one in _sentences(passage)]
    if not candidates:
        return []
    shares = knowing.shares_of(asked, [one.text for one in candidates], total)
    candidates = [replace(one, share=share) for one, share in zip(candidates, shares, strict=True)]
    rated = _rated(question, asked, candidates, total)
    chosen: list[Quote] = []
    for one in _chosen(asked, rated):
        whole = _understood(one, candidates)
        if not any(whole.text in other.text for other in chosen):
            chosen = [other for other in chosen if other.text not in whole.text]
            chosen.append(whole)
    return chosen


def _understood(quote: Quote, candidates: Sequence[Quote]) -> Quote:
    """A sentence that begins with a pronoun, with the one before it in its message, which says what
    that stands for."""
    if not _PRONOUN.match(quote.text):
        return quote
    earlier = [
        one for one in candidates
        if one.message.id == quote.message.id and one.start < quote.start
    ]  # fmt: skip
    if not earlier:
        return quote
    before = max(earlier, key=lambda one: one.start)
    text = quote.message.text[before.start : quote.start + len(quote.text)]
    if len(text) > CHARS_MAX or "\n" in text:
        return quote
    return replace(quote, text=text, start=before.start)


def _sentences(passage: Passage) -> Iterator[Quote]:
    """The sentences of a passage's messages, of long messages those of the parts that were found;
    of what nobody says in prose, such as the output of a tool, the lines."""
    parts: dict[str | None, list[tuple[int, int]]] = {}
    for part in passage.explanation:
        parts.setdefault(part.message_id, []).append((part.start, part.end))
    for message in passage.messages:
        marked = message if message.parts else mark(message)
        for start, end in parts.get(message.id, [(0, len(message.text))]):
            at = start
            for sentence in spoken_sentences(marked, start, end):
                at = max(message.text.find(sentence.text, at), 0)
                words = frozenset(map(str.lower, words_of(sentence.text)))
                kind = kind_of(sentence.text, words)[0]
                yield Quote(sentence.text, message, passage, at, kind=kind)


def _rated(question: str, asked: Asked, candidates: Sequence[Quote], total: int) -> list[Quote]:
    """The candidates that can answer, with their scores."""
    messages = {one.message.id: one.message for one in candidates}
    shares = knowing.shares_of(asked, [one.text for one in messages.values()], total)
    of_message = dict(zip(messages, shares, strict=True))
    found = _found(candidates)
    wanted = intent.STATEMENTS_FIRST.get(asked.kind, ())
    asked_again = _asked_again(question, candidates)
    asks_number = bool(_NUMBER_ASKED.search(question))
    replied = _replied(candidates, asked_again)
    return [
        replace(one, score=(
            OWN * one.share + MESSAGE * of_message[one.message.id] + REPLIED * replied.get(at, 0.0)
            + FOUND * found.get(one.message.id, 0.0)
            + PERSON * (one.message.author in asked.people)
            + FITS * (asks_number and bool(_NUMBER.search(one.text)))
            - ASKS * one.text.endswith("?")
            - NOT_SPOKEN * (one.message.role in ("tool", "document"))
            + KIND * (one.kind in wanted and one.text in one.passage.text)
            * (min(1.0, one.share + of_message[one.message.id]) if asked.stems else 1.0)
        ))
        for at, one in enumerate(candidates) if at not in asked_again
    ]  # fmt: skip


def _found(candidates: Sequence[Quote]) -> dict[str | None, float]:
    """The search's score of each message, from 0 to 1."""
    scores: dict[str | None, float] = {}
    for one in candidates:
        for part in one.passage.explanation:
            scores[part.message_id] = max(part.score, scores.get(part.message_id, part.score))
    least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {key: (value - least) / ((most - least) or 1.0) for key, value in scores.items()}


def _asked_again(question: str, candidates: Sequence[Quote]) -> set[int]:
    """Which sentences ask what is asked, in its own words, as does "Make the port configurable" for
    "How do I make the port configurable?". They answer nothing."""
    said = set(bm25.stems(question)) if _WIDE.match(question) else set()
    words = [set(bm25.stems(one.text)) for one in candidates]
    return {
        at for at, one in enumerate(candidates)
        if (words[at] and words[at] <= said) or (one.share > 0.99 and one.text.endswith("?"))
    }  # fmt: skip


def _replied(candidates: Sequence[Quote], asked_again: set[int]) -> dict[int, float]:
    """For sentences of a reply: the share of the question right before it, of somebody else."""
    replied: dict[int, float] = {}
    before: Quote | None = None
    for at, one in enumerate(candidates):
        if before is not None and one.message.id == before.message.id:
            if at - 1 in replied:
                replied[at] = replied[at - 1]
        elif (
            before is not None
            and before.passage is one.passage
            and (before.text.endswith("?") or at - 1 in asked_again)
        ):
            replied[at] = before.share
        before = one
    return replied


def _chosen(asked: Asked, rated: Sequence[Quote]) -> list[Quote]:
    """The best sentences that do not repeat each other."""
    most = NARROW_MAX if asked.kind == "narrow" else BROAD_MAX
    least = SCORE_SHARE_MIN if asked.stems else SCORE_SHARE_OF_ALL
    ranked = sorted(rated, key=lambda one: -one.score)
    chosen: list[Quote] = []
    for one in ranked:
        if len(chosen) == most or one.score < least * ranked[0].score:
            break
        same = sum(other.message.id == one.message.id for other in chosen)
        if same < OF_MESSAGE_MAX and not any(_says_same(one, other) for other in chosen):
            chosen.append(one)
    return chosen


def _says_same(one: Quote, other: Quote) -> bool:
    both = one.words | other.words
    return (
        len(one.words & other.words) >= SAME_SHARE * len(both) if both else one.text == other.text
    )
