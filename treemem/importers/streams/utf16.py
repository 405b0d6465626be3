"""Recodes text in UTF-16 as UTF-8 while it is read, so that each format occurs in either.

Tested in tests/importers/test_streams.py.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO

from treemem.importers.streams.forward import ForwardStream

# How much of a file tells its encoding, in bytes.
START_BYTES = 4_096

_CHUNK_BYTES = 65_536
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Without a BOM, this share of the characters must be Latin; the keys of JSON Lines already are.
_LATIN_SHARE_MIN = 0.2
_UNITS_MIN = 4
_CONTROLS = frozenset(map(chr, range(32))) - set("\t\n\f\r\x1b")


def encoding_of(start: bytes) -> tuple[str, int] | None:
    """The encoding of a file in UTF-16 and the size of its BOM; None if it is not in UTF-16.

    Without a BOM, it needs Latin characters, whose other byte is NUL, and no control characters.

    Example:
        >>> encoding_of("hello".encode("utf-16-be")), encoding_of(b"hello")
        (('utf-16-be', 0), None)
    """
    for bom, encoding in _BOMS:
        if start.startswith(bom):
            return encoding, len(bom)
    if b"\0" not in start:
        return None
    units = start[: len(start) // 2 * 2]
    even, odd = units[::2], units[1::2]
    for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(low) < _UNITS_MIN or 0 in low or high.count(0) < len(high) * _LATIN_SHARE_MIN:
            continue
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(units)
        except UnicodeDecodeError:
            continue
        if _CONTROLS.isdisjoint(text):
            return encoding, 0
    return None


def recoded(stream: BinaryIO, encoding: str, bom_bytes: int) -> BinaryIO:
    """The text of a stream in UTF-8, without its BOM. Lone surrogates stay, as three bytes."""
    return _Recoded(stream, encoding, bom_bytes).buffered()


class _Recoded(ForwardStream):
    def __init__(self, stream: BinaryIO, encoding: str, bom_bytes: int) -> None:
        super().__init__(stream)
        self._encoding, self._bom_bytes = encoding, bom_bytes
        self._restart()

    def _restart(self) -> None:
        self._decoder = codecs.getincrementaldecoder(self._encoding)("surrogatepass")
        self._unread = b""
        self._stream.read(self._bom_bytes)

    def _next(self, size_bytes: int) -> bytes:
        while not self._unread and (data := self._stream.read(_CHUNK_BYTES)):
            self._unread = self._decoder.decode(data).encode("utf-8", "surrogatepass")
        # Half a character at the end of a file that is still being written is left out.
        result, self._unread = self._unread[:size_bytes], self._unread[size_bytes:]
        return result
