"""The first page shows what is open and which rules hold, and drops and pins these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from tests.helpers.browser import opened
from tests.helpers.web_server import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RULE = "We must never silently discard a ticket again."


def test_it_shows_rules_open_points_and_sources(client: httpx.Client) -> None:
    page = client.get("/").text
    assert RULE in page
    assert "Open points" in page
    assert "TODO: apply the 20 % cap" in page
    assert "What came in lately" in page


def test_a_rule_is_dropped_and_another_pinned_in_the_browser(
    served: Served, browser: Browser
) -> None:
    with opened(browser, served.address) as page:
        article = page.locator("article", has_text=RULE)
        article.get_by_role("button", name="Drop").click()
        page.locator("article", has_text=RULE).wait_for(state="detached")
        page.get_by_role("button", name="Hold everywhere").click()
        page.get_by_text("everywhere", exact=True).wait_for()
    with served.memory() as memory:
        states = {rule.text: rule.state for rule in memory.rules()}
    assert states.pop(RULE) == "dropped"
    assert set(states.values()) == {"pinned"}


def test_without_script_the_page_does_the_same(served: Served, browser: Browser) -> None:
    with opened(browser, served.address, script=False) as page:
        page.locator("article", has_text=RULE).get_by_role("button", name="Drop").click()
        page.locator("article", has_text=RULE).wait_for(state="detached")


def test_an_action_of_no_meaning_is_refused(client: httpx.Client) -> None:
    response = client.post("/rules", data={"rule": "0", "do": "obey"})
    assert response.status_code == 400
    assert "not &#39;obey&#39;" in response.text
