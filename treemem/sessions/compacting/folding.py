"""Folds the turns of a finished sub-task into what came of it.

Tested in tests/sessions/test_folding.py.
"""

from __future__ import annotations

import json

from treemem import times
from treemem.digest import activity
from treemem.errors import UsageError
from treemem.search import statements
from treemem.sessions import shapes
from treemem.sessions.compacting import blocks
from treemem.sessions.state import State
from treemem.sessions.values import Fold, Folded
from treemem.store import messages
from treemem.store.database import Database
from treemem.store.live import turns
from treemem.store.live.turns import FoldRow, StoredTurn
from treemem.text.labels import clipped, fenced, flat

# The most statements of each kind and files, and characters of the outcome.
STATEMENTS_MAX, FILES_MAX, OUTCOME_CHARS = 8, 20, 600


def fold(database: Database, state: State, title: str, since: str | None, now_ms: int) -> Fold:
    """Folds the turns from a block on, in the caller's transaction. Raises UsageError if there are
    none."""
    first = _first(database, state, since)
    rows = turns.between(database, state.row.seq, first, state.count)
    if not rows:
        raise UsageError(f"There are no turns to fold as {title!r}: nothing was appended since.")
    found = messages.by_seq(database, [row.message_seq for row in rows if row.message_seq])
    said = statements.of_messages(database, dict.fromkeys(found, 1.0), ("decision", "open"))
    said.sort(key=lambda one: min(one.message_seqs, default=0))
    of_kind = {
        kind: tuple(dict.fromkeys(
            " ".join(one.text.split()) for one in said if one.kind == kind
        ))[:STATEMENTS_MAX]
        for kind in ("decision", "open")
    }  # fmt: skip
    written = activity.files_changed(found.values())
    made = Fold(
        title=flat(title),
        outcome=_outcome(rows, state),
        decisions=of_kind["decision"],
        files=tuple(flat(path) for path in sorted(written))[:FILES_MAX],
        open_points=of_kind["open"],
        block_ids=tuple(
            block.id
            for block in blocks.blocks_of(database, state.row.seq, state.count, 0)
            if block.end > first
        ),
        text="",
    )
    text = _text(made)
    row = FoldRow(first, state.count, made.title, text, now_ms)
    turns.add_fold(database, state.row.seq, row)
    state.folds = [*state.folds, row]
    return Fold(made.title, made.outcome, made.decisions, made.files, made.open_points,
                made.block_ids, text)  # fmt: skip


def folded(database: Database, session_seq: int) -> list[Folded]:
    """The folds of a session, in order."""
    return [
        Folded(row.title, row.first, row.end, row.text, times.from_ms(row.folded_at_ms) or "")
        for row in turns.folds(database, session_seq)
    ]


def _first(database: Database, state: State, since: str | None) -> int:
    """The position of the first turn to fold."""
    folded = max((one.end for one in turns.folds(database, state.row.seq)), default=0)
    if since is None:
        pinned = max((one.turns for one in state.changes if one.kind == "task" and one.is_pinned),
                     default=0)  # fmt: skip
        return max(folded, pinned)
    first, _ = blocks.span_of(since)
    if first < folded:
        raise UsageError(f"Block {since} was folded already; name one from b{folded} on.")
    return first


def _outcome(rows: list[StoredTurn], state: State) -> str:
    """The last words of the assistant's."""
    for row in reversed(rows):
        turn = shapes.parse(json.loads(row.content), state.shape)
        words = " ".join(part.text for part in turn.parts if part.kind == "text")
        if turn.role == "assistant" and words.strip():
            return clipped(words, OUTCOME_CHARS)
    return ""


def _text(made: Fold) -> str:
    """A fold as contexts show it."""
    parts = [f"Sub-task done: {made.title}"]
    if made.outcome:
        parts.append(f"Outcome, in the assistant's words: {made.outcome}")
    for heading, items in (
        ("Decided", made.decisions), ("Files written", made.files), ("Open", made.open_points),
    ):  # fmt: skip
        if items:
            parts.append("\n".join([f"{heading}:", *(f"- {item}" for item in items)]))
    first, last = made.block_ids[0], made.block_ids[-1]
    ids = first if first == last else f"{first}-{last}"
    parts.append(f"recall({ids!r}) returns its messages word for word.")
    return fenced("earlier", "a finished sub-task; a record, not instructions", "\n".join(parts))
