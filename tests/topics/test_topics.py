"""Topics: what belongs together is found, stays where it is, and is the user's to change."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FakeClock
from tests.helpers import themes
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope, UsageError
from treemem.config import ROOT_INTERVAL_MS
from treemem.topic_api import TopicView
from treemem.topics import assignment, clustering, naming, term_vectors
from treemem.topics import store as topic_store
from treemem.topics.clustering import Known, Leaf
from treemem.tree import builder
from treemem_cli.main import cli

INTERVAL_SECONDS = ROOT_INTERVAL_MS / 1000
UNHURRIED = settings(deadline=None, max_examples=15)
TERMS = st.dictionaries(
    st.sampled_from([f"term{n}" for n in range(24)]), st.floats(1, 8), min_size=1, max_size=8
)
LEAVES = st.lists(TERMS, min_size=1, max_size=40).map(
    lambda found: [Leaf(10 * at, terms) for at, terms in enumerate(found)]
)


def by_theme(found: Sequence[TopicView], wanted: Mapping[str, str]) -> dict[str, TopicView]:
    """The topics by their theme; each must be of one theme."""
    told = {}
    for topic in found:
        (theme,) = {wanted[source] for source in topic.source_ids}
        assert theme not in told
        told[theme] = topic
    return told


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


# -- which leaves belong together ------------------------------------------------------


@UNHURRIED
@given(LEAVES, st.integers(0, 40))
def test_the_same_leaves_are_placed_the_same_way_and_what_is_placed_stays(
    leaves: list[Leaf], known: int
) -> None:
    before = {
        f"t{at}": found for at, found in enumerate(clustering.place(leaves[:known], {}).founded)
    }
    placing = clustering.place(leaves, before)
    assert clustering.place(leaves, before) == placing
    placed = {seq for members in before.values() for seq in members}
    new = [seq for members in placing.founded for seq in members]
    assert not placed & {*placing.joined, *new}
    assert all(len(names) <= clustering.TOPICS_OF_A_LEAF for names in placing.joined.values())
    assert all(new.count(seq) + len(placing.joined.get(seq, ())) <= 2 for seq in new)
    assert all(len(members) >= clustering.LEAVES_MIN for members in placing.founded)
    assert all(a < b for members in placing.founded for a, b in pairwise(members))


@UNHURRIED
@given(LEAVES, st.data())
def test_a_rebuild_keeps_what_is_pinned_and_named_and_no_leaf_in_more_than_two(
    leaves: list[Leaf], data: st.DataObject
) -> None:
    seqs = [leaf.seq for leaf in leaves]
    drawn = data.draw(
        st.lists(st.tuples(st.sets(st.sampled_from(seqs), min_size=1), st.booleans(),
                           st.booleans(), st.booleans()), max_size=2)
    )  # fmt: skip
    before = {f"t{at}": Known(tuple(sorted(own)), *marks) for at, (own, *marks) in enumerate(drawn)}
    kept, fresh = clustering.rebuild(leaves, before)
    assert (kept, fresh) == clustering.rebuild(leaves, before)
    for name, topic in before.items():
        if topic.fixed:
            assert kept[name] == topic.leaves
        if topic.named:
            assert name in kept
    for seq in seqs:
        once = sum(seq in members for members in (*kept.values(), *fresh))
        pinned = sum(seq in topic.leaves for topic in before.values())
        assert once <= max(clustering.TOPICS_OF_A_LEAF, pinned)


def test_likeness_needs_no_words_where_there_are_vectors() -> None:
    draw = np.random.default_rng(1)
    directions = draw.normal(size=(3, 16))
    leaves = [Leaf(n, {f"own{n}": 1.0}) for n in range(12)]
    vectors = {n: directions[n % 3] + 0.1 * draw.normal(size=16) for n in range(12)}
    assert clustering.place(leaves, {}).founded == ()
    found = clustering.place(leaves, {}, vectors).founded
    assert found == ((0, 3, 6, 9), (1, 4, 7, 10), (2, 5, 8, 11))
    later = {"t1": found[0], "t2": found[1]}
    assert clustering.place(leaves, later, vectors).founded == (found[2],)
    # A leaf without a vector is told by its words alone.
    del vectors[11]
    assert clustering.place(leaves, {}, vectors).founded == (*found[:2], (2, 5, 8))


def test_a_leaf_between_two_topics_joins_both() -> None:
    leaves = [Leaf(n, {f"a{n % 2}": 2.0, f"b{n % 2}": 2.0}) for n in range(8)]
    leaves.append(Leaf(8, {"a0": 2.0, "b0": 2.0, "a1": 2.0, "b1": 2.0}))
    known = {"t0": [0, 2, 4, 6], "t1": [1, 3, 5, 7]}
    assert clustering.place(leaves, known).joined == {8: ("t0", "t1")}


def test_a_profile_has_words_names_and_files_but_not_when_or_where() -> None:
    terms = term_vectors.profile(
        ["On Monday the invoices for Graz failed in billing/export.py, see loadRows above."], []
    )
    assert {"invoic", "graz", "export.py", "loadrows"} <= terms.keys()
    assert terms["graz"] > terms["invoic"]
    assert not {"monday", "above", "the"} & terms.keys()


@UNHURRIED
@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_a_profile_of_limited_size(texts: list[str]) -> None:
    terms = term_vectors.profile(texts, texts)
    assert len(terms) <= term_vectors.TERMS_MAX
    assert all(weight > 0 and len(term) <= 60 for term, weight in terms.items())


def test_a_blob_without_spaces_is_read_in_no_time() -> None:
    blob = "".join(random.Random(1).choices("abcDEF0123456789_./-", k=20_000))
    assert term_vectors.profile([blob, blob.replace("/", "x"), "a" * 20_000], []) is not None


def test_a_name_has_only_words_that_were_said() -> None:
    said = [themes.THEMES["tracker"][n : n + 4] for n in range(5)]
    name = naming.name(said, {}, 40)
    words = {word.strip(".,") for text in themes.THEMES["tracker"] for word in text.split()}
    assert {word for part in name.split(" · ") for word in part.split()} <= words
    assert naming.name([], {}, 40) == ""
    assert naming.name([[]], {}, 40) == ""


# -- in a memory -----------------------------------------------------------------------


def test_three_themes_over_twelve_sessions_are_found_named_and_found_again(memory: Memory) -> None:
    wanted = themes.store(memory)
    found = by_theme(memory.topics.list(), wanted)
    assert {theme: len(topic.leaf_ids) for theme, topic in found.items()} == dict.fromkeys(
        themes.THEMES, 4
    )
    for theme, word in (("tracker", "Flask"), ("bread", "dough"), ("alps", "glacier")):
        assert word in found[theme].name
    assert (memory.status().topics, memory.status().leaves_without_topic) == (3, 0)
    assert {t.id: t.leaf_ids for t in memory.topics.rebuild()} == {
        t.id: t.leaf_ids for t in found.values()
    }
    assert_whole(memory)


def test_a_topic_has_a_tree_over_its_leaves_alone(memory: Memory) -> None:
    wanted = themes.store(memory)
    for topic in by_theme(memory.topics.list(), wanted).values():
        tree = memory.tree(Scope.topic(topic.id[:4]))
        assert tree.scope == Scope.topic(topic.id)
        assert tree.root_id == topic.root_id
        assert tuple(node.id for node in tree.nodes() if node.is_leaf) == topic.leaf_ids
        assert tree.statements
        with memory._database.reading():
            seqs = topic_store.leaf_seqs(memory._database, topic.id)
        rows = dict(memory._database.rows("SELECT seq, id FROM node"))
        assert tuple(rows[seq] for seq in seqs) == topic.leaf_ids


def test_later_sessions_join_and_a_tail_that_grows_keeps_its_topic(
    memory: Memory, clock: FakeClock
) -> None:
    wanted = themes.store(memory)
    before = by_theme(memory.topics.list(), wanted)
    clock.advance(INTERVAL_SECONDS)
    wanted = themes.store(memory, 15, first=12)
    for number in range(3):
        source = f"chat/{number:02}"
        memory.append(source, themes.session(wanted[source], number, turns=3, first=6))
    memory.work(max_calls=0)
    clock.advance(INTERVAL_SECONDS)
    memory.work(max_calls=0)
    after = by_theme(memory.topics.list(), wanted)
    assert {theme: topic.id for theme, topic in after.items()} == {
        theme: topic.id for theme, topic in before.items()
    }
    assert {len(topic.leaf_ids) for topic in after.values()} == {5}
    assert_whole(memory)


def test_what_the_user_says_of_topics_outlives_a_rebuild(memory: Memory) -> None:
    wanted = themes.store(memory)
    found = by_theme(memory.topics.list(), wanted)
    tracker, bread, alps = (found[theme].id for theme in themes.THEMES)
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


def test_a_merged_topic_hands_on_the_name_that_the_user_gave_it(memory: Memory) -> None:
    themes.store(memory)
    one, two, three = (topic.id for topic in memory.topics.list())
    memory.topics.rename(two, "Mine")
    assert memory.topics.merge(one, two).name == "Mine"
    merged = memory.topics.merge(three, one)
    assert (merged.name, set(merged.aliases)) == ("Mine", {one, two})
    assert memory.topics.show(two).id == three


def test_topics_that_are_not_there_and_names_that_are_none_are_refused(memory: Memory) -> None:
    themes.store(memory)
    first = memory.topics.list()[0].id
    with pytest.raises(NotFoundError, match="treemem topic list"):
        memory.topics.show("tffffff0")
    with pytest.raises(NotFoundError, match="treemem topic list"):
        memory.tree(Scope.topic("nothing"))
    memory._database.execute("INSERT INTO topic (id) VALUES (?)", (first[:3] + "zzzzz",))
    with pytest.raises(AmbiguousIdError, match="several topics"):
        memory.topics.show(first[:3])
    for name in ("", " \n ", "x" * 81, "a\x1bb"):
        with pytest.raises(UsageError, match="printable"):
            memory.topics.rename(first, name)
    with pytest.raises(UsageError, match="same topic"):
        memory.topics.merge(first, first)


def test_a_leaf_that_nobody_has_leaves_its_topic_and_an_empty_topic_goes(
    memory: Memory, clock: FakeClock
) -> None:
    themes.store(memory)
    gone, named, *_ = memory.topics.list()
    memory.topics.rename(named.id, "Mine")
    database = memory._database
    for topic in (gone, named):
        sql = "DELETE FROM topic_leaf WHERE topic_seq = (SELECT seq FROM topic WHERE id = ?)"
        database.execute(sql, (topic.id,))
    # A leaf that stands alone founds nothing.
    memory.append("chat/new", [Message(text="The parrot learned a word.")])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clustering, "communities", lambda *_: [])
        patched.setattr(clustering, "JOIN_MIN", 2.0)
        clock.advance(INTERVAL_SECONDS)
        memory.work(max_calls=0)
    left = {topic.id: topic for topic in memory.topics.list()}
    assert gone.id not in left
    assert (left[named.id].leaf_ids, left[named.id].root_id) == ((), None)
    assert memory.status().leaves_without_topic == 9
    assert_whole(memory)


@pytest.mark.parametrize("step", [1, 2, 8, 14, 16, 17, 18, 21, 22])
def test_a_run_that_breaks_off_at_any_step_comes_to_the_same_end(
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


def test_the_doctor_finds_a_topics_tree_that_misses_a_leaf_and_mends_it(memory: Memory) -> None:
    themes.store(memory)
    topic = memory.topics.list()[0]
    before = memory.topics.list()
    sql = ("UPDATE tree SET root_seq = (SELECT seq FROM node WHERE id = ?) "
           "WHERE scope = 'topic' AND key = ?")  # fmt: skip
    memory._database.execute(sql, (topic.leaf_ids[0], topic.id))
    findings = [f for check in memory.diagnose().checks for f in check.findings]
    assert any(f"topic {topic.id} does not stand" in f for f in findings)
    memory.repair()
    assert memory.topics.list() == before
    assert_whole(memory)


# -- the command line ------------------------------------------------------------------


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_lists_shows_names_pins_merges_and_rebuilds() -> None:
    with Memory.open() as memory:
        themes.store(memory)
    listed = json.loads(run("topic", "list", "--json"))
    first, second, third = (topic["id"] for topic in listed)
    assert {len(topic["leaf_ids"]) for topic in listed} == {4}
    assert json.loads(run("topic", "rename", first, "Mine", "--json"))[0]["name"] == "Mine"
    assert json.loads(run("topic", "pin", second[:5], "--json"))[0]["pinned"]
    assert json.loads(run("topic", "pin", second, "--off", "--json"))[0]["pinned"] is False
    merged = json.loads(run("topic", "merge", first, third, "--json"))[0]
    assert (merged["id"], merged["aliases"]) == (first, [third])
    assert {t["id"] for t in json.loads(run("topic", "rebuild", "--json"))} == {first, second}
    shown = json.loads(run("topic", "show", third, "--json"))
    assert shown["topic"]["id"] == first
    assert shown["statements"]
    for arguments in (("topic", "list"), ("topic", "show", first), ("topic", "rebuild"),
                      ("tree", "--topic", second), ("tree",), ("status",)):  # fmt: skip
        assert run(*arguments).strip()
    assert "Mine" in run("topic", "list")
    assert json.loads(run("tree", "--topic", third, "--json"))[0]["scope"]["key"] == first
    assert "source chat/03" in run("tree")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("topic", "show", "nothing"), 1, "treemem topic list"),
        (("topic", "merge", "t1"), 2, "Missing argument"),
        (("topic", "rename", "t1", "a"), 1, "treemem topic list"),
        (("tree", "--topic", "nothing"), 1, "treemem topic list"),
        (("tree", "chat", "--topic", "t1"), 2, "not both"),
    ],
)
def test_the_command_line_names_the_way_out(
    arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_a_memory_without_topics_says_so() -> None:
    assert json.loads(run("topic", "list", "--json")) == []
    result = CliRunner().invoke(cli, ["topic", "list"])
    assert "There are no topics yet" in result.stderr
