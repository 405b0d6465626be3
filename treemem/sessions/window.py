"""The turns of a session as contexts show them: whole, with parts cut, or with texts attached.

What was decided about a turn is stored with it, so that contexts begin with the same bytes until
the next compaction, also in another process.

Tested in tests/sessions/test_ladder.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from treemem.sessions import shapes
from treemem.sessions.counting import TokenCounter, tokens_of
from treemem.sessions.shapes import Shape, Turn
from treemem.store import json_text
from treemem.store.live.turns import StoredTurn

# Pins that changed, what the memory found, a block that was paged back in.
AttachmentKind = Literal["pins", "memory", "block"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that contexts show at the end of a turn. message_ids: the messages in it."""

    kind: AttachmentKind
    text: str
    tokens: int
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn, and how contexts show it.

    turn: as it was added. replaced: parts that are shown otherwise, as (number, text). own_tokens:
    of the turn as it is shown, without what is attached.
    """

    position: int
    turn: Turn
    is_request: bool
    message_seq: int | None
    own_tokens: int
    replaced: tuple[tuple[int, str], ...] = ()
    attached: tuple[Attachment, ...] = ()

    @property
    def tokens(self) -> int:
        """The tokens of the turn as it is shown."""
        return self.own_tokens + sum(one.tokens for one in self.attached)

    @property
    def words(self) -> Turn:
        """The turn with its parts as they are shown, without what is attached."""
        turn = self.turn
        for number, text in self.replaced:
            turn = shapes.with_text(turn, number, text)
        return turn

    @property
    def shown(self) -> Turn:
        """The turn as it is shown."""
        turn = self.words
        for one in self.attached:
            turn = shapes.with_appended(turn, one.text)
        return turn

    def replacing(self, number: int, text: str, count: TokenCounter) -> ShownTurn:
        """The same turn with a part shown as this text."""
        replaced = dict(self.replaced) | {number: text}
        changed = replace(self, replaced=tuple(sorted(replaced.items())))
        return replace(changed, own_tokens=tokens_of(changed.words, count))

    def showing(self, attached: Iterable[Attachment]) -> ShownTurn:
        """The same turn with these texts attached."""
        return replace(self, attached=tuple(attached))

    def without(self, *kinds: AttachmentKind) -> ShownTurn:
        """The same turn without what is attached of these kinds."""
        left = tuple(one for one in self.attached if one.kind not in kinds)
        return self if len(left) == len(self.attached) else replace(self, attached=left)


def shown_turn(row: StoredTurn, shape: Shape) -> ShownTurn:
    """A turn from its row."""
    replaced = tuple((number, text) for number, text in json_text.list_of(row.shown))
    attached = tuple(
        Attachment(one["kind"], one["text"], one["tokens"], tuple(one["ids"]))
        for one in json_text.list_of(row.attached)
    )
    return ShownTurn(
        row.position, shapes.parse(json_text.object_of(row.content), shape), bool(row.is_request),
        row.message_seq, row.tokens if row.shown_tokens is None else row.shown_tokens, replaced,
        attached,
    )  # fmt: skip


def stored(turn: ShownTurn) -> StoredTurn:
    """A row with the columns that say how a turn is shown; the others are empty."""
    shown = orjson.dumps(turn.replaced).decode() if turn.replaced else None
    attached = [
        {"kind": one.kind, "text": one.text, "tokens": one.tokens, "ids": one.message_ids}
        for one in turn.attached
    ]
    return StoredTurn(
        turn.position, "", 0, turn.message_seq, turn.is_request, "", shown,
        turn.own_tokens if turn.replaced else None,
        orjson.dumps(attached).decode() if attached else None,
    )  # fmt: skip
