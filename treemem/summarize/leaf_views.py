"""Makes the extractive view of a leaf from the rows of its messages: the part of the work that
needs no file, so that another process can do it.

Inputs and views cross to that process as plain tuples, which are several times cheaper to copy than
objects.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from treemem.proposals import Draft, Excerpt, View
from treemem.store import messages
from treemem.store.database import Database, Row
from treemem.summarize.extractive import summarize_leaf

# The stretches of a leaf: the columns of a message, then start, end and tokens of the stretch.
LeafRows = list[Row]
_LEAF = f"""
SELECT {messages.COLUMNS}, ls.start, ls."end", ls.tokens
FROM leaf_span ls JOIN message m ON m.seq = ls.message_seq
WHERE ls.node_seq = ? ORDER BY ls.ordinal
"""  # noqa: S608 - names of columns
# Subtle: a leaf within a long message would copy all of that message, and so take a time that grows
# with the square of its length. summaries.excerpts keeps the message instead.
_IS_WITHIN = "SELECT 1 FROM leaf_span WHERE node_seq = ? AND start > 0 LIMIT 1"
_draft_fields = attrgetter(*Draft.__slots__)


class LeafTuple(NamedTuple):
    """A view of a leaf, as plain values."""

    items: tuple[tuple[Any, ...], ...]
    kept_back: tuple[tuple[Any, ...], ...]
    offered: int


def rows_of(database: Database, leaf_seq: int) -> LeafRows | None:
    """The rows of a leaf; None if it begins within a message."""
    if database.row(_IS_WITHIN, (leaf_seq,)) is not None:
        return None
    return database.rows(_LEAF, (leaf_seq,))


def view_of(rows: LeafRows) -> View:
    """The extractive view of the leaf with these rows."""
    return summarize_leaf(
        [Excerpt(messages.message_from(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]
    )


def flat(view: View) -> LeafTuple:
    """The view as plain values."""
    return LeafTuple(
        tuple(map(_draft_fields, view.items)), tuple(map(_draft_fields, view.kept_back)),
        view.offered,
    )  # fmt: skip


def view_from(flat_view: LeafTuple) -> View:
    """The view that was made plain."""
    items, kept_back, offered = flat_view
    return View(
        [Draft(*fields) for fields in items], offered,
        kept_back=[Draft(*fields) for fields in kept_back],
    )  # fmt: skip
