"""Changes one place of a JSON text and leaves every other character as it is.

A text that was read and written again would lose how its user laid it out: the array on one line,
the number 1.0, the escape. Callers have checked that the text is JSON. Pure.

Tested in tests/assistants/test_json_edits.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treemem.patterns import lazy_regex

_INDENT = lazy_regex(r"\n([ \t]+)\"")
_SPACE = lazy_regex(r"[ \t\r\n]*")
_STRING = lazy_regex(r'"(?:[^"\\]|\\.)*"')
# What stands between the brackets of a value: strings, whose brackets do not count, and the rest.
_INNER = lazy_regex(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^"\[\]{}]+')
_SCALAR = lazy_regex(r"[^ \t\r\n,\]}]+")
_LINE_START = lazy_regex(r"[ \t]*")
# The spaces of an indentation where a text shows none.
_INDENT_CHARS = 2

Step = str | int


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object, or an element of an array. start: of its key or value. value, end: of
    its value."""

    key: Step
    start: int
    value: int
    end: int


def put(text: str, path: Sequence[Step], value: Any) -> str:
    """The text with a value at a path of keys and indexes. An object or array that is missing on
    the way is added, and an index behind the last element adds one.

    Example:
        >>> put('{"a": [1, 2.0]}', ["a", 2], True)
        '{"a": [1, 2.0, true]}'
        >>> put('{"a": 1}', ["b", "c"], [])
        '{"a": 1, "b": {"c": []}}'
    """
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches anywhere
    for depth, step in enumerate(path):
        members = list(_members(text, at))
        found = next((one for one in members if one.key == step), None)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value} if isinstance(missing, str) else [value]
            return _with_member(text, at, members, step, value)
        at, end = found.value, found.end
    return text[:at] + _dumped(text, value, _margin(text, at)) + text[end:] if path else text


def without(text: str, path: Sequence[Step]) -> str:
    """The text without the value at a path, which it has.

    Example:
        >>> without('{"a": [1, 2.0, 3]}', ["a", 1])
        '{"a": [1, 3]}'
    """
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    for step in path[:-1]:
        at = next(one.value for one in _members(text, at) if one.key == step)
    members = list(_members(text, at))
    number = next(number for number, one in enumerate(members) if one.key == path[-1])
    if number:
        return text[: members[number - 1].end] + text[members[number].end :]
    if len(members) > 1:
        return text[: members[0].start] + text[members[1].start :]
    return text[: at + 1] + text[_end(text, at) - 1 :]


# -- reading ---------------------------------------------------------------------------


def _members(text: str, at: int) -> Iterator[_Member]:
    """The members of the object or array that begins at a place."""
    is_object = text[at] == "{"
    place, index = _after_space(text, at + 1), 0
    while text[place] not in "]}":
        start = place
        key: Step = index
        if is_object:
            end = _end(text, place)
            key = json.loads(text[place:end])
            place = _after_space(text, _after_space(text, end) + 1)  # a colon
        end = _end(text, place)
        yield _Member(key, start, place, end)
        index += 1
        place = _after_space(text, end)
        if text[place] == ",":
            place = _after_space(text, place + 1)


def _after_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _end(text: str, at: int) -> int:
    """Where the value that begins at a place ends."""
    if text[at] not in "{[":
        return (_STRING if text[at] == '"' else _SCALAR).match(text, at).end()  # type: ignore[union-attr]
    depth = 0
    for token in _INNER.finditer(text, at):
        depth += (token[0] in "{[") - (token[0] in "]}")
        if depth == 0:
            return token.end()
    raise AssertionError("not JSON")


# -- writing ---------------------------------------------------------------------------


def _with_member(text: str, at: int, members: Sequence[_Member], key: Step, value: Any) -> str:
    """The text with another member at the end of the object or array that begins at a place."""
    comma, colon = _separators(text)
    name = "" if isinstance(key, int) else json.dumps(key, ensure_ascii=False) + colon
    if not members:
        outer, added = _margin(text, at), name + _dumped(text, value, None)
        if "\n" in text.strip():
            line, inner = _line_break(text), outer + _indent(text)
            added = f"{line}{inner}{name}{_dumped(text, value, inner)}{line}{outer}"
        return text[: at + 1] + added + text[_end(text, at) - 1 :]
    last = members[-1]
    gap = f",{text[at + 1 : last.start]}"
    if len(members) > 1:
        gap = text[members[-2].end : last.start]
    is_inline = "\n" not in gap
    margin = None if is_inline else _margin(text, last.start)
    added = (comma if is_inline else gap) + name + _dumped(text, value, margin)
    return text[: last.end] + added + text[last.end :]


def _margin(text: str, at: int) -> str:
    """The spaces at the beginning of the line of a place."""
    return _LINE_START.match(text, text.rfind("\n", 0, at) + 1)[0]  # type: ignore[index]


def _indent(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else " " * _INDENT_CHARS


def _separators(text: str) -> tuple[str, str]:
    """What a text in one line writes between members, and after a key."""
    is_dense = "\n" not in text.strip() and '":' in text and '": ' not in text
    return (",", ":") if is_dense else (", ", ": ")


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(text: str, value: Any, margin: str | None) -> str:
    """A value in the layout of a text. margin: the spaces before its line; None for one line."""
    if margin is None or "\n" not in text.strip():
        return json.dumps(value, separators=_separators(text), ensure_ascii=False)
    lines = json.dumps(value, indent=_indent(text), ensure_ascii=False).split("\n")
    return f"{_line_break(text)}{margin}".join(lines)
