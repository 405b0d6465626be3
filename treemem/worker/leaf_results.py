"""Makes what a leaf needs once it is sealed, from the rows of its messages: its view and its
profile. No file is needed for it, so that another process can do it.

Rows and results cross to that process as plain values, which are several times cheaper to copy than
objects.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from operator import attrgetter
from typing import Any, NamedTuple

from treemem.ledger.matching import is_retraction, words_of
from treemem.proposals import ChildStatement, Draft, Excerpt, View
from treemem.store import messages, summaries
from treemem.store.database import Database, Row
from treemem.summarize.extractive import summarize_leaf
from treemem.text import cache
from treemem.text.quality import is_unclear, totals
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
    drafts = [*view.items, *view.kept_back]
    return (
        [*map(_draft_fields, drafts)], len(view.items), view.offered, phrases, _known_of(drafts)
    )  # fmt: skip


def result_from(plain: tuple[Any, ...]) -> LeafResult:
    """The result that was made plain."""
    fields, shown, offered, phrases, known = plain
    cache.give(known)
    drafts = list(starmap(Draft, fields))
    return LeafResult(View(drafts[:shown], offered, kept_back=drafts[shown:]), phrases)


def _known_of(drafts: Iterable[Draft | ChildStatement]) -> dict[str, dict[tuple[Any, ...], Any]]:
    """What the ledger will ask for about these statements; see cache.give."""
    said = [(draft.text, draft.origin, draft.speaker) for draft in drafts]
    return {
        "totals": {one: totals(*one) for one in said},
        "is_unclear": {
            (draft.text,): is_unclear(draft.text)
            for draft in drafts
            if draft.kind not in ("fact", "gist")
        },
        "words_of": {one[:1]: words_of(one[0]) for one in said},
        "is_retraction": {one[:2]: is_retraction(*one[:2]) for one in said if one[1] == "typed"},
    }


def _result_of(excerpts: Sequence[Excerpt]) -> LeafResult:
    return LeafResult(summarize_leaf(excerpts), profiles.profile_of(excerpts))
