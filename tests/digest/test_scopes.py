"""Scopes are found by a part of their names, and what nothing has is an error."""

from __future__ import annotations

import pytest

from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope
from treemem.digest import scopes
from treemem.store.database import Database


def fill(memory: Memory) -> None:
    for source, session in (("chat/roof", "june-1"), ("chat/gate", "june-2")):
        memory.append(source, [Message(text="The gutter leaks again.", session=session)])
    memory.work(max_calls=0)


def test_a_part_of_a_name_is_enough(memory: Memory, database: Database) -> None:
    fill(memory)
    assert scopes.resolved(database, None) == Scope.everything()
    assert scopes.resolved(database, Scope.source("roof")) == Scope.source("chat/roof")
    assert scopes.resolved(database, Scope.session("june-2")) == Scope.session("june-2")
    with pytest.raises(AmbiguousIdError, match="june-1, june-2"):
        scopes.resolved(database, Scope.session("june"))


@pytest.mark.parametrize("scope", [Scope.source("chat/rof"), Scope.session("june1"),
                                   Scope.topic("t0000000")])  # fmt: skip
def test_every_reader_refuses_a_scope_that_nothing_has(memory: Memory, scope: Scope) -> None:
    fill(memory)
    for read in (memory.ledger, memory.ledger.count, memory.digest, memory.tree,
                 lambda scope: memory.search("gutter", scope=scope)):  # fmt: skip
        with pytest.raises(NotFoundError, match=f"no {scope.kind} '{scope.key}'"):
            read(scope)


def test_a_node_that_is_not_there_has_no_ledger(memory: Memory) -> None:
    fill(memory)
    root = memory.tree(Scope.source("chat/roof")).root_id or ""
    assert memory.ledger(node=root[:8]) == memory.ledger(Scope.source("chat/roof"))
    with pytest.raises(NotFoundError, match="no node"):
        memory.ledger(node="0" * 32)
