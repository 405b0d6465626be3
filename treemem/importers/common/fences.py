"""Code fences of Markdown, line by line: in them, what looks like a mark is content. Pure."""

from __future__ import annotations

import re

_OPENING = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*[\r\n]*\Z")


def fence_after(fence: str | None, line: str) -> str | None:
    """The mark of the fence that is open behind a line, given the one that is before it.

    Example:
        >>> fence_after(None, "~~~ text"), fence_after("````", "```"), fence_after("```", "````")
        ('~~~', '````', None)
    """
    if fence is None:
        opening = _OPENING.match(line)
        return opening.group(1) if opening else None
    closing = _CLOSING.match(line)
    if closing is None or closing.group(1)[0] != fence[0] or len(closing.group(1)) < len(fence):
        return fence
    return None
