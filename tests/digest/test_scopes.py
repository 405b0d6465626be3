"""Scopes are found by a part of their names, and what nothing has is an error."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope, UsageError
from treemem.digest import scopes
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Source


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


IDS = (
    "a/x", "a/xy", "a/x/agent-1", "a/x/agent-12", "a/xy/agent-1", "b/12345678", "b/123456789",
    "b/1234-5", "b/12345678-[x] y", "b/12345678-[x", "c", "latest",
)  # fmt: skip


@given(st.lists(st.sampled_from(IDS), min_size=1, unique=True))
def test_the_short_id_of_a_source_names_it(ids: list[str]) -> None:
    with TemporaryDirectory() as folder, closing(Database(Path(folder) / "a.sqlite3")) as database:
        with database.transaction():
            for one in ids:
                parent = one.rpartition("/agent-")[0] or None
                sources.ensure(database, Source(one, "x", parent_id=parent), 0)
        short = scopes.short_ids(database)
        assert [scopes.source(database, short[one]).id for one in ids] == ids
        assert all(one.startswith(short[one]) for one in ids)


def test_a_filter_has_a_tree_if_it_admits_one_session(memory: Memory) -> None:
    fill(memory)
    roof = memory.tree(Scope.source("chat/roof"))
    assert memory.tree(Scope.where(source="roof")) == roof
    assert memory.tree(Scope.where(source="roof", tool="api")) == roof
    with pytest.raises(AmbiguousIdError, match=r"fits 2 sources(.|\n)*chat/roof"):
        memory.tree(Scope.where(tool="api"))
    with pytest.raises(UsageError, match="no tree of person user"):
        memory.tree(Scope.where(person="user"))


def test_the_days_of_sources_to_choose_from_are_the_readers(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        memory.append(f"late/{name}", [Message(text="Good night.", sent_at="2026-03-01T23:30Z")])
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with pytest.raises(AmbiguousIdError, match="2026-03-02"):
            memory.tree(Scope.source("late"))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_empty_memory_has_no_sources_of_a_filter(memory: Memory) -> None:
    for scope in (Scope.where(tool="codex"), Scope.where(project="."), Scope.where(person="Ana")):
        assert memory.sources(scope) == []
        assert memory.ledger(scope) == []
        assert scope.person is not None or memory.tree(scope).root_id is None
        assert memory.search("gutter", scope=scope).passages == ()


def test_the_ledger_and_the_digest_of_a_filter_have_what_it_admits(memory: Memory) -> None:
    for source, author, words in (
        ("chat/roof", "Ana", "We decided to buy a new ladder for the roof."),
        ("chat/gate", "Ben", "We decided to paint the old gate green."),
        ("mail/gate", "Ana", "We decided to send the invoice for the gate."),
    ):
        memory.append(source, [Message(text=words, author=author)])
    memory.work(max_calls=0)

    def decided(scope: Scope) -> set[str]:
        entries = memory.ledger(scope, kinds=["decision"])
        assert memory.ledger.count(scope)["decision"] == len(entries)
        assert {entry.id for entry in memory.digest(scope).entries} <= {
            entry.id for entry in memory.ledger(scope)
        }
        return {entry.source_id or "" for entry in entries}

    assert decided(Scope.everything()) == {"chat/roof", "chat/gate", "mail/gate"}
    assert decided(Scope.where(tool="api")) == {"chat/roof", "chat/gate", "mail/gate"}
    assert decided(Scope.where(source="chat/")) == {"chat/roof", "chat/gate"}
    assert decided(Scope.where(person="ana")) == {"chat/roof", "mail/gate"}
    assert decided(Scope.where(person="Ana", source="gate")) == {"mail/gate"}
