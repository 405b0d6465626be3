"""What a summarizer is given and what it gives back.

A summarizer proposes; it never writes, and nothing it proposes is stored unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treemem.model import Message, Rejection, StatementKind


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The characters start to end of a message, as a leaf holds them."""

    message: Message
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.message.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Draft:
    """A new statement: its words and the ids of the messages it rests on."""

    kind: StatementKind
    text: str
    speaker: str | None
    message_ids: tuple[str, ...]
    importance: float


@dataclass(frozen=True, slots=True)
class Carried:
    """A child's statement, as a parent may carry it up by its number."""

    seq: int
    kind: StatementKind
    text: str
    speaker: str | None
    importance: float
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A summary as proposed and checked: new statements, or carried ones, in order.

    offered: how many statements were proposed. usable: enough passed to be shown.
    """

    items: Sequence[Draft | Carried]
    offered: int
    rejections: tuple[Rejection, ...] = ()
    usable: bool = True
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
