"""Checks that the ledger is what the statements of leaves make of it, and makes it again.

Tested in tests/diagnostics/test_doctor.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.errors import Hint, Notice
from treemem.ledger import update
from treemem.queue import jobs
from treemem.store import entries
from treemem.store.database import Database
from treemem.summarize import EXTRACTIVE

_REPAIR = Hint("Repair it: memory.repair()", "Repair it: treemem doctor --repair")
# Jobs that bring the ledger up to date; the last two let go of leaves that only their trees had.
_JOBS = ("seal", "extract", "topics", "global")
_ENTRIES = """
SELECT e.seq, e.id, e.dirty, st.seq IS NOT NULL AND st.entry_seq = e.seq
  AND EXISTS (SELECT 1 FROM citation c WHERE c.statement_seq = st.seq),
  e.state, e.by_seq
FROM entry e LEFT JOIN statement st ON st.seq = e.statement_seq ORDER BY e.seq
"""
# Leaves of sources, with the statements of their extractive view that have no entry.
_WITHOUT_ENTRY = """
SELECT n.seq, n.id, su.producer_seq, count(*) FROM summary su
JOIN producer p ON p.seq = su.producer_seq AND p.name = :producer
JOIN node n ON n.seq = su.node_seq AND n.level = 0
JOIN statement st ON st.summary_seq = su.seq AND st.entry_seq IS NULL
WHERE su.usable = 1 AND (
  EXISTS (SELECT 1 FROM tree_node tn JOIN tree t ON t.seq = tn.tree_seq
    WHERE tn.node_seq = n.seq AND t.scope = 'source')
  OR EXISTS (SELECT 1 FROM tree t WHERE t.tail_seq = n.seq AND t.scope = 'source'))
GROUP BY n.seq, su.producer_seq
"""
# What was taken from messages word for word. Subtle: lone surrogates are other characters there.
_NOT_SAID = """
SELECT iif(EXISTS (SELECT 1 FROM citation c JOIN message m ON m.seq = c.message_seq
    WHERE c.statement_seq = st.seq AND iif(st.written IS NULL, length(st.text) = c.chars,
      m.exact IS NOT NULL OR instr(m.text, st.text))),
  '', 'statement ' || st.seq || ' is in no message that it cites')
FROM stated st JOIN summary su ON su.seq = st.summary_seq
JOIN producer p ON p.seq = su.producer_seq WHERE p.name = ?
"""


def words(database: Database) -> Iterator[str]:
    """A sentence for each statement without a model that is not in its messages, "" for others."""
    return (finding for (finding,) in database.execute(_NOT_SAID, (EXTRACTIVE.name,)))


def findings(database: Database) -> Iterator[str]:
    """A sentence for each entry, leaf or list that is wrong, "" for one that is right. An entry may
    be behind while a job that will make it again is waiting."""
    yield ""
    is_behind = any(jobs.has_open(database, kind) for kind in _JOBS)
    parameters = {"producer": EXTRACTIVE.name}
    for _, node_id, _, count in database.rows(_WITHOUT_ENTRY, parameters):
        if not is_behind:
            yield Notice(f"{count:,} statements of leaf {node_id} are not in the ledger.", _REPAIR)
    rows = database.rows(_ENTRIES)
    for start in range(0, len(rows), update.BATCH):
        batch = rows[start : start + update.BATCH]
        # The salience may be from an earlier version's weights.
        expected = {row[3]: row[:2] for row in update.states(database, [row[0] for row in batch])}
        for seq, entry_id, dirty, is_cited, *state in batch:
            if dirty:
                yield "" if is_behind else Notice(f"entry {entry_id} was not made again.", _REPAIR)
            elif not is_cited:
                yield Notice(f"entry {entry_id} has no statement that cites a message.", _REPAIR)
            elif expected.get(seq) != tuple(state):
                yield Notice(f"entry {entry_id} has a state that nothing explains.", _REPAIR)
            else:
                yield ""
    yield from entries.wrong_lists(database)


def make_again(database: Database) -> None:
    """Makes all entries again from the statements of leaves, in the caller's transaction. Choices
    of the user's are kept."""
    for node_seq, _, producer_seq, _ in database.rows(
        _WITHOUT_ENTRY, {"producer": EXTRACTIVE.name}
    ):
        update.add(database, node_seq, producer_seq)
    entries.mark_all_dirty(database)
    update.refresh(database)
