"""Reads JSON Lines as they occur on disks: truncated, spliced, padded with NULs, huge.

Yields one Record or Skipped for every non-blank line, and one more for every further record
recovered from a damaged line. Never raises on damage. Knows no format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple, TypeVar

import orjson

from treemem.importers.common.base import Event, Skipped
from treemem.reports import CUT_AT_END
from treemem.types import Message, Source

LINE_BYTES_MAX = 64 * 1024 * 1024
RECOVERY_TRIES_MAX = 64

CUT_BY_ANOTHER = "record cut off by another on its line"
DAMAGED = "damaged record"
TOO_LONG = "line over the size limit"
TOO_DEEP = "nested too deeply"

_PIECE_BYTES = 1024 * 1024
_PADDING = b" \t\r\n\0"
_BOM = b"\xef\xbb\xbf"
_DETAIL_CHARS_MAX = 80
_KEY_BYTES_MAX = 64
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
# orjson turns integers beyond 64 bits (20 digits and more) into floats.
_LONG_NUMBER = b"0" * 20
# Twenty consecutive digits contain four digits at distances of five; this cheaper test runs first.
_STRIDE = 5
_LONG_NUMBER_SEEN = b"0" * 4

Item = TypeVar("Item")

_decoder = json.JSONDecoder()
# Equivalent to Record(line, value), without a Python call.
_new_record = tuple.__new__


class Record(NamedTuple):
    """A JSON value. line: the 1-based number of its line; None inside a document."""

    line: int | None
    value: object


def read_records(
    stream: BinaryIO,
    parse: Callable[[bytes], object] | None = None,
    line_bytes_max: int = LINE_BYTES_MAX,
    lines_before: int = 0,
) -> Iterator[Record | Skipped]:
    """Yields every record of the stream in order; damage becomes a Skipped with problem=True.

    Only a line feed ends a line: U+2028, NEL, VT and FF may occur in a JSON string. parse:
    parse_json by default; skim_json for a pass that needs no exact numbers. lines_before: how many
    lines of the file are before the place where the stream is.
    """
    parse = parse or parse_json
    beginning = b""
    number = lines_before
    while line := stream.readline(_PIECE_BYTES):
        number += 1
        size_bytes = len(line)
        if size_bytes == _PIECE_BYTES:
            line, size_bytes = _whole_line(stream, line, line_bytes_max)
        if size_bytes > line_bytes_max:
            detail = f"{size_bytes:,} bytes, where {line_bytes_max:,} are allowed"
            yield Skipped(TOO_LONG, number, problem=True, detail=detail)
            continue
        try:
            value = _parsed(line, parse)
        except RecursionError:
            yield Skipped(TOO_DEEP, number, problem=True, detail=f"{size_bytes:,} bytes")
        except ValueError:
            if body := strip_padding(line):
                reason = DAMAGED if line.endswith(b"\n") else CUT_AT_END
                good = strip_padding(beginning)
                first_key = _decoded(good[: good.find(b":") + 1])
                yield from _recovered(number, _decoded(body), first_key, reason)
        else:
            beginning = line[:_KEY_BYTES_MAX]
            line = b""  # which may have many MB, beside the value that has the same words
            yield _new_record(Record, (number, value))


def parse_json(data: bytes) -> object:
    r"""Parses one JSON text. Raises ValueError, or RecursionError for excessive nesting.

    orjson is three times as fast, but rejects lone surrogates and NaN and rounds long integers; the
    standard library accepts all of them.

    Example:
        >>> parse_json(b'"\\ud83d"') == chr(0xD83D)
        True
        >>> parse_json(b"123456789012345678901")
        123456789012345678901
    """
    value = skim_json(data)
    return json.loads(_decoded(data)) if _has_long_number(data) else value


def skim_json(data: bytes) -> object:
    """Like parse_json, but an integer of 20 or more digits may become a float."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(_decoded(data))
    return value


def strip_padding(line: bytes) -> bytes:
    r"""Strips the line end, blanks, a BOM, and NULs from an interrupted append.

    Example:
        >>> strip_padding(b'\x00\x00{"a":1}\r\n')
        b'{"a":1}'
    """
    return line.strip(_PADDING).removeprefix(_BOM).lstrip(_PADDING)


