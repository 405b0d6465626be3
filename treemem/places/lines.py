"""Finds the lines of messages in their log files, by reading the files again.

A line is not stored: it moves when a file is rewritten. A message is found by its id, by those of
its tool calls, or by its longest line. What is not found for sure has no line.
Tested in tests/places/test_places.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treemem.patterns import lazy_regex
from treemem.types import Message, Passage, SearchResult

# Larger files are not read.
FILE_BYTES_MAX = 256 << 20
# The characters of a message among which its longest line is looked for, and those of it that are.
TEXT_CHARS = 4_000
LINE_CHARS = 160
LINE_CHARS_MIN = 12
# Between pieces that a log has word for word: it has no markers of redacted secrets.
_BREAKS = lazy_regex(r"[\r\n]+|\[redacted: [^\]\n]*\]")
# How often a text may occur in a file before the search is given up.
_OCCURRENCES_MAX = 50
# The bytes before an id that may hold its key.
_KEY_BYTES = 40
_OWN_KEYS = lazy_regex(rb'"(?:uuid|_?id)"\s*:\s*$', re.IGNORECASE)
_CALL_KEYS = lazy_regex(rb'"(?:id|(?:tool_?)?call_?id|tool_?use_?id)"\s*:\s*$', re.IGNORECASE)


def with_lines(result: SearchResult) -> SearchResult:
    """The result with the line of the best message of each passage, where its log is a text file
    that still contains it. Reads each log once. Raises nothing."""
    texts: dict[str, bytes] = {}
    return replace(result, passages=tuple(_placed(passage, texts) for passage in result.passages))


def line_of(message: Message, data: bytes) -> int | None:
    """The line of a message in the bytes of its log, from 1; None if it is not found for sure.

    Example:
        >>> line_of(Message(text="We ship on Friday."), b"# Log\\n\\nana: We ship on Friday.\\n")
        3
    """
    at = _by_id(message, data)
    if at is None:
        at = _by_text(message, data)
    return None if at is None else data.count(b"\n", 0, at) + 1


def _placed(passage: Passage, texts: dict[str, bytes]) -> Passage:
    place = passage.place
    if place is None or place.path is None or not passage.messages:
        return passage
    if place.path not in texts:
        texts[place.path] = _read(Path(place.path))
    line = line_of(_best(passage), texts[place.path])
    return passage if line is None else replace(passage, place=replace(place, line=line))


def _best(passage: Passage) -> Message:
    best = max(passage.explanation, key=lambda part: part.score, default=None)
    wanted = None if best is None else best.message_id
    found = (message for message in passage.messages if message.id == wanted)
    return next(found, passage.messages[0])


def _read(path: Path) -> bytes:
    """The bytes of a text file; none of any other, such as a pipe or a database."""
    try:
        if not path.is_file() or path.stat().st_size > FILE_BYTES_MAX:
            return b""
        data = path.read_bytes()
    except (OSError, ValueError):  # a path with a NUL
        return b""
    return b"" if b"\0" in data[:4096] else data


def _by_id(message: Message, data: bytes) -> int | None:
    """Where the message's own id is, not one that points to it, or where its tools' are."""
    if message.external_id:
        for at in _after_key(data, message.external_id, _OWN_KEYS):
            return at
    for use in message.tool_use_ids:
        for at in _after_key(data, use, _CALL_KEYS):
            return at
    for call in message.tool_result_ids:
        places = list(_after_key(data, call, _CALL_KEYS))
        if len(places) > 1:  # the first one is the call
            return places[-1]
    return None


def _after_key(data: bytes, name: str, keys: re.Pattern[bytes]) -> Iterator[int]:
    quoted = json.dumps(name, ensure_ascii=False).encode("utf-8", "replace")
    for at in _occurrences(data, quoted):
        if keys.search(data, max(0, at - _KEY_BYTES), at):
            yield at


def _by_text(message: Message, data: bytes) -> int | None:
    """Where the longest line of the message is. If it is there more than once, the place whose line
    has the message's time too."""
    lines = (line.strip() for line in _BREAKS.split(message.text[:TEXT_CHARS]))
    text = max(lines, key=len)[:LINE_CHARS]
    if len(text) < LINE_CHARS_MIN:
        return None
    forms = (json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1], text)
    time = str(message.sent_at or "")[:19].encode("utf-8", "replace")
    for form in dict.fromkeys(forms):
        places = list(_occurrences(data, form.encode("utf-8", "replace")))
        if len(places) > 1 and time:
            places = [at for at in places if time in _line_around(data, at)]
        if len(places) == 1:
            return places[0]
    return None


def _occurrences(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    for _ in range(_OCCURRENCES_MAX):
        if at < 0:
            return
        yield at
        at = data.find(part, at + 1)


def _line_around(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at)
    return data[data.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(data)]
