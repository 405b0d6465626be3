"""Finds passwords and tokens in columns of tables: Markdown, drawn with lines, CSV, or aligned.

Pure.

Tested in tests/privacy/test_tables.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.privacy.values import is_password, is_placeholder, is_scattered

# Characters of a header line, and rows of a table, that are searched.
LINE_CHARS_MAX = 2_048
ROWS_MAX = 500

_RULE = lazy_regex(r"[ \t|:+=─┼├┤└┴┘┌┬┐╞╪╡═-]*[-=─═][ \t|:+=─┼├┤└┴┘┌┬┐╞╪╡═-]*")
# A name of a column, unlike a piece of code.
_TITLE = lazy_regex(r"[A-Za-z][\w .#/()-]{0,39}")
_ALIGNED = lazy_regex(r"\S{1,512}(?: \S{1,512}){0,64}")


class Column(NamedTuple):
    """The name of a column: its offset in the text, and the kind of secret that it names."""

    at: int
    kind: str
    label: str


class Cell(NamedTuple):
    """A secret in a column: offsets in the text, end exclusive, and a label."""

    start: int
    end: int
    label: str


def cells(text: str, columns: Sequence[Column]) -> Iterator[Cell]:
    """Yields the secrets below the names of columns, each table once.

    columns: what may be names of columns, in any order; in a text without tables they are not.
    """
    done = 0
    by_line: dict[tuple[int, int], list[Column]] = {}
    for column in sorted(columns):
        if column.at >= done:
            begins = text.rfind("\n", max(0, column.at - LINE_CHARS_MAX), column.at) + 1
            ends = text.find("\n", column.at, column.at + LINE_CHARS_MAX)
            if ends >= 0 and column.at - begins < LINE_CHARS_MAX:
                by_line.setdefault((begins, ends), []).append(column)
    for (begins, ends), named in by_line.items():
        if begins >= done:
            header = text[begins:ends]
            separator = next((mark for mark in "|│\t,;" if mark in header), "")
            below, done = _below(text, begins, ends, separator, named)
            yield from below


def _below(
    text: str, begins: int, ends: int, separator: str, columns: Sequence[Column]
) -> tuple[list[Cell], int]:
    """The secrets of one table, and where it ends. separator: empty for a table that is aligned by
    blanks."""
    header = _split(text, begins, ends, separator)
    titles = [text[start:end] for start, end in header]
    if separator in ("|", "│"):
        titles = [title for title in titles if title]
    if len(titles) < 2 or not all(map(_TITLE.fullmatch, titles)):
        return [], ends
    wanted: dict[int, Column] = {}
    for column in columns:
        for index, (start, end) in enumerate(header):
            if start <= column.at < end:
                wanted[index] = column
    at, ruled = ends + 1, False
    secrets: list[Cell] = []
    for _ in range(ROWS_MAX if wanted else 0):
        stop = text.find("\n", at, at + LINE_CHARS_MAX)
        stop = min(len(text), at + LINE_CHARS_MAX) if stop < 0 else stop
        if _RULE.fullmatch(text, at, stop):
            ruled = True
        elif separator == "" and not ruled:
            break
        else:
            row = _split(text, at, stop, separator)
            if len(row) != len(header):
                break
            for index, column in wanted.items():
                start, end = row[index]
                if _is_secret(text[start:end], column.kind):
                    secrets.append(Cell(start, end, column.label))
        at = stop + 1
        if at >= len(text):
            break
    return secrets, min(at, len(text))


def _split(text: str, begins: int, ends: int, separator: str) -> list[tuple[int, int]]:
    """The cells of a line: their offsets in the text, without blanks, quotes and backticks."""
    line = text[begins:ends]
    if separator == "":
        return [(begins + word.start(), begins + word.end()) for word in _ALIGNED.finditer(line)]
    split: list[tuple[int, int]] = []
    at = 0
    for piece in line.split(separator):
        left = len(piece) - len(piece.lstrip(" \t\r\"'`*"))
        inner = piece.strip(" \t\r\"'`*")
        split.append((begins + at + left, begins + at + left + len(inner)))
        at += len(piece) + len(separator)
    return split


def _is_secret(value: str, kind: str) -> bool:
    if any(map(str.isspace, value)) or is_placeholder(value):
        return False
    return is_password(value) if kind == "password" else is_scattered(value, 16)
