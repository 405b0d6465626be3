"""Measures what reading a returned text costs, without a model and without I/O.

A text is read as treemem lays it out: a heading in brackets for each passage, a line
"speaker: text" for each message, further lines of it indented by a space, and marks for what is
left out. Nothing of treemem is imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

GAP = "…"
# Words of a run that is looked for twice, and of a message that says little by itself.
RUN_WORDS = 8
SHORT_WORDS = 6
_HEADING = re.compile(r"\[\d+(?: [^\]]*)?\]")
_SPEECH = re.compile(r"(?:\(\w+\) )?(?P<speaker>[^:\n]{1,80}): (?P<text>.*)", re.DOTALL)
_CUT = re.compile(rf"(?:(?<=\s)|\A){GAP}(?=\s|\Z)")
_HEADLESS = re.compile(rf"{GAP}\s+(?!#)")
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_PLEASANTRY = re.compile(
    r"""\W*(?:(?:hi|hello|hey|thanks?|thank\ you|thx|bye|good\ (?:morning|night|evening)|see\ you
    |you'?re\ welcome|no\ problem|take\ care|great|ok|okay|sure|cool|nice|awesome)\b\W*
    (?:\w+\W+){0,3}?)+\W*""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a returned text. is_followed: the next message of the log is shown after it."""

    speaker: str
    text: str
    is_followed: bool


class Page:
    """A returned text, as its reader meets it. tokens: of it.

    Example:
        >>> page = Page("[1 2026-05-04]\\nAna: Where is it?\\n…\\nassistant: … In the shed.", 20)
        >>> page.cuts, page.unanswered, page.headless, page.short
        (50.0, 1.0, 1.0, 1.0)
    """

    def __init__(self, text: str, tokens: int) -> None:
        self._lines = text.splitlines()
        self._tokens = max(1, tokens)

    @cached_property
    def messages(self) -> list[Said]:
        """The messages, in order."""
        blocks: list[list[str]] = []
        for line in self._lines:
            if blocks and (line.startswith(" ") or not line):
                blocks[-1].append(line[1:])
            else:
                blocks.append([line])
        messages = []
        for block, after in zip(blocks, [*blocks[1:], [""]], strict=True):
            match = _SPEECH.fullmatch("\n".join(block))
            if match and not _HEADING.fullmatch(block[0]) and not block[0].startswith("- ["):
                is_followed = bool(_SPEECH.match(after[0]))
                messages.append(Said(match["speaker"], match["text"], is_followed))
        return messages

    @property
    def cuts(self) -> float:
        """Marks for what is left out of messages, for 1,000 tokens."""
        marks = sum(len(_CUT.findall(message.text)) for message in self.messages)
        return 1000 * marks / self._tokens

    @property
    def repeated(self) -> float | None:
        """The share of its runs of RUN_WORDS words that occurred before."""
        runs: Counter[tuple[str, ...]] = Counter()
        for message in self.messages:
            words = message.text.lower().split()
            runs.update(zip(*(words[at:] for at in range(RUN_WORDS)), strict=False))
        return 1 - len(runs) / runs.total() if runs else None

    @property
    def short(self) -> float | None:
        """The share of its messages that have fewer than SHORT_WORDS words."""
        return self._share(lambda message: len(message.text.split()) < SHORT_WORDS)

    @property
    def pleasantries(self) -> float | None:
        """The share of its messages that only greet, thank or agree."""
        return self._share(lambda message: bool(_PLEASANTRY.fullmatch(message.text)))

    @property
    def headless(self) -> float | None:
        """The share of an assistant's messages without their beginning or a heading."""
        messages = [one for one in self.messages if one.speaker.startswith("assistant")]
        return self._share(lambda message: bool(_HEADLESS.match(message.text)), messages)

    @property
    def unanswered(self) -> float | None:
        """The share of the messages that end with a question without the next one after them."""
        messages = [one for one in self.messages if one.text.rstrip().endswith("?")]
        return self._share(lambda message: not message.is_followed, messages)

    @property
    def open_blocks(self) -> float | None:
        """The share of messages with code of which a fence is missing."""
        messages = [one for one in self.messages if _FENCE.search(one.text)]
        return self._share(lambda message: len(_FENCE.findall(message.text)) % 2 == 1, messages)

    def _share(
        self, test: Callable[[Said], bool], messages: Sequence[Said] | None = None
    ) -> float | None:
        among = self.messages if messages is None else messages
        return sum(map(test, among)) / len(among) if among else None


# Each measure, with the heading of its column. Less is better.
MEASURES: dict[str, str] = {
    "cuts": "cuts per 1,000 tokens", "repeated": "repeated runs, %", "short": "short lines, %",
    "pleasantries": "pleasantries, %", "headless": "beginning left out, %",
    "unanswered": "questions alone, %", "open_blocks": "code cut open, %",
    "headings": "tokens in headings, %",
}  # fmt: skip


def headings(text: str) -> str:
    """The headings of a text, one a line."""
    return "\n".join(line for line in text.splitlines() if _HEADING.fullmatch(line))
