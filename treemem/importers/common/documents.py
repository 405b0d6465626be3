"""Reads documents of any format: decodes them, splits lines, and merges blocks into messages.

Reads in chunks, so that text of any size needs bounded memory, even without line breaks. The texts
of the messages, joined, equal the decoded file.

Tested in tests/importers/test_documents.py.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from treemem.importers.common.base import Event, LogFile
from treemem.importers.common.source_ids import file_key, one_line
from treemem.importers.streams import utf16
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

PIECE_CHARS_MAX = 8_000

_CHUNK_BYTES = 65_536
_HEADING_CHARS_MAX = 500
_SINGLE_BYTE = "windows-1252"
# A lone carriage return ends a line too, unless the next chunk may begin with a line feed.
_LINE_END = lazy_regex(r"\r\n|\n|\r(?!\Z)")
_SENTENCE_END = lazy_regex(r"(?:[.!?…]+[\"'»”’)\]]*\s+|[。！？]+[」』”’）]*)")
# The lines that open and close a code fence of Markdown.
_FENCE_OPENING = lazy_regex(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_FENCE_CLOSING = lazy_regex(r" {0,3}(`{3,}|~{3,})[ \t]*[\r\n]*\Z")
_BLANKS = " \t\u3000"
_ESCAPED_BYTE = lazy_regex("[\udc80-\udcff]")
_OTHER_NON_ASCII = lazy_regex("[^\x00-\x7f\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its line end, or a piece of a line longer than PIECE_CHARS_MAX.

    is_start: False for the second and later pieces of a line.
    """

    text: str
    is_start: bool = True

    @property
    def is_blank(self) -> bool:
        return self.is_start and not self.text.strip()


@dataclass(frozen=True, slots=True)
class Block:
    """Text that should not be cut: a paragraph, a fence, a heading."""

    text: str
    is_heading: bool = False


def document_events(
    file: LogFile, format_name: str, blocks: Iterable[Block], chars_max: int
) -> Iterator[Event]:
    """Yields the document's source, then its messages; a blank file has none."""
    yield Source(
        f"doc/{file_key(file)}",
        format_name,
        title=one_line(file.stem),
        origin=file.label,
        snapshot=True,
    )
    for text in merge_blocks(blocks, chars_max):
        yield Message(role="document", text=text)


def merge_blocks(blocks: Iterable[Block], chars_max: int) -> Iterator[str]:
    """Merges neighbouring blocks up to chars_max characters; a heading begins a new message.

    Example:
        >>> list(merge_blocks([Block("a"), Block("b"), Block("# c", True), Block("d" * 9)], 5))
        ['ab', '# cddddddddd']
    """
    pending: list[str] = []
    chars = 0
    only_heading = False
    for block in blocks:
        # A heading stays with the text below it, even if that is long.
        limit = PIECE_CHARS_MAX if only_heading else chars_max
        if pending and (block.is_heading or chars + len(block.text) > limit):
            yield "".join(pending)
            pending, chars = [], 0
        only_heading = block.is_heading and len(block.text) <= _HEADING_CHARS_MAX
        pending.append(block.text)
        chars += len(block.text)
    if pending:
        yield "".join(pending)


def document_lines(file: LogFile) -> Iterator[Line]:
    """Yields the lines of a file in any supported encoding; none if it is blank."""
    encoding, bom_bytes, is_blank = _survey(file)
    if is_blank:
        return
    with file.open_encoded() as stream:
        stream.read(bom_bytes)
        yield from split_lines(_decoded(stream, encoding))


def split_lines(chunks: Iterable[str], chars_max: int = PIECE_CHARS_MAX) -> Iterator[Line]:
    r"""Splits chunks into lines with their line ends; cuts those longer than chars_max after a
    sentence or a blank.

    Example:
        >>> [line.text for line in split_lines(["a\r", "\nb\rcc dd"], 3)]
        ['a\r\n', 'b\r', 'cc ', 'dd']
    """
    rest, is_start = "", True
    for chunk in chunks:
        rest += chunk
        at = 0
        for end in _LINE_END.finditer(rest):
            line = rest[at : end.end()]
            if len(line) <= chars_max:  # True of nearly every line, and avoids a generator.
                yield Line(line, is_start)
            else:
                yield from _pieces(line, is_start, chars_max, keep=0)
            at, is_start = end.end(), True
        rest = rest[at:]
        for piece in _pieces(rest, is_start, chars_max, keep=chars_max):
            yield piece
            rest, is_start = rest[len(piece.text) :], False
    yield from _pieces(rest, is_start, chars_max, keep=0)


