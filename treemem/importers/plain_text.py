"""Reads plain text: merges paragraphs into passages of a readable size.

Accepts any text file that no other importer recognizes. Interprets nothing.

Tested in tests/importers/test_documents.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.documents import (
    PIECE_CHARS_MAX,
    Block,
    Line,
    document_events,
    document_lines,
)
from treemem.importers.common.sniffing import is_blank, is_json, is_text

PASSAGE_CHARS_MAX = 1_500

_SUFFIXES = (".txt", ".text", ".log", "")


class PlainText(Importer):
    """Imports text without recognized structure."""

    name = "plain-text"
    version = 1
    is_document = True
    description = "plain text in paragraphs (UTF-8, UTF-16 with BOM, or Windows-1252)"
    kept = "every character"
    dropped = "a BOM"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        by_name = file.suffix in _SUFFIXES
        if is_blank(head):
            return 0.1 if by_name else 0.0
        if not is_text(head):
            return 0.0
        if is_json(head):
            return 0.05 if file.suffix == ".txt" else 0.0
        return 0.3 if by_name else 0.2

    def read(self, file: LogFile) -> Iterator[Event]:
        blocks = paragraphs(document_lines(file))
        return document_events(file, self.name, blocks, PASSAGE_CHARS_MAX)


def paragraphs(lines: Iterable[Line]) -> Iterator[Block]:
    r"""Yields each paragraph with the blank lines after it; the first also with those before it.

    Example:
        >>> [block.text for block in paragraphs([Line("a\n"), Line("\n"), Line("b")])]
        ['a\n\n', 'b']
    """
    pending: list[str] = []
    chars = 0
    has_text = ends = False
    for line in lines:
        is_next = ends and not line.is_blank
        if pending and (is_next or chars + len(line.text) > PIECE_CHARS_MAX):
            yield Block("".join(pending))
            pending, chars, has_text, ends = [], 0, False, False
        pending.append(line.text)
        chars += len(line.text)
        has_text = has_text or not line.is_blank
        ends = has_text and line.is_blank
    if pending:
        yield Block("".join(pending))
