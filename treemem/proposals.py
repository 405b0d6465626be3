"""What a summarizer is given and what it gives back.

A summarizer proposes; it never writes, and nothing it proposes is stored unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treemem.types import Message, Rejection, StatementKind


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The characters start to end of a message, as a leaf holds them.

    tokens: of that stretch, 0 where nobody counted them.
    """

    message: Message
    start: int
    end: int
    tokens: int = 0

    @property
    def text(self) -> str:
        return self.message.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Draft:
    """A new statement: its words and the ids of the messages it rests on.

    tokens: of its words, 0 where nobody counted them. settles: it says that something is
    done, and may close an open point said before it.
    """

    kind: StatementKind
    text: str
    speaker: str | None
    message_ids: tuple[str, ...]
    importance: float
    tokens: int = 0
    settles: bool = False


@dataclass(frozen=True, slots=True)
class ChildStatement:
    """A child's statement, as a parent may carry it up by its number.

    also: the numbers of statements that say the same, whose citations it stands for.
    superseded_by: the number of the later statement that replaces it.
    """

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    importance: float
    message_ids: tuple[str, ...] = ()
    tokens: int = 0
    also: tuple[int, ...] = ()
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """What a parent reads of a child: the statements it shows, and those that say that
    something is done, shown or not, from anywhere below it. is_open: an open tail, of which no
    model has made a view."""

    statements: Sequence[ChildStatement]
    settling: Sequence[ChildStatement] = ()
    is_open: bool = False


RelationKind = Literal["same", "closed", "superseded"]


@dataclass(frozen=True, slots=True)
class Relation:
    """What a later statement does to an earlier one, as one summary sees it.

    same: other says the same. closed: other closes the open point. superseded: other
    replaces it.
    """

    seq: int
    kind: RelationKind
    other: int


@dataclass(frozen=True, slots=True)
class View:
    """A summary as proposed and checked: new statements, or carried ones, in order.

    offered: how many statements were proposed. usable: enough passed to be shown. kept_back:
    new statements that are not shown, and may close what was left open before. relations:
    between statements below.
    """

    items: Sequence[Draft | ChildStatement]
    offered: int
    rejections: tuple[Rejection, ...] = ()
    usable: bool = True
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    kept_back: Sequence[Draft] = ()
    relations: tuple[Relation, ...] = ()
