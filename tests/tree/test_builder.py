"""A history gives the same leaves, groups and roots, however it arrives."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.appending import append_any
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.shapes import SMALL_LEAVES, with_small_leaves
from treemem import Memory, Message, Node, Scope
from treemem.store.database import Database
from treemem.tree import builder, layout, sealing
from treemem.tree.sealing import LEAF_PIECES_MAX
from treemem.types import TreeShape

if TYPE_CHECKING:
    from tests.conftest import FakeClock

# The memory of one test is shared by its examples; each writes to sources of its own.
SHARED = settings(
    deadline=None,
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# With small leaves: nothing, a little, half a leaf, nearly a whole one, several of them.
SENTENCES = st.sampled_from([0, 1, 3, 6, 12, 40])


def unique(number: int, text: str, **fields: object) -> Message:
    """A message that is the same in every source."""
    name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}/{text}"))
    return Message(text=text, external_id=name, unique_id=True, **fields)  # type: ignore[arg-type]


def talk(count: int, sentences: int = 8, first: int = 0) -> list[Message]:
    return [unique(n, prose(n, sentences)) for n in range(first, first + count)]


def nodes(memory: Memory, source: str, *, provisional: bool | None = None) -> list[Node]:
    """The nodes of a source's tree, root first, leaves in the order of the history."""
    nodes = memory.tree(Scope.source(source)).nodes()
    return [node for node in nodes if provisional in (None, node.provisional)]


def sealed_ids(memory: Memory, source: str) -> list[str]:
    return [node.id for node in nodes(memory, source, provisional=False)]


def sealed_leaves(memory: Memory, source: str) -> list[Node]:
    return [node for node in nodes(memory, source, provisional=False) if node.is_leaf]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def store(memory: Memory, source: str, messages: Sequence[Message]) -> None:
    memory.append(source, messages)
    memory.work(max_calls=0)


# -- the content of leaves ------------------------------------------------------------------


@with_small_leaves
@SHARED
@given(sizes=st.lists(SENTENCES, max_size=10))
def test_the_leaves_of_a_source_join_to_its_messages_exactly(
    memory: Memory, database: Database, sizes: list[int]
) -> None:
    source = f"s{memory.status().sources}"
    append_any(database, source, [unique(n, prose(n, size)) for n, size in enumerate(sizes)])
    memory.work(max_calls=0)
    joined: dict[str | None, str] = {}
    for node in nodes(memory, source):
        if node.is_leaf:
            assert node.tokens <= SMALL_LEAVES.leaf_tokens_max
            for piece in memory.expand(node.id):
                assert isinstance(piece, Message)
                joined[piece.id] = joined.get(piece.id, "") + piece.text
    history = memory.messages(source)
    assert joined == {message.id: message.text for message in history}
    assert list(joined) == [message.id for message in history]


def test_a_giant_message_is_split_over_several_leaves(memory: Memory) -> None:
    giant = prose(7, 2_000)
    store(memory, "s", [unique(0, "before"), unique(1, giant), unique(2, "after")])
    leaves = sealed_leaves(memory, "s")
    assert len(leaves) > 8
    assert all(leaf.tokens <= TreeShape().leaf_tokens_max for leaf in leaves)
    assert memory.messages("s")[1].text == giant
    assert_whole(memory)


def test_empty_messages_are_sealed_after_the_maximum_number_in_a_leaf(
    memory: Memory, database: Database
) -> None:
    append_any(database, "s", [unique(n, "") for n in range(2 * LEAF_PIECES_MAX + 1)])
    memory.work(max_calls=0)
    assert [leaf.message_count for leaf in sealed_leaves(memory, "s")] == [LEAF_PIECES_MAX] * 2
    assert len(memory.messages("s")) == 2 * LEAF_PIECES_MAX + 1
    assert_whole(memory)


@with_small_leaves
def test_a_node_has_the_tokens_times_and_message_count_below_it(memory: Memory) -> None:
    messages = [
        unique(n, prose(n, 8), sent_at=f"2026-01-{n + 1:02}T08:00:00+02:00") for n in range(20)
    ]
    store(memory, "s", messages)
    root = nodes(memory, "s")[0]
    assert root.tokens == sum(message.tokens or 0 for message in memory.messages("s"))
    assert root.message_count == 20
    assert (root.started_at, root.ended_at) == (
        "2026-01-01T06:00:00+00:00", "2026-01-20T06:00:00+00:00"
    )  # fmt: skip


# -- a history in parts ---------------------------------------------------------


