"""Makes of passages what a page shows: who said what, where it matches, and what its score is of.

Tested in tests/web/test_search_page.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treemem.patterns import lazy_regex
from treemem.text.bm25 import matching_words
from treemem.text.labels import GAP
from treemem.types import Explained, Message, Passage

# Characters of the words below a hit, and those of them before the first match.
EXCERPT_CHARS, LEAD_CHARS = 600, 120
# What the parts of a score are, in words.
SCORE_PARTS = {
    "words": "it has words of the question",
    "phrase": "it has them together, as you wrote them",
    "meaning": "it means the like",
    "speaker": "the question names who speaks",
    "time": "it was said in the time asked about",
    "event": "it is about days of that time",
    "near": "words close to it match",
    "around": "words around it match",
    "best near": "the best match close to it",
    "person": "a person says it",
    "rerank": "the reranker's rating",
}
_BREAK = lazy_regex(r"\n(?=[^\s])")
_HEAD = lazy_regex(r'((?:\([a-z]+\) )?(?:"(?:[^"\\]|\\.)*")?[^:\n]*): ')
_INDENT = lazy_regex(r"\n ")
_BLANK_LINES = lazy_regex(r"\n\s*\n")
_PIECES = lazy_regex(rf"[\n{GAP}]")

# Stretches of a text, each with whether it matches.
Marked = list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a passage shows of a message. message: None for a statement that is no message's."""

    speaker: str
    words: Marked
    message: Message | None


@dataclass(frozen=True, slots=True)
class Weighed:
    """A part of a sum. share: of the largest part, from 0 to 100."""

    name: str
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage as it is shown. best: its best message; None without messages. excerpt: of that,
    around where it matches. spoken: all that the passage shows. parts: of the
    score of its best message."""

    passage: Passage
    best: Message | None
    speaker: str
    excerpt: Marked
    spoken: tuple[Spoken, ...]
    score: float
    parts: tuple[Weighed, ...]

    @property
    def has_more(self) -> bool:
        """Whether the passage has more than the excerpt."""
        return len(self.spoken) > 1 or self.spoken[0].words != self.excerpt


def hits_of(passages: Iterable[Passage], query: str) -> list[Hit]:
    """The passages as they are shown. query: whose words are marked."""
    return [_hit(passage, query) for passage in passages]


def _hit(passage: Passage, query: str) -> Hit:
    best = passage.best if passage.messages else None
    spoken = tuple(_spoken(passage, query))
    of_best = [one for one in spoken if best is not None and one.message == best]
    shown = of_best[0] if of_best else max(spoken, key=lambda one: sum(is_ for _, is_ in one.words))
    explained = _explained(passage, best)
    return Hit(
        passage, best, shown.speaker, _squeezed(around_matches(shown.words)), spoken,
        passage.score if explained is None else explained.score,
        () if explained is None else weighed(
            (SCORE_PARTS.get(name, name), value) for name, value in explained.parts
        ),
    )  # fmt: skip


def _squeezed(words: Marked) -> Marked:
    """The words without blank lines, so that a hit takes little of a screen."""
    return [(_BLANK_LINES.sub("\n", piece), matches) for piece, matches in words]


def _spoken(passage: Passage, query: str) -> Iterator[Spoken]:
    """The messages and statements of a passage, each as far as it is shown."""
    left = list(passage.messages)
    # Subtle: further lines of a message are indented, so that each other line begins one.
    for block in _BREAK.split(passage.text.partition("\n")[2]):
        head = _HEAD.match(block)
        speaker, said = (head[1], block[head.end() :]) if head else ("", block)
        said = _INDENT.sub("\n", said)
        message = _message_of(said, left)
        if message is not None:
            left.remove(message)
        yield Spoken(speaker, marked(said, matching_words(said, query)), message)


def _message_of(said: str, messages: Sequence[Message]) -> Message | None:
    """The message of which these are words."""
    piece = max(map(str.strip, _PIECES.split(said)), key=len)
    return next((one for one in messages if piece and piece in one.text), None)


def _explained(passage: Passage, best: Message | None) -> Explained | None:
    """The score that a passage has its place by, and that of its best message."""
    own = [one for one in passage.explanation if best is not None and one.message_id == best.id]
    return max(own or passage.explanation, key=lambda one: one.score, default=None)


def weighed(parts: Iterable[tuple[str, float]]) -> tuple[Weighed, ...]:
    """The parts of a sum, the largest first, with bars for them.

    Example:
        >>> weighed([("near", -1.0), ("words", 4.0)])[1]
        Weighed(name='near', value=-1.0, share=25.0)
    """
    given = sorted(parts, key=lambda part: -part[1])
    most = max((abs(value) for _, value in given), default=0.0) or 1.0
    return tuple(Weighed(name, value, round(100 * abs(value) / most, 1)) for name, value in given)


# -- marks -----------------------------------------------------------------------------


def marked(text: str, ranges: Iterable[tuple[int, int]]) -> Marked:
    """A text in stretches, of which some match.

    Example:
        >>> marked("late fees", [(5, 9)])
        [('late ', False), ('fees', True)]
    """
    stretches, end = [], 0
    for start, stop in ranges:
        if start >= end:
            stretches += [(text[end:start], False), (text[start:stop], True)]
            end = stop
    return [(piece, matches) for piece, matches in [*stretches, (text[end:], False)] if piece]


def around_matches(words: Marked, chars: int = EXCERPT_CHARS) -> Marked:
    """An excerpt of a marked text that has most of its different matches.

    Example:
        >>> around_matches([("so " * 90, False), ("fees", True), (" are due", False)], 20)
        [('…', False), ('so so ', False), ('fees', True), (' are due', False)]
    """
    text = "".join(piece for piece, _ in words)
    if len(text) <= chars:
        return words
    lead = min(LEAD_CHARS, chars // 3)
    places, at = [], 0
    for piece, matches in words:
        if matches:
            places.append((at, at + len(piece), piece.casefold()))
        at += len(piece)
    start = max(0, min(_densest(places, chars - lead) - lead, len(text) - chars))
    end = min(len(text), start + chars)
    start = text.find(" ", start, start + lead) + 1 if start else 0
    inside = [
        (one - start, other - start) for one, other, _ in places if start <= one < other <= end
    ]
    cut = marked(text[start:end], inside)
    return [*([(GAP, False)] if start else []), *cut, *([(GAP, False)] if end < len(text) else [])]


def _densest(places: Sequence[tuple[int, int, str]], chars: int) -> int:
    """Where so many characters begin that have most different words of these places."""
    best, most = 0, 0
    for index, (start, _, _) in enumerate(places[:200]):
        inside = {word for one, end, word in places[index : index + 200] if end <= start + chars}
        if len(inside) > most:
            best, most = start, len(inside)
    return best
