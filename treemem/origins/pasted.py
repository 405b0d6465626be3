"""Recognizes text that the user pasted into a message: quotations, logs, tables and the like.

Pure. When in doubt, text is pasted: missing a rule is a nuisance, planting one is an attack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED_LINE = re.compile(r"^[ \t]*>.*$(?:\n[ \t]*>.*$)*", re.MULTILINE)


def pasted_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between start and end that the user pasted, in order and disjoint."""
    for match in _QUOTED_LINE.finditer(text, start, end):
        yield match.span()
