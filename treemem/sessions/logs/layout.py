"""Takes a log apart into records, finds which message came from which, and puts records together.

No format is known here: a record is a line of JSON Lines or an element of a list of a JSON
document, and the format's own importer, which reads a record alone, says what is said in it. So
every format of either kind can be taken apart, and one where that fails is noticed.

Tested in tests/sessions/logs/test_layout.py.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from treemem.errors import TreememError
from treemem.importers.common.base import Importer, LogFile
from treemem.importers.common.content import SEPARATOR
from treemem.importers.common.records import parse_json, strip_padding
from treemem.types import Message

# How deep lists are looked for in a document, and how many are tried.
DEPTH_MAX, LISTS_MAX = 4, 8
_STYLE_BYTES = 400


class Layout(Protocol):
    """A log as records."""

    @property
    def records(self) -> Sequence[Any]:
        """The records as JSON values; of a line that is no JSON, None."""

    def built(self, chosen: Sequence[int | Any]) -> bytes:
        """The log with these records only: the number of one that is as it was, or a new value."""


@dataclass(frozen=True, slots=True)
class Lines:
    """JSON Lines. Lines that are not changed stay as they are, byte for byte."""

    lines: tuple[bytes, ...]
    records: tuple[Any, ...]

    @classmethod
    def of(cls, data: bytes) -> Lines:
        lines = data.splitlines(keepends=True) if b"\r" not in data else _lines(data)
        return cls(tuple(lines), tuple(_parsed(line) for line in lines))

    def built(self, chosen: Sequence[int | Any]) -> bytes:
        style = next(filter(strip_padding, self.lines), b"")
        pieces = [
            self.lines[one] if isinstance(one, int) else dumped(one, style) + b"\n"
            for one in chosen
        ]
        return b"".join(
            piece if piece.endswith(b"\n") or number == len(pieces) - 1 else piece + b"\n"
            for number, piece in enumerate(pieces)
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document with its records in one list. way: the keys and indexes that lead there."""

    value: Any
    way: tuple[str | int, ...]
    style: bytes

    @property
    def records(self) -> list[Any]:
        found = self.value
        for key in self.way:
            found = found[key]
        return list(found)

    def built(self, chosen: Sequence[int | Any]) -> bytes:
        records = self.records
        items = [records[one] if isinstance(one, int) else one for one in chosen]
        return dumped(_with(self.value, self.way, items), self.style, is_document=True)


def layouts(data: bytes) -> Iterator[Layout]:
    """The ways in which a log may be made of records, the likeliest first."""
    value = _parsed(data)
    if isinstance(value, dict | list):
        ways = sorted(_lists(value, ()), key=lambda found: -found[1])
        for way, _ in ways[:LISTS_MAX]:
            yield Document(value, way, data)
    yield Lines.of(data)


def dumped(value: Any, style: bytes, *, is_document: bool = False) -> bytes:
    """A value as JSON, written as a file is that begins with style."""
    head = style[:_STYLE_BYTES]
    separators = (", ", ": ") if b'": ' in head or b'":' not in head else (",", ":")
    indent = None
    if is_document and b"\n" in strip_padding(head):
        line = strip_padding(head).split(b"\n", 2)[1]
        indent, separators = len(line) - len(line.lstrip()), (",", ": ")
    text = json.dumps(value, ensure_ascii=style.isascii(), separators=separators, indent=indent)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # lone surrogates, which a log has as escapes
        data = json.dumps(value, separators=separators, indent=indent).encode()
    return data + b"\n" if is_document and style.endswith(b"\n") else data


@dataclass(slots=True)
class Trace:
    """Which records the messages of a log came from.

    of_message: the numbers of the records of each message. texts: what each record says when it is
    read alone; a record that repeats another one says something, though no message came from it.
    """

    of_message: list[list[int]]
    texts: dict[int, list[str]] = field(default_factory=dict)


def traced(importer: Importer, file: LogFile, layout: Layout, messages: Sequence[Message]) -> Trace:
    """Finds the records of these messages, which the importer read from the whole file."""
    trace = Trace([[] for _ in messages])
    whole: dict[str, deque[int]] = defaultdict(deque)
    for number, message in enumerate(messages):
        whole[message.text].append(number)
    last, rest = -1, ""  # the message that was found last, and its words that further records have
    for index in range(len(layout.records)):
        trace.texts[index] = [one.text for one in _alone(importer, file, layout, index)]
        for text in trace.texts[index]:
            if rest and rest.startswith(text):
                number, rest = last, rest[len(text) :].removeprefix(SEPARATOR)
            else:
                number = _first(whole[text], trace)
                if number < 0 and _begins(messages, last + 1, text):
                    number = last + 1
                if number < 0:
                    continue
                last, rest = number, messages[number].text[len(text) :].removeprefix(SEPARATOR)
            if index not in trace.of_message[number]:
                trace.of_message[number].append(index)
    return trace


def _begins(messages: Sequence[Message], number: int, text: str) -> bool:
    """Whether a message begins with the text of a record, and has more of other records."""
    return number < len(messages) and messages[number].text.startswith(text + SEPARATOR)


def _first(numbers: deque[int], trace: Trace) -> int:
    """The first of these messages that has no record yet; -1 if all have."""
    while numbers and trace.of_message[numbers[0]]:
        numbers.popleft()
    return numbers[0] if numbers else -1


def _alone(importer: Importer, file: LogFile, layout: Layout, index: int) -> list[Message]:
    """What a record says by itself."""
    if layout.records[index] is None:
        return []
    alone = replace(file, path=None, spool=None, data=layout.built([index]))
    try:
        return [event for event in importer.read(alone) if isinstance(event, Message)]
    except (TreememError, LookupError, TypeError, ValueError, RecursionError):
        return []  # it cannot be read without the others


def _parsed(data: bytes) -> Any:
    try:
        return parse_json(strip_padding(data))
    except (ValueError, RecursionError):
        return None


def _lines(data: bytes) -> list[bytes]:
    """The lines as importers count them: only a line feed ends one."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _lists(value: Any, way: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """The lists of objects in a value, with the keys that lead there, and their lengths."""
    if len(way) > DEPTH_MAX:
        return
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield way, len(value)
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        if isinstance(item, dict | list) and (isinstance(value, dict) or key < LISTS_MAX):
            yield from _lists(item, (*way, key))


def _with(value: Any, way: tuple[str | int, ...], items: list[Any]) -> Any:
    """A copy of a document with another list in one place."""
    if not way:
        return items
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = _with(value[way[0]], way[1:], items)
    return copy
