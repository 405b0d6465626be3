"""The pieces of one turn in SpecStory's Markdown: words, thinking, tool calls.

Pure. Tags that frame a tool call or a thought go, what stands between them stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from treemem.importers.common.content import Content
from treemem.importers.common.documents import fence_after
from treemem.types import PartKind

SEPARATOR = re.compile(r"---[ \t]*[\r\n]*")

_TOOL_OPENS = re.compile(r"<tool-use\b([^>\r\n]*)>")
_TOOL_CLOSES = re.compile(r"(?:</details>)?</tool-use>[ \t]*[\r\n]*\Z")
_TOOL_NAME = re.compile(r'data-tool-name="([^"]{0,200})"')
_TOOL_LINE = re.compile(r"Tool use: \*\*(.{1,200}?)\*\*")
_THINK_OPENS = re.compile(r"<think>(?:<details>)?(?:<summary>[^<\r\n]*</summary>)?")
_THINK_CLOSES = re.compile(r"(?:</details>)?</think>[ \t]*[\r\n]*\Z")
_FRAME = re.compile(r"[ \t]*(?:<details>|</details>)[ \t]*[\r\n]*\Z")
_SUMMARY = re.compile(r"(?:<details>)?[ \t]*<summary>(.*)</summary>[ \t]*([\r\n]*)\Z")
_LINES_AHEAD_MAX = 5_000


class Piece(NamedTuple):
    """kind: None for words."""

    kind: PartKind | None
    name: str | None
    text: str


def add_pieces(content: Content, lines: list[str]) -> None:
    r"""Adds what the lines of a turn hold, without the rules between its pieces.

    Example:
        >>> content = Content()
        >>> add_pieces(content, ["\n", "Yes.\n", "\n", "---\n", "\n"])
        >>> content.text
        'Yes.'
    """
    before: Piece | None = None
    for piece in _pieces(lines):
        if piece.kind is None and not piece.text.strip():
            continue
        # A rule between two stretches of words may be the model's own: it stays.
        if before is not None and before.kind is None and piece.kind is None:
            content.add("---")
        content.add(piece.text, piece.kind, piece.name)
        before = piece


def _pieces(lines: list[str]) -> Iterator[Piece]:
    words: list[str] = []
    at, fence = 0, None
    while at < len(lines):
        line = lines[at]
        tool, think = (None, None) if fence else (_TOOL_OPENS.match(line), _THINK_OPENS.match(line))
        if tool is not None or think is not None:
            yield from _words(words)
            words = []
            end = _end(lines, at, _TOOL_CLOSES if tool else _THINK_CLOSES)
            yield _tool(tool, lines[at:end]) if tool else _thought(lines[at:end])
            at = end
            continue
        if fence is None and SEPARATOR.fullmatch(line) and _stands_alone(lines, at):
            yield from _words(words)
            words = []
        else:
            words.append(line)
            fence = fence_after(fence, line)
        at += 1
    yield from _words(words)


def _stands_alone(lines: list[str], at: int) -> bool:
    """Whether a rule has blank lines around it, or nothing: else it underlines a heading."""
    before = lines[at - 1] if at else ""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    return not before.strip() and not after.strip()


def _end(lines: list[str], start: int, closes: re.Pattern[str]) -> int:
    """Behind the line that closes a tag: one outside of fences; if there is none near, the first.

    Near, since many tags in a fence that is never closed must not be searched through again
    and again.
    """
    fence, first = None, None
    for at in range(start, len(lines)):
        if first is not None and at > first + _LINES_AHEAD_MAX:
            break
        if closes.search(lines[at]):
            if fence is None:
                return at + 1
            first = first or at + 1
        fence = fence_after(fence, lines[at])
    return first or len(lines)


def _words(lines: list[str]) -> Iterator[Piece]:
    """A stretch of words; one that begins with "Tool use:" is a call, as early files have it."""
    text = "".join(lines).strip("\r\n")
    if not text:
        return
    call = _TOOL_LINE.match(text)
    yield Piece("tool_result", call.group(1), text) if call else Piece(None, None, text)


def _tool(tag: re.Match[str], lines: list[str]) -> Piece:
    name = _TOOL_NAME.search(tag.group(1))
    kept: list[str] = []
    fence = None
    for line in [lines[0][tag.end() :], *lines[1:]]:
        if fence is None:
            line = _TOOL_CLOSES.sub("", line)
            if _FRAME.match(line):
                continue
            if (summary := _SUMMARY.match(line)) is not None:
                line = html.unescape(summary.group(1)) + summary.group(2)
        fence = fence_after(fence, line)
        kept.append(line)
    return Piece("tool_result", html.unescape(name.group(1)) if name else None, _joined(kept))


def _thought(lines: list[str]) -> Piece:
    opened = _THINK_OPENS.match(lines[0])
    assert opened is not None
    lines = [lines[0][opened.end() :], *lines[1:]]
    lines[-1] = _THINK_CLOSES.sub("", lines[-1])
    return Piece("thinking", None, _joined(lines))


def _joined(lines: list[str]) -> str:
    return "".join(lines).strip("\r\n")
