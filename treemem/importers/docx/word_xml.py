"""Parses the XML of a Word document as a stream: builds no tree, expands no entities.

Pure. Matches elements by local name, since the strict and transitional variants of the format
differ only in namespaces.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from xml.parsers import expat

from treemem.importers.common.attachments import Attachment
from treemem.importers.common.rendered import BlockText, DocumentInfo, Mark, Rendered

DEPTH_MAX = 500

# Returns the marker of a picture by its relationship id; None if there is none.
Pictures = Callable[[str], Attachment | None]

_SEPARATOR = " "
_HEADING_LEVELS = 6
_LIST_DEPTH_SHOWN = 8
# Elements whose text is not part of the document, or repeats text that is.
_LEFT_OUT = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "sectPr"})
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "\u2011", "softHyphen": ""}
_NOTES = ("separator", "continuationSeparator", "continuationNotice")


class PartReader:
    """Feeds a part to expat; subclasses handle the elements.

    Raises ExpatError for malformed XML, ValueError for a document type or excessive nesting.
    """

    def __init__(self) -> None:
        self._path: list[str] = []
        parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        parser.buffer_text = True
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        self._parser = parser

    def feed(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._parser.Parse(piece, False)
        self._parser.Parse(b"", True)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Called at the start of an element; names are local."""

    def end(self, name: str) -> None:
        """Called at the end of an element."""

    def text(self, data: str) -> None:
        """Called for character data."""

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= DEPTH_MAX:
            raise ValueError("it is nested too deeply")
        self._path.append(_local(name))
        self.start(self._path[-1], {_local(key): value for key, value in attributes.items()})

    def _on_end(self, name: str) -> None:
        del name
        self.end(self._path.pop())


def _local(name: str) -> str:
    return name.rsplit(_SEPARATOR, 1)[-1]


def _refuse(*_: object) -> None:
    raise ValueError("it declares a document type, which no word processor writes")


# -- the small parts -------------------------------------------------------------------


class _Core(PartReader):
    """docProps/core.xml: title, author and dates."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}

    def text(self, data: str) -> None:
        name = self._path[-1]
        if len(self.fields.get(name, "")) < 1_000:
            self.fields[name] = self.fields.get(name, "") + data


def read_core(pieces: Iterable[bytes], about: DocumentInfo) -> None:
    """Reads the document's metadata into about."""
    core = _Core()
    core.feed(pieces)
    about.title = core.fields.get("title", "").strip() or None
    about.author = core.fields.get("creator", "").strip() or None
    changed = core.fields.get("modified", "").strip() or core.fields.get("created", "").strip()
    about.sent_at = changed or None


class _Styles(PartReader):
    """word/styles.xml: the names of styles by their ids, which differ by language."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self._id = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "style":
            self._id = attributes.get("styleId", "")
        elif name == "name" and self._path[-2:-1] == ["style"]:
            self.names.setdefault(self._id, attributes.get("val", "").lower())


def read_styles(pieces: Iterable[bytes]) -> dict[str, str]:
    styles = _Styles()
    styles.feed(pieces)
    return styles.names


class _Links(PartReader):
    """A part's relationships: the target part of each id."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[tuple[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        inside = attributes.get("TargetMode") != "External"
        if name == "Relationship" and inside and attributes.get("Type", "").endswith("/image"):
            self.targets.append((attributes.get("Id", ""), attributes.get("Target", "")))


def read_links(pieces: Iterable[bytes]) -> list[tuple[str, str]]:
    links = _Links()
    links.feed(pieces)
    return links.targets


# -- text ------------------------------------------------------------------------------


class _Paragraph:
    """An open paragraph. level: the heading level, 0 for none. depth: the list depth."""

    def __init__(self) -> None:
        self.text = BlockText()
        self.level = 0
        self.depth: int | None = None


