"""The search shows what matches, where and why, as you type and without script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message, Passage
from treemem.web.hits import around_matches, hits_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

HOSTILE = '<img src=x onerror="alert(1)"> </mark><script>alert(2)</script> \u202e\x1b[31m {{ 7*7 }}'


def texts(words: list[tuple[str, bool]]) -> str:
    return "".join(piece for piece, _ in words)


@pytest.fixture
def memory_of_sprints(tmp_path: Path) -> Path:
    """A memory with a hostile log, a rule, and a message of a megabyte."""
    path = tmp_path / "sprints.sqlite3"
    with Memory.open(path) as memory:
        memory.append(
            "chat/<b>1", [
                Message("user", f"The pelican ate the invoice. {HOSTILE}", author="\u202eAna: x"),
                Message("user", "Always name the pelican in invoices."),
                Message("assistant", "The invoice was 40 euros."),
            ], title=f"Pelican {HOSTILE}", project="/work/zoo",
        )  # fmt: skip
        memory.append(
            "chat/2", [Message("user", "so " * 300_000 + "the ostrich paid " + "so " * 99)]
        )
        memory.append("chat/3", [Message("user", "The ostrich is in Rome.")], project="/work/rome")
        memory.work(max_calls=0)
    return path


def typed(page: Page, words: str) -> None:
    page.get_by_role("searchbox", name="Question").press_sequentially(words, delay=15)


def test_a_passage_is_shown_with_its_matches_its_place_and_its_score(client: httpx.Client) -> None:
    page = client.get("/search", params={"q": "silently discard a ticket"}).text
    assert "<mark>discard</mark>" in page
    assert "<mark>silently</mark>" in page
    assert 'href="/message/' in page
    assert 'href="/node/' in page
    assert 'href="/source/claude-code/' in page
    assert "it has words of the question" in page
    assert "<title>silently discard a ticket – treemem</title>" in page


def test_it_searches_as_you_type_and_the_address_follows(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/search")
        typed(page, "discard a ticket")
        page.locator("mark", has_text="discard").first.wait_for()
        page.wait_for_url("**/search?q=discard+a+ticket")
        page.get_by_text("found.").wait_for(state="attached")
        assert page.locator("#found").inner_text().split()[1:] == ["passages", "found."]
        page.get_by_role("searchbox", name="Question").fill("")
        page.get_by_text("Ask as you would ask a person").wait_for()
        assert page.url == f"{shared.url}/search"


def test_of_slow_answers_only_the_last_one_is_shown(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/search")
        asked: list[str] = []
        page.on("request", lambda one: asked.append(one.url) if "/answer" in one.url else None)
        held: list[Route] = []
        page.route("**/search/answer?q=milk", lambda route: held.append(route))
        box = page.get_by_role("searchbox", name="Question")
        with page.expect_request("**/search/answer?q=milk"):
            box.fill("milk")
        for words in ("milk t", "milk ti", "ticket"):
            box.fill(words)
            page.wait_for_timeout(250)
        held[0].continue_()
        page.locator("mark", has_text="ticket").first.wait_for()
        assert [url.partition("q=")[2] for url in asked] == ["milk", "ticket"]
        assert page.locator("mark", has_text="milk").count() == 0


def test_the_keyboard_alone_reaches_every_hit(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/search?q=ticket")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "q"
        page.keyboard.press("ArrowDown")
        focused = "document.activeElement.matches('.hit a[data-item]')"
        assert page.evaluate(focused)
        first = page.evaluate("document.activeElement.href")
        page.keyboard.press("j")
        assert page.evaluate(focused)
        assert page.evaluate("document.activeElement.href") != first
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.href") == first
        with page.expect_request(first):
            page.keyboard.press("Enter")


def test_without_script_it_is_a_form(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address, script=False) as page:
        page.goto(f"{shared.url}/search")
        page.get_by_role("searchbox", name="Question").fill("discard a ticket")
        page.get_by_text("Where and when").click()
        page.get_by_label("Tool").select_option("claude-code")
        page.get_by_role("main").get_by_role("button", name="Search").click()
        page.locator("mark", has_text="discard").first.wait_for()
        assert "tool=claude-code" in page.url
        assert page.get_by_label("Tool").input_value() == "claude-code"


def test_a_scope_and_a_time_limit_it(memory_of_sprints: Path, browser: Browser) -> None:
    with serving(memory_of_sprints) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/search?q=ostrich")
        page.get_by_text("2 passages", exact=True).wait_for()
        page.get_by_text("Where and when").click()
        page.get_by_label("Project").fill("rome")
        page.get_by_text("1 passage;").wait_for()
        page.wait_for_url("**project=rome")
        page.get_by_label("Project").fill("paris")
        page.get_by_text("There is no project 'paris'").first.wait_for()
        page.get_by_role("link", name="search everything").click()
        page.get_by_text("2 passages", exact=True).wait_for()


def test_what_is_wrong_with_a_filter_is_said_and_the_form_stays(client: httpx.Client) -> None:
    response = client.get("/search", params={"q": "milk", "person": "Nobody", "since": "today"})
    assert response.status_code == 404
    assert "There is no person &#39;Nobody&#39;" in response.text
    assert 'value="Nobody"' in response.text
    response = client.get("/search", params={"q": "milk", "since": "someday"})
    assert response.status_code == 400
    assert "someday" in response.text
    assert client.get("/search/answer?q=milk&since=someday").status_code == 200


def test_that_nothing_was_found_is_said(client: httpx.Client) -> None:
    page = client.get("/search", params={"q": "xylophone quartet"}).text
    assert "Nothing was found" in page
    assert "Try fewer or other words" in page
    assert "xylophone quartet" in page
    for nothing in ("", "?", "   "):
        assert "Search what was said" in client.get("/search", params={"q": nothing}).text


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    Memory.open(path).close()
    with serving(path) as served, served.client() as client:
        assert "treemem discover --ingest" in client.get("/search?q=milk").text


def test_rules_that_head_an_answer_are_shown_with_where_they_come_from(
    memory_of_sprints: Path,
) -> None:
    with serving(memory_of_sprints) as served, served.client() as client:
        page = client.get("/search", params={"q": "pelican invoices"}).text
    _, _, rules = page.partition("Your rules about this")
    assert "Always name the pelican in invoices." in rules
    assert "where you said it" in rules


def test_hostile_words_are_words(memory_of_sprints: Path, browser: Browser) -> None:
    with serving(memory_of_sprints) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/search")
        typed(page, "pelican invoice <b>onerror")
        page.locator("mark", has_text="onerror").first.wait_for(state="attached")
        page.get_by_text("parts of the passage").first.click()
        assert page.locator("#answer :is(img, script, b:not(.who))").count() == 0
        shown = page.locator("#answer").inner_text()
        assert "<script>alert(2)</script>" in shown
        assert "\u202e" not in shown
        assert "{{ 7*7 }}" in shown


def test_a_megabyte_of_words_is_not_sent(memory_of_sprints: Path) -> None:
    with serving(memory_of_sprints) as served, served.client() as client:
        page = client.get("/search", params={"q": "ostrich"}).text
    assert "<mark>ostrich</mark> paid" in page
    assert len(page) < 60_000


def test_it_fits_a_phone(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address, width=390) as page:
        page.goto(f"{shared.url}/search?q=ticket&since=2020-01-01")
        page.locator(".hit").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_message_is_found_again_in_the_text_of_its_passage() -> None:
    said = Message("user", "We met Bo.\n\nThe fee: 40 euros.\n[2 2026-01-01]", id="1")
    other = Message("assistant", "Noted.", author="x: Obey", id="2")
    text = '[1 2026-11-01 "T: x"]\nuser: We met Bo.\n\n The fee: 40 euros.\n [2 2026-01-01]\n'
    passage = Passage(
        f'{text}"x: Obey" (thinking): Noted.', 9, 1.0, "chat/1", None, (), (said, other)
    )
    (hit,) = hits_of([passage], "fee")
    assert [one.speaker for one in hit.spoken] == ["user", '"x: Obey" (thinking)']
    assert [one.message for one in hit.spoken] == [said, other]
    assert texts(hit.spoken[0].words) == said.text
    assert texts(hit.excerpt) == said.text.replace("\n\n", "\n")
    assert ("fee", True) in hit.excerpt


def test_an_excerpt_is_around_the_most_different_matches() -> None:
    words = [("fee ", True), ("so " * 400, False), ("late", True), (" ", False), ("fee", True),
             (" so" * 400, False)]  # fmt: skip
    excerpt = around_matches(words)
    assert ("late", True) in excerpt
    assert len(texts(excerpt)) <= 602
    assert texts(excerpt).startswith("…so ")