@with_small_leaves
@SHARED
@given(
    sizes=st.lists(SENTENCES, min_size=1, max_size=10),
    stops=st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=6),
)
def test_any_split_into_appends_gives_the_same_sealed_nodes(
    memory: Memory, database: Database, sizes: list[int], stops: list[tuple[int, bool]]
) -> None:
    run = memory.status().sources
    history = [unique(n, prose(n, size)) for n, size in enumerate(sizes)]
    append_any(database, f"{run} at once", history)
    memory.work(max_calls=0)
    start = 0
    for stop, works in [*sorted(stops), (len(history), True)]:
        append_any(database, f"{run} in steps", history[start:stop])
        start = max(start, stop)
        if works:
            memory.work(max_calls=0)
    at_once = nodes(memory, f"{run} at once")
    assert [node.id for node in nodes(memory, f"{run} in steps")] == [node.id for node in at_once]


@with_small_leaves
def test_a_long_history_is_sealed_step_by_step_into_the_same_leaves(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(memory, "at once", talk(30))
    monkeypatch.setattr(builder, "OPEN_LEAVES_MAX", 2)
    monkeypatch.setattr(sealing, "LEAF_PIECES_MAX", 4)
    store(memory, "in steps", talk(30))
    assert sealed_ids(memory, "in steps") == sealed_ids(memory, "at once")
    assert_whole(memory)


@with_small_leaves
def test_a_history_that_has_grown_keeps_all_its_sealed_nodes(memory: Memory) -> None:
    store(memory, "s", talk(45))
    before = sealed_ids(memory, "s")
    for first in range(45, 90, 15):
        store(memory, "s", talk(15, first=first))
        assert set(before) <= set(sealed_ids(memory, "s"))
    assert any(node.level == 1 for node in nodes(memory, "s", provisional=False))
    assert_whole(memory)


@with_small_leaves
def test_the_same_history_again_adds_no_node(memory: Memory) -> None:
    store(memory, "s", talk(20))
    before = memory.status()
    store(memory, "s", talk(20))
    after = memory.status()
    assert (after.leaves, after.groups, after.messages) == (
        before.leaves, before.groups, before.messages
    )  # fmt: skip


@with_small_leaves
def test_a_tail_sealed_with_the_same_content_keeps_its_id_and_summary(
    memory: Memory, clock: FakeClock
) -> None:
    store(memory, "s", talk(1, sentences=10))
    tail = memory.node(nodes(memory, "s")[0].id)
    assert tail.provisional
    clock.advance(3600)
    store(memory, "s", talk(1, sentences=10, first=1))
    sealed = memory.node(tail.id)
    assert not sealed.provisional
    assert sealed.summaries == tail.summaries
    assert_whole(memory)


# -- roots ------------------------------------------------------


def test_a_source_without_messages_has_no_root(memory: Memory) -> None:
    store(memory, "s", [])
    assert memory.tree(Scope.source("s")).root_id is None
    assert_whole(memory)


def test_one_message_is_a_tree_of_one_leaf(memory: Memory) -> None:
    store(memory, "s", [unique(0, "We ship on Friday.")])
    (only,) = nodes(memory, "s")
    assert (only.is_leaf, only.provisional, only.message_count) == (True, True, 1)


@with_small_leaves
def test_the_root_covers_the_whole_history_once(memory: Memory) -> None:
    store(memory, "s", talk(40))
    root, *below = nodes(memory, "s")
    covered = [piece.id for node in below if node.is_leaf for piece in memory.expand(node.id)]
    assert covered == [message.id for message in memory.messages("s")]
    assert root.provisional


@with_small_leaves
def test_a_grown_source_deletes_the_provisional_nodes_it_replaces(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    for n in range(25):
        store(memory, "s", talk(1, sentences=4, first=n))
        rows = database.rows("SELECT id FROM node WHERE provisional = 1")
        # The global tree follows at intervals, and has its earlier members till then.
        above = {node.id for node in memory.tree(Scope.everything()).nodes() if node.provisional}
        assert {node_id for (node_id,) in rows} == above | {
            node.id for node in nodes(memory, "s", provisional=True)
        }
        clock.advance(300)
    assert_whole(memory)


def test_a_tail_shared_by_two_sources_stays_while_one_of_them_needs_it(memory: Memory) -> None:
    store(memory, "a", talk(2, sentences=20))
    store(memory, "b", talk(2, sentences=20))
    store(memory, "a", talk(3, sentences=20))
    assert [message.text for message in memory.messages("b")] == [m.text for m in talk(2, 20)]
    assert len(nodes(memory, "b")) == 1
    assert_whole(memory)
    store(memory, "b", talk(3, sentences=20))
    assert [n.id for n in nodes(memory, "a")] == [n.id for n in nodes(memory, "b")]
    assert_whole(memory)


@with_small_leaves
def test_a_version_replaced_before_sealing_is_in_no_leaf(memory: Memory) -> None:
    store(memory, "s", [Message(text="first version", external_id="7"), *talk(1, sentences=5)])
    store(memory, "s", [Message(text="second version", external_id="7"), *talk(20, first=1)])
    texts = [
        piece.text for node in nodes(memory, "s") if node.is_leaf
        for piece in memory.expand(node.id) if isinstance(piece, Message)
    ]  # fmt: skip
    assert "second version" in texts
    assert "first version" not in texts
    assert_whole(memory)


def test_replacing_a_half_sealed_giant_message_leaves_the_tree_whole(
    memory: Memory,
) -> None:
    store(memory, "s", [Message(text=prose(1, 500), external_id="7")])
    sealed = sealed_leaves(memory, "s")
    assert sealed
    store(memory, "s", [Message(text="only this", external_id="7")])
    assert sealed_leaves(memory, "s") == sealed
    assert [message.text for message in memory.messages("s")] == ["only this"]
    assert_whole(memory)


@with_small_leaves
def test_a_turn_that_becomes_active_again_is_sealed(memory: Memory, tmp_path: Path) -> None:
    session = ClaudeSession("taken up again")
    session.say("start", *(prose(n, 4) for n in range(3)))
    abandoned = len(session.turns) - 1
    session.go_back_to(0)
    session.say(*(prose(n, 4) for n in range(10, 22)))
    memory.ingest(session.write(tmp_path))
    session.go_back_to(abandoned)
    session.say(*(prose(n, 4) for n in range(30, 42)))
    memory.ingest(session.write(tmp_path))
    open_messages = memory.source(session.source_id).open_messages
    assert open_messages <= 3
    assert_whole(memory)


# -- forks -----------------------------------------------------------------------------


def test_a_resumed_session_shares_all_but_its_new_turns(memory: Memory, tmp_path: Path) -> None:
    first = ClaudeSession("first")
    first.say(*(prose(n, 30) for n in range(60)))
    memory.ingest(first.write(tmp_path))
    before = memory.status()
    assert before.tokens >= 20_000
    assert before.leaves >= 6
    resumed = first.resumed_as("resumed")
    resumed.say(*(prose(n, 30) for n in range(60, 72)))
    (report,) = memory.ingest(resumed.write(tmp_path)).files
    after = memory.status()
    assert (report.records, report.added, report.known) == (72, 12, 60)
    assert after.messages == before.messages + 12
    shared = sealed_ids(memory, first.source_id)
    assert sealed_ids(memory, resumed.source_id)[: len(shared)] == shared
    new_leaves = len(sealed_leaves(memory, resumed.source_id)) - before.leaves
    assert after.leaves == before.leaves + new_leaves
    assert [m.text for m in memory.messages(resumed.source_id)] == resumed.active_texts()
    assert [m.text for m in memory.messages(first.source_id)] == first.active_texts()
    assert_whole(memory)


def test_a_fork_shares_the_summaries_of_the_common_leaves(memory: Memory, tmp_path: Path) -> None:
    first = ClaudeSession("first")
    first.say(*(prose(n, 30) for n in range(60)))
    memory.ingest(first.write(tmp_path))
    (before,) = memory.status().producers
    fork = first.resumed_as("fork")
    fork.go_back_to(29)
    fork.say(*(prose(n, 30) for n in range(100, 112)))
    memory.ingest(fork.write(tmp_path))
    (after,) = memory.status().producers
    own = set(sealed_ids(memory, fork.source_id)) - set(sealed_ids(memory, first.source_id))
    roots_and_tails = 2
    assert after.nodes == before.nodes + len(own) + roots_and_tails
    assert len(set(sealed_ids(memory, first.source_id)) & set(sealed_ids(memory, fork.source_id)))
    assert_whole(memory)


# -- trees above the sources -------------------------------------------------------------


@with_small_leaves
@SHARED
@given(
    steps=st.lists(st.lists(st.integers(0, 59), unique=True, max_size=40), min_size=1, max_size=4)
)
def test_a_laid_out_tree_does_not_depend_on_its_earlier_members(
    memory: Memory, database: Database, shape: TreeShape, steps: list[list[int]]
) -> None:
    """Nodes that only an earlier tree needed are deleted."""
    if memory.status().sources == 0:
        store(memory, "s", talk(60))
        store(memory, "t", talk(3, first=60))
    sql = "SELECT seq, id, level FROM node ORDER BY level, seq"
    known = database.rows(sql)
    members = [row for row in known if row[2] == 0][:60]
    with database.transaction():
        for step in [*steps, []]:
            tree = builder.ensure_tree(database, "topic", "exports")
            groups = builder.lay_out(database, tree, [members[at][0] for at in step], shape)
            planned = layout.layers([(members[at][1], 0) for at in step], shape.fanout)
            ids: dict[int, str] = dict(database.rows("SELECT seq, id FROM node"))
            assert [ids[seq] for seq in groups] == [group.id for group in planned]
            root = builder.ensure_tree(database, "topic", "exports").root_seq
            expected = planned[-1].id if planned else next((members[at][1] for at in step), None)
            assert (None if root is None else ids[root]) == expected
        assert database.rows(sql) == known
