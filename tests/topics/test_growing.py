"""Topics after a census: a session is placed as it would be with all leaves, at its own cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FakeClock
from tests.helpers import themes
from tests.helpers.memories import assert_whole
from treemem import Memory, Message, Scope
from treemem.config import ROOT_INTERVAL_MS
from treemem.privacy import reseal
from treemem.store import settings as stored_settings
from treemem.store.database import Database
from treemem.topics import census, growing
from treemem.topics import store as topic_store
from treemem.topics.clustering import LINK_MIN
from treemem.topics.subjects import Leaf, Rows, Space
from treemem.tree import builder
from treemem.types import TreeShape

UNHURRIED = settings(deadline=None, max_examples=15)
WORDS = st.sampled_from("mast keel rigger varnish crust starter rye flour".split())
LEAVES = st.lists(
    st.tuples(
        st.dictionaries(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), st.integers(1, 5)),
        st.integers(0, 9), st.sampled_from([None, "p", "q"]), st.integers(0, 3),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run placed the leaves of changed sources alone, from four sources on."""
    monkeypatch.setattr(census, "SOURCES_MIN", 4)
    monkeypatch.setattr(census, "STEP", 0.7)
    answers: list[bool] = []
    place = growing.place

    def noting(database: Database) -> bool:
        answers.append(place(database))
        return answers[-1]

    monkeypatch.setattr(growing, "place", noting)
    return answers


def tell(memory: Memory, clock: FakeClock, source: str, messages: list[Message]) -> None:
    memory.append(source, messages)
    clock.advance(ROOT_INTERVAL_MS / 1_000)
    memory.work(max_calls=0)


def found(memory: Memory) -> set[frozenset[str]]:
    return {frozenset(topic.leaf_ids) for topic in memory.topics.list()}


@UNHURRIED
@given(LEAVES)
def test_what_is_near_is_found_from_what_was_noted(
    drawn: list[tuple[dict[str, int], int, str | None, int]],
) -> None:
    leaves = [Leaf(at, phrases, f"chat/{source}", home)
              for at, (phrases, source, home, _) in enumerate(drawn)]  # fmt: skip
    topics: dict[int, list[int]] = {}
    for at, (_, _, _, topic) in enumerate(drawn):
        topics.setdefault(topic, []).append(at)
    space = Space(leaves, {})
    database = Database(Path(":memory:"))
    seqs = {}
    for topic, members in topics.items():
        topic_id = topic_store.create(database, [str(seq) for seq in members])
        (seqs[topic],) = topic_store.seqs_of(database, [topic_id])
        census.put_topic(database, seqs[topic], space.centre(members))
    rows = Rows([space.centre(members) for members in topics.values()])
    numbers = [seqs[topic] for topic in topics]
    for leaf in leaves:
        subject = space.subject([leaf.seq])
        near = {seq: value for value, seq in census.near_topics(database, subject, LINK_MIN)}
        exact = {numbers[at]: value for value, at in rows.near(subject, LINK_MIN)}
        for seq in near.keys() | exact.keys():
            # Weights are noted in millionths, and similarities have four decimals.
            assert near.get(seq, LINK_MIN) == pytest.approx(exact.get(seq, LINK_MIN), abs=2e-4)
    database.close()


def test_a_session_goes_where_it_would_go_with_all_leaves(
    memory: Memory, clock: FakeClock, placed: list[bool]
) -> None:
    theme_of = themes.sources(16)
    for number, (source, theme) in enumerate(theme_of.items()):
        tell(memory, clock, source, themes.session(theme, number))
    tell(memory, clock, "chat/03", themes.session(theme_of["chat/03"], 3, turns=3, first=6))
    assert placed.count(True) > placed.count(False)
    assert placed[-1]
    topics = memory.topics.list()
    assert sorted(
        sorted({theme_of[source] for source in topic.source_ids}) for topic in topics
    ) == sorted([theme] for theme in themes.THEMES)
    assert all(" · " in topic.name for topic in topics)
    assert memory.status().leaves_without_topic == 0
    assert_whole(memory)
    memory.topics.rebuild()
    assert found(memory) == {frozenset(topic.leaf_ids) for topic in topics}


