"""Conversations that Cursor exported as Markdown: a title, then turns between rules.

Words are taken as they stand. A rule and a name inside of a fence are content, unless a fence is
never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.documents import Line, document_lines
from treemem.importers.common.source_ids import file_key, one_line
from treemem.types import Message, Role, Source

_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?# [^\n]*\r?\n_Exported (?:on|at) [^\n]* from Cursor \([^\n]*\)_"
)
_RULE = re.compile(r"---\s*\Z")
_SPEAKER = re.compile(r"\*\*(User|Cursor)\*\*\s*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
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
    """Who said what: a turn begins with a rule, a blank line and a name, and ends before the
    next one."""
    role: Role | None = None
    said: list[str] = []
    held: list[str] = []  # A rule and blank lines that may be the beginning of the next turn.
    fence = ""
    for line in lines:
        text = line.text
        speaker = _SPEAKER.match(text) if line.is_start and not fence else None
        if speaker is not None and held:
            if role is not None:
                yield role, "".join(said).strip("\r\n")
            role, said, held = _ROLE_OF[speaker.group(1)], [], []
        elif line.is_start and not fence and _RULE.match(text):
            said += held
            held = [text]
        elif held and line.is_blank:
            held.append(text)
        else:
            said += [*held, text]
            held = []
            fence = _fence_behind(line, fence) if has_fences else ""
    if role is not None:
        yield role, "".join([*said, *held]).strip("\r\n")


def _fence_behind(line: Line, fence: str) -> str:
    """The fence that is open behind a line, given the one that is open before it."""
    found = _FENCE.match(line.text) if line.is_start else None
    if found is None:
        return fence
    if not fence:
        return found.group(1)
    closes = found.group(1).startswith(fence) and not found.group(2).strip()
    return "" if closes else fence


def _closes_fences(lines: Iterator[Line]) -> bool:
    fence = ""
    for line in lines:
        fence = _fence_behind(line, fence)
    return not fence
