"""Defines the input and the output of summarizers.

A summarizer only proposes statements; they are checked before anything is stored.

Tested in tests/summarize/test_extractive.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treemem.types import Grade, Message, Origin, Rejection, StatementKind


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The characters start to end (exclusive) of a message that a leaf contains.

    tokens: of these characters; 0 if not counted.
    """

    message: Message
    start: int
    end: int
    tokens: int = 0

    @property
    def text(self) -> str:
        """The words of the message that the leaf contains."""
        return self.message.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Draft:
    """A new statement with the ids of the messages it cites.

    tokens: of its text; 0 if not counted. settles: it says that something is done, and can close
    an earlier open point. origin: the weakest of the words it rests on. grade, score, checker: as
    of a Statement.
    """

    kind: StatementKind
    text: str
    speaker: str | None
    message_ids: tuple[str, ...]
    importance: float
    tokens: int = 0
    settles: bool = False
    origin: Origin = "pasted"
    grade: Grade = "aligned"
    score: float | None = None
    checker: str | None = None


@dataclass(frozen=True, slots=True)
class ChildStatement:
    """A statement of a child node, which the parent's summary can repeat by its number.

    origin: the weakest of the words it rests on. grade: as of a Statement.
    """

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    importance: float
    message_ids: tuple[str, ...] = ()
    tokens: int = 0
    origin: Origin = "pasted"
    grade: Grade = "verbatim"


@dataclass(frozen=True, slots=True)
class Child:
    """A child node as its parent's summarizer sees it.

    statements: of its summary. is_open: an open tail, which no model has summarized.
    """

    statements: Sequence[ChildStatement]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A checked proposal for a summary.

    items: its statements in order, new or repeated from children. offered: the number of
    statements proposed. usable: enough of them passed. kept_back: new statements that are stored
    but not shown: they belong to the ledger, or are unproven.
    """

    items: Sequence[Draft | ChildStatement]
    offered: int
    rejections: tuple[Rejection, ...] = ()
    usable: bool = True
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    kept_back: Sequence[Draft] = ()
