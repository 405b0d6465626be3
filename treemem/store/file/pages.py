"""Reads pages of an open memory file as they are in its last commit, beside SQLite.

SQLite itself tells how many pages a table takes only where it was built with dbstat, which
pysqlite3 was not. Pages in the -wal file take precedence over those of the main file. The layouts
are documented in sqlite.org/fileformat2.html. Nothing is ever written.

Tested in tests/store/file/test_btree.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from treemem.store.file.held import HeldFile

if TYPE_CHECKING:
    from treemem.store.access.keys import Key
    from treemem.store.access.page_cipher import PageCipher

_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
# Where the salts are, in the header of the -wal file and in that of a frame.
_SALTS = slice(16, 24)
_FRAME_SALTS = slice(8, 16)


class Pages:
    """The pages of one commit, numbered from 1.

    Create it in a read transaction that has read already: until its end no checkpoint copies a
    later commit into the main file. size: bytes of a page. usable: those that are not reserved.
    count: the pages of the file. free: those that are not in use. schema_version: as PRAGMA
    schema_version, of the commit that is read. key: of an encrypted file. Raises OSError, and
    ValueError if the file is damaged.
    """

    def __init__(self, main: HeldFile, wal: Path, key: Key | None = None) -> None:
        self._main, self._wal = main, wal
        self._cipher: PageCipher | None = None
        (size,) = struct.unpack_from(">H", main.read(100, 0), 16)
        self.size = 65_536 if size == 1 else size
        if key is not None:
            from treemem.store.access.page_cipher import PAGE_BYTES, SALT_BYTES, PageCipher

            self.size = PAGE_BYTES
            self._cipher = PageCipher(key, main.read(SALT_BYTES, 0))
        if self.size < 512:
            raise ValueError(f"a page size of {self.size} bytes")
        self._salts = b""
        self._frames = self._committed_frames()
        header = self.page(1)
        self.usable = self.size - header[20]
        self.count, self.free, self.schema_version = (
            struct.unpack_from(">I", header, at)[0] for at in (28, 36, 40)
        )

    def page(self, number: int) -> bytes:
        """The bytes of a page."""
        if number in self._frames:
            with self._wal.open("rb") as stream:  # SQLite has no locks on it that closing drops
                stream.seek(self._frames[number])
                data = stream.read(self.size)
        else:
            data = self._main.read(self.size, (number - 1) * self.size)
        if len(data) < self.size:
            raise ValueError(f"page {number} is missing")
        return data if self._cipher is None else self._cipher.page(number, data)

    def is_current(self) -> bool:
        """Whether the -wal file has not begun anew since, which makes its pages others."""
        return self._wal_header()[_SALTS] == self._salts

    def _wal_header(self) -> bytes:
        try:
            with self._wal.open("rb") as stream:
                return stream.read(_WAL_HEADER_BYTES)
        except FileNotFoundError:
            return b""

    def _committed_frames(self) -> dict[int, int]:
        """Where the newest committed version of each page begins in the -wal file, by number."""
        header = self._wal_header()
        self._salts = header[_SALTS]
        frames: dict[int, int] = {}
        if len(header) < _WAL_HEADER_BYTES:
            return frames
        uncommitted: dict[int, int] = {}
        for number, pages_after_commit, at in self._frames_in(self._salts):
            uncommitted[number] = at
            if pages_after_commit:
                frames |= uncommitted
                uncommitted = {}
        return frames

    def _frames_in(self, salts: bytes) -> Iterator[tuple[int, int, int]]:
        with self._wal.open("rb") as stream:
            at = _WAL_HEADER_BYTES
            while stream.seek(at):
                header = stream.read(_FRAME_HEADER_BYTES)
                if len(header) < _FRAME_HEADER_BYTES or header[_FRAME_SALTS] != salts:
                    return  # the end, or left from before the file began anew
                number, pages_after_commit = struct.unpack_from(">II", header)
                yield number, pages_after_commit, at + _FRAME_HEADER_BYTES
                at += _FRAME_HEADER_BYTES + self.size
