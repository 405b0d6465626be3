"""Decodes the rows in a page of a b-tree, each for itself, as far as they can be read.

A row that begins in a page continues in a chain of overflow pages. Nothing that a damaged page says
is trusted: every length is compared with what there is, and a row that cannot be decoded is left
out. The layouts are documented in sqlite.org/fileformat2.html.

Tested in tests/recovery/test_records.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from treemem.recovery.damaged_pages import (
    FILE_HEADER_BYTES,
    INTERIOR_INDEX,
    INTERIOR_TABLE,
    LEAF_TABLE,
    DamagedPages,
    cell_offsets,
)

Value = int | float | str | bytes | None
# More columns than any table of a memory has.
_COLUMNS_MAX = 64
_INT_BYTES = (0, 1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Cell:
    """A row where it begins. rowid: None in an index, or a table that has none."""

    rowid: int | None
    payload: int
    local: bytes
    overflow: int


class Records:
    """The rows of a damaged file's pages."""

    def __init__(self, pages: DamagedPages) -> None:
        self._pages = pages
        usable = pages.size
        self._min = (usable - 12) * 32 // 255 - 23
        self._max_table = usable - 35
        self._max_index = (usable - 12) * 64 // 255 - 23

    def children(self, number: int) -> list[int]:
        """The pages below an interior page; empty for any other."""
        data = self._pages.page(number)
        begin = FILE_HEADER_BYTES if number == 1 else 0
        if data[begin] not in (INTERIOR_INDEX, INTERIOR_TABLE):
            return []
        ats = [begin + 8, *(at for at in cell_offsets(data, begin) if at + 4 <= len(data))]
        below = [struct.unpack_from(">I", data, at)[0] for at in ats]
        return [page for page in below if 1 < page <= self._pages.count]

    def cells(self, number: int) -> Iterator[Cell]:
        """The rows that begin in a page."""
        data = self._pages.page(number)
        begin = FILE_HEADER_BYTES if number == 1 else 0
        kind = data[begin]
        if kind == INTERIOR_TABLE:
            return
        for at in cell_offsets(data, begin):
            at += 4 if kind == INTERIOR_INDEX else 0
            cell = self._cell(data, at, is_table=kind == LEAF_TABLE)
            if cell is not None:
                yield cell

    def _cell(self, data: bytes, at: int, *, is_table: bool) -> Cell | None:
        try:
            payload, at = varint(data, at)
            rowid = None
            if is_table:
                rowid, at = varint(data, at)
                rowid = rowid - (1 << 64) if rowid >> 63 else rowid
        except IndexError:
            return None
        if not 0 < payload <= self._pages.count * self._pages.size:
            return None
        most = self._max_table if is_table else self._max_index
        if payload <= most:
            local = data[at : at + payload]
            return Cell(rowid, payload, local, 0) if len(local) == payload else None
        kept = self._min + (payload - self._min) % (self._pages.size - 4)
        kept = self._min if kept > most else kept
        if at + kept + 4 > len(data):
            return None
        return Cell(
            rowid, payload, data[at : at + kept], *struct.unpack_from(">I", data, at + kept)
        )

    def kinds(self, cell: Cell) -> tuple[int, ...]:
        """SQLite's codes for the types of a row's columns; empty if it is damaged."""
        try:
            end, at = varint(cell.local, 0)
            codes: list[int] = []
            while at < end <= len(cell.local) and len(codes) <= _COLUMNS_MAX:
                code, at = varint(cell.local, at)
                codes.append(code)
        except IndexError:
            return ()
        whole = end + sum(_size(code) for code in codes)
        return tuple(codes) if at == end and whole == cell.payload else ()

    def values(self, cell: Cell) -> tuple[Value, ...] | None:
        """The columns of a row; None if any of it cannot be read."""
        codes = self.kinds(cell)
        data = cell.local if not cell.overflow else self._whole(cell)
        if not codes or len(data) < cell.payload:
            return None
        at, _ = varint(data, 0)
        values: list[Value] = []
        for code in codes:
            size = _size(code)
            try:
                values.append(_value(code, data[at : at + size]))
            except UnicodeDecodeError:
                return None
            at += size
        return tuple(values)

    def _whole(self, cell: Cell) -> bytes:
        pieces, missing, following = [cell.local], cell.payload - len(cell.local), cell.overflow
        while missing > 0 and 1 < following <= self._pages.count:
            data = self._pages.page(following)
            pieces.append(data[4 : 4 + missing])
            missing -= len(pieces[-1])
            (following,) = struct.unpack_from(">I", data)
        return b"".join(pieces)


def _size(code: int) -> int:
    """The bytes of a column with this type code."""
    if code >= 12:
        return (code - 12) // 2
    return _INT_BYTES[code] if code <= 6 else 8 if code == 7 else 0


def _value(code: int, data: bytes) -> Value:
    if code == 0 or code in (10, 11):
        return None
    if code <= 6:
        return int.from_bytes(data, "big", signed=True)
    if code == 7:
        return float(struct.unpack(">d", data)[0])
    if code <= 9:
        return code - 8
    return data if code % 2 == 0 else data.decode()


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number of up to nine bytes that begins there, and where it ends. Raises IndexError.

    Example:
        >>> varint(bytes([0x81, 0x00]), 0)
        (128, 2)
    """
    value = 0
    for end in range(at, at + 8):
        byte = data[end]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, end + 1
    return value << 8 | data[at + 8], at + 9
