"""Topics of a memory: found in real sessions, stable, and changed by the user alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers import themes
from tests.helpers.memories import assert_whole
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope, UsageError
from treemem.config import ROOT_INTERVAL_MS
from treemem.store.database import Database
from treemem.topic_api import TopicView
from treemem.topics import assignment, clustering, naming
from treemem.topics import store as topic_store
from treemem.tree import builder
from treemem.worker import collection_jobs

INTERVAL_SECONDS = ROOT_INTERVAL_MS / 1000


def by_theme(topics: Sequence[TopicView], theme_of: Mapping[str, str]) -> dict[str, TopicView]:
    """The topics by their theme; every topic must have sources of one theme."""
    themed: dict[str, TopicView] = {}
    for topic in topics:
        (theme,) = {theme_of[source] for source in topic.source_ids}
        assert theme not in themed
        themed[theme] = topic
    return themed


def test_three_themes_of_twelve_sessions_become_three_named_topics_that_a_rebuild_keeps(
    memory: Memory,
) -> None:
    theme_of = themes.store(memory)
    topics = by_theme(memory.topics.list(), theme_of)
    assert {theme: len(topic.leaf_ids) for theme, topic in topics.items()} == dict.fromkeys(
        themes.THEMES, 4
    )
    # Each is named by noun phrases of its own.
    for theme, texts in themes.THEMES.items():
        parts = topics[theme].name.split(naming.SEPARATOR)
        assert 1 < len(parts) <= naming.PARTS_MAX
        assert all(part in " ".join(texts) for part in parts)
    assert (memory.status().topics, memory.status().leaves_without_topic) == (3, 0)
    assert {t.id: t.leaf_ids for t in memory.topics.rebuild()} == {
        t.id: t.leaf_ids for t in topics.values()
    }
    assert_whole(memory)


def test_only_the_trees_of_topics_that_have_changed_are_laid_out(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    theme_of = themes.store(memory)
    topics = by_theme(memory.topics.list(), theme_of)
    laid_out = []
    lay_out = collection_jobs.CollectionWork._lay_out

    def noting(self: Any, claim: Any, scope: str, key: str, *rest: Any, **named: Any) -> None:
        laid_out.append(key)
        lay_out(self, claim, scope, key, *rest, **named)

    monkeypatch.setattr(collection_jobs.CollectionWork, "_lay_out", noting)
    clock.advance(INTERVAL_SECONDS)
    theme = theme_of["chat/00"]
    memory.append("chat/00", [Message(text=text) for text in themes.THEMES[theme]])
    memory.work(max_calls=0)
    assert laid_out == [topics[theme].id]
    assert_whole(memory)


def test_a_topic_has_a_tree_over_its_leaves_alone(memory: Memory, database: Database) -> None:
    theme_of = themes.store(memory)
    for topic in by_theme(memory.topics.list(), theme_of).values():
        tree = memory.tree(Scope.topic(topic.id[:4]))
        assert tree.scope == Scope.topic(topic.id)
        assert tree.root_id == topic.root_id
        assert tuple(node.id for node in tree.nodes() if node.is_leaf) == topic.leaf_ids
        assert tree.statements
        with database.reading():
            seqs = topic_store.leaf_seqs(database, topic.id)
        rows = dict(database.rows("SELECT seq, id FROM node"))
        assert tuple(rows[seq] for seq in seqs) == topic.leaf_ids


def test_later_sessions_join_and_a_tail_that_grows_keeps_its_topic(
    memory: Memory, clock: FakeClock
) -> None:
    theme_of = themes.store(memory)
    before = by_theme(memory.topics.list(), theme_of)
    clock.advance(INTERVAL_SECONDS)
    theme_of = themes.store(memory, 15, first=12)
    for number in range(3):
        source = f"chat/{number:02}"
        memory.append(source, themes.session(theme_of[source], number, turns=3, first=6))
    memory.work(max_calls=0)
    clock.advance(INTERVAL_SECONDS)
    memory.work(max_calls=0)
    after = by_theme(memory.topics.list(), theme_of)
    assert {theme: topic.id for theme, topic in after.items()} == {
        theme: topic.id for theme, topic in before.items()
    }
    assert {len(topic.leaf_ids) for topic in after.values()} == {5}
    assert_whole(memory)


def test_names_pins_and_merges_of_the_user_outlive_a_rebuild(memory: Memory) -> None:
    theme_of = themes.store(memory)
    topics = by_theme(memory.topics.list(), theme_of)
    tracker, bread, alps = (topics[theme].id for theme in themes.THEMES)
    assert memory.topics.rename(tracker, "  The money\n app ").name == "The money app"
    assert memory.topics.pin(bread).pinned
    merged = memory.topics.merge(tracker, alps)
    assert (merged.name, merged.aliases, len(merged.leaf_ids)) == ("The money app", (alps,), 8)
    assert memory.tree(Scope.topic(alps)).root_id == merged.root_id
    again = {topic.id: topic for topic in memory.topics.rebuild()}
    assert again[tracker] == merged
    assert again[bread] == memory.topics.show(bread)
    assert again.keys() == {tracker, bread}
    assert not memory.topics.pin(bread, pinned=False).pinned
    assert_whole(memory)


def test_a_rebuild_finds_the_names_of_all_topics_again(memory: Memory, database: Database) -> None:
    themes.store(memory)
    names = {topic.id: topic.name for topic in memory.topics.list()}
    database.execute("UPDATE topic SET name = 'um · yeah'")
    assert {topic.id: topic.name for topic in memory.topics.rebuild()} == names


def test_an_agent_is_in_the_topic_of_the_session_that_started_it(
    memory: Memory, database: Database
) -> None:
    theme_of = themes.store(memory)
    home = next(source for source, theme in theme_of.items() if theme == "bread")
    memory.append("agent/1", [Message(role="assistant", text="Found the invoice of the plumber.")])
    database.execute("UPDATE source SET parent_id = ? WHERE id = 'agent/1'", (home,))
    memory.work(max_calls=0)
    memory.topics.rebuild()
    (topic,) = [topic for topic in memory.topics.list() if "agent/1" in topic.source_ids]
    assert home in topic.source_ids


def test_the_users_name_of_a_merged_topic_goes_to_the_topic_it_is_merged_into(
    memory: Memory,
) -> None:
    themes.store(memory)
    one, two, three = (topic.id for topic in memory.topics.list())
    memory.topics.rename(two, "Mine")
    assert memory.topics.merge(one, two).name == "Mine"
    merged = memory.topics.merge(three, one)
    assert (merged.name, set(merged.aliases)) == ("Mine", {one, two})
    assert memory.topics.show(two).id == three


def test_unknown_and_ambiguous_ids_and_bad_names_are_refused(
    memory: Memory, database: Database
) -> None:
    themes.store(memory)
    first = memory.topics.list()[0].id
    with pytest.raises(NotFoundError, match=r"topics\.list"):
        memory.topics.show("tffffff0")
    with pytest.raises(NotFoundError, match=r"topics\.list"):
        memory.tree(Scope.topic("nothing"))
    database.execute("INSERT INTO topic (id) VALUES (?)", (first[:3] + "zzzzz",))
    with pytest.raises(AmbiguousIdError, match="several topics"):
        memory.topics.show(first[:3])
    for name in ("", " \n ", "x" * 81, "a\x1bb"):
        with pytest.raises(UsageError, match="printable"):
            memory.topics.rename(first, name)
    with pytest.raises(UsageError, match="same topic"):
        memory.topics.merge(first, first)


def test_an_empty_topic_is_deleted_unless_the_user_named_it(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    themes.store(memory)
    gone, named, *_ = memory.topics.list()
    memory.topics.rename(named.id, "Mine")
    for topic in (gone, named):
        sql = "DELETE FROM topic_leaf WHERE topic_seq = (SELECT seq FROM topic WHERE id = ?)"
        database.execute(sql, (topic.id,))
    # A single leaf makes no topic.
    memory.append("chat/new", [Message(text="The parrot learned a word.")])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clustering, "communities", lambda *_: [])
        patched.setattr(clustering, "LINK_MIN", 2.0)
        clock.advance(INTERVAL_SECONDS)
        memory.work(max_calls=0)
    left = {topic.id: topic for topic in memory.topics.list()}
    assert gone.id not in left
    assert (left[named.id].leaf_ids, left[named.id].root_id) == ((), None)
    assert memory.status().leaves_without_topic == 9
    assert_whole(memory)


@pytest.mark.parametrize("step", [1, 2, 8, 14, 16, 17, 18, 21, 22])
def test_a_run_that_is_interrupted_at_any_step_ends_with_the_same_topics(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(assignment, "LEAVES_AT_ONCE", 5)
    for number, (source, theme) in enumerate(themes.sources().items()):
        memory.append(source, themes.session(theme, number, turns=3))
    count = 0

    def breaking(original):  # type: ignore[no-untyped-def]
        def call(*arguments, **named):  # type: ignore[no-untyped-def]
            nonlocal count
            count += 1
            if count == step:
                raise KeyboardInterrupt
            return original(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        for module, name in ((builder, "lay_out"), (topic_store, "put_profile"),
                             (topic_store, "add"), (topic_store, "set_name")):  # fmt: skip
            patched.setattr(module, name, breaking(getattr(module, name)))
        with pytest.raises(KeyboardInterrupt):
            memory.work(max_calls=0)
    assert_whole(memory)
    memory.work(max_calls=0)
    assert sorted(len(topic.leaf_ids) for topic in memory.topics.list()) == [4, 4, 4]
    assert all(topic.root_id and " · " in topic.name for topic in memory.topics.list())
    assert memory.jobs(["todo", "running", "dead"]) == []
    assert_whole(memory)


def test_the_doctor_reports_a_topics_tree_without_one_of_its_leaves_and_repair_mends_it(
    memory: Memory, database: Database
) -> None:
    themes.store(memory)
    topic = memory.topics.list()[0]
    before = memory.topics.list()
    sql = ("UPDATE tree SET root_seq = (SELECT seq FROM node WHERE id = ?) "
           "WHERE scope = 'topic' AND key = ?")  # fmt: skip
    database.execute(sql, (topic.leaf_ids[0], topic.id))
    findings = [text for check in memory.diagnose().checks for text in check.findings]
    assert any(f"the tree of topic {topic.id}" in finding for finding in findings)
    memory.repair()
    assert memory.topics.list() == before
    assert_whole(memory)
