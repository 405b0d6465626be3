"""The text of an HTML page or mail, as somebody reading it would type it off.

Pure. It knows lines, paragraphs, lists, quotes and what is not shown; of layout nothing.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HIDDEN = frozenset({"head", "script", "style", "title", "template"})
_BLOCKS = frozenset(
    "p div table tr ul ol h1 h2 h3 h4 h5 h6 pre section article header footer hr dl dd dt".split()
)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_EMPTY_LINES = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    r"""The text of a page; quoted blocks have "> " before each line.

    Example:
        >>> text_of("<p>Hello <b>Ann</b>,</p><blockquote>we ship<br>today</blockquote>")
        'Hello Ann,\n\n> we ship\n> today'
    """
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
    except AssertionError:
        # The parser gives up on some broken declarations: what is left stays as it stands.
        reader.handle_data(reader.rawdata)
    return reader.text()


class _Reader(HTMLParser):
    """Collects lines. quotes: how many quoted blocks are open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = self._quotes = self._pre = 0

    def text(self) -> str:
        self._end_line()
        return _EMPTY_LINES.sub("\n\n", "\n".join(self._lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
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
            self._pre += tag == "pre"
            self._paragraph(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == "blockquote":
            self._end_line()
            self._quotes = max(0, self._quotes - 1)
            self._paragraph()
        elif tag in _BLOCKS:
            self._pre = max(0, self._pre - (tag == "pre"))
            self._paragraph(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._pre:
            first, *others = data.split("\n")
            self._line.append(first)
            for other in others:
                self._end_line()
                self._line.append(other)
            return
        shown = _SPACE.sub(" ", data)
        if not self._line or self._line[-1].endswith(" "):
            shown = shown.lstrip(" ")
        if shown:
            self._line.append(shown)

    def _paragraph(self, tag: str = "p") -> None:
        self._end_line()
        if tag not in ("div", "tr", "dd", "dt") and self._lines and self._lines[-1]:
            self._lines.append("")

    def _end_line(self) -> None:
        line = "".join(self._line)
        line = line if self._pre else line.rstrip(" ")
        if line or self._pre:
            self._lines.append("> " * min(self._quotes, 8) + line)
        self._line = []
