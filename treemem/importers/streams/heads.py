"""Reads the beginning of a file, by which its format is recognized.

In JSON, long strings are shortened, so that a head shows whole records even where the first one
contains a picture or a long text. Every byte is scanned once, and the bytes read are limited.

Tested in tests/importers/test_heads.py.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from treemem.patterns import lazy_regex

# The size of a head in bytes, unless a larger one is asked for.
HEAD_BYTES = 65_536
# What is read of a file at most, as far as a single string reaches: the limit of a JSON Lines line.
STRING_BYTES_MAX = 64 * 1024**2
# Outside of a string, how much more is read than a head has bytes.
_READ_RATIO_MAX = 16

_CHUNK_BYTES = 262_144
# A string is shortened to this many bytes. Marks of formats are in shorter strings, or begin long
# ones.
_KEPT_BYTES = 1_024
_JSON_START = lazy_regex(rb"(?:\xef\xbb\xbf)?[\s\0]*[{\[][\s\0]*[\"{\[\]}0-9tfn-]")
# Everything up to a long string. A line break ends a string: it can only be damage, or no JSON.
_PLAIN = lazy_regex(rb'(?:[^"]++|"(?:[^"\\\n]|\\[^\n]){0,1024}+(?:"|(?=\n)))*+', re.DOTALL)
_IN_STRING = lazy_regex(rb'(?:[^"\\\n]++|\\[^\n])*+')
_WHOLE_ESCAPES = lazy_regex(rb'(?:[^"\\\n]++|\\u[0-9a-fA-F]{4}|\\[^u\n])*+')


class Head(bytes):
    """The beginning of a file. is_whole: whether the file has nothing more."""

    is_whole: bool

    @classmethod
    def of(cls, data: bytes, *, is_whole: bool) -> Head:
        """Returns these bytes as a head. is_whole: they are the whole file."""
        head = cls(data)
        head.is_whole = is_whole
        return head


def read_head(stream: BinaryIO, head_bytes: int = HEAD_BYTES) -> Head:
    """Reads a head of about this many bytes."""
    data = stream.read(head_bytes)
    if len(data) < head_bytes:
        return Head.of(data, is_whole=True)
    if _JSON_START.match(data) is None:
        return Head.of(data, is_whole=False)
    shortener = _Shortener()
    pieces = [shortener.shortened(data)]
    kept_bytes, read_bytes = len(pieces[0]), len(data)
    while kept_bytes < head_bytes and read_bytes < STRING_BYTES_MAX:
        if read_bytes >= head_bytes * _READ_RATIO_MAX and not shortener.is_in_string:
            break
        if not (data := stream.read(_CHUNK_BYTES)):
            # A string that is cut off at the end of the file may still be being written.
            return Head.of(b"".join(pieces), is_whole=not shortener.is_in_string)
        pieces.append(shortener.shortened(data))
        kept_bytes += len(pieces[-1])
        read_bytes += len(data)
    return Head.of(b"".join(pieces), is_whole=False)


class _Shortener:
    """Shortens the strings in JSON that is passed in pieces.

    is_in_string: whether the last piece ended in a long string, or in a string that may be one.
    """

    def __init__(self) -> None:
        self.is_in_string = False
        self._kept_bytes = 0
        self._rest = b""

    def shortened(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        pieces: list[bytes] = []
        at = 0
        while at < len(data):
            if self.is_in_string:
                at = self._take_string(data, at, pieces)
                continue
            match = _PLAIN.match(data, at)
            assert match is not None  # it also matches the empty string
            pieces.append(match.group())
            at = match.end()
            if at < len(data):
                pieces.append(data[at : at + 1])
                at, self.is_in_string, self._kept_bytes = at + 1, True, 0
        return b"".join(pieces)

    def _take_string(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Takes the string up to its end, or as far as the data reaches; returns the offset."""
        match = _IN_STRING.match(data, at)
        assert match is not None  # it also matches the empty string
        piece, end = match.group(), match.end()
        room = _KEPT_BYTES - self._kept_bytes
        if len(piece) > room:
            piece = _cut(piece, room)
            self._kept_bytes = _KEPT_BYTES
        else:
            self._kept_bytes += len(piece)
        pieces.append(piece)
        if end == len(data) or (data[end : end + 1] == b"\\" and end + 1 == len(data)):
            self._rest = data[end:]
            return len(data)
        self.is_in_string = False
        # A quotation mark, or the line break or damaged escape that ends the string.
        pieces.append(data[end : end + 1])
        return end + 1


def _cut(piece: bytes, size_bytes: int) -> bytes:
    """The beginning of a string, without half an escape or half a character at its end."""
    whole = _WHOLE_ESCAPES.match(piece[:size_bytes])
    assert whole is not None  # it also matches the empty string
    text = whole.group()
    return text.decode("utf-8", "ignore").encode() if text[-1:] >= b"\x80" else text
