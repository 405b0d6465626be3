"""Recognizes text that the user pasted into a message: quotations, logs, mails, tables.

Pure, and linear in the length of the text. When in doubt, text is pasted: missing a rule is a
nuisance, planting one is an attack. What is pasted has a beginning that can be seen, by its form
(forms.py), by the words that introduce it (introductions.py) or by another language, and lasts as
its beginning says: to the end of the block, until the user speaks again, or to the end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from treemem.origins import blocks, introductions, quotations
from treemem.origins.blocks import Block
from treemem.origins.forms import Form
from treemem.origins.languages import language_of
from treemem.patterns import lazy_regex

# Stands for each character of the parts that are already known, such as code between fences.
_TAKEN = "\ufffc"
# Stands for each character of a quotation.
_QUOTED_CHARACTER = "\ufffd"
_QUOTATION = lazy_regex(f"{_QUOTED_CHARACTER}+")
# Characters of a sentence that are looked at.
_SENTENCE_CHARS_MAX = 300
_QUOTED = lazy_regex(r"[ \t]{0,8}(?:>|&gt;)")
# The user speaks again behind a program's output: a question, or a sentence in the first person.
_QUESTION = lazy_regex(
    r"(?:(?:so|and|but|ok|okay|now|then|hm+|also|please|und|aber|also|et|y)\b[\s,.]*){0,3}"
    r"(?:why|what|how|which|where|who|can|could|would|any|do\ you|warum|was|wie|wieso|kannst|"
    r"pourquoi|comment|peux|por\ qué|cómo|qué|puedes|почему|как|что|为什么|怎么|なぜ)\b[^\n]*[?？]",
    re.IGNORECASE,
)
_FIRST_PERSON = lazy_regex(
    r"(?:(?:so|and|but|ok|okay|now|then|hm+|also|und|aber)\b[\s,.]*){0,3}"
    r"(?:i|i'm|i've|i'd|ich|je|yo|я)\b",
    re.IGNORECASE,
)
_OPENING_TAG = lazy_regex(r"<[^<>]{1,400}>")
_NEXT_SENTENCE = lazy_regex(r"[.!?\"'`”)]\s+(?=\w)")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a message. unquoted: its text with other characters between quotation marks, so
    that nothing in a quotation introduces what follows it."""

    start: int
    end: int
    text: str
    unquoted: str


def pasted_spans(
    text: str, start: int = 0, end: int | None = None, taken: Iterable[tuple[int, int]] = ()
) -> Iterator[tuple[int, int]]:
    """The stretches between start and end that the user pasted, in order and disjoint.

    taken: stretches whose origin is already known, in order and disjoint; nothing of them is
    returned, but what is pasted may go on behind them.

    Example:
        >>> text = "Why? The console says: You must never do that."
        >>> [text[a:b] for a, b in pasted_spans(text)]
        ['You must never do that.']
    """
    end = len(text) if end is None else end
    covered = list(taken)
    masked = _masked(text, covered)[:end]
    pairs = list(quotations.pairs(masked))
    found = [
        *_foreign_lines(text, masked, _unquoted(masked, pairs), start),
        *quotations.speech(masked, pairs),
        *quotations.hidden(masked),
    ]
    for a, b in _united(text, found):
        for free_start, free_end in _without(max(a, start), b, covered):
            first, last = _trimmed(text, free_start, free_end)
            if first < last:
                yield first, last


def _masked(text: str, taken: Sequence[tuple[int, int]]) -> str:
    pieces = []
    at = 0
    for start, end in taken:
        pieces += [text[at:start].replace(_TAKEN, " "), _TAKEN * (end - start)]
        at = end
    return "".join([*pieces, text[at:].replace(_TAKEN, " ")])


def _unquoted(masked: str, pairs: Iterable[tuple[int, int]]) -> str:
    pieces = []
    at = 0
    for start, end in pairs:
        lines = masked[start + 1 : end - 1].split("\n")
        pieces += [masked[at : start + 1], "\n".join(_QUOTED_CHARACTER * len(x) for x in lines)]
        at = end - 1
    return "".join([*pieces, masked[at:]])


def _blocks(masked: str, unquoted: str, start: int) -> Iterator[list[_Line]]:
    """The lines between blank ones."""
    block: list[_Line] = []
    at = start
    while at < len(masked):
        newline = masked.find("\n", at)
        stop = len(masked) if newline < 0 else newline
        line = masked[at:stop]
        if line.strip():
            block.append(_Line(at, stop, line, unquoted[at:stop]))
        elif block:
            yield block
            block = []
        at = stop + 1
    if block:
        yield block


def _foreign_lines(text: str, masked: str, unquoted: str, start: int) -> Iterator[tuple[int, int]]:
    """The stretches of whole lines that are foreign, or that follow an introduction."""
    read = list(_blocks(masked, unquoted, start))
    if blocks.is_letter([line.text for block in read for line in block]):
        yield from ((line.start, line.end) for block in read for line in block)
        return
    turns = [blocks.turn_of(line.text) for block in read for line in block]
    reader = _Reader(text, blocks.speakers(turns))
    last = len(read) - 1
    forms = [
        blocks.forms_of_block(Block([line.text for line in block], number == 0, number == last))
        for number, block in enumerate(read)
    ]
    lines = [(number, index) for number, found in enumerate(forms)
             for index, form in enumerate(found) if form in ("machine", "data")]  # fmt: skip
    last_output = max(lines, default=(-1, -1))
    for number, block in enumerate(read):
        end = last_output[1] if last_output[0] == number else (
            len(block) if number < last_output[0] else -1)  # fmt: skip
        yield from reader.read(block, forms[number], is_last=number == last, output_until=end)


