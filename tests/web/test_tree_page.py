"""The tree is read, zoomed and left by mouse, by keys alone, and without script."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.forests import fill
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# What a page of any tree has at most.
BYTES_MAX = 400_000
BLOCKS_MAX = 1_500
HOSTILE = '"><script>document.title="owned"</script><svg onload=alert(1)> {{ 7*7 }} \u202e\x1b[31m'


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A served memory of 40 sources."""
    path = tmp_path_factory.mktemp("forest") / "forest.sqlite3"
    fill(path, sources=40, leaves=30)
    with serving(path) as served:
        yield served


def at_tree(page: Page, served: Served, query: str = "") -> None:
    page.goto(f"{served.url}/tree{query}")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))


def test_a_tree_of_100_000_nodes_is_sent_in_part_and_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite3"
    assert fill(path, sources=200, leaves=440) > 100_000
    with serving(path) as served, served.client() as client:
        client.get("/tree")
        began = time.process_time()
        response = client.get("/tree")
        seconds = time.process_time() - began
        assert response.text.count('class="block') < BLOCKS_MAX
        assert "more nodes" in response.text
        assert len(response.content) < BYTES_MAX
        assert seconds < 1
        one = client.get("/tree", params={"scope": "source", "id": "talk/150"})
        assert "Talk 150" in one.text


def test_pointing_tells_what_a_block_is_about_and_a_click_opens_it(
    forest: Served, browser: Browser
) -> None:
    with opened(browser, forest.address) as page:
        at_tree(page, forest, "?scope=source&id=talk/3")
        leaf = page.locator(".block.leaf").first
        leaf.hover()
        page.locator("#about").get_by_text("In talk 3 we spoke of point").wait_for()
        address = leaf.get_attribute("href")
        leaf.click()
        page.wait_for_url(f"**{address}")


def test_a_double_click_zooms_and_back_returns(forest: Served, browser: Browser) -> None:
    with opened(browser, forest.address) as page:
        at_tree(page, forest)
        page.locator(".block.source").nth(9).dblclick()
        page.locator(".block[data-row='0']", has_text="Talk 9").wait_for()
        assert "node=" in page.url
        assert page.locator(".crumbs li").count() > 1
        page.go_back()
        page.locator(".crumbs li").nth(1).wait_for(state="detached")
        assert page.url == f"{forest.url}/tree"


def test_the_keys_go_to_parents_children_and_neighbours_zoom_and_open(
    forest: Served, browser: Browser
) -> None:
    with opened(browser, forest.address) as page:
        at_tree(page, forest)
        tree = page.get_by_role("tree")
        assert tree.locator("[tabindex='0']").count() == 1
        page.locator(".block").first.focus()
        root = focused(page)
        page.keyboard.press("ArrowDown")
        first = focused(page)
        page.keyboard.press("ArrowRight")
        second = focused(page)
        assert len({root, first, second}) == 3
        page.keyboard.press("ArrowLeft")
        assert focused(page) == first
        page.keyboard.press("ArrowUp")
        assert focused(page) == root
        page.keyboard.press("ArrowDown")
        page.keyboard.press("z")
        page.wait_for_url("**/tree?node=*")
        page.locator(".crumbs li").nth(1).wait_for()
        assert focused(page) == first
        page.keyboard.press("u")
        page.locator(".crumbs li").nth(1).wait_for(state="detached")
        assert focused(page) == first
        page.keyboard.press("Enter")
        page.wait_for_url("**/node/*")


def test_nodes_too_narrow_to_be_seen_are_reached(forest: Served, browser: Browser) -> None:
    with opened(browser, forest.address) as page:
        at_tree(page, forest)
        page.locator(".block.run").first.click()
        page.get_by_text("of its nodes").wait_for()
        assert page.locator(".block.leaf").count() > 0


