"""The months and days as bars and in words, and what was said on a day."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.web_server import Served, serving
from treemem import Memory, Message
from treemem.web.pages.timeline import MONTHS_MAX, chart

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_bars_stand_on_each_other_and_the_largest_is_as_high_as_the_chart() -> None:
    drawn = chart({"a": (30, 10), "b": (1, 0)}, ["a", "b", "c"])
    assert [bar.total for bar in drawn.bars] == [40, 1, 0]
    assert drawn.bars[0].blocks == ((0, 25.0, 75.0), (1, 0.0, 25.0))
    assert drawn.bars[1].blocks == ((0, 97.5, 2.5),)
    assert drawn.bars[2].blocks == ()
    assert (drawn.width, drawn.largest) == (30, 40)


def test_months_days_and_a_day_are_reached_by_links(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address, script=False) as page:
        page.goto(f"{shared.url}/timeline")
        assert page.get_by_role("heading", name="Days of 2025-11").is_visible()
        page.get_by_role("link", name="2025-11-05").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Wednesday, 2025-11-05"
        assert page.get_by_text("milkround", exact=False).first.is_visible()
        page.get_by_role("link", name="2025-11-04").click()
        assert "2025-11-04" in page.get_by_role("heading", level=1).inner_text()
        assert page.locator("main a[href^='/node/']").count() > 0
        page.get_by_role("link", name="Timeline").last.click()
        page.wait_for_url("**/timeline?month=2025-11")


def test_a_bar_opens_its_day(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/timeline")
        page.locator('.bars a[href="/timeline/2025-11-05"] .place').click()
        page.wait_for_url("**/timeline/2025-11-05")


def test_arrow_keys_go_from_day_to_day(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.goto(f"{shared.url}/timeline/2025-11-05")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/timeline/2025-11-06")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**/timeline/2025-11-05")


def test_a_day_shows_what_was_decided_and_opened_then(client: httpx.Client, filled: Path) -> None:
    with Memory.open(filled) as memory:
        rule = next(one for one in memory.ledger(kinds=["constraint"]))
    day = str(rule.first_at)[:10]
    assert rule.id in client.get(f"/timeline/{day}").text
    others = {"2025-11-04", "2025-11-05", "2025-11-06"} - {day}
    assert not any(f"/ledger/{rule.id}" in client.get(f"/timeline/{one}").text for one in others)


@pytest.mark.parametrize("day", ["2025-13-01", "20251105", "x", "2025-11-5", "2025-W45-3"])
def test_what_is_no_day_is_said(client: httpx.Client, day: str) -> None:
    response = client.get(f"/timeline/{day}")
    assert response.status_code == 404
    assert "is not a day" in response.text


def test_a_day_on_which_nothing_was_said_is_a_page(client: httpx.Client) -> None:
    page = client.get("/timeline/2020-02-29").text
    assert "Nothing that is stored was said on this day." in page
    assert 'href="/timeline/2025-11-04"' in page, "the next day with messages"
    for day in ("0001-01-01", "9999-12-31"):
        assert client.get(f"/timeline/{day}").status_code == 200


def test_any_month_is_taken(client: httpx.Client) -> None:
    for month in ("2020-01", "x", "", "2025-11"):
        page = client.get("/timeline", params={"month": month}).text
        assert "Days of 2025-11" in page


def test_a_decade_and_a_wrong_time_make_a_light_page(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite3"
    with Memory.open(path) as memory:
        said = [
            Message(text=f"Day {number}.", sent_at=f"{2010 + number // 300}-"
                    f"{number % 300 // 25 + 1:02}-{number % 25 + 1:02}T10:00:00")
            for number in range(3000)
        ]  # fmt: skip
        memory.append("diary/1", said)
        memory.append(
            "wrong/1",
            [
                Message(text="At the beginning.", sent_at="1970-01-01T00:00:00"),
                Message(text="Far ahead.", sent_at="9998-01-01T00:00:00"),
            ],
        )
        memory.work(max_calls=0)
    with serving(path) as served, served.client() as client:
        page = client.get("/timeline").text
        assert len(page) < 150_000
        assert page.count('class="place"') <= MONTHS_MAX + 31
        early = client.get("/timeline", params={"month": "2010-01"}).text
        assert "Days of 2010-01" in early
        assert re.search(r'rel="next">2010-02', early)
        assert "1970-01" in early


def test_tools_have_colours_and_words(tmp_path: Path, filled: Path, browser: Browser) -> None:
    path = tmp_path / "two.sqlite3"
    path.write_bytes(filled.read_bytes())
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="We sail.", sent_at="2025-11-05T09:00:00")])
    with serving(path) as served, opened(browser, served.address) as page:
        page.goto(f"{served.url}/timeline")
        legend = page.get_by_role("list", name="Tools, by colour")
        assert "claude-code" in legend.inner_text()
        colours = {
            page.locator(f".key .t{tool}").evaluate("one => getComputedStyle(one).fill")
            for tool in (0, 1)
        }
        assert len(colours) == 2
        assert "api 1" in page.get_by_role("row", name="2025-11-05").inner_text()


def test_without_times_the_page_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="No time.")])
    with serving(path) as served, served.client() as client:
        assert "No message that is stored has a time." in client.get("/timeline").text
