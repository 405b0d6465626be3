"""Reads conversations that Cursor exported as Markdown: a title, then turns between rules.

Leaves the text unchanged. Inside a code fence, horizontal rules and speaker names are content. If
the file leaves a fence open, all fences are ignored.

Tested in tests/importers/test_cursor.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.documents import Line, document_lines
from treemem.importers.common.source_ids import file_key, one_line
from treemem.patterns import lazy_regex
from treemem.types import Message, Role, Source

_HEAD = lazy_regex(
    rb"(?:\xef\xbb\xbf)?# [^\n]*\r?\n_Exported (?:on|at) [^\n]* from Cursor \([^\n]*\)_"
)
_RULE = lazy_regex(r"---\s*\Z")
_SPEAKER = lazy_regex(r"\*\*(User|Cursor)\*\*\s*\Z")
_FENCE = lazy_regex(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
_ROLE_OF: dict[str, Role] = {"User": "user", "Cursor": "assistant"}


def is_export(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def read_export(file: LogFile, name: str) -> Iterator[Event]:
    title = next((line.text for line in document_lines(file)), "").removeprefix("# ")
    yield Source(f"{name}/{file_key(file)}", name, title=one_line(title), origin=file.label)
    has_fences = _closes_fences(document_lines(file))
    for role, text in _turns(document_lines(file), has_fences=has_fences):
        yield Message(role=role, text=text) if text else Skipped("empty message")


def _turns(lines: Iterator[Line], *, has_fences: bool) -> Iterator[tuple[Role, str]]:
    """Yields role and text of each turn, which begins with a rule and a speaker's name."""
    role: Role | None = None
    pieces: list[str] = []
    pending: list[str] = []  # a rule and blank lines that may begin the next turn
    fence = ""
    for line in lines:
        text = line.text
        speaker = _SPEAKER.match(text) if line.is_start and not fence else None
        if speaker is not None and pending:
            if role is not None:
                yield role, "".join(pieces).strip("\r\n")
            role, pieces, pending = _ROLE_OF[speaker.group(1)], [], []
        elif line.is_start and not fence and _RULE.match(text):
            pieces += pending
            pending = [text]
        elif pending and line.is_blank:
            pending.append(text)
        else:
            pieces += [*pending, text]
            pending = []
            fence = _fence_behind(line, fence) if has_fences else ""
    if role is not None:
        yield role, "".join([*pieces, *pending]).strip("\r\n")


def _fence_behind(line: Line, fence: str) -> str:
    """Returns the fence that is open after a line; fence: the one open before it, or ""."""
    mark = _FENCE.match(line.text) if line.is_start else None
    if mark is None:
        return fence
    if not fence:
        return mark.group(1)
    closes = mark.group(1).startswith(fence) and not mark.group(2).strip()
    return "" if closes else fence


def _closes_fences(lines: Iterator[Line]) -> bool:
    fence = ""
    for line in lines:
        fence = _fence_behind(line, fence)
    return not fence
