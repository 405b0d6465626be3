"""Shows what an agent called a tool with as text, not as the JSON of its log.

What is stored, and what --json prints, stays as it is. The result is not yet safe for a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treemem import Message, Passage

# Marks text that was left out of an excerpt.
_GAP = "…"
_HEAD = re.compile(r"\[tool use: [^\]\n]*\] ?")
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_INDENT = "  "
# What ends a line for a terminal, before a line that is not indented.
_BREAK = re.compile("(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(?=[^ ])")
_DEPTH_MAX = 8


def of_message(message: Message) -> str:
    """The text of a message, with the input of its tools as text."""
    shown, end = [], 0
    for part in sorted(message.parts, key=lambda part: part.start):
        if part.kind == "tool_use" and part.start >= end:
            shown += [message.text[end : part.start], call(message.text[part.start : part.end])]
            end = part.end
    return "".join([*shown, message.text[end:]])


def of_passage(passage: Passage, text: str) -> str:
    """The text of a passage, with the input of tools as text, also where an excerpt cuts it.

    Each line that comes out of a call is indented by at least a space, as all lines of a passage
    but the first of a message are, so that no call can look like a heading or another message.
    """
    calls = {
        message.text[part.start : part.end]
        for message in passage.messages
        for part in message.parts
        if part.kind == "tool_use"
    }
    if not calls:
        return text
    whole = "|".join(re.escape(one) for one in sorted(calls, key=len, reverse=True))
    pieces = re.split(f"({whole})", text)
    pieces[1::2] = [_indented(call(piece)) for piece in pieces[1::2]]
    pieces[::2] = ["\n".join(_cut(line, calls) for line in piece.split("\n"))
                   for piece in pieces[::2]]  # fmt: skip
    return "".join(pieces)


def call(text: str) -> str:
    r"""A call as it is stored, "[tool use: NAME] INPUT", with its input as text.

    Example:
        >>> print(call('[tool use: Edit] {"file":"a.py","old":"x\\ny"}'))
        [tool use: Edit]
          file: a.py
          old:
            x
            y
        >>> call('[tool use: Bash] {"command":"make"}')
        '[tool use: Bash] command: make'
    """
    head = _HEAD.match(text)
    given = text if head is None else text[head.end() :]
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or not value:
        return text
    lines = list(_lines(value, 0))
    if head is None:
        return "\n".join(lines)
    name = head.group().rstrip()
    if len(lines) == 1:
        return f"{name} {lines[0]}"
    return "\n".join([name, *(_INDENT + line for line in lines)])


def _lines(value: dict[str, object], depth: int) -> Iterable[str]:
    for key, inner in value.items():
        if isinstance(inner, dict) and inner and depth < _DEPTH_MAX:
            yield f"{key}:"
            yield from (_INDENT + line for line in _lines(inner, depth + 1))
        elif isinstance(inner, list) and any(isinstance(one, dict) for one in inner):
            numbered = {str(number): one for number, one in enumerate(inner, 1)}
            yield from _lines({key: numbered}, depth)
        else:
            text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
            if "\n" in text:
                yield f"{key}:"
                yield from (_INDENT + line for line in text.rstrip("\n").split("\n"))
            else:
                yield f"{key}: {text}"


def _cut(line: str, calls: Sequence[str] | set[str]) -> str:
    """A line of an excerpt; the parts of it that were cut out of a call without their escapes."""
    pieces = line.split(_GAP)
    return _GAP.join(
        _indented(_unescaped(piece)) if "\\" in piece and _is_within(piece, calls) else piece
        for piece in pieces
    )


def _indented(text: str) -> str:
    """The text, each further line indented by at least a space.

    Example:
        >>> _indented("a\\n[2 2026-01-01]\\n  b")
        'a\\n [2 2026-01-01]\\n  b'
    """
    return _BREAK.sub(r"\1 ", text)


def _is_within(piece: str, calls: Iterable[str]) -> bool:
    """Whether a piece, without the speaker before it, is a part of a call."""
    bare = piece.strip()
    forms = (bare, bare.partition(": ")[2] or bare)
    return any(form in one for one in calls for form in forms)


def _unescaped(text: str) -> str:
    """A part of JSON without its escapes; an escape that is cut stays.

    Example:
        >>> _unescaped('a\\\\n\\\\"b\\\\" \\\\u00e9 \\\\')
        'a\\n"b" é \\\\'
    """

    def character(match: re.Match[str]) -> str:
        if match[2]:
            return chr(int(match[2], 16))
        return _CHARACTERS.get(match[1], match[1])

    return _ESCAPE.sub(character, text)
