"""Finds the elements in a user's message that a tool put there, such as <system-reminder>.

Pure. The elements of all tools are one table. An element that is not in it is pasted: nobody knows
who wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from treemem.types import PartKind

# What is between the tags was written by the tool, or by another agent or session.
ELEMENTS: dict[str, PartKind] = {
    "bash-stderr": "injected",
    "bash-stdout": "injected",
    "command-contents": "injected",
    "command-message": "injected",
    "command-name": "injected",
    "cross-session-message": "agent",
    "ide_opened_file": "injected",
    "ide_selection": "injected",
    "local-command-caveat": "injected",
    "local-command-stderr": "injected",
    "local-command-stdout": "injected",
    "system-reminder": "injected",
    "task-notification": "injected",
    "teammate-message": "agent",
    "user-prompt-submit-hook": "injected",
}
_OPENING = re.compile(r"<([a-zA-Z][\w:-]{0,60})(?:\s[^<>]{0,400})?>")


class Element(NamedTuple):
    """An element from its opening to its closing tag. name: of the tag."""

    start: int
    end: int
    kind: PartKind
    name: str


def elements(text: str, start: int, end: int) -> Iterator[Element]:
    """The outermost elements between start and end, in order."""
    at = start
    while match := _OPENING.search(text, at, end):
        name = match.group(1)
        closing = text.find(f"</{name}>", match.end(), end)
        at = match.end()
        if closing >= 0:
            at = closing + len(name) + 3
            yield Element(match.start(), at, ELEMENTS.get(name, "pasted"), name)
