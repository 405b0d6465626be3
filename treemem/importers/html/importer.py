"""Reads the visible text of HTML documents, one message per section.

Writes headings, lists and tables as in Markdown, and collapses white space as browsers do, except
in preformatted text. Fetches nothing and runs no scripts.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from treemem.errors import ImportFileError
from treemem.importers.common.attachments import Attachment, read_attachment
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.documents import document_lines
from treemem.importers.common.rendered import (
    BlockText,
    DocumentInfo,
    Rendered,
    fenced,
    rendered_events,
)
from treemem.importers.common.sniffing import is_blank, is_text
from treemem.importers.html.tokens import Tag, tokenize
from treemem.importers.streams import utf16
from treemem.patterns import lazy_regex

HTML_BYTES_MAX = 32 * 1024 * 1024

_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
_START = lazy_regex(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]++|-(?!->))*+-->\s*)*+"
    rb"(?:<!doctype\s+html|<html[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_ANY_TAG = lazy_regex(rb"<(?:html|head|body|p|div|h[1-6]|table|ul|ol|br|span|a)[\s/>]", re.I)
_CHARSET = lazy_regex(rb"""(?:charset|encoding)\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.I)
_CHARSET_BYTES = 2_048

_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "canvas", "iframe", "object",
                     "title"})  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
     "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "head",
     "header", "hr", "html", "legend", "main", "menu", "nav", "ol", "p", "pre", "section",
     "summary", "table", "tbody", "tfoot", "thead", "ul"}
)  # fmt: skip
_LISTS = frozenset({"ul", "ol", "menu"})
_LIST_DEPTH_SHOWN = 8
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("article:modified_time", "last-modified", "dcterms.modified", "article:published_time",
          "date", "dc.date", "dcterms.created")  # fmt: skip


class Html(Importer):
    """Imports HTML documents."""

    name = "html"
    version = 2
    is_document = True
    description = "HTML documents, a message for every section"
    kept = "the text that is seen; headings, lists, tables; title, author, date; image markers"
    dropped = "scripts, styles, link targets, layout"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        by_name = file.suffix in _SUFFIXES
        if is_blank(head):
            return 0.15 if by_name else 0.0
        if not is_text(head):
            return 0.0
        if _START.match(head):
            return 0.6 if by_name or file.suffix in ("", ".txt") else 0.3
        return 0.45 if by_name and _ANY_TAG.search(head) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        if file.size_bytes > HTML_BYTES_MAX:
            raise ImportFileError(
                f"{file.label} has {file.size_bytes:,} bytes; an HTML document may have "
                f"{HTML_BYTES_MAX:,}. Save it in parts."
            )
        page = _Page()
        page.read(_decoded(file))
        yield from rendered_events(file, self.name, page.about(), page.blocks())


def _is_unicode(file: LogFile) -> bool:
    """Whether the first bytes tell that a page is in UTF-8 or UTF-16, whatever it declares."""
    with file.open_encoded() as stream:
        start = stream.read(utf16.START_BYTES)
    return start.startswith(codecs.BOM_UTF8) or utf16.encoding_of(start) is not None


def _decoded(file: LogFile) -> str:
    """Decodes a file in the encoding that it declares, or else like any text file."""
    head = file.head()
    named = _CHARSET.search(head[:_CHARSET_BYTES])
    charset = named.group(1).decode("ascii").lower() if named else "utf-8"
    # As in browsers, a page that can declare UTF-16 in ASCII is not in it: it is read as UTF-8.
    plain = charset.replace("_", "-") in ("utf-8", "utf8", "us-ascii", "ascii")
    plain = plain or charset.startswith("utf-16")
    if not plain and not _is_unicode(file):
        # As in browsers, a declared Latin-1 means Windows-1252.
        charset = "cp1252" if charset in ("iso-8859-1", "latin-1", "latin1") else charset
        with file.open() as stream:
            data = stream.read()
        try:
            return data.decode(charset, "replace")
        except (LookupError, ValueError):
            pass  # an unknown encoding
    return "".join(line.text for line in document_lines(file))


