"""The ledger is filtered, read page by page, and changed; each change is said and undone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import follow, opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message
from treemem.web.pages.ledger import MESSAGE_CHARS, PAGE_ENTRIES, excerpt_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OPEN = "TODO: apply the 20 % cap"
HOSTILE = '<img src=x onerror="alert(1)"> \u202e\x1b[31m {{ 7*7 }}'


@pytest.fixture
def long_ledger(tmp_path: Path) -> Path:
    """A memory with more decisions than a page, one that was replaced, and a hostile one."""
    path = tmp_path / "long.sqlite3"
    with Memory.open(path) as memory:
        for number in range(PAGE_ENTRIES + 3):
            said = f"We decided to take the paint {number} for gate {number}."
            memory.append(f"chat/{number}", [Message(text=said, sent_at="2026-01-05T09:00:00Z")])
        memory.append("chat/<b>x", [
            Message(text=f"We must never use {HOSTILE} again.", author="\u202eEve <i>"),
            Message(text="I still need to order the filter for the pump."),
            Message(text="The filter for the pump is ordered, so that is done."),
        ], project="/work/<s>")  # fmt: skip
        memory.work(max_calls=0)
    return path


def an_entry(served: Served, kind: str, words: str) -> str:
    with served.memory() as memory:
        return next(one.id for one in memory.ledger(kinds=[kind]) if words in one.text)  # type: ignore[list-item]


def test_an_entry_is_closed_undone_dropped_and_reopened_in_the_browser(
    served: Served, browser: Browser
) -> None:
    with opened(browser, served.address) as page:
        page.goto(f"{served.url}/ledger?kind=open")
        row = page.locator(".row", has_text=OPEN)
        row.get_by_role("button", name="Close").click()
        page.get_by_role("status").filter(has_text="Closed: ").wait_for()
        assert row.count() == 0
        assert "kind=open" in page.url
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("status").filter(has_text="Undone: ").wait_for()
        row.get_by_role("button", name="Drop").click()
        page.get_by_role("status").filter(has_text="Dropped: ").wait_for()
        page.goto(f"{served.url}/ledger?kind=open&state=withdrawn")
        row.get_by_role("button", name="Reopen").click()
        page.get_by_role("button", name="Undo").click()
        row.get_by_text("withdrawn").wait_for()
    with served.memory() as memory:
        states = {
            one.text: one.state for one in memory.ledger(kinds=["open"], states=["withdrawn"])
        }
    assert any(OPEN in text for text in states)


def test_without_script_and_by_keyboard_it_does_the_same(served: Served, browser: Browser) -> None:
    with opened(browser, served.address, script=False) as page:
        page.goto(f"{served.url}/ledger?kind=open")
        row = page.locator(".row", has_text=OPEN)
        row.get_by_role("button", name="Close").focus()
        page.keyboard.press("Enter")
        page.get_by_role("status").filter(has_text="Closed: ").wait_for()
        page.get_by_text("Which, where and when").click()
        page.get_by_label("That").select_option("are closed")
        page.get_by_role("button", name="Show").click()
        row.get_by_text("closed", exact=True).wait_for()


def test_keys_lead_through_the_entries(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/ledger?kind=constraint")
        page.keyboard.press("j")
        first = page.evaluate("document.activeElement.href")
        page.keyboard.press("j")
        second = page.evaluate("document.activeElement.href")
        assert "/ledger/" in first
        assert first != second
        page.keyboard.press("Enter")
        page.wait_for_url(second)
        page.get_by_role("heading", name="In its messages").wait_for()


def test_it_is_filtered(client: httpx.Client) -> None:
    def rows(**filters: str) -> int:
        return client.get("/ledger", params=filters).text.count('class="row"')

    assert 0 < rows(kind="open") < rows()
    said = client.get("/ledger?origin=typed").text
    assert 'by you">typed<' in said
    assert "an assistant" not in said
    assert rows(until="2020-01-01") == 0
    assert rows(tool="claude-code") == rows()
    assert rows(state="withdrawn") == 0


def test_the_first_list_has_all_but_facts_and_the_last_everything(
    served: Served, browser: Browser
) -> None:
    with opened(browser, served.address) as page:

        def kinds() -> set[str]:
            return {one.split("\n")[0] for one in page.locator(".kind").all_inner_texts()}

        page.goto(f"{served.url}/ledger?sort=time")
        assert kinds() == {"rule", "decision", "open point", "error"}
        page.get_by_role("link", name="Everything", exact=True).click()
        page.wait_for_url("**kind=all")
        assert "fact" in kinds()
        tabs = page.locator(".tabs a").all_inner_texts()
        assert (tabs[0], tabs[-1]) == ("All but facts", "Everything")
        assert page.locator(".tabs [aria-current]").all_inner_texts() == ["Everything"]


def test_pages_are_bounded_and_lead_to_each_other(long_ledger: Path, browser: Browser) -> None:
    with serving(long_ledger) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/ledger?kind=decision&sort=time")
        assert page.locator(".row").count() == PAGE_ENTRIES
        page.get_by_role("link", name="Next page").click()
        page.wait_for_url("**page=2")
        assert page.locator(".row").count() == 3
        page.locator(".row").first.get_by_role("button", name="Drop").click()
        page.locator(".done").wait_for()
        assert "page=2" in page.url
        follow(page.get_by_role("link", name="Earlier page"))
        assert page.locator(".row").count() == PAGE_ENTRIES


def test_an_entry_says_who_when_where_why_and_what_ended_it(served: Served) -> None:
    rule = an_entry(served, "constraint", "silently discard a ticket")
    with served.client() as client:
        page = client.get(f"/ledger/{rule[:8]}").text
    assert 'data-of="0">We must never silently discard a ticket again.</span>' in page
    assert '<span class="kind">rule</span>' in page
    assert "a person&#39;s words" in page
    assert 'href="/message/' in page
    assert 'href="/node/' in page
    assert "2025-11-04" in page


def test_a_later_statement_that_ended_an_entry_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "ended.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [
            Message(text="From now on, always answer me in German."),
            Message(text="You no longer need to answer me in German."),
        ])  # fmt: skip
        memory.work(max_calls=0)
        (rule,) = memory.ledger(kinds=["constraint"], states=["withdrawn"])
    with serving(path) as served, served.client() as client:
        page = client.get(f"/ledger/{rule.id}").text
        assert "Taken back by" in page
        assert 'data-of="0">You no longer need to answer me in German.</span>' in page
        changed = client.post(f"/ledger/{rule.id}", data={"do": "reopen", "back": "entry"})
    assert "Reopened" in changed.text
    assert str(changed.url).partition("?")[0].endswith(f"/ledger/{rule.id}")


def test_a_change_leads_to_no_other_page(client: httpx.Client, shared: Served) -> None:
    entry = an_entry(shared, "constraint", "silently")
    for back in ("//evil.example", "https://evil.example/?a=b", "x\r\nset-cookie: a=b"):
        with httpx.Client(cookies=client.cookies, headers={"Origin": shared.url}) as plain:
            answer = plain.post(
                f"{shared.url}/ledger/{entry}", data={"do": "restore", "back": back}
            )
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ledger?did=restore")
        assert "set-cookie" not in answer.headers


def test_what_cannot_be_is_said(client: httpx.Client, shared: Served) -> None:
    entry = an_entry(shared, "constraint", "silently")
    assert client.post(f"/ledger/{entry}", data={"do": "obey"}).status_code == 400
    closed = client.post(f"/ledger/{entry}", data={"do": "close"})
    assert closed.status_code == 400
    assert "only open points and errors can be closed" in closed.text
    assert client.get("/ledger/ffffffffffff").status_code == 404
    for filters in ("kind=x", "state=x", "origin=x", "sort=x", "page=0", "since=someday"):
        response = client.get(f"/ledger?{filters}")
        assert response.status_code == 400, filters
        assert 'class="notice' in response.text
    assert client.get("/ledger?project=nowhere").status_code == 404
    assert "No errors here" in client.get("/ledger?kind=error&until=2020-01-01").text


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    Memory.open(path).close()
    with serving(path) as served, served.client() as client:
        assert "treemem discover --ingest" in client.get("/ledger").text


def test_hostile_words_are_words_and_it_fits_a_phone(long_ledger: Path, browser: Browser) -> None:
    with serving(long_ledger) as served:
        entry = an_entry(served, "constraint", "onerror")
        with opened(browser, served.address, width=390) as page:
            for path in ("/ledger?kind=constraint", f"/ledger/{entry}"):
                page.goto(f"{served.url}{path}")
                assert page.locator("main :is(img, i, s, script)").count() == 0
                shown = page.locator("main").inner_text()
                assert "{{ 7*7 }}" in shown
                assert "\u202e" not in shown
                assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_long_message_is_shown_around_what_it_says() -> None:
    message = Message(text="First. " * 900 + "We take\n  the bus. Then more." + " And so on." * 900)
    said = excerpt_of(message, "We take the bus.")
    (stretch,) = said.stretches
    assert [piece.text for piece in stretch.pieces if piece.cited_by] == ["We take\n  the bus."]
    assert sum(len(piece.text) for piece in stretch.pieces) <= MESSAGE_CHARS
    assert said.left > 10_000
    assert excerpt_of(message, "Nobody said this.").left > 10_000
