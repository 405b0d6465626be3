"""A message is shown whole, part by part, with where it was said and what is beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SESSION = Path(__file__).parents[2] / "treemem" / "demo" / "session.jsonl"
BYTES_MAX = 200_000


@pytest.fixture(scope="module")
def ids(filled: Path) -> list[str]:
    """The messages of the demo, in order."""
    with Memory.open(filled) as memory:
        source = memory.source("latest").source.id
        return [message.id or "" for message in memory.messages(source)]


def test_the_neighbours_of_each_message_lead_through_the_source(
    client: httpx.Client, ids: list[str]
) -> None:
    for before, one, after in zip(ids[:5], ids[1:6], ids[2:7], strict=True):
        page = client.get(f"/message/{one}").text
        assert f'href="/message/{before}"' in page
        assert f'href="/message/{after}"' in page
        assert 'href="/node/' in page


def test_its_file_and_its_resume_command_are_told_and_its_line_on_request(
    client: httpx.Client, ids: list[str]
) -> None:
    page = client.get(f"/message/{ids[0]}").text
    assert str(SESSION) in page
    assert "claude --resume" in page
    assert "Find its line" in page
    assert f"{SESSION}:" in client.get(f"/message/{ids[0]}", params={"line": "1"}).text


def test_a_message_of_a_megabyte_is_sent_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite3"
    words = "".join(f"word {number} " for number in range(90_000))
    with Memory.open(path) as memory:
        (long,) = memory.append("log", [Message("user", words)])
        memory.work(max_calls=0)
    with serving(path) as served, served.client() as client:
        first = client.get(f"/message/{long}")
        assert len(first.content) < BYTES_MAX
        assert "Part 1 of" in first.text
        assert "word 89999" not in first.text
        last = client.get(f"/message/{long}", params={"from": "999999999"}).text
        assert "word 89999" in last
        assert client.get(f"/message/{long}", params={"from": "-1"}).status_code == 400


def test_with_keys_alone_the_next_message_and_the_leaf_are_reached(
    shared: Served, ids: list[str], browser: Browser
) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/message/{ids[0]}")
        page.keyboard.press("n")
        page.wait_for_url(f"**/message/{ids[1]}")
        page.keyboard.press("p")
        page.wait_for_url(f"**/message/{ids[0]}")
        page.keyboard.press("u")
        page.wait_for_url("**/node/*")


@pytest.mark.parametrize("width", [1280, 390])
def test_without_script_it_fits_any_screen(
    shared: Served, ids: list[str], browser: Browser, width: int
) -> None:
    with opened(browser, shared.address, script=False, width=width) as page:
        page.goto(f"{shared.url}/message/{ids[0]}")
        page.get_by_role("link", name="Message after").click()
        page.wait_for_url(f"**/message/{ids[1]}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_message_that_does_not_exist_is_said(client: httpx.Client) -> None:
    assert client.get("/message/ffffffff").status_code == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_message_is_accessible(
    shared: Served, ids: list[str], browser: Browser, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    with opened(browser, shared.address, scheme=scheme) as page:  # type: ignore[arg-type]
        page.goto(f"{shared.url}/message/{ids[0]}")
        found = axe.Axe().run(page)
        assert not found.response["violations"], found.generate_report()