@pytest.mark.parametrize("width", [1280, 390])
def test_without_script_every_block_and_zoom_is_a_link(
    forest: Served, browser: Browser, width: int
) -> None:
    with opened(browser, forest.address, script=False, width=width) as page:
        at_tree(page, forest)
        page.get_by_role("link", name="Zoom into").first.click()
        page.get_by_role("link", name="Zoom out").click()
        page.get_by_role("link", name="Zoom out").wait_for(state="detached")
        page.locator(".block.run").first.click()
        page.wait_for_url("**from=*")
        assert page.locator(".block.leaf").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_leaf_is_found_in_the_tree_from_its_page(forest: Served, browser: Browser) -> None:
    with opened(browser, forest.address) as page:
        at_tree(page, forest, "?scope=source&id=talk/3")
        address = page.locator(".block.leaf").nth(2).get_attribute("href") or ""
        page.goto(forest.url + address)
        page.get_by_role("link", name="In the tree").click()
        page.locator(".block.at").wait_for()
        page.wait_for_function(
            "(at) => document.activeElement.getAttribute('href') === at", arg=address
        )
        assert page.locator(".block.leaf").count() > 1


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_a_zoom_moves_only_for_who_likes_motion(
    forest: Served, browser: Browser, motion: Literal["reduce", "no-preference"], moves: bool
) -> None:
    with opened(browser, forest.address) as page:
        page.emulate_media(reduced_motion=motion)
        at_tree(page, forest)
        page.evaluate(
            "() => { const was = Element.prototype.animate; window.moved = 0;"
            " Element.prototype.animate = function (...given) {"
            " window.moved += 1; return was.apply(this, given); }; }"
        )
        page.locator(".block.source").nth(9).dblclick()
        page.locator(".block[data-row='0']", has_text="Talk 9").wait_for()
        assert bool(page.evaluate("() => window.moved")) == moves


def test_a_topic_and_a_source_have_trees_and_nothing_else_has(
    filled: Path, client: httpx.Client
) -> None:
    with Memory.open(filled) as memory:
        topics = memory.topics.list()
        source = memory.sources()[0].source.id
    for topic in topics[:1]:
        response = client.get("/tree", params={"scope": "topic", "id": topic.id})
        assert response.status_code == 200
    assert client.get("/tree", params={"scope": "source", "id": source}).status_code == 200
    assert client.get("/tree", params={"scope": "session", "id": "x"}).status_code == 400
    assert client.get("/tree", params={"node": "ffffffff"}).status_code == 404
    assert client.get("/tree", params={"node": "ffffffff", "from": "x"}).status_code == 400


def test_an_empty_tree_says_so(tmp_path: Path) -> None:
    Memory.open(tmp_path / "empty.sqlite3").close()
    with serving(tmp_path / "empty.sqlite3") as served, served.client() as client:
        assert "The tree is empty" in client.get("/tree").text


def test_nothing_of_a_log_runs_in_a_tree(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "hostile.sqlite3"
    with Memory.open(path) as memory:
        for number in range(3):
            memory.append(f"log/{number}", [Message("user", f"We {HOSTILE} {number}.")] * 2,
                          title=f"{HOSTILE}{number}")  # fmt: skip
        memory.work(max_calls=0)
    with serving(path) as served, opened(browser, served.address) as page:
        at_tree(page, served)
        page.locator(".block.source").first.hover()
        page.locator("#about .entry").first.wait_for()
        assert "owned" not in page.title()[:5]
        assert page.locator("main script, main [onload]").count() == 0
        shown = page.locator("main").inner_text()
        assert "<script>document.title" in shown
        assert "&#34;" not in shown
        assert "\u202e" not in shown


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_the_tree_is_accessible(
    forest: Served, browser: Browser, scheme: Literal["light", "dark"], width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    with opened(browser, forest.address, scheme=scheme, width=width) as page:
        at_tree(page, forest)
        page.locator(".block").first.focus()
        page.locator("#about .entry").first.wait_for()
        found = axe.Axe().run(page)
        assert not found.response["violations"], found.generate_report()
