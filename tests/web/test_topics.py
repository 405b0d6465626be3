"""The topics as a map and a list, and what can be done with one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect

SUBJECTS = {
    "bread": "The sourdough bread needs flour, a warm oven and a baking stone; bake bread slowly.",
    "boats": "The sailing boats in the harbour need new sails and anchors before the regatta.",
    "roses": "Prune the climbing roses in the garden when the frost is over, and feed the roses.",
}


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Served]:
    """A memory with several topics, served."""
    path = tmp_path / "several.sqlite3"
    with Memory.open(path) as memory:
        for subject, words in SUBJECTS.items():
            for chat in range(5):
                said = [
                    Message("user", f"{words} {chat}.{turn}", "Ana") for turn in range(chat + 2)
                ]
                memory.append(f"{subject}/{chat}", said)
        memory.work(max_calls=0)
        assert len(memory.topics.list()) >= 3
    with serving(path) as served:
        yield served


def test_the_map_and_the_list_lead_to_every_topic(several: Served, browser: Browser) -> None:
    with several.memory() as memory:
        topics = memory.topics.list()
    with opened(browser, several.address, script=False) as page:
        page.goto(f"{several.url}/topics")
        for topic in topics:
            assert page.locator(f'svg.wide a[href="/topic/{topic.id}"]').is_visible()
            assert page.locator(f'.topics a[href="/topic/{topic.id}"]').is_visible()
        page.locator(f'svg.wide a[href="/topic/{topics[0].id}"] circle').click()
        assert page.locator("h1").inner_text() == topics[0].name


def test_names_on_the_map_are_readable_and_apart_on_a_phone(
    several: Served, browser: Browser
) -> None:
    with opened(browser, several.address, width=390) as page:
        page.goto(f"{several.url}/topics")
        assert not page.locator("svg.wide").is_visible()
        names = [
            [box for text in link.locator("text").all() if (box := text.bounding_box())]
            for link in page.locator("svg.narrow a").all()
        ]
        assert len(names) >= 3
        for box in chain.from_iterable(names):
            assert box["height"] >= 11
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
        for one, other in combinations(names, 2):
            assert not any(are_overlapping(a, b) for a in one for b in other)


def are_overlapping(one: FloatRect, other: FloatRect) -> bool:
    """Whether two boxes of text cover each other, without their line spacing."""
    return (
        one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"]
        and one["y"] < other["y"] + other["height"] * 0.7
        and other["y"] < one["y"] + one["height"] * 0.7
    )  # fmt: skip


def test_a_topic_is_renamed_and_pinned(several: Served, browser: Browser) -> None:
    with several.memory() as memory:
        topic = memory.topics.list()[0]
    with opened(browser, several.address) as page:
        page.goto(f"{several.url}/topic/{topic.id}")
        page.get_by_label("Name").fill("Of the bakery")
        page.get_by_role("button", name="Rename").click()
        page.get_by_role("heading", name="Of the bakery").wait_for()
        page.get_by_role("button", name="Pin", exact=True).click()
        page.get_by_role("button", name="Unpin").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("button", name="Pin", exact=True).wait_for()
    with several.memory() as memory:
        assert memory.topics.show(topic.id).name == "Of the bakery"
        assert not memory.topics.show(topic.id).pinned


def test_a_merge_is_said_and_undone(several: Served, browser: Browser) -> None:
    with several.memory() as memory:
        into, other = memory.topics.list()[:2]
    with opened(browser, several.address) as page:
        page.goto(f"{several.url}/topic/{into.id}")
        page.get_by_label("Merge with").select_option(other.id)
        page.get_by_role("button", name="Merge into this one").click()
        page.get_by_text(f"{other.id} is a part of this topic now").wait_for()
        with several.memory() as memory:
            assert memory.topics.show(other.id).id == into.id
        page.get_by_role("button", name="Undo the merge").click()
        page.get_by_text("a topic of its own again").wait_for()
    with several.memory() as memory:
        assert memory.topics.show(other.id).id == other.id
        assert set(memory.topics.show(other.id).leaf_ids) == set(other.leaf_ids)


def test_a_merged_topic_is_taken_out_again_later(several: Served) -> None:
    with several.memory() as memory:
        into, other = memory.topics.list()[:2]
        memory.topics.merge(into.id, other.id)
    with several.client() as client:
        assert f"Take {other.id} out again" in client.get(f"/topic/{into.id}").text
        response = client.post(f"/topic/{into.id}", data={"do": "unmerge", "of": other.id})
        assert response.url.path == f"/topic/{other.id}"


def test_what_is_wrong_is_said(several: Served) -> None:
    with several.memory() as memory:
        topic = memory.topics.list()[0]
    with several.client() as client:
        for data, words in [
            ({"do": "rename", "name": " "}, "1 to 80 printable characters"),
            ({"do": "merge", "of": topic.id}, "the same topic"),
            ({"do": "obey"}, "not &#39;obey&#39;"),
        ]:
            response = client.post(f"/topic/{topic.id}", data=data)
            assert response.status_code == 400
            assert words in response.text
        assert client.get("/topic/t0000000").status_code == 404


def test_many_topics_are_listed_by_parts(several: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treemem.web.pages.topics.LIST_MAX", 2)
    with several.memory() as memory:
        total = len(memory.topics.list())
    with several.client() as client:
        first = client.get("/topics").text
        assert f"{total - 2} more" in first
        second = client.get("/topics?start=2").text
        assert "Larger ones" in second
        assert "<svg" not in second
        for start in ("-1", "x", "9" * 30):
            assert client.get("/topics", params={"start": start}).status_code == 200


def test_without_topics_the_page_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite3"
    Memory.open(path).close()
    with serving(path) as served, served.client() as client:
        assert "no topics yet" in client.get("/topics").text
        for path in ("/", "/search", "/tree", "/ledger", "/topics", "/timeline", "/sources"):
            assert "treemem discover --ingest" in client.get(path).text, path


def test_a_topic_shows_its_words_and_sources(client: httpx.Client, filled: Path) -> None:
    with Memory.open(filled) as memory:
        topic = memory.topics.list()[0]
    page = client.get(f"/topic/{topic.id}").text
    assert "Claude Code" in page
    assert f"/tree?scope=topic&amp;id={topic.id}" in page
    assert 'href="/source/claude-code' in page
    assert 'href="/message/' in page
    assert "We must never silently discard a ticket again." in page
