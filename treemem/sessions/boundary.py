"""Leaves out of what an agent reads what is private to the others.

Tested in tests/sessions/test_boundary.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from treemem.errors import NotFoundError
from treemem.store.database import Database
from treemem.store.live.private import NOTHING, Private, private_to_others
from treemem.tree.browse import SourceView
from treemem.types import Digest, Entry, Message, Node, Statement, Tree

T = TypeVar("T")


class Bounded:
    """What the parts of Memory share: the agent that reads, and what it may read."""

    _database: Database
    _agent: str | None

    def _limited(self, value: T, of: object = None) -> T:
        """A result without what is private to other agents. of: the source that it is about, by its
        id, or the scope. Raises NotFoundError if all of it is private."""
        private = self._private()
        if not private:
            return value
        if isinstance(of, str) and of in private.sources:
            raise NotFoundError(f"{of} is private to another agent.")
        return limited(value, self._database, private)

    def _private(self) -> Private:
        """What is private to other agents."""
        if self._agent is None:
            return NOTHING
        with self._database.reading():
            return private_to_others(self._database, self._agent)


def limited(value: T, database: Database, private: Private) -> T:
    """A result without what is private. Raises NotFoundError if it is private itself."""
    if _is_private(value, database, private):
        raise NotFoundError("This is private to another agent.")
    without: Any = value
    if isinstance(value, list | tuple):
        without = [
            limited(one, database, private)
            for one in value
            if not _is_private(one, database, private)
        ]
        without = tuple(without) if isinstance(value, tuple) else without
    elif isinstance(value, dict):
        without = {key: one for key, one in value.items() if key not in private.sources}
    elif isinstance(value, Node):
        without = replace(
            value, statements=limited(value.statements, database, private),
            unproven=limited(value.unproven, database, private),
        )  # fmt: skip
    elif isinstance(value, Tree):
        without = replace(
            value, statements=limited(value.statements, database, private),
            _nodes=limited(tuple(value.nodes()), database, private),
        )  # fmt: skip
    elif isinstance(value, Digest):
        without = replace(
            value, gists=limited(value.gists, database, private),
            entries=limited(value.entries, database, private),
            headline=private.headline(value.scope, value.headline),
        )  # fmt: skip
    return without  # type: ignore[no-any-return]


def _is_private(value: object, database: Database, private: Private) -> bool:
    if isinstance(value, Message):
        return value.id in private.message_ids
    if isinstance(value, SourceView):
        return value.source.id in private.sources
    if isinstance(value, Statement):
        return value.id in private.statement_seqs(database)
    if isinstance(value, Entry):
        return value.id in private.entry_ids(database)
    from treemem.ledger.choices import RuleView  # loads the words by which rules are recognized

    if isinstance(value, RuleView):
        return not private.message_ids.isdisjoint(value.message_ids)
    return False
