"""Counts the pages of a table or an index by walking its b-tree.

All interior pages are read, which are one in a hundred. They name the leaves; of a large tree only
some leaves are read, evenly over all of it, to estimate what cannot be known otherwise: overflow
pages and unused bytes. So a file of gigabytes takes seconds. The layout is documented in
sqlite.org/fileformat2.html, "B-tree Pages".

Tested in tests/store/file/test_btree.py.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from treemem.store.file.pages import Pages

_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
# The levels of a tree of more rows than SQLite can store, so that a damaged file ends the walk.
_LEVELS_MAX = 40
# Page 1 begins with the header of the file.
_FILE_HEADER_BYTES = 100


@dataclass(frozen=True, slots=True)
class TreeSize:
    """The size of a b-tree. pages: with overflow pages. unused: bytes in them that hold nothing.
    exact: whether all leaves were read, so that nothing is estimated."""

    pages: int
    unused: int
    exact: bool


class TreeSizes:
    """Measures b-trees of a file. leaves_max: how many leaves of a tree are read at most."""

    def __init__(self, pages: Pages, leaves_max: int) -> None:
        self._read = pages.page
        self._count = pages.count
        self._usable = usable = pages.usable
        self._leaves_max = leaves_max
        # How much of a row stays in its page, if not all of it does.
        self._local_min = (usable - 12) * 32 // 255 - 23
        self._local_max = {
            _LEAF_TABLE: usable - 35,
            _LEAF_INDEX: (usable - 12) * 64 // 255 - 23,
            _INTERIOR_INDEX: (usable - 12) * 64 // 255 - 23,
        }

    def of(self, root: int) -> TreeSize:
        """The size of the tree whose root is this page. Raises ValueError if it is damaged."""
        level, pages, unused = [root], 0, 0
        for _ in range(_LEVELS_MAX):
            if self._kind(level[0], self._read(level[0])) in (_LEAF_TABLE, _LEAF_INDEX):
                break
            pages += len(level)
            below: list[int] = []
            for number in level:
                data = self._read(number)
                overflow, bytes_unused = self._rest(number, data)
                pages, unused = pages + overflow, unused + bytes_unused
                below += self._children(number, data)
            if len(below) > self._count:
                raise ValueError(f"the tree at page {root} has more pages than the file")
            level = below
        else:
            raise ValueError(f"the tree at page {root} has more than {_LEVELS_MAX} levels")
        read = min(len(level), self._leaves_max)
        sample = [level[index * len(level) // read] for index in range(read)]
        rests = [self._rest_of_leaf(number) for number in sample]
        pages += len(level) + sum(rest[0] for rest in rests) * len(level) // read
        unused += sum(rest[1] for rest in rests) * len(level) // read
        return TreeSize(pages, unused, read == len(level))

    def _kind(self, number: int, data: bytes) -> int:
        kind = data[_FILE_HEADER_BYTES if number == 1 else 0]
        if kind not in (_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE):
            raise ValueError(f"page {number} is of no b-tree")
        return kind

    def _cells(self, number: int, data: bytes) -> tuple[int, ...]:
        """Where the cells of a page begin."""
        begin = _FILE_HEADER_BYTES if number == 1 else 0
        (count,) = struct.unpack_from(">H", data, begin + 3)
        begin += 12 if self._kind(number, data) in (_INTERIOR_INDEX, _INTERIOR_TABLE) else 8
        if begin + 2 * count > len(data):
            raise ValueError(f"page {number} is damaged")
        return struct.unpack_from(f">{count}H", data, begin)

    def _children(self, number: int, data: bytes) -> list[int]:
        """The pages below an interior page."""
        if self._kind(number, data) not in (_INTERIOR_INDEX, _INTERIOR_TABLE):
            raise ValueError(f"page {number} is no interior page")
        last = struct.unpack_from(">I", data, (_FILE_HEADER_BYTES if number == 1 else 0) + 8)
        cells = self._cells(number, data)
        return [struct.unpack_from(">I", data, at)[0] for at in cells] + [last[0]]

    def _rest_of_leaf(self, number: int) -> tuple[int, int]:
        data = self._read(number)
        if self._kind(number, data) not in (_LEAF_INDEX, _LEAF_TABLE):
            raise ValueError(f"page {number} is no leaf")
        return self._rest(number, data)

    def _rest(self, number: int, data: bytes) -> tuple[int, int]:
        """The overflow pages of a page's rows, and the unused bytes of all of them."""
        kind = self._kind(number, data)
        cells = self._cells(number, data)
        begin = _FILE_HEADER_BYTES if number == 1 else 0
        freeblock, _, content, fragments = struct.unpack_from(">HHHB", data, begin + 1)
        end = begin + (8 if kind in (_LEAF_INDEX, _LEAF_TABLE) else 12) + 2 * len(cells)
        unused = (content or 65_536) - end + fragments
        while freeblock:
            (following, size) = struct.unpack_from(">HH", data, freeblock)
            if following and following <= freeblock:
                raise ValueError(f"page {number} is damaged")
            freeblock, unused = following, unused + size
        overflow = 0
        if kind != _INTERIOR_TABLE:
            skipped = 4 if kind == _INTERIOR_INDEX else 0  # the page below
            short = min(0x7F, self._local_max[kind])  # a length of one byte, as most are
            for at in cells:
                if data[at + skipped] > short:
                    pages, bytes_unused = self._overflow(kind, _varint(data, at + skipped))
                    overflow, unused = overflow + pages, unused + bytes_unused
        return overflow, unused

    def _overflow(self, kind: int, payload: int) -> tuple[int, int]:
        """The overflow pages of a row of so many bytes, and what is unused of the last one."""
        if payload <= self._local_max[kind]:
            return 0, 0
        room = self._usable - 4
        local = self._local_min + (payload - self._local_min) % room
        if local > self._local_max[kind]:
            local = self._local_min
        pages = -(-(payload - local) // room)
        return pages, pages * room - (payload - local)


def _varint(data: bytes, at: int) -> int:
    """The number of up to nine bytes that begins there.

    Example:
        >>> _varint(bytes([0x81, 0x00]), 0)
        128
    """
    value = 0
    for byte in data[at : at + 8]:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value
    return value << 8 | data[at + 8]
