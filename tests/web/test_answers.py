"""What a page prints of a log is never markup, and an error says what was wrong."""

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

HOSTILE = (
    'We must never <script>document.title="owned"</script> <img src=x onerror="alert(1)"> '
    "\x1b[31mred\u202e reversed {{ 7*7 }} ' onmouseover='alert(2) again."
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "<b>hostile.sqlite3"
    with Memory.open(path) as memory:
        for number in range(3):
            memory.append(
                f"log/{number}<i>", [Message("user", HOSTILE), Message("user", HOSTILE * 30)],
                title=f"<u>{HOSTILE}</u>", project="/tmp/<s>{{ 7*7 }}",
            )  # fmt: skip
        memory.work(max_calls=0)
    return path


def test_nothing_of_a_log_runs_or_changes_the_page(hostile: Path, browser: Browser) -> None:
    with serving(hostile) as served, opened(browser, served.address) as page:
        assert page.title() == "Overview – treemem"
        assert page.locator("main :is(script, img, b, i, u, s), main [onmouseover]").count() == 0
        shown = page.locator("main").inner_text()
        assert '<script>document.title="owned"</script>' in shown
        assert "{{ 7*7 }}" in shown
        assert "\u202e" not in shown
        assert "\x1b" not in shown


def test_an_unknown_address_is_answered_by_a_page(client: httpx.Client) -> None:
    response = client.get("/nowhere")
    assert response.status_code == 404
    assert "<h1>" in response.text


def test_an_error_of_the_memory_is_a_sentence(client: httpx.Client) -> None:
    response = client.post("/rules", data={"rule": "ffffffff", "do": "drop"})
    assert response.status_code == 404
    assert "ffffffff" in response.text
    assert "Traceback" not in response.text


def test_a_memory_that_is_gone_is_said(served: Served) -> None:
    served.path.rename(served.path.with_suffix(".moved"))
    with served.client() as client:
        response = client.get("/")
    assert response.status_code == 500
    assert "does not exist" in response.text or "was moved" in response.text
