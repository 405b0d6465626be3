"""Streams large JSON documents: yields the elements of their outermost arrays one at a time.

A small document is parsed at once. A large or damaged one is cut into its outermost elements, which
are parsed one by one: the largest element bounds memory, and damage costs one element. Knows no
format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from treemem.errors import ImportFileError
from treemem.importers.common.base import LogFile, Skipped
from treemem.importers.common.records import DAMAGED, TOO_DEEP, parse_json, strip_padding
from treemem.patterns import lazy_regex
from treemem.reports import CUT_AT_END

WHOLE_BYTES_MAX = 32 * 1024**2
# Also the limit for a line of JSON Lines. Parsing an element takes up to five times its bytes.
MEMBER_BYTES_MAX = 64 * 1024**2
DOCUMENT_BYTES_MAX = 256 * 1024**2

MEMBER_TOO_LONG = "element over the size limit"

_CHUNK_BYTES = 1024**2
_DETAIL_BYTES = 80
_PADDING = b" \t\r\n\0"
_BLANKS = lazy_regex(rb"[ \t\r\n\0]*")
# Everything up to a bracket, including whole strings; stops before an incomplete string.
_PLAIN = lazy_regex(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_IN_STRING = lazy_regex(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
# Subtle: the same blanks as above, or an empty scalar would match forever.
_SCALAR_END = lazy_regex(rb"[,\[\]{} \t\r\n\0]")


class JsonMember(NamedTuple):
    """An element of the outermost array (key is None), or the value of key in the outermost object.
    A list in that object is yielded element by element (is_element)."""

    key: str | None
    value: object
    is_element: bool


def read_members(
    file: LogFile,
    whole_bytes_max: int = WHOLE_BYTES_MAX,
    member_bytes_max: int = MEMBER_BYTES_MAX,
) -> Iterator[JsonMember | Skipped]:
    """Yields the members of a JSON document in order; a damaged one is a Skipped with problem=True.

    A document that is neither an array nor an object has no members.
    """
    if file.size_bytes <= whole_bytes_max:
        with file.open() as stream:
            data = strip_padding(stream.read())
        try:
            value = parse_json(data)
        except (ValueError, RecursionError):
            pass
        else:
            yield from _members(value)
            return
    with file.open() as stream:
        yield from _Cutter(stream, member_bytes_max).members()


def has_several_values(file: LogFile) -> bool:
    """Whether a file has JSON values one after the other, as JSON Lines does. False also if the
    first one is too long for a line."""
    with file.open() as stream:
        cutter = _Cutter(stream, member_bytes_max=0)
        cutter.skip_bom()
        return cutter.skip_value(MEMBER_BYTES_MAX) and cutter.is_at_value()


class NestedMember(NamedTuple):
    """A value inside a document. path: the keys that lead to it, "[]" for an element of a list. An
    entered container is first yielded empty, then its members."""

    path: tuple[str, ...]
    value: object


def read_nested(
    file: LogFile,
    is_entered: Callable[[tuple[str, ...]], bool],
    member_bytes_max: int = MEMBER_BYTES_MAX,
) -> Iterator[NestedMember | Skipped]:
    """Streams the values of a document in order. is_entered: whether a container at a path is
    yielded member by member instead of whole."""
    with file.open() as stream:
        cutter = _Cutter(stream, member_bytes_max)
        cutter.skip_bom()
        yield from cutter.nested((), is_entered)


def read_value(file: LogFile, bytes_max: int = DOCUMENT_BYTES_MAX) -> object:
    """Parses the whole document. Raises ImportFileError if it is damaged or over the limit."""
    if file.size_bytes > bytes_max:
        raise ImportFileError(
            f"{file.label} has {file.size_bytes:,} bytes. A document of this shape is "
            f"parsed as a whole, and {bytes_max:,} are allowed: split it, or export less at a time."
        )
    with file.open() as stream:
        data = strip_padding(stream.read())
    try:
        return parse_json(data)
    except RecursionError as error:
        raise ImportFileError(f"{file.label} is nested too deeply.") from error
    except ValueError as error:
        raise ImportFileError(f"{file.label} is damaged JSON: {error}.") from error


def _members(value: object) -> Iterator[JsonMember]:
    if isinstance(value, list):
        yield from (JsonMember(None, element, True) for element in value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list):
                yield from (JsonMember(key, element, True) for element in inner)
            else:
                yield JsonMember(key, inner, False)


class _Cutter:
    """Cuts a stream into its outermost members; holds one at a time."""

    def __init__(self, stream: BinaryIO, member_bytes_max: int) -> None:
        self._stream = stream
        self._bytes_max = member_bytes_max
        self._buffer = b""
        self._at = 0
        self._ended = False

    def skip_bom(self) -> None:
        if self._peek() == b"\xef":
            self._at += 3

    def skip_value(self, size_bytes_max: int) -> bool:
        """Skips the value at the current position; returns False if it is longer than this."""
        self._peek()
        depth, in_string, size_bytes = 0, False, 0
        while True:
            end, depth, in_string, is_whole = self._scan(depth, in_string)
            size_bytes += end - self._at
            self._at = end
            if is_whole or size_bytes > size_bytes_max or not self._more():
                return is_whole

    def is_at_value(self) -> bool:
        """Whether an object or an array follows."""
        return self._peek() in (b"{", b"[")

    def nested(
        self, path: tuple[str, ...], is_entered: Callable[[tuple[str, ...]], bool]
    ) -> Iterator[NestedMember | Skipped]:
        """Yields the value at the current position, or the members of an entered container.

        Iterative over siblings, recursive only as deep as is_entered allows.
        """
        opening = self._peek()
        if opening not in (b"[", b"{") or not is_entered(path):
            value = self._value()
            yield value if isinstance(value, Skipped) else NestedMember(path, value)
            return
        closing, is_object = (b"}", True) if opening == b"{" else (b"]", False)
        self._at += 1
        yield NestedMember(path, {} if is_object else [])
        while (char := self._peek()) not in (b"", closing):
            if char in b",]}":
                # An unmatched closing bracket is damage; it costs the value before it.
                if char != b",":
                    yield self._damage(None)
                self._at += 1
                continue
            key: object = self._value() if is_object else "[]"
            if not isinstance(key, str) or (is_object and self._peek() != b":"):
                yield self._damage(key)
                continue
            self._at += is_object
            yield from self.nested((*path, key), is_entered)
        self._at += 1
        if char == b"" and not path:
            yield Skipped(CUT_AT_END, problem=True, detail="the document is not closed")

    def members(self) -> Iterator[JsonMember | Skipped]:
        self.skip_bom()
        outer = self._peek()
        if outer == b"[":
            self._at += 1
            yield from self._elements(None)
        elif outer == b"{":
            self._at += 1
            yield from self._fields()

    def _fields(self) -> Iterator[JsonMember | Skipped]:
        while (char := self._peek()) not in (b"", b"}"):
            if char == b",":
                self._at += 1
                continue
            key = self._value()
            if not isinstance(key, str) or self._peek() != b":":
                yield self._damage(key)
                return
            self._at += 1
            if self._peek() == b"[":
                self._at += 1
                yield from self._elements(key)
            else:
                value = self._value()
                yield value if isinstance(value, Skipped) else JsonMember(key, value, False)
        if char == b"":
            yield Skipped(CUT_AT_END, problem=True, detail="the outermost object is not closed")

    def _elements(self, key: str | None) -> Iterator[JsonMember | Skipped]:
        while (char := self._peek()) not in (b"", b"]"):
            if char == b",":
                self._at += 1
                continue
            if char == b"}":
                yield self._damage(None)
                self._at += 1
                continue
            value = self._value()
            yield value if isinstance(value, Skipped) else JsonMember(key, value, True)
        self._at += 1
        if char == b"":
            yield Skipped(CUT_AT_END, problem=True, detail="the outermost list is not closed")

    def _damage(self, key: object) -> Skipped:
        if isinstance(key, Skipped):
            return key
        beginning = self._buffer[self._at : self._at + _DETAIL_BYTES]
        return Skipped(DAMAGED, problem=True, detail=_shown(beginning))

    def _value(self) -> object:
        """The next value, or a Skipped if it cannot be parsed."""
        data, size_bytes = self._cut()
        if data is None:
            detail = f"{size_bytes:,} bytes, where {self._bytes_max:,} are allowed"
            return Skipped(MEMBER_TOO_LONG, problem=True, detail=detail)
        try:
            return parse_json(data)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True, detail=f"{size_bytes:,} bytes")
        except ValueError:
            reason = CUT_AT_END if self._ended and self._at >= len(self._buffer) else DAMAGED
            detail = f"{size_bytes:,} bytes: {_shown(data[:_DETAIL_BYTES])}"
            return Skipped(reason, problem=True, detail=detail)

    # -- cutting ---------------------------------------------------------------------------

    def _peek(self) -> bytes:
        """Returns the next non-blank character without consuming it; b"" at the end."""
        while True:
            blanks = _BLANKS.match(self._buffer, self._at)
            assert blanks is not None
            self._at = blanks.end()
            if self._at < len(self._buffer) or not self._more():
                return self._buffer[self._at : self._at + 1]

    def _more(self) -> bool:
        """Appends a chunk to the buffered bytes; returns False at the end of the stream."""
        chunk = self._stream.read(_CHUNK_BYTES)
        self._ended = self._ended or not chunk
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _cut(self) -> tuple[bytes | None, int]:
        """Cuts off the value at the current position: (bytes, None if over the limit; size).

        Scans every byte once, whatever the length of strings or the depth of nesting.
        """
        pieces: list[bytes] = []
        size_bytes = depth = 0
        in_string = False
        while True:
            end, depth, in_string, is_whole = self._scan(depth, in_string)
            size_bytes += end - self._at
            if size_bytes <= self._bytes_max:
                pieces.append(self._buffer[self._at : end])
            else:
                pieces.clear()
            self._at = end
            if is_whole or not self._more():
                data = b"".join(pieces) if size_bytes <= self._bytes_max else None
                return data, size_bytes

    def _scan(self, depth: int, in_string: bool) -> tuple[int, int, bool, bool]:
        """Scans the buffer for the end of the value: (end, depth, in a string, complete)."""
        buffer, at = self._buffer, self._at
        while at < len(buffer):
            if in_string:
                at = _matched(_IN_STRING, buffer, at)
                if at >= len(buffer) or buffer[at] == 0x5C:
                    return at, depth, True, False
                at, in_string = at + 1, False
                if depth == 0:
                    return at, 0, False, True
                continue
            if depth == 0:
                char = buffer[at]
                if char == 0x22:
                    at, in_string = at + 1, True
                    continue
                if char not in b"[{":
                    end = _SCALAR_END.search(buffer, at)
                    return (end.start(), 0, False, True) if end else (len(buffer), 0, False, False)
            at = _matched(_PLAIN, buffer, at)
            if at >= len(buffer):
                break
            char = buffer[at]
            at += 1
            if char == 0x22:
                in_string = True
            else:
                depth += 1 if char in b"[{" else -1
                if depth <= 0:
                    return at, 0, False, True
        return at, depth, in_string, False


def _matched(pattern: re.Pattern[bytes], buffer: bytes, at: int) -> int:
    match = pattern.match(buffer, at)
    assert match is not None  # Both patterns also match the empty string.
    return match.end()


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "·" for char in text)
