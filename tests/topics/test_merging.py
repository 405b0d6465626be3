"""A merge of topics can be undone, whatever was merged, added, rebuilt or taken out in between."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from tests.conftest import FakeClock
from tests.helpers import themes
from tests.helpers.memories import assert_whole, run_child
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope, UsageError
from treemem.config import ROOT_INTERVAL_MS
from treemem.store.database import Database
from treemem.topic_api import TopicView
from treemem.topics import merging
from treemem.topics import store as topic_store

INTERVAL_SECONDS = ROOT_INTERVAL_MS / 1000


def stored(memory: Memory) -> dict[str, TopicView]:
    return {topic.id: topic for topic in memory.topics.list()}


@pytest.fixture
def ids(memory: Memory) -> tuple[str, str, str]:
    """Three topics of four chats each."""
    themes.store(memory)
    one, two, three = (topic.id for topic in memory.topics.list())
    return one, two, three


# -- merging and taking out ------------------------------------------------------------


def test_undoing_a_merge_gives_both_topics_as_they_were(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    memory.topics.rename(two, "Mine")
    memory.topics.pin(two)
    before = stored(memory)
    memory.topics.merge(one, two)
    assert memory.topics.unmerge(two) == before[two]
    assert stored(memory) == before
    assert {t.id: t.leaf_ids for t in memory.topics.rebuild()} == {
        t.id: t.leaf_ids for t in before.values()
    }
    assert_whole(memory)


def test_a_topic_whose_target_was_merged_again_comes_out_alone(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, three = ids
    memory.topics.rename(two, "Mine")
    before = stored(memory)
    memory.topics.merge(one, two)
    whole = memory.topics.merge(three, one)
    assert (whole.name, whole.aliases) == ("Mine", tuple(sorted((one, two))))
    assert memory.topics.unmerge(two) == before[two]
    left = memory.topics.show(three)
    assert (left.named, left.aliases, len(left.leaf_ids)) == (False, (one,), 8)
    assert memory.topics.show(one).id == three
    memory.topics.unmerge(one)
    assert stored(memory) == before
    assert_whole(memory)


def test_a_topic_comes_out_with_what_was_merged_into_it_before(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, three = ids
    before = stored(memory)
    pair = memory.topics.merge(one, two)
    memory.topics.merge(three, one)
    assert memory.topics.unmerge(one) == pair
    assert memory.topics.show(three) == before[three]
    memory.topics.unmerge(two)
    assert stored(memory) == before
    assert_whole(memory)


def test_a_name_that_the_user_gave_after_the_merge_stays(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    memory.topics.rename(two, "Mine")
    memory.topics.merge(one, two)
    memory.topics.rename(one, "Ours")
    assert memory.topics.unmerge(two).name == "Mine"
    assert memory.topics.show(one).name == "Ours"


def test_what_is_not_merged_cannot_be_taken_out(
    memory: Memory, database: Database, ids: tuple[str, str, str]
) -> None:
    one, two, three = ids
    with pytest.raises(UsageError, match=f"{two} is not merged"):
        memory.topics.unmerge(two)
    with pytest.raises(NotFoundError, match=r"topics\.list"):
        memory.topics.unmerge("tffffff0")
    memory.topics.merge(one, two)
    with pytest.raises(UsageError, match=f"{one} is not merged.*{two} was merged into it"):
        memory.topics.unmerge(one)
    memory.topics.unmerge(two[:5])
    with pytest.raises(UsageError, match="is not merged"):
        memory.topics.unmerge(two)
    memory.topics.merge(one, two)
    memory.topics.merge(one, three)
    database.execute("DELETE FROM topic_part")
    database.execute("UPDATE topic_alias SET id = 'tabcd' || id")
    with pytest.raises(AmbiguousIdError, match="several merged topics"):
        memory.topics.unmerge("tabcd")


def test_a_topic_without_leaves_left_is_not_taken_out(
    memory: Memory, database: Database, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    own = memory.topics.show(one).leaf_ids
    memory.topics.merge(one, two)
    seqs = [seq for seq, node_id in database.rows("SELECT seq, id FROM node") if node_id in own]
    with database.transaction():
        topic_store.set_members(database, one, seqs)
    with pytest.raises(UsageError, match="nothing to take out"):
        memory.topics.unmerge(two)
    assert memory.topics.show(two).id == one


def test_what_an_earlier_version_merged_stays_merged(
    memory: Memory, database: Database, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    merged = memory.topics.merge(one, two)
    database.execute("UPDATE topic_alias SET pinned = NULL")
    with pytest.raises(UsageError, match="earlier version"):
        memory.topics.unmerge(two)
    assert memory.topics.show(one) == merged


# -- in between ------------------------------------------------------------------------


def test_a_later_leaf_goes_with_the_leaf_of_its_chat_before_it(
    memory: Memory, clock: FakeClock, database: Database
) -> None:
    theme_of = themes.store(memory)
    bread, tracker = (
        next(t for t in memory.topics.list() if theme_of[t.source_ids[0]] == theme)
        for theme in ("bread", "tracker")
    )
    memory.topics.merge(tracker.id, bread.id)
    clock.advance(INTERVAL_SECONDS)
    # The tail of a chat of the merged topic grows beyond a leaf; a new chat comes.
    grown = bread.source_ids[0]
    memory.append(grown, themes.session("bread", 1, turns=90, first=6))
    memory.append("chat/90", themes.session("bread", 90))
    memory.work(max_calls=0)
    clock.advance(INTERVAL_SECONDS)
    memory.work(max_calls=0)
    memory.topics.rebuild()
    whole = memory.topics.show(tracker.id)
    leaves_grown = [node.id for node in memory.tree(Scope.source(grown)).nodes() if node.is_leaf]
    assert len(leaves_grown) > 1
    assert set(leaves_grown) <= set(whole.leaf_ids)
    assert "chat/90" in whole.source_ids
    taken = memory.topics.unmerge(bread.id)
    left = memory.topics.show(tracker.id)
    assert set(leaves_grown) <= set(taken.leaf_ids)
    assert set(taken.source_ids) == set(bread.source_ids)
    assert set(left.source_ids) == {*tracker.source_ids, "chat/90"}
    assert sorted((*taken.leaf_ids, *left.leaf_ids)) == sorted(whole.leaf_ids)
    assert database.rows("SELECT * FROM topic_part") == []
    assert_whole(memory)


def test_a_merge_undone_after_a_rebuild_gives_both_topics(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    before = stored(memory)
    memory.topics.merge(one, two)
    memory.topics.rebuild()
    memory.topics.rebuild()
    memory.topics.unmerge(two)
    assert stored(memory) == before
    assert_whole(memory)


def own_leaves(database: Database) -> dict[str, set[int]]:
    return {topic.id: set(topic.leaves) for topic in topic_store.topics(database)}


class Merges:
    """What merges and their undoing should give: each topic has leaves of its own, and shows those
    of all that are merged into it."""

    def __init__(self, own: Mapping[str, set[int]]) -> None:
        self.own = {name: set(leaves) for name, leaves in own.items()}
        self.above: dict[str, str] = {}

    def within(self, name: str) -> list[str]:
        merged = [other for other, above in self.above.items() if above == name]
        return [name, *(inner for other in merged for inner in self.within(other))]

    def shown(self) -> dict[str, set[int]]:
        return {
            name: set().union(*(self.own[inner] for inner in self.within(name)))
            for name in self.own
            if name not in self.above
        }


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_of_merges_undone_in_any_order_gives_what_it_should(
    database: Database, seed: int
) -> None:
    draw = random.Random(seed)
    names = [f"t{number:07}" for number in range(6)]
    user_names = {name: draw.choice([None, f"Name of {name}"]) for name in names}
    pinned = {name: draw.randrange(2) for name in names}
    sql = "INSERT INTO node (id, level, tokens, message_count, provisional) VALUES (?, 0, 1, 1, 0)"
    leaves = [database.insert(sql, (f"{number:032}",)) for number in range(24)]
    for name in names:
        sql = "INSERT INTO topic (id, name, named, pinned) VALUES (?, ?, ?, ?)"
        user_name = user_names[name]
        database.execute(sql, (name, user_name, user_name is not None, pinned[name]))
    for leaf in leaves[:16]:
        for name in draw.sample(names, draw.choice([1, 2])):
            topic_store.add(database, name, [leaf])
    merges = Merges(own_leaves(database))
    late = leaves[16:]
    for _ in range(60):
        alive = [name for name in names if name not in merges.above]
        action = draw.choice(["merge", "merge", "unmerge", "unmerge", "add", "drop"])
        if action == "merge" and len(alive) > 1:
            into, name = draw.sample(alive, 2)
            merging.merge(database, into, name)
            merges.above[name] = into
        elif action == "unmerge" and merges.above:
            name = draw.choice(sorted(merges.above))
            if any(merges.own[inner] for inner in merges.within(name)):
                merging.unmerge(database, name)
                del merges.above[name]
        elif action == "add" and late:
            name = draw.choice(alive)
            leaf = late.pop()
            topic_store.add(database, name, [leaf])
            merges.own[name].add(leaf)
        elif action == "drop" and draw.random() < 0.3:  # as a rebuild does
            name = draw.choice(alive)
            kept = sorted(merges.shown()[name])[1:]
            topic_store.set_members(database, name, kept)
            for inner in merges.within(name):
                merges.own[inner].intersection_update(kept)
        assert own_leaves(database) == merges.shown()
    while merges.above:
        name = draw.choice(sorted(merges.above))
        if not any(merges.own[inner] for inner in merges.within(name)):
            return
        merging.unmerge(database, name)
        del merges.above[name]
        assert own_leaves(database) == merges.shown()
    assert database.rows("SELECT * FROM topic_part") == []
    assert database.rows("SELECT * FROM topic_leaf WHERE own = 0") == []
    rows = database.rows("SELECT id, iif(named, name, NULL), pinned FROM topic")
    assert {(*row,) for row in rows} == {(name, user_names[name], pinned[name]) for name in names}


# -- a process that is killed ----------------------------------------------------------

_KILLED = """
import os, signal, sys
from treemem import Memory
from treemem.store.database import Database

