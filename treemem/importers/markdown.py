"""Reads Markdown, one message per section; cuts long sections at blank lines.

Headings in code fences, indented code, comments and front matter are content and begin no section.
Renders nothing and drops nothing.

Tested in tests/importers/test_documents.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.documents import (
    PIECE_CHARS_MAX,
    Block,
    Line,
    document_events,
    document_lines,
)
from treemem.importers.common.sniffing import is_blank, is_json, is_text
from treemem.patterns import lazy_regex

SECTION_CHARS_MAX = 2_000

_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_FRONT_MATTER_LINES_MAX = 200
_HEADINGS_MIN = 2

_ATX = lazy_regex(r" {0,3}#{1,6}(?:[ \t\r\n]|\Z)")
_ATX_LINE = lazy_regex(rb"^#{1,6} \S", re.MULTILINE)
_SETEXT = lazy_regex(r" {0,3}(?:=+|-+)[ \t]*[\r\n]*\Z")
_RULE = lazy_regex(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})[\r\n]*\Z")
_NO_PARAGRAPH = lazy_regex(r" {4}|\t| {0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|\||<)")
_FENCE = lazy_regex(r" {0,3}((?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*\Z)|~{3,})")
_CLOSING_FENCE = lazy_regex(r"([ \t]*)(`{3,}|~{3,})[ \t]*[\r\n]*\Z")
_VERBATIM_HTML = lazy_regex(r" {0,3}<(script|pre|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE)
_COMMENT = lazy_regex(r" {0,3}<!--")
_FIELD = lazy_regex(r"[\w\"'][^:=]*[:=]|\[")

Closes = Callable[[str], bool]


class Markdown(Importer):
    """Imports Markdown documents."""

    name = "markdown"
    version = 1
    is_document = True
    description = "Markdown documents, a message for every section"
    kept = "every character"
    dropped = "a BOM"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        by_name = file.suffix in _SUFFIXES
        if is_blank(head):
            return 0.1 if by_name else 0.0
        if not is_text(head):
            return 0.0
        if by_name:
            return 0.05 if is_json(head) else 0.4
        # Without a suffix, lines that begin with "# " may be comments in a script.
        is_nameless = file.suffix == "" and not head.startswith(b"#!")
        return 0.35 if is_nameless and len(_ATX_LINE.findall(head)) >= _HEADINGS_MIN else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        blocks = markdown_blocks(document_lines(file))
        return document_events(file, self.name, blocks, SECTION_CHARS_MAX)


def markdown_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    r"""Yields paragraphs, fences and headings, each with the blank lines after it.

    Example:
        >>> text = ["intro\n", "# One\n", "```\n", "# no\n", "```\n"]
        >>> [block.text for block in markdown_blocks(map(Line, text))]
        ['intro\n', '# One\n```\n# no\n```\n']
    """
    reading = _Reading()
    for line in lines:
        yield from reading.take(line)
    yield from reading.block()


class _Reading:
    """The open block and its state.

    _closes: tests whether a line ends the open fence, comment or front matter; None outside them.
    _paragraph: the index in the block of the open paragraph's first line; a setext underline makes
    the lines from there a heading. _may_begin: whether a line could begin a paragraph.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self._is_heading = self._has_text = self._ends = False
        self._closes: Closes | None = None
        self._paragraph: int | None = None
        self._may_begin = True
        self._number = 0
        self._front_matter_until = 0

    def take(self, line: Line) -> Iterator[Block]:
        if self._chars + len(line.text) > PIECE_CHARS_MAX:
            yield from self.block()
        self._number += line.is_start
        if not line.is_start or self._opens_front_matter(line.text):
            self._keep(line.text)
        elif self._closes is not None:
            self._take_verbatim(line.text, self._closes)
        elif line.is_blank:
            self._keep(line.text)
            self._ends, self._paragraph, self._may_begin = self._has_text, None, True
        else:
            if self._ends:
                yield from self.block()
            yield from self._take_text(line.text)

    def block(self) -> Iterator[Block]:
        """Yields the open block and closes it."""
        if self._lines:
            yield Block("".join(self._lines), self._is_heading)
        self._lines, self._chars = [], 0
        self._is_heading = self._has_text = self._ends = False
        self._paragraph, self._may_begin = None, True

    def _keep(self, text: str) -> None:
        self._lines.append(text)
        self._chars += len(text)
        self._has_text = self._has_text or not text.isspace()

    def _take_text(self, text: str) -> Iterator[Block]:
        """Takes a non-blank line outside fences."""
        if _ATX.match(text):
            yield from self._heading([])
            self._keep(text)
            self._paragraph, self._may_begin = None, True
        elif _SETEXT.match(text) and self._paragraph is not None:
            title = self._lines[self._paragraph :]
            del self._lines[self._paragraph :]
            yield from self._heading(title)
            self._keep(text)
            self._paragraph, self._may_begin = None, True
        elif (closes := _opening(text)) is not None:
            self._keep(text)
            self._closes, self._paragraph = closes, None
        else:
            self._begin_paragraph(text)
            self._keep(text)

    def _heading(self, title: list[str]) -> Iterator[Block]:
        """Begins a block with a heading and the blank lines before it."""
        before = self._lines
        if any(text.strip() for text in before):
            yield from self.block()
            before = []
        self._lines = [*before, *title]
        self._chars = sum(map(len, self._lines))
        self._is_heading = True

    def _begin_paragraph(self, text: str) -> None:
        # Subtle: a plain line after a list item or a quote continues it, so that an underline below
        # is a rule; a new paragraph can begin only after a blank line.
        if _RULE.match(text):
            self._paragraph, self._may_begin = None, True
        elif self._paragraph is None and self._may_begin:
            if _NO_PARAGRAPH.match(text):
                self._may_begin = False
            else:
                self._paragraph = len(self._lines)

    def _take_verbatim(self, text: str, closes: Closes) -> None:
        self._keep(text)
        gave_up = 0 < self._front_matter_until < self._number
        if closes(text) or gave_up:
            self._closes, self._may_begin = None, True
            self._front_matter_until = 0

    def _opens_front_matter(self, text: str) -> bool:
        """Whether this is line 1 and a front matter mark, which line 2 must confirm."""
        mark = text.rstrip()
        if self._number == 1 and mark in ("---", "+++"):
            self._closes = partial(_is_mark, mark)
            self._front_matter_until = _FRONT_MATTER_LINES_MAX
            return True
        if self._number == 2 and self._front_matter_until and not _FIELD.match(text):
            self._closes, self._front_matter_until = None, 0
        return False


def _opening(text: str) -> Closes | None:
    """The test for the end of the verbatim range that a line opens; None if it opens none."""
    if (fence := _FENCE.match(text)) is not None:
        return partial(_closes_fence, fence.group(2), bool(fence.group(1)))
    if (comment := _COMMENT.match(text)) is not None:
        return None if "-->" in text[comment.end() :] else partial(_contains, "-->")
    if (html := _VERBATIM_HTML.match(text)) is not None:
        closing = f"</{html.group(1).lower()}>"
        return None if closing in text.lower() else partial(_contains, closing)
    return None


def _closes_fence(fence: str, in_list: bool, text: str) -> bool:
    """Whether a line repeats the fence's character at least as often, and contains nothing else.
    in_list: at any indent."""
    match = _CLOSING_FENCE.match(text)
    if match is None or match.group(2)[0] != fence[0] or len(match.group(2)) < len(fence):
        return False
    return in_list or (len(match.group(1)) < 4 and "\t" not in match.group(1))


def _contains(closing: str, text: str) -> bool:
    return closing in text.lower()


def _is_mark(mark: str, text: str) -> bool:
    return text.rstrip() == mark or (mark == "---" and text.rstrip() == "...")
