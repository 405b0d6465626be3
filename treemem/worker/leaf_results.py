"""Makes what a leaf needs once it is sealed, from the rows of its messages: its view and its
profile. No file is needed for it, so that another process can do it.

Rows and results cross to that process as plain values, which are several times cheaper to copy than
objects.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from treemem.proposals import Draft, Excerpt, View
from treemem.store import messages, summaries
from treemem.store.database import Database, Row
from treemem.summarize.extractive import summarize_leaf
from treemem.topics import profiles

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


class LeafResult(NamedTuple):
    """What is made of a leaf. phrases: its profile."""

    view: View
    phrases: dict[str, int]


def make(database: Database, leaf_seq: int) -> LeafResult:
    """Makes the result of a leaf here."""
    return _result_of(summaries.excerpts(database, leaf_seq))


def rows_of(database: Database, leaf_seq: int) -> LeafRows | None:
    """The rows of a leaf; None if it begins within a message."""
    if database.row(_IS_WITHIN, (leaf_seq,)) is not None:
        return None
    return database.rows(_LEAF, (leaf_seq,))


def plain_result(rows: LeafRows) -> tuple[Any, ...]:
    """The result of the leaf with these rows, as plain values."""
    view, phrases = _result_of(
        [Excerpt(messages.message_from(row[:-3]), row[-3], row[-2], row[-1]) for row in rows]
    )
    return (
        [*map(_draft_fields, view.items)],
        [*map(_draft_fields, view.kept_back)],
        view.offered,
        phrases,
    )


def result_from(plain: tuple[Any, ...]) -> LeafResult:
    """The result that was made plain."""
    items, kept_back, offered, phrases = plain
    view = View(
        [Draft(*fields) for fields in items], offered,
        kept_back=[Draft(*fields) for fields in kept_back],
    )  # fmt: skip
    return LeafResult(view, phrases)


def _result_of(excerpts: Sequence[Excerpt]) -> LeafResult:
    return LeafResult(summarize_leaf(excerpts), profiles.profile_of(excerpts))
