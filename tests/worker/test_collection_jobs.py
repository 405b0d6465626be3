"""The tree over everything: the same however the sources came, and bounded by time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers.fake_model import FakeClient, quoting, use
from tests.helpers.logs import prose
from treemem import Memory, Message, Scope
from treemem.config import ROOT_INTERVAL_MS
from treemem.store.database import Database
from treemem.tree import builder, everything
from treemem.types import TreeShape
from treemem.worker import collection_jobs

INTERVAL_SECONDS = ROOT_INTERVAL_MS / 1000


@pytest.fixture(autouse=True)
def _no_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treemem.topics.assignment.place", lambda _database: None)


def tell(memory: Memory, number: int, count: int = 1, first: int = 0) -> None:
    """A short source, which began in the order of its number."""
    messages = [
        Message(text=prose(100 * number + n, 2), sent_at=f"2026-01-05T{number:02}:{n:02}:00Z",
                external_id=str(n))
        for n in range(first, first + count)
    ]  # fmt: skip
    memory.append(f"s{number}", messages)


def tree_ids(memory: Memory) -> list[str]:
    return [node.id for node in memory.tree(Scope.everything()).nodes()]


def roots(memory: Memory) -> list[str]:
    views = sorted(memory.sources(), key=lambda view: view.started_at or "")
    return [view.root_id for view in views if view.root_id is not None]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def test_the_global_tree_covers_the_roots_of_all_sources_by_their_start(memory: Memory) -> None:
    for number in (5, 2, 19, 7, 11, 3, 13, 17, 2, 23, 1):
        tell(memory, number, count=number)
    memory.work(max_calls=0)
    tree = memory.tree(Scope.everything())
    leaves = [node.id for node in tree.nodes() if node.id in set(roots(memory))]
    assert leaves == roots(memory)
    assert len(leaves) == 10
    assert tree.statements
    assert_whole(memory)


def test_sources_stored_at_once_and_in_pieces_give_the_same_tree(
    memory: Memory, database: Database, tmp_path: Path, clock: FakeClock
) -> None:
    for number in range(20):
        tell(memory, number, count=6)
    memory.work(max_calls=0)
    other = Database(tmp_path / "pieces.sqlite3")
    with Memory(other, clock) as pieces:
        for number in (9, 3, 15, *range(20)):
            tell(pieces, number, count=3)
            pieces.work(max_calls=0)
            clock.advance(400)
        for number in reversed(range(20)):
            tell(pieces, number, count=3, first=3)
            pieces.work(max_calls=0)
        clock.advance(INTERVAL_SECONDS)
        pieces.work(max_calls=0)
        assert tree_ids(pieces) == tree_ids(memory)
        # Nodes that only earlier trees needed are deleted.
        sql = "SELECT id FROM node ORDER BY id"
        assert other.rows(sql) == database.rows(sql)
        assert_whole(pieces)


def test_the_global_tree_is_laid_out_at_most_once_an_interval(
    memory: Memory, clock: FakeClock
) -> None:
    tell(memory, 0)
    tell(memory, 1)
    assert memory.work(max_calls=0).done["global"] == 1
    before = tree_ids(memory)
    for number in range(2, 6):
        tell(memory, number)
        assert "global" not in memory.work(max_calls=0).done
        clock.advance(INTERVAL_SECONDS / 5)
    assert tree_ids(memory) == before
    assert_whole(memory)
    clock.advance(INTERVAL_SECONDS / 5)
    assert memory.work(max_calls=0).done == {"global": 1, "topics": 1}
    assert set(roots(memory)) <= set(tree_ids(memory))
    clock.advance(INTERVAL_SECONDS)
    assert memory.work(max_calls=0).done == {}, "nothing changed"


def test_a_source_that_grows_changes_only_the_groups_above_it(
    memory: Memory, clock: FakeClock
) -> None:
    for number in range(TreeShape().fanout * 2 + 1):
        tell(memory, number)
    memory.work(max_calls=0)
    before = set(tree_ids(memory))
    tell(memory, 3, count=2)
    clock.advance(INTERVAL_SECONDS)
    memory.work(max_calls=0)
    assert len(set(tree_ids(memory)) - before) == 3, "its root, its group and the root of all"
    assert_whole(memory)


def test_sources_with_the_same_content_are_in_the_global_tree_once(memory: Memory) -> None:
    same = [Message(text="We ship on Friday.", external_id="one", unique_id=True)]
    memory.append("a", same)
    memory.append("b", same)
    memory.work(max_calls=0)
    assert len(tree_ids(memory)) == 1


def test_a_large_tree_is_laid_out_in_steps_with_the_same_result(
    memory: Memory, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_jobs, "GROUPS_AT_ONCE", 1)
    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        for number in range(24):
            tell(memory, number)
            tell(other, number)
        memory.work(max_calls=0)
        monkeypatch.undo()
        other.work(max_calls=0)
        assert tree_ids(memory) == tree_ids(other)
    assert_whole(memory)


def test_the_end_of_the_tree_is_laid_out_as_all_of_it_would_be(
    memory: Memory, database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[list[int] | None] = []
    original = everything.lay_out_end

    def noting(*arguments: Any) -> list[int] | None:
        ends.append(original(*arguments))
        return ends[-1]

    monkeypatch.setattr(everything, "lay_out_end", noting)
    rng = random.Random(4)
    shape = TreeShape()
    began = list(range(90))
    rng.shuffle(began)
    counts: dict[int, int] = {}
    for step in range(110):
        # Sources come at the end of all, and in between, and grow.
        fresh = began[-(-step * 9 // 11) : -(-(step + 1) * 9 // 11)]
        for number in fresh or rng.sample(sorted(counts), 1):
            first = counts.get(number, 0)
            at = f"2026-01-{5 + number // 24:02}T{number % 24:02}:{first:02}:00Z"
            memory.append(f"s{number}", [Message(text=f"Gate {number} was painted.", sent_at=at,
                                                 external_id=str(first))])  # fmt: skip
            counts[number] = first + 1
        clock.advance(INTERVAL_SECONDS)
        memory.work(max_calls=0)
        expected = builder.root_id_over(database, everything.roots(database), shape)
        assert memory.root_id(Scope.everything()) == expected
    assert len(ends) == 109
    assert None not in ends
    # Nodes that only earlier trees needed are deleted.
    reached = {node.id for source in memory.source_ids() for node in
               memory.tree(Scope.source(source)).nodes()} | {*tree_ids(memory)}  # fmt: skip
    assert {node_id for (node_id,) in database.rows("SELECT id FROM node")} == reached
    assert_whole(memory)


def test_a_model_summarizes_only_the_global_root_and_after_the_sources_roots(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient()
    use(monkeypatch, memory, client)
    for number in range(TreeShape().fanout + 1):
        tell(memory, number)
    report = memory.work()
    assert report.done["summarize"] == TreeShape().fanout + 1 + 1
    everything = memory.tree(Scope.everything())
    root = memory.node(everything.root_id or "")
    assert root.summaries[0].producer.startswith("fake@")
    group = memory.node(root.child_ids[0])
    assert [view.producer.split("/")[0] for view in group.summaries] == ["extractive"]
    assert_whole(memory)


def test_the_global_root_waits_for_the_roots_that_it_covers(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def answer(question: str) -> str:
        order.append(question)
        return quoting(question)

    use(monkeypatch, memory, FakeClient(answer))
    for number in range(3):
        tell(memory, number)
    memory.work()
    last = order[-1]
    assert len(order) == 4
    assert all(prose(100 * number, 1) in last for number in range(3))


def test_the_doctor_finds_and_repairs_a_global_tree_without_one_source(
    memory: Memory, database: Database
) -> None:
    for number in range(3):
        tell(memory, number)
    memory.work(max_calls=0)
    whole = tree_ids(memory)
    sql = "UPDATE tree SET root_seq = (SELECT root_seq FROM tree WHERE scope = 'source' LIMIT 1) "
    database.execute(sql + "WHERE scope = 'global'")
    findings = [f for check in memory.diagnose().checks for f in check.findings]
    assert any("the global tree does not match" in f and "memory.repair()" in f for f in findings)
    memory.repair()
    assert tree_ids(memory) == whole
    assert_whole(memory)


def test_one_ingest_of_many_files_puts_all_of_them_into_the_global_tree(
    memory: Memory, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.md").write_text(f"# Pickup {number}\n\n{prose(number, 5)}\n")
    memory.ingest(sorted(tmp_path.glob("*.md")))
    assert len(roots(memory)) == 3
    assert set(roots(memory)) < set(tree_ids(memory))


def test_the_tree_over_everything_does_not_depend_on_which_source_came_first(
    tmp_path: Path,
) -> None:
    trees = []
    for order in ((1, 2, 3), (3, 1, 2), (2, 3, 1)):
        with Memory.open(tmp_path / f"{order[0]}.sqlite3") as memory:
            for number in order:
                said = Message(text=f"The gate {number} is blue.", external_id=str(number))
                memory.append(f"chat/{number}", [said])
            memory.work(max_calls=0)
            root = memory.root_id(Scope.everything())
            assert root is not None
            trees.append((root, memory.node(root).child_ids))
    assert len(trees[0][1]) == 3
    assert trees[0] == trees[1] == trees[2]
