"""Finds the line of a message in the bytes of a log file.

A line is not stored: it moves when a file is rewritten. A message is found by its id, by those of
its tool calls, or by its longest line; then the part of it that is meant is looked for nearby,
since a message may be of several records or lines. What is not found for sure has no line.
Tested in tests/places/test_places.py.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from treemem.patterns import lazy_regex
from treemem.types import Message

# Two offsets into the text of a message, the end exclusive.
Span = tuple[int, int]

# The characters of a message among which its longest line is looked for, and those of it that are.
TEXT_CHARS = 4_000
LINE_CHARS = 160
LINE_CHARS_MIN = 12
# Between pieces that a log has word for word: it has no markers of secrets and of tools.
_BREAKS = lazy_regex(r"[\r\n]+|\[(?:redacted|tool use): [^\]\n]*\]")
# A shorter form of a time, in a log, may be something else.
_TIME_CHARS_MIN = 10
# How often a text may occur in a file before the search is given up.
_OCCURRENCES_MAX = 50
# The bytes on each side of a known place of a message in which a part of it is looked for. Between
# two records of one there may be the results of its tools.
REACH_BYTES = 256 << 10
# The bytes before an id that may hold its key.
_KEY_BYTES = 40
_IS_KEY = lazy_regex(rb"\s*:")
_BLANKS = lazy_regex(rb"[ \t]+")
_OWN_KEYS = lazy_regex(rb'"(?:uuid|_?id|ts)"\s*:\s*$', re.IGNORECASE)
_CALL_KEYS = lazy_regex(rb'"(?:id|(?:tool_?)?call_?id|tool_?use_?id)"\s*:\s*$', re.IGNORECASE)


def line_of(message: Message, data: bytes) -> int | None:
    """The line of a message in the bytes of its log, from 1; None if it is not found for sure.

    Example:
        >>> line_of(Message(text="We ship on Friday."), b"# Log\\n\\nana: We ship on Friday.\\n")
        3
    """
    line = line_by_id(message, data)
    return line_by_text(message, data) if line is None else line


def line_by_id(message: Message, data: bytes, span: Span = (0, 0)) -> int | None:
    """The line with the message's own id, not one that points to it, or with those of its tools; or
    the line nearby in which a part of the message begins, if that is found."""
    forms = _forms(_longest(message.text[slice(*span)]))
    if (at := _by_id(message, data)) is not None:
        start = _record_start(data, at)
        places = (data.find(form, start, at + REACH_BYTES) for form in forms)
        at = min((place for place in places if place >= 0), default=at)
    elif (at := _by_call(message, data)) is not None:
        at = _nearest(data, forms, at)  # a message may say something before its call
    return _line(data, at)


def line_by_text(message: Message, data: bytes, span: Span = (0, 0)) -> int | None:
    """The line with a part of the message, if that occurs once, or once together with the message's
    time; else the one that is where it should be, if the message is found so. Another file may have
    the same words."""
    text, times = message.text[slice(*span)], _times(str(message.sent_at or ""))
    at = _by_text(text, times, data)
    if at is None and (at := _by_text(message.text, times, data)) is not None:
        part, whole = _longest(text), _longest(message.text)
        distance = message.text.find(part, span[0]) - message.text.find(whole)
        at = _nearest(data, _forms(part), at, distance)
    return _line(data, at)


def has_text(message: Message, data: bytes) -> bool:
    """Whether a log has the longest line of a message, or all of a short one, perhaps several
    times."""
    longest = _longest(message.text)
    is_short = len(longest) < LINE_CHARS_MIN
    forms = _strings(message.text.strip()) if is_short else _forms(longest)
    return any(form in data for form in forms)


def _times(sent_at: str) -> list[bytes]:
    """How the time of a message may begin in a log: as it is stored, or as seconds since 1970,
    which those in milliseconds begin with."""
    forms = [sent_at[:19]]
    with contextlib.suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(sent_at)
        if moment.tzinfo is not None:
            forms.append(str(int(moment.timestamp())))
    return [form.encode("utf-8", "replace") for form in forms if len(form) >= _TIME_CHARS_MIN]


def _line(data: bytes, at: int | None) -> int | None:
    return None if at is None else data.count(b"\n", 0, at) + 1


def _by_id(message: Message, data: bytes) -> int | None:
    name = message.external_id or ""
    for own in dict.fromkeys((name, name.rpartition("/")[2])):  # some are stored with a channel
        for at in _after_key(data, own, _OWN_KEYS) if own else ():
            return at
    return None


def _by_call(message: Message, data: bytes) -> int | None:
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


def _by_text(text: str, times: list[bytes], data: bytes) -> int | None:
    longest = _longest(text)
    if len(longest) < LINE_CHARS_MIN:
        return _short(text.strip(), times, data)
    for form in _forms(longest):
        places = list(_occurrences(data, form))
        if (only := _of_one_line(places, data)) is not None:
            return only
        for at in places:  # of two, both are the message
            if any(time in _line_around(data, at) for time in times):
                return at
    return None


def _of_one_line(places: list[int], data: bytes) -> int | None:
    """The first of the places of a text, if there is no other or all are in one line."""
    if not 0 < len(places) < _OCCURRENCES_MAX or data.find(b"\n", places[0], places[-1]) >= 0:
        return None
    return places[0]


def _longest(text: str) -> str:
    """The beginning of the longest line of a text."""
    lines = (line.strip() for line in _BREAKS.split(text[:TEXT_CHARS]))
    return max(lines, key=len)[:LINE_CHARS]


def _forms(line: str) -> list[bytes]:
    """What a line may look like in a log; nothing for an empty one."""
    forms = (json.dumps(line, ensure_ascii=False)[1:-1], json.dumps(line)[1:-1], line)
    return [form.encode("utf-8", "replace") for form in dict.fromkeys(forms) if form]


def _record_start(data: bytes, at: int) -> int:
    """Where the line of an id begins, or its object in JSON with a line for each value."""
    first = start = data.rfind(b"\n", 0, at) + 1
    indent = _indent(data, start)
    if indent == 0 or data.startswith(b"{", start + indent):
        return start
    while start > max(0, first - REACH_BYTES):
        start = data.rfind(b"\n", 0, start - 1) + 1
        if _indent(data, start) < indent:
            return start
    return first


def _indent(data: bytes, start: int) -> int:
    match = _BLANKS.match(data, start)
    return match.end() - start if match else 0


def _nearest(data: bytes, forms: Iterable[bytes], at: int, distance: int = 0) -> int:
    """That of the places near a known one which is nearest to a distance from it; else itself."""
    start = max(0, at - REACH_BYTES)
    near = data[start : at + REACH_BYTES]
    places = [start + place for form in forms for place in _occurrences(near, form)]
    return min(places, key=lambda place: abs(place - at - distance), default=at)


def _short(text: str, times: list[bytes], data: bytes) -> int | None:
    """Where a short text is as a whole JSON string: in a line with the message's time, or once."""
    forms = _strings(text)
    for time in times if forms else ():
        for at in _occurrences(data, time):
            line = _line_around(data, at)
            if any(form in line for form in forms):
                return at
    for form in forms:
        places = [at for at in _occurrences(data, form)
                  if not _IS_KEY.match(data, at + len(form))]  # fmt: skip
        if (only := _of_one_line(places, data)) is not None:
            return only
    return None


def _strings(text: str) -> list[bytes]:
    """What a text looks like as a whole string of JSON; nothing for an empty one."""
    forms = (json.dumps(text, ensure_ascii=False), json.dumps(text))
    return [form.encode("utf-8", "replace") for form in dict.fromkeys(forms) if text]


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
