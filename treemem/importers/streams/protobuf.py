"""Reads protobuf messages without their schema: fields by their numbers.

The encoding is described at https://protobuf.dev/programming-guides/encoding/. Never raises on
damage: a message ends where it is.

Tested in tests/importers/test_antigravity.py and test_cursor.py.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    r"""Yields number and value of a message's fields in order: integers, and bytes for texts and
    messages. Values of fixed length are left out.

    Example:
        >>> list(fields(b"\x08\x0e\x12\x02hi\x1a\x09cut"))
        [(1, 14), (2, b'hi')]
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif kind == _BYTES:
            length, at = _varint(data, at)
            if at + length > len(data):
                return
            yield tag >> 3, data[at : at + length]
            at += length
        elif kind in (_FIXED_64, _FIXED_32):
            at += 8 if kind == _FIXED_64 else 4
        else:
            return


def messages(data: bytes, number: int) -> list[bytes]:
    """All values of a field that are texts or messages."""
    return [value for field, value in fields(data) if field == number and isinstance(value, bytes)]


def message(data: bytes, *path: int) -> bytes:
    """The first message at a path of field numbers; b"" if it is not there."""
    for number in path:
        data = next(iter(messages(data, number)), b"")
    return data


def text(data: bytes, *path: int) -> str:
    r"""The first text at a path; a byte that is not UTF-8 becomes a lone surrogate.

    Example:
        >>> text(b"\x0a\x04\x12\x02hi", 1, 2), text(b"", 1)
        ('hi', '')
    """
    return message(data, *path).decode("utf-8", "surrogateescape")


def integer(data: bytes, number: int) -> int | None:
    """The first value of a field that is an integer."""
    return next(
        (value for field, value in fields(data) if field == number and isinstance(value, int)), None
    )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Reads a varint; returns it and the offset after it; (0, the end) if it is truncated."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, len(data)
