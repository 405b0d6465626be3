"""The statements about entries take little time, however many there are."""

from __future__ import annotations

from treemem.store import entries
from treemem.store.database import Database


def test_what_is_to_be_made_again_is_found_by_its_index(database: Database) -> None:
    plan = database.rows(f"EXPLAIN QUERY PLAN {entries._DIRTY}", (2, 50))
    assert [step for *_, step in plan] == [
        "SEARCH entry USING COVERING INDEX entry_dirty (dirty=?)"
    ]
