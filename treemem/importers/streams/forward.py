"""A stream over bytes that can only be made from the beginning, such as decompressed ones.

Seeking back makes them again. Tested in tests/importers/test_streams.py.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SKIPPED_BYTES = 262_144
# Size of the buffer around such a stream, in bytes.
_BUFFER_BYTES = 131_072


class ForwardStream(io.RawIOBase):
    """Reads on from where it is, and begins again to go back. stream: the bytes below it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._at = 0
        self._size_bytes: int | None = None

    @abstractmethod
    def _restart(self) -> None:
        """Begins again; the stream below is at its beginning."""

    @abstractmethod
    def _next(self, size_bytes: int) -> bytes:
        """Returns the next bytes, at most this many; b"" at the end."""

    def buffered(self) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(self, _BUFFER_BYTES))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._next(len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_CUR:
            offset += self._at
        elif whence == io.SEEK_END:
            offset += self._end()
        if offset < self._at:
            self._stream.seek(0)
            self._restart()
            self._at = 0
        while self._at < offset and (skipped := self._next(min(_SKIPPED_BYTES, offset - self._at))):
            self._at += len(skipped)
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def _end(self) -> int:
        """The size of all bytes; goes to their end to count them, once."""
        if self._size_bytes is None:
            while skipped := self._next(_SKIPPED_BYTES):
                self._at += len(skipped)
            self._size_bytes = self._at
        return self._size_bytes
