"""Sources are listed and shown in pages of a bounded size, with sub-agents below their sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import follow, opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message
from treemem.web.pages.sources import PAGE_MESSAGES, PAGE_SOURCES

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SESSION = "claude-code/69cb1603-6279-4281-ab6f-b4eac46a4057"
HOSTILE = 'x</h1><img src=x onerror="alert(1)"> \u202e\x1b[31m {{ 7*7 }}'
ODD = "chat/<b>?a=1&b=#2 %41"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A memory with more sources than a page, a hostile one, and a long line."""
    path = tmp_path / "many.sqlite3"
    with Memory.open(path) as memory:
        for number in range(PAGE_SOURCES + 2):
            said = Message(
                text=f"The gate {number} is blue.", sent_at=f"2026-01-05T09:{number:02}Z"
            )
            memory.append(f"chat/{number:03}", [said], project="/work/gates")
        lines = [Message(text=f"{HOSTILE} {n}", author="<i>\u202eEve") for n in range(90)]
        memory.append(ODD, [*lines, Message(text="so " * 350_000)], title=HOSTILE)
        memory.work(max_calls=0)
    return path


@pytest.fixture
def with_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory with the logs of a session that has started sub-agents."""
    logs = tmp_path / "projects" / "-work-shop"
    logs.mkdir(parents=True)
    session = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
    line = (
        '{"type":"user","uuid":"%s","sessionId":"' + session + '","isSidechain":%s,%s'
        '"timestamp":"2026-01-05T09:00:%02d.000Z","cwd":"/work/shop",'
        '"message":{"role":"user","content":"%s"}}\n'
    )
    main = [line % (f"m{n}", "false", "", n, f"Please mend the till {n}.") for n in range(4)]
    (logs / f"{session}.jsonl").write_text("".join(main))
    folder = logs / session / "subagents"
    folder.mkdir(parents=True)
    for agent in range(7):
        own = [
            line % (f"a{agent}{n}", "true", f'"agentId":"a{agent}",', n, f"Look at drawer {agent}.")
            for n in range(3)
        ]
        (folder / f"agent-a{agent}.jsonl").write_text("".join(own))
    path = tmp_path / "agents.sqlite3"
    with Memory.open(path) as memory:
        memory.ingest(tmp_path / "projects")
        assert max(view.agents for view in memory.sources()) == 7
    return path


def test_the_list_has_the_latest_first_and_is_read_in_pages(many: Path, browser: Browser) -> None:
    with serving(many) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/sources?tool=api&project=gates")
        page.get_by_text("32 sources, the most recent first").wait_for()
        rows = page.locator("article.source")
        assert rows.count() == PAGE_SOURCES
        first = rows.first.text_content()
        page.get_by_role("link", name="Next page").click()
        page.wait_for_url("**page=2")
        assert rows.count() == 2
        assert rows.first.text_content() != first
        follow(page.get_by_role("link", name="Earlier page"))
        assert rows.first.text_content() == first


def test_it_is_filtered(many: Path) -> None:
    with serving(many) as served, served.client() as client:
        assert "32 sources" in client.get("/sources?since=2026-01-01").text
        assert "No source fits" in client.get("/sources?until=2020-01-01").text
        assert "1 source," in client.get("/sources?source=chat/007").text
        assert client.get("/sources?project=nowhere").status_code == 404
        assert client.get("/sources?page=0").status_code == 400
        assert "This list has fewer pages" in client.get("/sources?page=99").text


def test_sub_agents_stand_below_their_session(with_agents: Path, browser: Browser) -> None:
    with serving(with_agents) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/sources")
        page.get_by_text("1 source and 7 sub-agents, the most recent first").wait_for()
        assert page.locator("article.source:visible").count() == 1
        page.keyboard.press("j")
        page.keyboard.press("j")  # what is folded is not reached
        assert page.evaluate("document.activeElement.closest('details.below')") is None
        page.locator("summary", has_text="7 sub-agents").click()
        assert page.locator("article.source:visible").count() == 6
        page.get_by_role("link", name="All 7").click()
        page.get_by_text("8 sources, the most recent first").wait_for()
        page.goto(f"{served.url}/sources")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="7 sub-agents").wait_for()
        page.get_by_text("claude --resume 5c0375b4-57a5-4f26-b12d-d022ee4e51b7").wait_for()
        page.locator("section", has_text="7 sub-agents").locator("article a").first.click()
        page.get_by_role("navigation", name="Where it is").get_by_role("link").nth(1).click()
        page.get_by_role("heading", name="7 sub-agents").wait_for()


def test_a_source_says_what_it_is_about_and_where_it_is(client: httpx.Client) -> None:
    page = client.get(f"/source/{SESSION}").text
    assert "Claude Code session in milkround" in page
    assert "247 messages" in page
    assert "We must never silently discard a ticket again." in page
    assert f"/tree?scope=source&amp;id={SESSION}" in page
    assert f"/ledger?source={SESSION}" in page
    assert f"/search?source={SESSION}" in page
    assert "session.jsonl" in page
    assert f"claude --resume {SESSION.partition('/')[2]}" in page
    assert 'href="/node/' in page


def test_its_words_are_read_page_by_page(shared: Served, browser: Browser) -> None:
    with shared.memory() as memory:
        words = [message.id for message in memory.messages(SESSION)]
    read: list[str | None] = []
    with opened(browser, shared.address, script=False) as page:
        page.goto(f"{shared.url}/source/{SESSION}")
        after = page.get_by_role("navigation", name="Messages, above").get_by_text("After")
        while True:
            articles = page.locator("article.message").all()
            assert len(articles) <= PAGE_MESSAGES
            read += [(one.get_attribute("id") or "").removeprefix("m-") for one in articles]
            if not after.count():
                break
            follow(after)
        assert page.url.endswith("?from=241#words")
        page.get_by_role("navigation", name="Messages, below").get_by_text("First").click()
        page.get_by_text("1 to 40 of 247").first.wait_for()
    assert read == words


def test_hostile_words_are_words_and_it_fits_a_phone(many: Path, browser: Browser) -> None:
    with serving(many) as served, opened(browser, served.address, width=390) as page:
        page.goto(f"{served.url}/sources?page=2")
        page.get_by_role("link", name="x</h1>").click()
        page.get_by_role("heading", level=1).wait_for()
        assert page.locator("main :is(img, b, script), main i").count() == 0
        shown = page.locator("main").inner_text()
        assert ODD in shown
        assert "{{ 7*7 }}" in shown
        assert "\u202e" not in shown
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("navigation", name="Messages, above").get_by_text("Last").click()
        page.get_by_text("81 to 91 of 91").first.wait_for()
        page.get_by_role("link", name="more characters").wait_for()
        assert len(page.content()) < 200_000


def test_what_is_not_there_is_said(client: httpx.Client) -> None:
    missing = client.get("/source/claude-code/none")
    assert missing.status_code == 404
    assert "There is no source" in missing.text
    for start in ("0", "-1", "x", "9" * 30, "²"):
        assert client.get(f"/source/{SESSION}", params={"from": start}).status_code == 400
    assert "the first ones" in client.get(f"/source/{SESSION}?from=5000").text


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite3"
    Memory.open(path).close()
    with serving(path) as served, served.client() as client:
        assert "treemem discover --ingest" in client.get("/sources").text


def test_a_session_in_which_hardly_anything_was_said_stands_apart(tmp_path: Path) -> None:
    path = tmp_path / "trivial.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message("assistant", "Ready.")])
        memory.append("chat/2", [Message(text="We ship on Friday, says Ana.", author="Ana"),
                                 Message(text="Good, says Bo.", author="Bo")])  # fmt: skip
        memory.work(max_calls=0)
        assert [view.is_trivial for view in memory.sources()].count(True) == 1
    with serving(path) as served, served.client() as client:
        page = client.get("/sources").text
        assert "1 session in which hardly anything was said" in page
        assert "hardly anything was said" in client.get("/source/chat/1").text
