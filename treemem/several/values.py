"""Defines what a search of several memory files returns.

Tested in tests/several/test_searching.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treemem.types import Passage, Standing


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What one of several files had for a query.

    name: short for the file, as the text shows it. passages: how many of them are from it.
    standing: its instructions that apply. missing: what was not available in it, in sentences.
    error: why it was not searched; None if it was.
    """

    file: Path
    name: str
    passages: int = 0
    standing: tuple[Standing, ...] = ()
    missing: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SeveralResult:
    """The answer of several memory files to a query.

    text: the standing instructions below the name of their file, and the passages as one text, each
    with the name of its file in its heading; tokens: its length. passages: as numbered in the text;
    each says its file, whose memory its ids belong to. files: in the order in which they were
    given, also those that could not be searched. kind: as in SearchResult.
    """

    text: str
    tokens: int
    passages: tuple[Passage, ...]
    files: tuple[FileAnswer, ...]
    kind: str = "narrow"

    @property
    def missing(self) -> tuple[str, ...]:
        """What was not available, by file."""
        return tuple(
            f"{one.name}: {sentence}" for one in self.files
            for sentence in (*one.missing, *([one.error] if one.error else []))
        )  # fmt: skip