class Paragraphs(PartReader):
    """The blocks of the document's text, or of its notes or comments."""

    def __init__(self, styles: dict[str, str], pictures: Pictures) -> None:
        super().__init__()
        self._styles, self._pictures = styles, pictures
        self._blocks: deque[tuple[Rendered, str]] = deque()
        self._open: list[_Paragraph] = []  # a text box nests paragraphs inside one
        self._left_out = 0
        self._rows: list[list[BlockText]] = []  # the cells of the open tables
        self._skips_note = False
        self._author: str | None = None
        self._sent_at: str | None = None

    def read(self, pieces: Iterable[bytes]) -> Iterator[Rendered]:
        """Yields the blocks as they are read, and holds only a few."""
        for piece in pieces:
            self._parser.Parse(piece, False)
            yield from self._ready(keep=1)
        self._parser.Parse(b"", True)
        yield from self._ready(keep=0)

    def _ready(self, keep: int) -> Iterator[Rendered]:
        """Yields all blocks but the last, whose distance to the next is not known yet."""
        while len(self._blocks) > keep:
            block, kind = self._blocks.popleft()
            together = kind and self._blocks and self._blocks[0][1] == kind
            yield Rendered(block.text + ("\n" if together else "\n\n"), block.is_heading,
                           block.marks, author=block.author, sent_at=block.sent_at)  # fmt: skip

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _LEFT_OUT:
            self._left_out += 1
        if self._left_out:
            return
        if name == "p":
            self._open.append(_Paragraph())
        elif name == "tr":
            self._rows.append([])
        elif name == "tc" and self._rows:
            self._rows[-1].append(BlockText())
        elif name == "comment":
            self._author, self._sent_at = (
                attributes.get("author") or None,
                attributes.get("date") or None,
            )
        elif name in ("footnote", "endnote"):
            self._skips_note = attributes.get("type") in _NOTES
        elif self._open:
            self._in_paragraph(self._open[-1], name, attributes)

    def _in_paragraph(self, paragraph: _Paragraph, name: str, attributes: dict[str, str]) -> None:
        if name == "pStyle":
            style = self._styles.get(attributes.get("val", ""), attributes.get("val", "").lower())
            paragraph.level = paragraph.level or _heading_level(style)
            if style.startswith("list "):
                paragraph.depth = paragraph.depth or 0
        elif name == "outlineLvl":
            paragraph.level = paragraph.level or _outline_level(attributes.get("val", ""))
        elif name == "numPr":
            paragraph.depth = paragraph.depth or 0
        elif name == "ilvl" and "numPr" in self._path:
            paragraph.depth = _number(attributes.get("val", ""))
        elif name in _BREAKS and "pPr" not in self._path and "tabs" not in self._path:
            paragraph.text.add(_BREAKS[name])
        elif name in ("blip", "imagedata"):
            picture = self._pictures(attributes.get("embed") or attributes.get("id") or "")
            if picture is not None:
                paragraph.text.mark(picture)

    def text(self, data: str) -> None:
        if self._open and not self._left_out and self._path[-1] == "t":
            self._open[-1].text.add(data)

    def end(self, name: str) -> None:
        if name in _LEFT_OUT:
            self._left_out -= 1
        elif self._left_out:
            return
        elif name == "p" and self._open:
            self._end_paragraph(self._open.pop())
        elif name == "tr" and self._rows:
            self._end_row(self._rows.pop())
        elif name == "comment":
            self._author = self._sent_at = None
        elif name in ("footnote", "endnote"):
            self._skips_note = False

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text, marks = paragraph.text.take()
        if not text.strip() or self._skips_note:
            return
        whole = BlockText()
        if paragraph.level:
            whole.add("#" * paragraph.level + " ")
        elif paragraph.depth is not None:
            whole.add("  " * min(paragraph.depth, _LIST_DEPTH_SHOWN) + "- ")
        whole.extend(text.rstrip(), marks)
        self._put(*whole.take(), bool(paragraph.level), "" if paragraph.depth is None else "item")

    def _end_row(self, cells: list[BlockText]) -> None:
        row = BlockText()
        for number, cell in enumerate(cells):
            row.add(" | " if number else "")
            row.extend(*cell.take())
        text, marks = row.take()
        if text.strip(" |"):
            self._put(text, marks, False, "row")

    def _put(self, text: str, marks: tuple[Mark, ...], is_heading: bool, kind: str) -> None:
        """Adds a whole block, or appends it to the open table cell. Blocks of the same kind (list
        items, table rows) have no blank line between them."""
        if self._rows and self._rows[-1]:
            cell = self._rows[-1][-1]
            cell.add(" " if cell.chars else "")
            cell.extend(text, marks)
            return
        block = Rendered(text, is_heading, marks, None, self._author, self._sent_at)
        self._blocks.append((block, kind))


def _number(value: str) -> int:
    return int(value[:2]) if value[:2].isdecimal() else 0


def _heading_level(style: str) -> int:
    """The level 1 to 6 of a heading style, 0 for any other style.

    Example:
        >>> _heading_level("heading 2"), _heading_level("title"), _heading_level("normal")
        (2, 1, 0)
    """
    if style == "title":
        return 1
    number = style.removeprefix("heading").strip()
    is_heading = style.startswith("heading") and number.isdecimal()
    return min(max(1, int(number[:2])), _HEADING_LEVELS) if is_heading else 0


def _outline_level(value: str) -> int:
    """The heading level of an outline level, which counts from 0; 9 is body text."""
    level = int(value) + 1 if value.isdecimal() and len(value) == 1 else 0
    return min(level, _HEADING_LEVELS) if level <= 9 else 0