def cut_point(text: str, chars_max: int) -> int:
    """Returns the offset at which to cut a long text: after a sentence, else after a blank, else
    chars_max.

    Example:
        >>> cut_point("One. Two. Three", 12), cut_point("abc def", 5), cut_point("abcdef", 4)
        (10, 4, 4)
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text, chars_max // 2, chars_max)]
    if ends:
        return ends[-1]
    blank = max(text.rfind(char, 0, chars_max) for char in _BLANKS)
    return blank + 1 if blank > 0 else chars_max


def fence_after(fence: str | None, line: str) -> str | None:
    """The marker of the fence that is open after a line; fence is the one open before it.

    Example:
        >>> fence_after(None, "~~~ text"), fence_after("````", "```"), fence_after("```", "````")
        ('~~~', '````', None)
    """
    if fence is None:
        opening = _FENCE_OPENING.match(line)
        return opening.group(1) if opening else None
    closing = _FENCE_CLOSING.match(line)
    if closing is None or closing.group(1)[0] != fence[0] or len(closing.group(1)) < len(fence):
        return fence
    return None


def _pieces(text: str, is_start: bool, chars_max: int, keep: int) -> Iterator[Line]:
    """Yields pieces of at most chars_max characters; leaves up to keep characters at the end."""
    while len(text) > max(keep, chars_max):
        point = cut_point(text, chars_max)
        yield Line(text[:point], is_start)
        text, is_start = text[point:], False
    if text and not keep:
        yield Line(text, is_start)


# -- decoding ----------------------------------------------------------------------------


def _survey(file: LogFile) -> tuple[str, int, bool]:
    """A file's encoding, the size of its BOM, and whether it is blank.

    UTF-8, unless it has more invalid bytes than non-ASCII characters: one bad byte in a long text
    is damage, many are an older encoding.
    """
    with file.open_encoded() as stream:
        start = stream.read(utf16.START_BYTES)
    utf8_bom_bytes = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
    encoding, bom_bytes = utf16.encoding_of(start) or ("utf-8", utf8_bom_bytes)
    escaped = other = 0
    is_blank = True
    with file.open_encoded() as stream:
        stream.read(bom_bytes)
        for chunk in _decoded(stream, encoding):
            is_blank = is_blank and chunk.isspace()
            if not chunk.isascii():
                escaped += len(_ESCAPED_BYTE.findall(chunk))
                other += len(_OTHER_NON_ASCII.findall(chunk))
    if encoding == "utf-8" and not bom_bytes and escaped > other:
        encoding = _SINGLE_BYTE
    return encoding, bom_bytes, is_blank


def _decoded(stream: BinaryIO, encoding: str) -> Iterator[str]:
    """Decodes a stream in chunks; never raises.

    Loses nothing: invalid UTF-8 becomes lone surrogates, and lone surrogates in UTF-16 stay.
    """
    if encoding == _SINGLE_BYTE:
        while data := stream.read(_CHUNK_BYTES):
            yield data.decode("latin-1").translate(_WINDOWS_1252)
        return
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    while data := stream.read(_CHUNK_BYTES):
        if text := decoder.decode(data):
            yield text
    left, _ = decoder.getstate()
    if encoding != "utf-8" and len(left) % 2:
        # Half a UTF-16 code unit at the end of a truncated file is dropped.
        yield left[:-1].decode(encoding, errors) + "\ufffd"
    elif left:
        yield left.decode(encoding, errors)


def _windows_1252() -> dict[int, str]:
    """Maps Latin-1 controls to the characters of Windows-1252; five codes have none."""
    table: dict[int, str] = {}
    for code in range(0x80, 0xA0):
        decoded = bytes([code]).decode("cp1252", "ignore")
        if decoded:
            table[code] = decoded
    return table


_WINDOWS_1252 = _windows_1252()