class _Reader:
    """Reads a message block by block. voice: whose words follow, None for the user's."""

    def __init__(self, text: str, speakers: frozenset[str]) -> None:
        self._text = text
        self._speakers = speakers
        self._voice: Form | None = None
        self._awaits_text = False
        self._lead: str | None = None

    def read(
        self, block: Sequence[_Line], found: Sequence[Form | None], *, is_last: bool,
        output_until: int,
    ) -> Iterator[tuple[int, int]]:  # fmt: skip
        """Yields the foreign stretches of the next block.

        found: the form of each line. output_until: the number of the last line before which a
        program's output goes on; no sentence in the midst of it is the user's.
        """
        if self._voice == "data":
            self._voice = None
        for index, (line, form) in enumerate(zip(block, found, strict=True)):
            awaited, self._awaits_text = self._awaits_text, False
            if self._is_consumed(line, awaited=awaited):
                continue
            at_edge = index in (0, len(block) - 1) and not awaited and form is None
            at_edge = at_edge and index > output_until
            if self._voice == "machine" and at_edge and self._returns(line, index):
                self._voice = None
            self._hear(line, form)
            if self._voice is not None:
                yield line.start, line.end
                continue
            if _QUOTED.match(line.text):
                yield line.start, line.end
            else:
                has_more = not (is_last and index == len(block) - 1)
                yield from self._introduced(line, has_more=has_more)

    def _is_consumed(self, line: _Line, *, awaited: bool) -> bool:
        """Whether the line is a part that is already known. If it was announced right before, the
        user goes on behind it."""
        if not line.text.lstrip().startswith(_TAKEN):
            return False
        opening = self._text[line.start : line.end].lstrip().partition("\n")
        is_element = opening[0].startswith("<")
        is_block = opening[1] and _OPENING_TAG.fullmatch(opening[0].rstrip())
        if awaited and (not is_element or is_block):
            self._voice = None
        return line.text.strip().strip(_TAKEN) == ""

    def _returns(self, line: _Line, index: int) -> bool:
        text = line.text.strip()
        if _QUESTION.match(text):
            return True
        return index == 0 and _FIRST_PERSON.match(text) is not None

    def _hear(self, line: _Line, form: Form | None) -> None:
        """Sets the voice by the form of a line, by its speaker and by its language."""
        turn = blocks.turn_of(line.text) if self._speakers else None
        if form is None and turn is not None and turn.label in self._speakers:
            form = "person"
        if form is None and self._voice is None and not _QUOTED.match(line.text):
            if self._lead is None:
                self._lead = line.text
            elif self._is_foreign(line.text):
                form = "person"
        order: tuple[Form | None, ...] = (None, "data", "machine", "person", "forged")
        self._voice = max(self._voice, form, key=order.index)

    def _is_foreign(self, line: str) -> bool:
        """Whether a line is in another language than the first one whose language shows."""
        language = language_of(line)
        if language is None:
            return False
        lead = language_of(self._lead or "", is_lead=True)
        if lead is None:
            self._lead = line
        return lead not in (None, language)

    def _introduced(self, line: _Line, *, has_more: bool) -> Iterator[tuple[int, int]]:
        """Yields the foreign stretches of a typed line: what follows an introduction."""
        at = 0
        while introduction := introductions.introduction_in(line.unquoted, at):
            begin, at = introduction.end, len(line.text)
            rest = line.text[begin:].lstrip(" \t*_")
            if not rest and not has_more:
                return
            if rest and rest[0] in quotations.OPENING and not introduction.is_task:
                # The quotation is what was introduced, and is found by its marks.
                quotation = _QUOTATION.search(line.unquoted, begin)
                if quotation is not None:
                    at = quotation.end()
                    continue
            if introduction.voice == "machine" and rest:
                at = self._user_again(line, begin)
            if at == len(line.text):
                self._voice, self._awaits_text = introduction.voice, not rest
            yield line.start + begin, line.start + at
        if has_more and at < len(line.text):
            voice = introductions.announces(line.unquoted[at:])
            if voice is not None:
                self._voice, self._awaits_text = voice, True

    def _user_again(self, line: _Line, begin: int) -> int:
        """Where the user goes on in a line behind a program's words; the line's length if not."""
        for match in _NEXT_SENTENCE.finditer(line.text, begin):
            sentence = line.text[match.end() : match.end() + _SENTENCE_CHARS_MAX]
            sentence = re.split(r"(?<=[?？])|(?<=[.!])\s", sentence)[0]
            if _QUESTION.match(sentence) or _FIRST_PERSON.match(sentence):
                return match.end()
        return len(line.text)


def _united(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in order, joined where they overlap or have only blanks between them."""
    last: tuple[int, int] | None = None
    for start, end in sorted(spans):
        if last is not None and (start <= last[1] or text[last[1] : start].isspace()):
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


def _without(start: int, end: int, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches between start and end that are not taken."""
    first = max(0, bisect_right(taken, (start, start)) - 1)
    for taken_start, taken_end in islice(taken, first, None):
        if taken_start >= end:
            break
        if taken_end <= start:
            continue
        if taken_start > start:
            yield start, taken_start
        start = taken_end
    if start < end:
        yield start, end


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without blanks at its ends."""
    inside = text[start:end]
    return end - len(inside.lstrip()), start + len(inside.rstrip())
