"""Documents whose text has to be got out of markup (HTML, Word, PDF): what they share.

Such a document is read as blocks of the text that a person sees, with markers where pictures
were; the blocks become messages. A part of a document keeps its id as long as its words stay,
whatever date the file carries, so that an edited document adds only what is new in it.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from treemem.importers.common.attachments import Attachment
from treemem.importers.common.base import Event, LogFile
from treemem.importers.common.documents import PIECE_CHARS_MAX, Block, cut_point, merged
from treemem.importers.common.source_ids import file_key, one_line
from treemem.types import Blob, Message, Part, Source

SECTION_CHARS_MAX = 2_000

_AUTHOR_CHARS_MAX = 200
_ID_HEX_LENGTH = 16
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a block that stands for a picture. Offsets in characters, end exclusive."""

    start: int
    end: int
    media_type: str | None
    blob: Blob | None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A block of text as a reader sees it. page: the page it begins, where there are pages.

    author, sent_at: of this block alone, such as a comment's; None takes the document's.
    """

    text: str
    is_heading: bool = False
    marks: tuple[Mark, ...] = ()
    page: int | None = None
    author: str | None = None
    sent_at: str | None = None


@dataclass(slots=True)
class About:
    """What a document says of itself. sent_at: when it was last changed, else made."""

    title: str | None = None
    author: str | None = None
    sent_at: str | None = None


class BlockText:
    """The text of a block as it grows, with the markers in it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._marks: list[Mark] = []
        self.chars = 0
        self.is_blank = True

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.chars += len(text)
        self.is_blank = self.is_blank and (not text or text.isspace())

    def mark(self, found: Attachment) -> None:
        end = self.chars + len(found.marker)
        self._marks.append(Mark(self.chars, end, found.media_type, found.blob))
        self.add(found.marker)

    def extend(self, text: str, marks: Iterable[Mark]) -> None:
        """Adds what another one had gathered."""
        self._marks += [
            replace(mark, start=mark.start + self.chars, end=mark.end + self.chars)
            for mark in marks
        ]
        self.add(text)

    def taken(self) -> tuple[str, tuple[Mark, ...]]:
        """What was gathered; the next block begins."""
        text, marks = "".join(self._pieces), tuple(self._marks)
        self._pieces, self._marks, self.chars, self.is_blank = [], [], 0, True
        return text, marks


def rendered_events(
    file: LogFile, format_name: str, about: About, blocks: Iterable[Rendered]
) -> Iterator[Event]:
    """The document's source, then its messages."""
    yield Source(
        f"doc/{file_key(file)}",
        format_name,
        title=one_line(about.title) or one_line(file.stem),
        origin=file.label,
        snapshot=True,
    )
    seen: dict[str, int] = {}
    for message in _messages(blocks, file):
        digest = hashlib.blake2b(
            message.text.encode("utf-8", "surrogatepass"), digest_size=_ID_HEX_LENGTH // 2
        ).hexdigest()
        number = seen[digest] = seen.get(digest, -1) + 1
        yield replace(
            message,
            author=(message.author or about.author or "")[:_AUTHOR_CHARS_MAX] or None,
            sent_at=message.sent_at or about.sent_at,
            external_id=f"{digest}#{number}" if number else digest,
        )


@dataclass(slots=True)
class _Placed:
    """Blocks that are on their way through merged(), each with where it begins."""

    waiting: deque[tuple[int, Rendered]] = field(default_factory=deque)
    chars: int = 0

    def through(self, blocks: Iterable[Rendered]) -> Iterator[Block]:
        for block in blocks:
            for piece in _pieces(block):
                self.waiting.append((self.chars, piece))
                self.chars += len(piece.text)
                own = piece.page is not None or piece.author is not None
                yield Block(piece.text, piece.is_heading or own)

    def taken(self, end: int) -> list[tuple[int, Rendered]]:
        """The blocks that lie before a character."""
        found = []
        while self.waiting and self.waiting[0][0] < end:
            found.append(self.waiting.popleft())
        return found


def _messages(blocks: Iterable[Rendered], file: LogFile) -> Iterator[Message]:
    """Neighbouring blocks put together; nothing of their text is lost but blanks at the end."""
    placed, at = _Placed(), 0
    for text in merged(placed.through(blocks), SECTION_CHARS_MAX):
        held = placed.taken(at + len(text))
        marks = [(start - at, mark) for start, block in held for mark in block.marks]
        at += len(text)
        if not text.strip():
            continue
        first = held[0][1]
        yield Message(
            role="document",
            text=text.rstrip(),
            author=first.author,
            sent_at=first.sent_at,
            session=None if first.page is None else f"doc/{file_key(file)}#page={first.page}",
            parts=tuple(
                Part("marker", shift + mark.start, shift + mark.end, mark.media_type)
                for shift, mark in marks
            ),
            blobs=tuple(mark.blob for _, mark in marks if mark.blob is not None),
        )


def _pieces(block: Rendered) -> Iterator[Rendered]:
    """A block that is too long in pieces, cut behind a sentence, never inside a marker."""
    at, number = 0, 0
    while at < len(block.text):
        end = len(block.text)
        if end - at > PIECE_CHARS_MAX:
            end = at + cut_point(block.text[at : at + PIECE_CHARS_MAX], PIECE_CHARS_MAX)
        marks: list[Mark] = []
        while number < len(block.marks) and block.marks[number].start < end:
            mark = block.marks[number]
            if mark.end > end:
                end = mark.start if mark.start > at else mark.end
                continue
            marks.append(replace(mark, start=mark.start - at, end=mark.end - at))
            number += 1
        is_heading = block.is_heading and at == 0
        text = block.text[at:end]
        yield replace(block, text=text, marks=tuple(marks), is_heading=is_heading)
        at = end


def fenced(block: Rendered) -> Rendered:
    """Preformatted text in a fence that is longer than any in it.

    Example:
        >>> fenced(Rendered("a  b")).text
        '```\\na  b\\n```'
    """
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(block.text)), default=0))
    shift = len(fence) + 1
    marks = tuple(
        replace(mark, start=mark.start + shift, end=mark.end + shift) for mark in block.marks
    )
    return replace(block, text=f"{fence}\n{block.text}\n{fence}", marks=marks)
