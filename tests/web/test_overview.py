"""The first page shows what is open and which rules hold, and drops and pins these."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from tests.helpers.browser import opened
from tests.helpers.web_server import Served
from treemem import Memory
from treemem.store.database import Database
from treemem.times import now_ms

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


def test_a_rule_leads_to_the_message_that_says_it(client: httpx.Client, filled: Path) -> None:
    with Memory.open(filled) as memory:
        rule = next(rule for rule in memory.rules() if rule.text == RULE)
    assert f'href="/message/{rule.message_ids[0]}"' in client.get("/").text


def test_days_lead_to_the_timeline(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.locator('.activity a[href="/timeline/2025-11-05"] .place').click()
        page.wait_for_url("**/timeline/2025-11-05")


def test_the_bars_are_of_a_month_at_least(client: httpx.Client) -> None:
    assert client.get("/").text.count('class="place"') == 30


def test_a_failed_job_is_shown_and_retried(served: Served, browser: Browser) -> None:
    with closing(Database(served.path)) as database:
        for state in ("dead", "todo"):
            database.execute(
                "INSERT INTO job (kind, dedupe_key, payload, priority, state, attempts, "
                "max_attempts, not_before_ms, error, created_at_ms) "
                "VALUES ('leaf', ?, '{}', 1, ?, 3, 3, 0, 'The <b>server</b> is gone.', 0)",
                (f"key {state}", state),
            )
    with opened(browser, served.address) as page:
        row = page.get_by_role("row", name="leaf")
        assert row.inner_text().split() == ["leaf", "1", "0", "1"]
        assert page.get_by_text("The <b>server</b> is gone.").is_visible()
        page.get_by_role("button", name="Retry").click()
        page.wait_for_url("**/#queue")
        assert page.get_by_role("row", name="leaf").inner_text().split() == ["leaf", "2", "0", "0"]
    with served.memory() as memory:
        assert len(memory.jobs(["todo"])) == 2


def test_jobs_are_retried_by_number_alone(client: httpx.Client) -> None:
    for data in ({"do": "cancel", "job": "1"}, {"do": "retry", "job": "all"}, {}):
        assert client.post("/jobs", data=data).status_code == 400
    assert client.post("/jobs", data={"do": "retry", "job": "999"}).status_code == 404


def test_model_calls_are_summed(served: Served) -> None:
    with closing(Database(served.path)) as database:
        for _ in range(3):
            database.execute(
                "INSERT INTO usage (at_ms, job_seq, producer, level, tokens_in, tokens_out, "
                "seconds) VALUES (?, 1, 'model/1', 0, 1000, 50, 40.0)",
                (now_ms(),),
            )
    with served.client() as client:
        page = client.get("/").text
    assert "3 calls, 3,000 tokens read and 150 written, in 2 minutes." in page


def test_an_action_of_no_meaning_is_refused(client: httpx.Client) -> None:
    response = client.post("/rules", data={"rule": "0", "do": "obey"})
    assert response.status_code == 400
    assert "not &#39;obey&#39;" in response.text
