"""Reads the pages of a memory file whatever is damaged in it, with the -wal or -journal file.

SQLite stops at the first page that it does not understand. Here each page stands for itself: the
size of pages is found by their content, pages in the -wal file take the place of older ones if
their checksums are right, and those of a rollback journal undo a transaction that was not
finished. The layouts are documented in sqlite.org/fileformat2.html. Nothing is ever written.

Tested in tests/recovery/test_damaged_pages.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from treemem.store.access import page_cipher
from treemem.store.access.keys import Key
from treemem.store.access.page_cipher import PAGE_BYTES, SALT_BYTES, PageCipher
from treemem.store.file.held import HeldFile
from treemem.store.file.sidecars import JOURNAL, WAL

FILE_HEADER_BYTES = 100
# The kinds of pages of b-trees, and the bytes of their headers.
INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
HEADER_BYTES = {INTERIOR_INDEX: 12, INTERIOR_TABLE: 12, LEAF_INDEX: 8, LEAF_TABLE: 8}
_PAGE_SIZES = tuple(1 << power for power in range(9, 17))
_USUAL_SIZE = 4_096
# Blocks of 64 KiB that are looked at to find out the size of pages.
_SAMPLE = 64
_WAL_HEADER, _FRAME_HEADER = 32, 24
_WAL_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


class DamagedPages:
    """The pages of a damaged file, numbered from 1.

    size: bytes of a page. count: pages, also those that only the -wal file has, and after them
    (from `extra` on) pages of a last transaction of which it is not known whether it was finished.
    keys: those that may be the key of an encrypted file; None for a plain one. Raises OSError if
    the file cannot be read at all, DatabaseKeyError if no key is right, DatabaseError.
    """

    def __init__(self, path: Path, keys: Sequence[Key] | None = None) -> None:
        self._main = HeldFile(path)
        self._cipher: PageCipher | None = None
        try:
            bytes_in_file = path.stat().st_size
            self.size = self._page_size(bytes_in_file) if keys is None else PAGE_BYTES
            self._newer = _journal_pages(path.with_name(path.name + JOURNAL), self.size)
            wal, unsure = _wal_pages(path.with_name(path.name + WAL), self.size)
            self._newer |= wal
            self.extra = 1 + max([-(-bytes_in_file // self.size), *self._newer])
            self._newer |= dict(enumerate(unsure, self.extra))
            self.count = self.extra + len(unsure) - 1
            if keys is not None:
                self._cipher = self._fitting(keys)
        except BaseException:
            self._main.close()
            raise

    @property
    def key(self) -> Key | None:
        """The key of an encrypted file; None of a plain one."""
        return None if self._cipher is None else self._cipher.key

    def close(self) -> None:
        self._main.close()

    def page(self, number: int) -> bytes:
        """The bytes of a page; zeros for what is missing at the end of the file, or on a disk
        that does not give it."""
        data = self._stored(number)
        return data if self._cipher is None else self._cipher.page(number, data)

    def _fitting(self, keys: Sequence[Key]) -> PageCipher:
        step = -(-self.count // _SAMPLE)
        numbers = range(1, self.extra, step)
        salts = dict.fromkeys((self._main.read(SALT_BYTES, 0), self._stored(1)[:SALT_BYTES]))
        sample = [(number, self._stored(number)) for number in numbers]
        return page_cipher.fitting(keys, salts, sample, _looks_right)

    def _stored(self, number: int) -> bytes:
        if number in self._newer:
            path, at = self._newer[number]
            with path.open("rb") as stream:  # SQLite has no locks on it that closing drops
                stream.seek(at)
                return stream.read(self.size).ljust(self.size, b"\0")
        try:
            data = self._main.read(self.size, (number - 1) * self.size)
        except OSError:
            data = b""
        return data.ljust(self.size, b"\0")

    def _page_size(self, bytes_in_file: int) -> int:
        """The size at which most pages look like those of a b-tree, since the header that says it
        may be damaged."""
        said = struct.unpack_from(">H", self._main.read(18, 0).ljust(18, b"\0"), 16)[0]
        said = 65_536 if said == 1 else int(said)
        blocks = max(1, bytes_in_file // _PAGE_SIZES[-1])
        step = -(-blocks // _SAMPLE)
        seen = dict.fromkeys(_PAGE_SIZES, 0)
        for block in range(0, blocks, step):
            data = self._main.read(_PAGE_SIZES[-1], block * _PAGE_SIZES[-1])
            for size in _PAGE_SIZES:
                starts = range(0, len(data) - size + 1, size)
                seen[size] += sum(_looks_right(data[at : at + size]) for at in starts)
        best = max(_PAGE_SIZES, key=lambda size: (seen[size], size == said))
        return best if seen[best] else said if said in _PAGE_SIZES else _USUAL_SIZE


def _looks_right(data: bytes) -> bool:
    """Whether bytes look like a whole page of a b-tree."""
    if data[0] not in HEADER_BYTES:
        return False
    offsets = cell_offsets(data, 0)
    (count,) = struct.unpack_from(">H", data, 3)
    return bool(0 < count == len(offsets))


def cell_offsets(data: bytes, begin: int) -> list[int]:
    """Where the cells of a b-tree's page begin, as far as they are within it; empty if it is none.
    begin: of its header."""
    if data[begin] not in HEADER_BYTES:
        return []
    first = begin + HEADER_BYTES[data[begin]]
    count = min(struct.unpack_from(">H", data, begin + 3)[0], (len(data) - first) // 2)
    offsets = struct.unpack_from(f">{count}H", data, first)
    return [at for at in offsets if first < at < len(data) - 3]


def _journal_pages(path: Path, size: int) -> dict[int, tuple[Path, int]]:
    """Where a rollback journal has the pages as they were before a transaction that did not end."""
    found: dict[int, tuple[Path, int]] = {}
    try:
        stream = path.open("rb")
    except OSError:
        return found
    with stream:
        at = 0
        while len(header := _read_at(stream, at, 28)) == 28 and header.startswith(_JOURNAL_MAGIC):
            records, nonce, _, sector, _ = struct.unpack_from(">5I", header, 8)
            sector = min(max(sector, 32), 65_536)
            at += sector
            while records and len(record := _read_at(stream, at, size + 8)) == size + 8:
                (number,) = struct.unpack_from(">I", record)
                summed = nonce + sum(record[4 + n] for n in range(size - 200, 0, -200))
                if number and record[-4:] == struct.pack(">I", summed & 0xFFFFFFFF):
                    found.setdefault(number, (path, at + 4))
                at, records = at + size + 8, records - 1
            at = -(-at // sector) * sector
    return found


def _read_at(stream: BinaryIO, at: int, size: int) -> bytes:
    stream.seek(at)
    return stream.read(size)


def _wal_pages(path: Path, size: int) -> tuple[dict[int, tuple[Path, int]], list[tuple[Path, int]]]:
    """Where the -wal file has the newest committed version of each page, by number; and where it
    has pages of a last transaction whose end is damaged.

    Each frame has the checksum of all before it. A damaged frame is passed over; the next one is
    compared with the checksum that the damaged one has stored.
    """
    committed: dict[int, tuple[Path, int]] = {}
    waiting: dict[int, tuple[Path, int]] = {}
    for number, is_commit, at in _frames(path, size):
        waiting[number] = (path, at)
        if is_commit:
            committed |= waiting
            waiting = {}
    return committed, list(waiting.values())


def _frames(path: Path, size: int) -> Iterator[tuple[int, bool, int]]:
    """(page, whether a transaction ends with it, where its bytes begin) of each right frame."""
    try:
        stream = path.open("rb")
    except OSError:
        return
    with stream:
        header = stream.read(_WAL_HEADER)
        if len(header) < _WAL_HEADER:
            return
        magic, _, wal_size, _ = struct.unpack_from(">4I", header)
        is_header_right = magic in _WAL_MAGIC and wal_size in (size, 1)
        order = _WAL_MAGIC.get(magic, "<")
        salts = header[16:24]
        summed = struct.unpack_from(">2I", header, 24)
        at = _WAL_HEADER
        while len(frame := stream.read(_FRAME_HEADER + size)) == _FRAME_HEADER + size:
            if not is_header_right and at == _WAL_HEADER:
                salts = frame[8:16]
            if frame[8:16] != salts:
                return  # left from before the file began anew
            number, pages_after = struct.unpack_from(">2I", frame)
            stored = struct.unpack_from(">2I", frame, 16)
            right = _checksum(frame[:8] + frame[_FRAME_HEADER:], summed, order)
            if number and (right == stored or (not is_header_right and at == _WAL_HEADER)):
                yield number, pages_after > 0, at + _FRAME_HEADER
            summed, at = stored, at + _FRAME_HEADER + size


def _checksum(data: bytes, summed: tuple[int, ...], order: str) -> tuple[int, int]:
    """SQLite's checksum of a frame, from that of the frame before it."""
    one, two = summed
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
