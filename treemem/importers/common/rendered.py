"""Builds messages from documents with markup (HTML, Word, PDF).

Takes blocks of visible text, with markers for pictures. A message's id depends only on its text,
not on the file's date, so that an edited document adds only its new parts.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from treemem.importers.common.attachments import Attachment
from treemem.importers.common.base import Event, LogFile
from treemem.importers.common.documents import PIECE_CHARS_MAX, Block, cut_point, merge_blocks
from treemem.importers.common.source_ids import file_key, one_line
from treemem.patterns import lazy_regex
from treemem.types import Blob, Message, Part, Source

SECTION_CHARS_MAX = 2_000

_AUTHOR_CHARS_MAX = 200
_ID_HEX_LENGTH = 16
_TICKS = lazy_regex("`+")


@dataclass(frozen=True, slots=True)
class Mark:
    """A range of a block that stands for a picture: offsets in characters, end exclusive."""

    start: int
    end: int
    media_type: str | None
    blob: Blob | None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A block of visible text. page: the page on which it begins; None without pages.

    author, sent_at: those of this block, such as a comment; None for the document's.
    """

    text: str
    is_heading: bool = False
    marks: tuple[Mark, ...] = ()
    page: int | None = None
    author: str | None = None
    sent_at: str | None = None


@dataclass(slots=True)
class DocumentInfo:
    """A document's metadata. sent_at: the time of the last change, or else of creation."""

    title: str | None = None
    author: str | None = None
    sent_at: str | None = None


class BlockText:
    """The text of a block while it is built, with its markers."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._marks: list[Mark] = []
        self.chars = 0
        self.is_blank = True

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.chars += len(text)
        self.is_blank = self.is_blank and (not text or text.isspace())

    def mark(self, attachment: Attachment) -> None:
        end = self.chars + len(attachment.marker)
        self._marks.append(Mark(self.chars, end, attachment.media_type, attachment.blob))
        self.add(attachment.marker)

    def extend(self, text: str, marks: Iterable[Mark]) -> None:
        """Appends the text and marks of another block."""
        self._marks += [
            replace(mark, start=mark.start + self.chars, end=mark.end + self.chars)
            for mark in marks
        ]
        self.add(text)

    def take(self) -> tuple[str, tuple[Mark, ...]]:
        """Returns the text and marks so far, and begins the next block."""
        text, marks = "".join(self._pieces), tuple(self._marks)
        self._pieces, self._marks, self.chars, self.is_blank = [], [], 0, True
        return text, marks


def rendered_events(
    file: LogFile, format_name: str, about: DocumentInfo, blocks: Iterable[Rendered]
) -> Iterator[Event]:
    """Yields the document's source, then its messages."""
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
    """Blocks that are passing through merge_blocks(), with their offsets."""

    waiting: deque[tuple[int, Rendered]] = field(default_factory=deque)
    chars: int = 0

    def through(self, blocks: Iterable[Rendered]) -> Iterator[Block]:
        for block in blocks:
            for piece in _pieces(block):
                self.waiting.append((self.chars, piece))
                self.chars += len(piece.text)
                own = piece.page is not None or piece.author is not None
                yield Block(piece.text, piece.is_heading or own)

    def take(self, end: int) -> list[tuple[int, Rendered]]:
        """Removes and returns the blocks that begin before an offset."""
        blocks = []
        while self.waiting and self.waiting[0][0] < end:
            blocks.append(self.waiting.popleft())
        return blocks


def _messages(blocks: Iterable[Rendered], file: LogFile) -> Iterator[Message]:
    """Merges neighbouring blocks into messages; drops only blanks at the end."""
    placed, at = _Placed(), 0
    for text in merge_blocks(placed.through(blocks), SECTION_CHARS_MAX):
        pieces = placed.take(at + len(text))
        marks = [(start - at, mark) for start, block in pieces for mark in block.marks]
        at += len(text)
        if not text.strip():
            continue
        first = pieces[0][1]
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
    """Splits a block that is too long, after a sentence and never inside a marker."""
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
    """Puts preformatted text into a fence longer than any inside it.

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
