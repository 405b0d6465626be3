"""A node shows what it says beside the words that say it, by mouse, keys alone, and links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.fake_model import quoting
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message, Scope

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RULE = "We must never silently discard a ticket again."
HOSTILE = '"><script>document.title="owned"</script><img src=x onerror=alert(1)> {{ 7*7 }} \u202e'
# What the page of any leaf has at most.
BYTES_MAX = 400_000


@pytest.fixture(scope="module")
def leaf(filled: Path) -> str:
    """The leaf of the demo in which the rule was given."""
    with Memory.open(filled) as memory:
        rule = next(rule for rule in memory.rules() if rule.text == RULE)
        tree = memory.tree(Scope.source(rule.source_id or ""))
        found = (node for node in tree.nodes() if node.is_leaf
                 and any(one.text == RULE for one in node.statements))  # fmt: skip
        return next(found).id


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A served memory whose source a model has summarized too, and its root."""
    path = tmp_path_factory.mktemp("views") / "views.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [
            Message("user", "Ana wants the release on Friday, in Graz. We must never skip tests."),
            Message("user", "Ben keeps the meters in Linz, because the lab there is larger."),
        ])  # fmt: skip
        memory.use_model("summarizer", _answer, name="notes")
        memory.work()
        root = memory.source("chat/1").root_id
    assert root is not None
    with serving(path) as served:
        yield served, root


def _answer(messages: Sequence[Any], most: int) -> str:
    question = str(messages[-1]["content"])
    if "meters" in question:
        return "Ben keeps 98765 umbrellas in Zanzibar."
    return quoting(question)


def test_a_statement_lights_up_its_words_and_goes_to_them(
    shared: Served, leaf: str, browser: Browser
) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/node/{leaf}")
        statement = page.locator(".statement", has_text=RULE)
        statement.hover()
        lit = page.locator(".cited.lit")
        lit.first.wait_for()
        assert RULE.rstrip(".") in " ".join(lit.all_inner_texts())
        assert page.locator(".message.lit").count() >= 1
        statement.locator("a.cite").first.click()
        lit.first.wait_for()
        page.wait_for_function(
            "() => { const box = document.querySelector('.cited.lit').getBoundingClientRect();"
            " return box.top >= 0 && box.bottom <= innerHeight; }"
        )
        assert "#m-" in page.url


def test_with_keys_alone_a_statement_leads_to_its_words_and_to_the_next_node(
    shared: Served, leaf: str, browser: Browser
) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/node/{leaf}")
        page.keyboard.press("j")
        page.locator(".statement.lit").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.activeElement.matches('.message')")
        was = page.locator("h1").inner_text()
        page.keyboard.press("n" if page.locator("[data-after]").count() else "p")
        page.wait_for_url(lambda url: leaf not in url)
        assert page.locator("h1").inner_text() != was
        page.keyboard.press("u")
        page.get_by_role("heading", name="What is below it").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_without_script_a_statement_is_a_link_to_its_message(
    shared: Served, leaf: str, browser: Browser, width: int
) -> None:
    with opened(browser, shared.address, script=False, width=width) as page:
        page.goto(f"{shared.url}/node/{leaf}")
        page.locator(".statement", has_text=RULE).locator("a.cite").first.click()
        target = page.locator(".message:target")
        assert RULE in target.inner_text()
        assert target.locator(".cited", has_text="never silently discard").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_grades_speakers_and_origins_are_told_with_their_meaning(
    client: httpx.Client, leaf: str
) -> None:
    text = client.get(f"/node/{leaf}").text
    assert 'class="grade verbatim"' in text
    assert "The words of a message" in text
    assert "typed by you" in text
    assert "the result of a tool" in text or "What the grades mean" in text


def test_views_of_other_producers_stand_beside_with_what_was_refused(
    views: tuple[Served, str],
) -> None:
    served, root = views
    with served.client() as client:
        page = client.get(f"/node/{root}").text
        assert "View by <bdi>extractive/" in page or "View by <bdi>notes" in page
        assert "umbrellas" in page
        assert "Refused:" in page
        other = client.get(f"/node/{root}", params={"producer": "extractive/5"})
        assert other.status_code == 200
        assert client.get(f"/node/{root}", params={"producer": "nobody"}).status_code == 404


def test_what_is_not_proven_is_set_apart(tmp_path: Path) -> None:
    path = tmp_path / "unproven.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message("user", "Ana wants the release on Friday.")])
        memory.work(max_calls=0)
        root = memory.source("chat/1").root_id
    from treemem.store.database import Database

    database = Database(path)
    with database.transaction():
        database.execute(
            "INSERT INTO statement "
            "(summary_seq, kind, written, importance, tokens, grade, kept_back) "
            "SELECT max(seq), 'fact', 'Ana is in a hurry.', 0, 5, 'unproven', 1 FROM summary"
        )
    database.close()
    with serving(path) as served, served.client() as client:
        page = client.get(f"/node/{root}").text
    assert page.index("Not proven") < page.index("Ana is in a hurry.")


def test_a_group_shows_its_children_and_the_words_that_it_cites(
    filled: Path, client: httpx.Client
) -> None:
    with Memory.open(filled) as memory:
        root = memory.source("latest").root_id
    page = client.get(f"/node/{root}").text
    assert "What is below it" in page
    assert "The words that it cites" in page
    assert 'class="cited"' in page


def test_nothing_of_a_log_runs_and_long_lines_are_cut(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "hostile.sqlite3"
    with Memory.open(path) as memory:
        ids = memory.append("log", [
            Message("user", f"We must never {HOSTILE} again."), Message("user", "x" * 1_000_000),
        ], title=HOSTILE)  # fmt: skip
        memory.work(max_calls=0)
        leaf = next(one for one in memory.tree(Scope.source("log")).nodes() if one.is_leaf)
    with serving(path) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/node/{leaf.id}")
        assert page.title() != "owned"
        assert page.locator("main :is(script, img)").count() == 0
        shown = page.locator("main").inner_text()
        assert "<script>document.title" in shown
        assert "{{ 7*7 }}" in shown
        assert "\u202e" not in shown
        assert len(page.request.get(f"{served.url}/node/{leaf.id}").body()) < BYTES_MAX
        assert len(page.request.get(f"{served.url}/message/{ids[1]}").body()) < BYTES_MAX


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_node_is_accessible(shared: Served, leaf: str, browser: Browser, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    with opened(browser, shared.address, scheme=scheme) as page:  # type: ignore[arg-type]
        page.goto(f"{shared.url}/node/{leaf}")
        found = axe.Axe().run(page)
        assert not found.response["violations"], found.generate_report()