class _Page:
    """Builds the blocks of a page from its tags.

    Each block has a kind; list items and table rows have no blank line between them.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[Rendered, str]] = []
        self._text = BlockText()
        self._space = self._is_pre = False
        self._heading = self._lists = self._in_row = 0
        self._hidden: list[str] = []
        self._prefix = ""
        self._title: list[str] = []
        self._meta: dict[str, str] = {}

    # -- results -----------------------------------------------------------------------

    def about(self) -> DocumentInfo:
        def first(names: tuple[str, ...]) -> str | None:
            return next((self._meta[name] for name in names if self._meta.get(name)), None)

        title = " ".join("".join(self._title).split())
        return DocumentInfo(
            title or first(("og:title", "dc.title")), first(_AUTHORS), first(_DATES)
        )

    def blocks(self) -> Iterator[Rendered]:
        """Yields each block with the blank line that separates it from the next."""
        for number, (block, kind) in enumerate(self._blocks):
            following = self._blocks[number + 1 : number + 2]
            together = kind and following and following[0][1] == kind
            yield Rendered(block.text + ("\n" if together else "\n\n"), block.is_heading,
                           block.marks)  # fmt: skip

    # -- tags and text -----------------------------------------------------------------

    def read(self, text: str) -> None:
        for token in tokenize(text):
            if isinstance(token, str):
                self._take_text(token)
            elif token.is_end:
                self._take_end(token.name)
            else:
                self._take_start(token)
        self._end_block()

    def _take_start(self, tag: Tag) -> None:
        if tag.name == "meta":
            attributes = tag.attributes
            name = (
                attributes.get("name")
                or attributes.get("property")
                or attributes.get("http-equiv")
                or ""
            )
            self._meta.setdefault(name.lower(), attributes.get("content", "").strip())
        elif tag.name == "body":
            self._hidden.clear()
        elif tag.name in _HIDDEN:
            # Subtle: browsers honour the slash only in drawings, where <title/> hides nothing.
            is_empty = tag.is_closed and (self._hidden or tag.name == "svg")
            # One of each is enough, since an end tag closes everything inside its element.
            if not is_empty and tag.name not in self._hidden:
                self._hidden.append(tag.name)
        elif self._hidden:
            return
        elif tag.name == "img":
            self._image(tag.attributes)
        elif tag.name == "br":
            self._newline()
        else:
            self._start(tag.name)

    def _take_end(self, name: str) -> None:
        if name in _HIDDEN and name in self._hidden:
            del self._hidden[self._hidden.index(name) :]
        elif name in ("body", "html", "head"):
            self._hidden.clear()
            self._end_block()
        elif not self._hidden:
            self._end(name)

    def _take_text(self, data: str) -> None:
        if self._hidden:
            if self._hidden == ["title"]:
                self._title.append(data)
            return
        if self._is_pre:
            self._put(data if self._text.chars else data.removeprefix("\n"))
            return
        words = data.split()
        if not words:
            self._space = True
            return
        self._space = self._space or data[0].isspace()
        self._put(" ".join(words))
        self._space = data[-1].isspace()

    # -- blocks ------------------------------------------------------------------------

    def _start(self, tag: str) -> None:
        if tag in ("td", "th"):
            if not self._text.is_blank:
                self._text.add(" |")
            self._space = True
        elif tag == "tr":
            self._end_block()
            self._in_row += 1
        elif self._in_row and tag not in _HEADINGS:
            self._space = self._space or tag in _BLOCKS or tag == "li"
        elif tag in _HEADINGS:
            self._end_block()
            self._heading = _HEADINGS[tag]
        elif tag == "li":
            self._end_block()
            self._prefix = "  " * min(max(0, self._lists - 1), _LIST_DEPTH_SHOWN) + "- "
        elif tag in _BLOCKS:
            self._end_block()
            self._lists += tag in _LISTS
            self._is_pre = tag == "pre"

    def _end(self, tag: str) -> None:
        if tag == "tr":
            self._end_block()
            self._in_row = max(0, self._in_row - 1)
        elif tag == "table":
            self._end_block()
            self._in_row = 0
        elif self._in_row and tag not in _HEADINGS:
            self._space = self._space or tag in _BLOCKS
        elif tag in _BLOCKS or tag in _HEADINGS or tag == "li":
            self._end_block()
            if tag in _LISTS:
                self._lists = max(0, self._lists - 1)
                self._prefix = ""

    def _put(self, text: str) -> None:
        if self._text.chars == 0:
            self._text.add("#" * self._heading + " " if self._heading else self._prefix)
            self._prefix = ""
        elif self._space:
            self._text.add(" ")
        self._space = False
        self._text.add(text)

    def _newline(self) -> None:
        if self._heading or self._in_row:
            self._space = True
        elif self._text.chars:
            self._text.add("\n")
            self._space = False

    def _image(self, attributes: dict[str, str]) -> None:
        source, alt = attributes.get("src", ""), attributes.get("alt")
        if alt is not None and not alt.strip():
            return  # the page marks it as decoration
        image = read_attachment({"type": "image", "source": source}) if source else None
        if image is None or image.blob is None:
            label = " ".join((alt or source).split())[:300]
            image = Attachment(f"[image: {label}]") if label else None
        if image is not None:
            self._put("")
            self._text.mark(image)

    def _end_block(self) -> None:
        kind = "row" if self._in_row else "item" if self._lists else ""
        text, marks = self._text.take()
        block = Rendered(text.rstrip(), bool(self._heading), marks)
        if block.text:
            self._blocks.append((fenced(block) if self._is_pre else block, kind))
            self._prefix = ""
        self._space = self._is_pre = False
        self._heading = 0