def events_of(
    items: Iterable[Item | Skipped],
    messages_of: Callable[[int, Item], Message | Sequence[Message] | str],
    source_of: Callable[[Item], Source],
) -> Iterator[Event]:
    """Turns each item into events; yields a source before the first message and at each change.

    messages_of: returns an item's message or messages, or the reason to skip it; receives the
    item's number (skipped ones count) and the item. source_of: returns the item's source, always
    as the same object.
    """
    current: Source | None = None
    for ordinal, item in enumerate(items):
        if isinstance(item, Skipped):
            yield item
            continue
        line: int | None = getattr(item, "line", None)
        try:
            messages = messages_of(ordinal, item)
        except RecursionError:
            yield Skipped(TOO_DEEP, line, problem=True)
            continue
        if isinstance(messages, str):
            yield Skipped(messages, line)
            continue
        source = source_of(item)
        if source is not current:
            current = source
            yield source
        yield from (messages,) if isinstance(messages, Message) else messages


def _decoded(data: bytes) -> str:
    # A byte that is not UTF-8 becomes a lone surrogate: encoding with the same handler restores it,
    # the rest of the line stays readable, and the store must accept lone surrogates anyway, since
    # JSON escapes can produce them.
    return data.decode("utf-8", "surrogateescape")


def _has_long_number(data: bytes) -> bool:
    if _LONG_NUMBER_SEEN not in data[::_STRIDE].translate(_DIGITS_TO_ZERO):
        return False
    return _LONG_NUMBER in data.translate(_DIGITS_TO_ZERO)


def _whole_line(stream: BinaryIO, first: bytes, line_bytes_max: int) -> tuple[bytes, int]:
    """Reads the rest of a line: (line, size). The line is b"" if it is over the limit.

    Never holds more than the limit.
    """
    piece, pieces, size_bytes = first, [first], len(first)
    while not piece.endswith(b"\n") and (piece := stream.readline(_PIECE_BYTES)):
        size_bytes += len(piece)
        if size_bytes <= line_bytes_max:
            pieces.append(piece)
        else:
            pieces.clear()
    return b"".join(pieces), size_bytes


def _parsed(line: bytes, parse: Callable[[bytes], object]) -> object:
    """Parses a line; strips padding only if it does not parse as it is."""
    try:
        return parse(line)
    except ValueError:
        return parse(strip_padding(line))


def _recovered(number: int, text: str, first_key: str, reason: str) -> Iterator[Record | Skipped]:
    """Recovers records from a damaged line: whole ones at its start, and one at its end.

    Two writers without a lock can append a whole record to the truncated beginning of another, or
    lose the line break between two records.
    """
    start = 0
    while (whole := _object_at(text, start)) is not None:
        value, start = whole
        yield Record(number, value)
        start = _skip_blank(text, start)
        if start == len(text):
            return
    tail = _object_at_end(text, start, first_key)
    if tail is None:
        yield Skipped(reason, number, problem=True, detail=_excerpt(text, start, len(text)))
        return
    value, at = tail
    yield Skipped(CUT_BY_ANOTHER, number, problem=True, detail=_excerpt(text, start, at))
    yield Record(number, value)


def _object_at(text: str, start: int) -> tuple[dict[str, object], int] | None:
    """The JSON object that begins at start, and the offset after it; None if there is none."""
    try:
        value, end = _decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) else None


def _object_at_end(text: str, start: int, first_key: str) -> tuple[dict[str, object], int] | None:
    """The first object after start that reaches to the end of the text, and its offset."""
    at, tries = start, 0
    while tries < RECOVERY_TRIES_MAX and (at := text.find('{"', at + 1)) >= 0:
        # Subtle: a record truncated after a nested object ends in that object, not a record.
        # An object after ":", "," or "[" counts as nested, unless it begins with the same key as
        # the last good record.
        before = text[max(start, at - 8) : at].rstrip()
        alike = bool(first_key) and text.startswith(first_key, at)
        if before.endswith((":", ",", "[")) and not alike:
            continue
        tries += 1
        whole = _object_at(text, at)
        if whole is not None and _skip_blank(text, whole[1]) == len(text):
            return whole[0], at
    return None


def _skip_blank(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n\0":
        start += 1
    return start


def _excerpt(text: str, start: int, end: int) -> str:
    """The beginning of a range on one printable line, for a problem report."""
    cut = text[start : min(end, start + _DETAIL_CHARS_MAX)]
    shown = "".join(char if char.isprintable() else "·" for char in cut)
    return f"{end - start:,} characters: {shown}"