step, execute = 0, Database.execute

def counting(self, sql, parameters=()):
    global step
    step += any(name in sql for name in ("topic_alias", "topic_part", "topic_leaf", "INTO topic"))
    if step == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, sql, parameters)

with Memory.open(sys.argv[1]) as memory:
    Database.execute = counting
    memory.topics.unmerge(sys.argv[2])
"""


def test_a_process_killed_while_it_undoes_a_merge_leaves_it_merged_or_undone(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    memory.topics.rename(two, "Mine")
    before = stored(memory)
    memory.topics.merge(one, two)
    merged = stored(memory)
    for step in range(1, 8):
        child = run_child(_KILLED, memory.path, two, step)
        assert child.returncode == -9, child.stderr
        assert stored(memory) == merged
        assert_whole(memory)
    memory.topics.unmerge(two)
    assert stored(memory) == before


def test_a_secret_in_the_name_of_a_merged_topic_is_scrubbed(
    memory: Memory, ids: tuple[str, str, str]
) -> None:
    one, two, _ = ids
    secret = "ghp_" + "a1B2" * 9
    memory.append("chat/secret", [Message(text=f"token {secret}")], redact=False)
    memory.topics.rename(two, f"About {secret}")
    memory.topics.rename(one, "Ours")
    memory.topics.merge(one, two)
    memory.scrub()
    assert secret.encode() not in memory.path.read_bytes()
    assert memory.topics.unmerge(two).name.startswith("About [redacted")
