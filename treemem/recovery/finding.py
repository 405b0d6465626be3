"""Finds the rows of a damaged memory, page by page.

Each page is labelled with the tables and indexes that lead to it. One to which nothing leads any
more is recognized by its rows, if they look like those of one table alone.

Tested in tests/recovery/test_finding.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from treemem.recovery.layouts import (
    DISTINCT,
    FORMER,
    LAYOUTS,
    MESSAGE,
    SCHEMA,
    Layout,
    Row,
    is_message,
    row_of,
)
from treemem.recovery.records import Records


@dataclass(slots=True)
class Found:
    """The rows that were found, without those of messages.

    tables: by the name of a table or an index, and the columns of its key. message_pages: where
    there may be messages.
    """

    tables: dict[str, dict[Row, Row]] = field(default_factory=dict)
    message_pages: list[int] = field(default_factory=list)

    def rows(self, name: str) -> list[Row]:
        """The rows of a table or an index, in the order of their keys."""
        found = self.tables.get(name, {})
        return [found[key] for key in sorted(found)]


def find(records: Records, count: int) -> Found:
    """Reads all pages of a file. count: how many it has."""
    labels = _labels(records, count)
    found = Found()
    for number in range(1, count + 1):
        names = labels.get(number)
        layouts: Sequence[Layout] = DISTINCT
        if names is not None:
            layouts = [LAYOUTS[name] for name in sorted(names) if name in LAYOUTS]
        if layouts and _read_page(records, number, layouts, found):
            found.message_pages.append(number)
    return found


def messages(records: Records, pages: list[int]) -> Iterator[Row]:
    """The messages that can be read in these pages."""
    for number in pages:
        for cell in records.cells(number):
            if is_message(records.kinds(cell)):
                values = records.values(cell)
                row = None if values is None else MESSAGE.row(values, cell.rowid)
                if row is not None:
                    yield row


def _read_page(records: Records, number: int, layouts: Sequence[Layout], found: Found) -> bool:
    """Keeps the rows of a page. Returns whether it has messages, which are read later."""
    has_messages = False
    for cell in records.cells(number):
        kinds = records.kinds(cell)
        if is_message(kinds):
            has_messages = True
            continue
        possible = [
            layout for layout in layouts
            if (cell.rowid is not None) is layout.has_rowid
            and layout.needed <= len(kinds) <= len(layout.columns)
        ]  # fmt: skip
        values = records.values(cell) if possible else None
        for layout in possible if values is not None else ():
            row = row_of(layout, values or (), cell.rowid)
            if row is not None:
                found.tables.setdefault(layout.name, {}).setdefault(row[: layout.key], row)
                break
    return has_messages


def _labels(records: Records, count: int) -> dict[int, set[str]]:
    """The names of the tables and indexes that lead to each page."""
    labels: dict[int, set[str]] = {}
    for number in _below(records, 1):
        labels.setdefault(number, set()).add(SCHEMA.name)
    roots = {row for number in labels for row in _roots(records, number)}
    _label(records, roots, labels)
    lost = [number for number in range(1, count + 1) if number not in labels]
    more = {row for number in lost for row in _roots(records, number)} - roots
    _label(records, more, labels)
    return labels


def _label(records: Records, roots: set[tuple[str, int]], labels: dict[int, set[str]]) -> None:
    for name, root in sorted(roots):
        for number in _below(records, root):
            labels.setdefault(number, set()).add(FORMER.get(name, name))


def _roots(records: Records, number: int) -> Iterator[tuple[str, int]]:
    """The names and roots of the tables and indexes that a page of the schema lists."""
    for cell in records.cells(number):
        if cell.rowid is not None and len(records.kinds(cell)) == SCHEMA.needed:
            # Subtle: its first column is no row number, which Layout would expect.
            values = records.values(cell)
            row = None if values is None else SCHEMA.row(values, None)
            if row is not None and row[3] > 0:
                yield str(row[1]), int(row[3])


def _below(records: Records, root: int) -> Iterator[int]:
    """A page and all pages below it, each once."""
    waiting, seen = [root], {root}
    while waiting:
        number = waiting.pop()
        yield number
        for child in records.children(number):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
