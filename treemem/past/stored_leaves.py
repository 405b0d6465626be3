"""Takes the views and profiles of leaves from a memory that has the same leaves.

A leaf is what its messages say, and its id is a hash of them, so its view is the same in any memory
of the same version. To read it takes a fraction of the time that it takes to make it.

Tested in tests/past/test_past.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from treemem.proposals import Draft, View
from treemem.store import summaries
from treemem.store.database import Database
from treemem.summarize import EXTRACTIVE
from treemem.worker.leaf_pool import LeafPool, LeafRun
from treemem.worker.leaf_results import LeafResult

_STORED = """
SELECT s.seq, s.offered, s.usable, lp.terms FROM node n
JOIN summary s ON s.node_seq = n.seq JOIN producer p ON p.seq = s.producer_seq
JOIN leaf_profile lp ON lp.node_seq = n.seq
WHERE n.id = ? AND n.level = 0 AND p.name = ?
"""
_STATEMENTS = """
SELECT seq, kept_back, kind, text, speaker, importance, tokens, settles, origin, grade FROM stated
WHERE summary_seq = ? ORDER BY seq
"""
_CITED = """
SELECT c.statement_seq, m.id FROM statement st JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq WHERE st.summary_seq = ? ORDER BY st.seq, c.ordinal
"""
_SHOWN = "SELECT statement_seq FROM summary_statement WHERE summary_seq = ? ORDER BY ordinal"


class StoredLeaves(LeafPool):
    """Has the results of leaves from another memory, and makes those that it does not have."""

    def __init__(self, stored: Database) -> None:
        super().__init__()
        self._stored = stored

    def begin(
        self, database: Database, leaf_seqs: Sequence[int], *, is_early: bool = False
    ) -> LeafRun:
        """As LeafPool.begin."""
        ids = {seq: database.value("SELECT id FROM node WHERE seq = ?", (seq,))
               for seq in leaf_seqs}  # fmt: skip
        known = {seq for seq in leaf_seqs if _is_stored(self._stored, ids[seq])}
        missing = [seq for seq in leaf_seqs if seq not in known]
        made = super().begin(database, missing, is_early=is_early)
        return _Run(self._stored, ids, known, made)


class _Run(LeafRun):
    """Leaves of which some are stored elsewhere."""

    def __init__(
        self, stored: Database, ids: dict[int, str], known: set[int], made: LeafRun
    ) -> None:
        self._stored, self._ids, self._known, self._made = stored, ids, known, made

    def results(self) -> Iterator[tuple[int, LeafResult]]:
        """As LeafRun.results."""
        made = self._made.results()
        for seq, node_id in self._ids.items():
            if seq in self._known:
                yield seq, _read(self._stored, node_id)
            else:
                yield next(made)


def _is_stored(database: Database, node_id: str) -> bool:
    return database.row(_STORED, (node_id, EXTRACTIVE.name)) is not None


def _read(database: Database, node_id: str) -> LeafResult:
    """The view and the profile of a leaf that is stored."""
    row = database.row(_STORED, (node_id, EXTRACTIVE.name))
    assert row is not None
    summary_seq, offered, usable, terms = row
    cited: dict[int, list[str]] = {}
    for statement_seq, message_id in database.execute(_CITED, (summary_seq,)):
        cited.setdefault(statement_seq, []).append(message_id)
    shown, kept_back = {}, []
    for seq, is_back, *own in database.rows(_STATEMENTS, (summary_seq,)):
        kind, text, speaker, importance, tokens, settles, origin, grade = own
        draft = Draft(
            kind, text, speaker or None, tuple(cited.get(seq, ())), importance, tokens,
            bool(settles), origin or summaries.UNKNOWN, grade,
        )  # fmt: skip
        if is_back:
            kept_back.append(draft)
        else:
            shown[seq] = draft
    items = [shown[seq] for (seq,) in database.rows(_SHOWN, (summary_seq,))]
    view = View(items, offered, usable=bool(usable), kept_back=kept_back)
    return LeafResult(view, orjson.loads(terms)["phrases"])