def test_a_tail_that_grows_keeps_its_place_and_no_topic_keeps_what_is_gone(
    memory: Memory, clock: FakeClock, placed: list[bool], database: Database
) -> None:
    theme_of = themes.sources(9)
    for number, (source, theme) in enumerate(theme_of.items()):
        tell(memory, clock, source, themes.session(theme, number))
    del placed[:]
    for turn in range(6, 12):
        more = themes.session(theme_of["chat/08"], 8, turns=1, first=turn)
        tell(memory, clock, "chat/08", more)
    assert placed == [True] * 6
    leaves = {leaf for topic in memory.topics.list() for leaf in topic.leaf_ids}
    assert leaves == {seq for source in memory.source_ids() for seq in leaf_ids(memory, source)}
    assert database.rows("SELECT 1 FROM topic WHERE changed = 1") == []
    assert_whole(memory)


def test_chapters_that_wait_make_a_topic_once_three_leaves_are_alike(
    memory: Memory, clock: FakeClock, placed: list[bool]
) -> None:
    theme_of = themes.sources(10)
    short = [source for source, theme in theme_of.items() if theme == "alps"]
    for number, (source, theme) in enumerate(theme_of.items()):
        if source not in short:
            tell(memory, clock, source, themes.session(theme, number))
    before = found(memory)
    del placed[:]
    for number, source in enumerate(["chat/a", "chat/b"]):
        tell(memory, clock, source, themes.session("alps", number))
        assert found(memory) == before
    assert memory.status().leaves_without_topic == 2
    tell(memory, clock, "chat/c", themes.session("alps", 2))
    (topic,) = [t for t in memory.topics.list() if frozenset(t.leaf_ids) not in before]
    assert set(topic.source_ids) == {"chat/a", "chat/b", "chat/c"}
    tell(memory, clock, "chat/d", themes.session("alps", 3))
    assert "chat/d" in memory.topics.show(topic.id).source_ids
    assert placed == [True] * 4
    assert_whole(memory)


def test_a_run_that_is_interrupted_ends_with_the_same_topics(
    memory: Memory, clock: FakeClock, placed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    theme_of = themes.sources(9)
    for number, (source, theme) in enumerate(theme_of.items()):
        tell(memory, clock, source, themes.session(theme, number))
    for number, step in enumerate(
        [(builder, "lay_out"), (topic_store, "add"), (census, "note_placed"),
         (topic_store, "note_laid_out")], 9,
    ):  # fmt: skip
        memory.append(f"chat/{number}", themes.session("bread", number))
        clock.advance(ROOT_INTERVAL_MS / 1_000)
        with monkeypatch.context() as patched:
            patched.setattr(*step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                memory.work(max_calls=0)
        assert_whole(memory)
        memory.work(max_calls=0)
        (bread,) = [t for t in memory.topics.list() if "chat/01" in t.source_ids]
        assert f"chat/{number}" in bread.source_ids
        assert_whole(memory)


def test_a_scrub_leaves_no_hash_of_what_was_said(
    memory: Memory, clock: FakeClock, placed: list[bool], database: Database
) -> None:
    for number, (source, theme) in enumerate(themes.sources(9).items()):
        tell(memory, clock, source, themes.session(theme, number))
    tables = ("topic_census", "phrase_count", "topic_phrase", "waiting_phrase")
    sizes = [database.value(f"SELECT count(*) FROM {table}") for table in tables]
    assert all(sizes[:3])
    reseal.reseal_sources(database, [1], clock(), TreeShape())
    assert [database.value(f"SELECT count(*) FROM {table}") for table in tables] == [0] * 4
    memory.work(max_calls=0)
    assert not placed[-1]
    assert_whole(memory)


def test_a_memory_with_an_embedder_has_no_census(
    memory: Memory, clock: FakeClock, placed: list[bool], database: Database
) -> None:
    stored_settings.put(database, stored_settings.EMBEDDER, "some-model")
    for number, (source, theme) in enumerate(themes.sources(6).items()):
        tell(memory, clock, source, themes.session(theme, number))
    assert placed == [False] * 6


def leaf_ids(memory: Memory, source: str) -> set[str]:
    return {node.id for node in memory.tree(Scope.source(source)).nodes() if node.level == 0}


def interrupt(*_arguments: object, **_named: object) -> None:
    raise KeyboardInterrupt
