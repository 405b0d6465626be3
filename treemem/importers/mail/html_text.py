"""Converts the HTML of an email message to plain text.

Pure. Keeps lines, paragraphs, lists and quotes, and drops hidden elements and layout. Takes linear
time even for unclosed tags; the standard library's parser takes quadratic time, a minute for
200 kB.

Tested in tests/importers/test_mail.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from treemem.patterns import lazy_regex

_HIDDEN = frozenset({"script", "style", "title", "template"})
_BLOCKS = frozenset(
    "p div table tr ul ol h1 h2 h3 h4 h5 h6 pre section article header footer hr dl dd dt".split()
)
_TIGHT = frozenset({"div", "tr", "dd", "dt"})
# Subtle: possessive, and never beyond a "<", so that an unclosed tag is scanned only once.
_TAG = lazy_regex(
    r"""<(/?)([A-Za-z][A-Za-z0-9]*+)(?:[^<>"']|"[^"<]*+"|'[^'<]*+'|["'])*+>|<[!?][^<>]*+>"""
)
_SPACE = lazy_regex(r"[ \t\r\n\f]+")
_EMPTY_LINES = lazy_regex(r"\n{3,}")
_QUOTES_SHOWN = 8
# Python refuses to parse numbers with thousands of digits.
_LONG_NUMBER = lazy_regex(r"&#(?=x?[0-9A-Fa-f]{9})")


def text_of(page: str) -> str:
    r"""The text of a page, with "> " before each line of a quoted block.

    Example:
        >>> text_of("<p>Hello <b>Ann</b>,</p><blockquote>we ship<br>today</blockquote>")
        'Hello Ann,\n\n> we ship\n> today'
    """
    reader = _Reader()
    for name, is_end, text in _pieces(page):
        if name is None:
            reader.add(text)
        elif is_end:
            reader.end(name)
        else:
            reader.start(name)
    return reader.text()


def _pieces(page: str) -> Iterator[tuple[str | None, bool, str]]:
    """Yields tags as (name, whether it is an end tag, "") and texts as (None, False, text)."""
    at = 0
    while at < len(page):
        opening = page.find("<", at)
        if opening < 0:
            yield None, False, page[at:]
            return
        yield None, False, page[at:opening]
        if page.startswith("<!--", opening):
            end = page.find("-->", opening)
            if end < 0:
                return
            at = end + 3
            continue
        tag = _TAG.match(page, opening)
        if tag is None:
            yield None, False, "<"
            at = opening + 1
            continue
        at = tag.end()
        name = (tag[2] or "").lower()
        if name in ("script", "style") and not tag[1]:
            closing = re.compile(rf"</{name}", re.IGNORECASE).search(page, at)
            if closing is None:
                return
            at = closing.start()
        elif name:
            yield name, bool(tag[1]), ""


class _Reader:
    """Collects lines. quotes: the number of open quoted blocks."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = self._quotes = self._pre = 0

    def text(self) -> str:
        self._end_line()
        return _EMPTY_LINES.sub("\n\n", "\n".join(self._lines)).strip("\n")

    def start(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "br":
            self._end_line()
        elif tag == "li":
            self._end_line()
            self._line.append("- ")
        elif tag == "blockquote":
            self._paragraph()
            self._quotes += 1
        elif tag in ("td", "th") and self._line:
            self._line.append(" ")
        elif tag in _BLOCKS:
            self._paragraph(tag)
            self._pre += tag == "pre"
        elif tag == "body":
            self._hidden = 0

    def end(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == "blockquote":
            self._end_line()
            self._quotes = max(0, self._quotes - 1)
            self._paragraph()
        elif tag in _BLOCKS:
            self._end_line()
            self._pre = max(0, self._pre - (tag == "pre"))
            self._paragraph(tag)

    def add(self, text: str) -> None:
        if self._hidden or not text:
            return
        text = html.unescape(_LONG_NUMBER.sub("&amp;#", text))
        if self._pre:
            first, *others = text.split("\n")
            self._line.append(first)
            for other in others:
                self._end_line()
                self._line.append(other)
            return
        collapsed = _SPACE.sub(" ", text)
        if not self._line or self._line[-1].endswith(" "):
            collapsed = collapsed.lstrip(" ")
        if collapsed:
            self._line.append(collapsed)

    def _paragraph(self, tag: str = "p") -> None:
        self._end_line()
        if tag not in _TIGHT and self._lines and self._lines[-1]:
            self._lines.append("")

    def _end_line(self) -> None:
        line = "".join(self._line)
        line = line if self._pre else line.rstrip(" ")
        if line or self._pre:
            self._lines.append("> " * min(self._quotes, _QUOTES_SHOWN) + line)
        self._line = []
