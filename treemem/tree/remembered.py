"""Keeps what was computed from a source for as long as that source does not change.

While logs are followed, the file changes every few seconds, but few of its sources do. Callers read
in one transaction. Tested in tests/tree/test_listing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from treemem.store.database import Database
from treemem.store.file import memo

Value = TypeVar("Value")

# What tells one state of a source from the next: a message that comes has a position, and one that
# goes, or whose text changes, opens what was sealed, so that the source gets another tail or root.
_VERSIONS = """
SELECT s.seq, (SELECT max(sm.position) FROM source_message sm WHERE sm.source_seq = s.seq),
  s.open_position, t.root_seq, t.tail_seq, s.title, s.project, s.parent_id, s.origin, s.is_mine
FROM source s LEFT JOIN tree t ON t.scope = 'source' AND t.key = s.id
"""
# Sources with changes that no tree has yet.
_UNSEALED = """
SELECT s.seq FROM job j JOIN source s ON s.id = j.payload ->> 'source'
WHERE j.kind = 'seal' AND j.state <> 'done'
"""
_kept: WeakKeyDictionary[Database, dict[Hashable, dict[int, tuple[Any, Any]]]]
_kept = WeakKeyDictionary()


def of_sources(
    database: Database,
    name: Hashable,
    seqs: Sequence[int],
    compute: Callable[[Sequence[int]], Mapping[int, Value]],
) -> dict[int, Value]:
    """What compute returns for these sources, computed again only for those that have changed.

    name: of the value; it is the same for everything that compute depends on besides the source.
    seqs: row numbers. compute: gets row numbers, and returns a value for each. Callers must not
    change the values.
    """
    if database.is_writing:
        return dict(compute(seqs))
    now: dict[int, Any] = memo.kept(database, _VERSIONS, lambda: _versions(database))
    kept = _kept.setdefault(database, {}).setdefault(name, {})
    for gone in kept.keys() - now.keys():
        del kept[gone]
    nothing = (None, None)
    stale = [seq for seq in seqs if seq in now and kept.get(seq, nothing)[0] != now[seq]]
    if stale:
        kept.update((seq, (now[seq], value)) for seq, value in compute(stale).items())
    return {seq: kept[seq][1] for seq in seqs if seq in kept}


def _versions(database: Database) -> dict[int, Any]:
    versions: dict[int, Any] = {row[0]: row[1:] for row in database.rows(_VERSIONS)}
    for (seq,) in database.rows(_UNSEALED):
        versions[seq] = object()  # equal to no other, so it holds until the file changes
    return versions
