"""Lists the sources of a scope. Callers read in one transaction.

Tested in tests/browsing/test_api.py.
"""

from __future__ import annotations

from treemem.digest import scopes
from treemem.store.database import Database
from treemem.store.file import memo
from treemem.tree import listing
from treemem.types import Scope


def source_ids(
    database: Database,
    scope: Scope | None,
    since_ms: int | None,
    until_ms: int | None,
    *,
    with_agents: bool,
) -> list[str]:
    """The ids of the sources of a scope, the most recent first. Raises NotFoundError,
    AmbiguousIdError."""

    def read() -> list[str]:
        return _source_ids(database, scope, since_ms, until_ms, with_agents=with_agents)

    if since_ms is not None or until_ms is not None:  # of a moment that is another one each time
        return read()
    return list(memo.kept(database, ("source ids", scope, with_agents), read))


def _source_ids(
    database: Database,
    scope: Scope | None,
    since_ms: int | None,
    until_ms: int | None,
    *,
    with_agents: bool,
) -> list[str]:
    seqs = scopes.source_seqs(database, scope)
    known = scopes.by_seq(database)
    found = [known[seq] for seq in listing.newest(database, seqs, since_ms, until_ms)]
    if with_agents:
        return [one.id for one in found]
    ids = {one.id for one in found}
    return [one.id for one in found if one.parent_id not in ids]
