"""Parts of the list of topics, and which topics are related."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.topics import mapping

SUBJECTS = {
    "bread": "The sourdough bread needs flour, a warm oven and a baking stone; bake bread slowly.",
    "toast": "Toast of sourdough bread needs butter and a warm oven, said the bread baker.",
    "boats": "The sailing boats in the harbour need new sails and anchors before the regatta.",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for subject, words in SUBJECTS.items():
            for chat in range(4):
                memory.append(f"{subject}/{chat}", [Message(text=f"{words} {chat}")] * (chat + 2))
        memory.work(max_calls=0)
        yield memory


def test_a_part_has_the_figures_that_the_whole_list_has(memory: Memory) -> None:
    part = memory.topics.part()
    views = {view.id: view for view in memory.topics.list()}
    assert part.total == len(views) > 1
    assert {topic.id for topic in part.topics} == set(views)
    for topic in part.topics:
        view = views[topic.id]
        assert (topic.name, topic.messages) == (view.name, view.messages)
        assert topic.sources == len(view.source_ids)
        assert (topic.started_at, topic.pinned) == (view.started_at, view.pinned)
    sizes = [topic.messages for topic in part.topics]
    assert sizes == sorted(sizes, reverse=True)


def test_parts_together_are_the_whole_list(memory: Memory) -> None:
    whole = memory.topics.part()
    parts = [memory.topics.part(start, 1) for start in range(whole.total + 1)]
    assert [topic for part in parts for topic in part.topics] == list(whole.topics)
    assert {part.total for part in parts} == {whole.total}
    memory.topics.pin(whole.topics[0].id)
    assert memory.topics.part().topics[0].pinned, "a change is seen"


def test_topics_are_related_by_sources_and_by_words(memory: Memory) -> None:
    topics = memory.topics.list()
    ids = [topic.id for topic in topics]
    before = memory.topics.related(ids)
    assert all(0 <= one.likeness <= 1 and one.first < one.second for one in before)
    assert not any(one.shared for one in before)
    memory.append("both/1", [Message(text=words) for words in SUBJECTS.values() for _ in range(40)])
    memory.work(max_calls=0)
    ids = [topic.id for topic in memory.topics.list()]
    shared = {(one.first, one.second): one.shared for one in memory.topics.related(ids)}
    of = {topic.id: set(topic.source_ids) for topic in memory.topics.list()}
    for (first, second), number in shared.items():
        assert number == len(of[ids[first]] & of[ids[second]])


def test_counts_of_a_large_part_are_not_exact(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = memory.topics.part(0, 30)
    monkeypatch.setattr(mapping, "EXACT_MAX", 0)
    rough = memory.topics.part(0, 31)
    assert {one.id: one.messages for one in rough.topics} == {
        one.id: one.messages for one in exact.topics
    }, "they differ only by messages that lie in several leaves"
