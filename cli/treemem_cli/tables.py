"""Prints tables: one line a row, so that a row can be read, searched and taken by other programs.

On a terminal the wide columns share what room the others leave, and are cut with "…"; a column
that is less important is left out where there is too little. In a pipe nothing is cut. With
--plain the values themselves are printed, between tabs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# The columns of a terminal that a name keeps at least, before another column is left out.
NAME = 24
# The same for a column of whole sentences.
WORDS = 40
# The columns that an id takes at most: those of "claude-code/" and a UUID.
ID_MAX = 48
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    show: the text of a value on a screen; --plain prints the value itself. wide: of a column whose
    texts are cut on a terminal, how much they should get there at least; 0 for one that is never
    cut. style: of Rich, or a function of the value. drop: where there is too little room, the
    column with the highest number is left out first; 0 is never left out. spare: it is left out,
    too, where it would not leave this much more than the least to the wide ones. is_id: a text
    longer than most columns goes beyond the edge instead of taking room from others.
    """

    name: str
    show: Callable[[Any], str] = str
    wide: int = 0
    style: str | Callable[[Any], str] = ""
    drop: int = 0
    spare: int = 0
    right: bool = False
    is_id: bool = False
    most: int = ID_MAX


def number(name: str, *, drop: int = 0, spare: int = 0) -> Column:
    """A column of numbers, right-aligned, with commas between thousands."""
    return Column(name, lambda value: f"{value:,}", drop=drop, spare=spare, right=True)


def identifier(name: str, *, length: int | None = None, most: int = ID_MAX) -> Column:
    """A column of ids, of which the first length characters are shown. most: see Column."""
    return Column(name, lambda value: value[:length], style="cyan", is_id=True, most=most)


class Table:
    """Rows of values; None is an empty cell."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns
        self.rows: list[Sequence[Any]] = []
        self._dim: set[int] = set()

    def add(self, *values: Any, dim: bool = False) -> None:
        """Adds a row: a value for each column. dim: it matters less than the others."""
        if dim:
            self._dim.add(len(self.rows))
        self.rows.append(values)

    def print(self, *, plain: bool = False) -> None:
        """Prints the rows on stdout, below a line with the names of the columns; with plain the
        values alone, between tabs."""
        from treemem_cli.render import Pipe, text_screen

        if plain:
            for row in self.rows:
                sys.stdout.write("\t".join(map(plain_text, row)) + "\n")
            return
        screen = text_screen()
        if isinstance(screen, Pipe):
            for line, _ in self.lines(None):
                screen.print(line)
            return
        from rich.text import Text

        for line, styles in self.lines(screen.width if sys.stdout.isatty() else None):
            text = Text(line)
            for start, end, style in styles:
                text.stylize(style, start, end)
            screen.print(text, soft_wrap=True)

    def lines(self, width: int | None) -> list[tuple[str, list[tuple[int, int, str]]]]:
        """The lines of the table and their styles: from, to, and name. A column without any text is
        left out. width: of the terminal; None for a pipe."""
        from rich.cells import cell_len

        from treemem_cli.render import fitted

        cells = [
            ["" if value is None else flat(column.show(value))
             for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]  # fmt: skip
        natural = [
            max(map(cell_len, (column.name, *texts))) if any(texts) else 0
            for column, texts in zip(self.columns, zip(*cells, strict=True), strict=True)
        ]
        widths = natural if width is None else _fitting(self.columns, natural, width)
        shown = [at for at, wide in enumerate(widths) if wide]

        def line(texts: Sequence[str], values: Sequence[Any] | None) -> Any:
            parts, styles, start = [], [], 0
            for at in shown:
                column, text = self.columns[at], texts[at]
                free = widths[at] - cell_len(text)
                if column.wide:
                    part = fitted(text, widths[at])
                else:
                    part = " " * free + text if column.right else text + " " * free
                if values is None:
                    style = "dim"
                elif callable(column.style):
                    style = "" if values[at] is None else column.style(values[at])
                else:
                    style = column.style
                if style:
                    styles.append((start, start + len(part), style))
                parts.append(part)
                start += len(part) + len(_GAP)
            return _GAP.join(parts).rstrip(), styles

        head = line([column.name for column in self.columns], None)
        lines = [head, *(line(*row) for row in zip(cells, self.rows, strict=True))]
        for row in self._dim:
            text, _ = lines[row + 1]
            lines[row + 1] = text, [(0, len(text), "dim")]
        return lines


def flat(text: str) -> str:
    """The text on one line, without what could control a terminal."""
    from treemem_cli.render import safe

    return " ".join(safe(text).split())


def plain_text(value: Any) -> str:
    """A value between tabs: no thousands are parted, and no text has a tab or a line break.

    Example:
        >>> plain_text(1234), plain_text("a\\tb\\nc"), plain_text(True), plain_text(None)
        ('1234', 'a b c', 'true', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, value))
    return flat(str(value))


def _fitting(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """The widths of the columns on a terminal of this width; 0 for one that is left out."""
    widths = [
        min(size, column.most) if column.is_id else size
        for column, size in zip(columns, natural, strict=True)
    ]
    for at in sorted(range(len(columns)), key=lambda at: -columns[at].drop):
        least = sum(
            min(column.wide, size) if column.wide else size
            for column, size in zip(columns, widths, strict=True)
        )
        spare = columns[at].spare if widths[at] else 0
        if least + _gaps(widths) + spare <= width or not columns[at].drop:
            break
        widths[at] = 0
    wide = [at for at, column in enumerate(columns) if column.wide and widths[at]]
    room = width - _gaps(widths) - sum(
        size for at, size in enumerate(widths) if at not in wide
    )  # fmt: skip
    for number_left, at in zip(
        range(len(wide), 0, -1), sorted(wide, key=lambda at: natural[at]), strict=True
    ):
        widths[at] = min(natural[at], max(1, room // number_left))
        room -= widths[at]
    return widths


def _gaps(widths: Sequence[int]) -> int:
    return len(_GAP) * (sum(size > 0 for size in widths) - 1)
