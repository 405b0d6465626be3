"""Reads and holds the part of a session that contexts are made from: its shown turns.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from treemem.sessions.counting import TokenCounter
from treemem.sessions.pins import pins_of
from treemem.sessions.shapes import Shape
from treemem.sessions.values import Pins
from treemem.sessions.window import ShownTurn, shown_turn, stored
from treemem.store import settings
from treemem.store.database import Database
from treemem.store.live import pins as pin_store
from treemem.store.live import sessions, turns
from treemem.store.live.pins import PinRow
from treemem.store.live.sessions import Compacted, LiveSession
from treemem.store.live.turns import FoldRow

# Before the first compaction: nothing is left out.
_NONE = Compacted(0, 0, 0, "", "", "{}", 0)


@dataclass(slots=True)
class State:
    """A session as it is stored, read again only as far as it has grown.

    window: the turns that contexts show, from the boundary on. count: of all turns. last: the
    compaction in force; its seq is 0 before the first context. scrubs: how many the file had when
    the window was read.
    """

    row: LiveSession
    count: int = 0
    last: Compacted = _NONE
    window: list[ShownTurn] = field(default_factory=list)
    folds: list[FoldRow] = field(default_factory=list)
    changes: list[PinRow] = field(default_factory=list)
    scrubs: str | None = None

    @property
    def shape(self) -> Shape:
        """The shape of the session's messages; messages of plain text fit either."""
        return "anthropic" if self.row.shape == "anthropic" else "openai"

    @property
    def pins(self) -> Pins:
        """What is pinned."""
        return pins_of(self.changes)

    @property
    def untold(self) -> list[PinRow]:
        """The changes of pins that no context has shown."""
        return [change for change in self.changes if change.seq > self.row.told_seq]

    def refresh(self, database: Database) -> None:
        """Reads what has changed in the file, in the caller's transaction."""
        before, last = self.row, self.last
        self.row = sessions.by_seq(database, self.row.seq)
        found = sessions.last_compactions(database, self.row.seq)
        self.last = found[0] if found else _NONE
        count = turns.count(database, self.row.seq)
        self.changes = pin_store.changes(database, self.row.seq)
        scrubs = settings.get(database, settings.SCRUBS)
        is_outdated = (self.last.seq, self.row.shape, scrubs) != (
            last.seq,
            before.shape,
            self.scrubs,
        )
        self.scrubs = scrubs
        if is_outdated or count < self.count:
            self.window = []
            self.folds = turns.folds(database, self.row.seq, self.last.boundary)
        first = self.window[-1].position + 1 if self.window else self.last.boundary
        if count > first:
            rows = turns.between(database, self.row.seq, first)
            self.window += [shown_turn(row, self.shape) for row in rows]
        self.count = count

    def put(self, database: Database, changed: Sequence[ShownTurn]) -> None:
        """Stores how these turns are shown, and shows them so."""
        turns.put_shown(database, self.row.seq, map(stored, changed))
        by_position = {turn.position: turn for turn in changed}
        self.window = [by_position.get(turn.position, turn) for turn in self.window]

    def tokens(self, count: TokenCounter) -> int:
        """The tokens of the whole context, as counted here."""
        total = count(self.system) + count(self.last.past) + sum(
            count(fold.text) for fold in self.folds
        )  # fmt: skip
        return total + sum(turn.tokens for turn in self.unfolded)

    @property
    def system(self) -> str:
        """The system prompt with what is pinned."""
        return "\n\n".join(filter(None, [self.row.system, self.last.head]))

    @property
    def unfolded(self) -> list[ShownTurn]:
        """The turns of the window that no fold stands for."""
        if not self.folds:
            return self.window
        return [
            turn for turn in self.window
            if not any(fold.first <= turn.position < fold.end for fold in self.folds)
        ]  # fmt: skip


class Stateful:
    """Has a state that several threads use."""

    _lock: threading.RLock
    _state: State


Owner = TypeVar("Owner", bound=Stateful)
P = ParamSpec("P")
T = TypeVar("T")


def alone(method: Callable[Concatenate[Owner, P], T]) -> Callable[Concatenate[Owner, P], T]:
    """Lets one thread at a time run such methods. After an error the state is read again: a
    transaction that was rolled back has left it otherwise than the file."""

    @wraps(method)
    def run(self: Owner, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._lock:
            try:
                return method(self, *arguments, **named)
            except BaseException:
                self._state = State(self._state.row)
                raise

    return run
