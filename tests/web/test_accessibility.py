"""Every page can be used by keyboard, on a phone, by a screen reader, and in light and dark."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.helpers.browser import opened
from tests.helpers.every_page import every_page
from tests.helpers.web_server import Served
from treemem.web.answers import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1280, 390
# An element that has the focus: what it is, and whether that is seen.
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const circle = one.querySelector("circle, rect");
  const shows = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return {
    tag: one.tagName, label: (one.getAttribute("aria-label") ?? one.textContent).trim(),
    isSeen: shows(style)
      || (circle !== null && parseFloat(getComputedStyle(circle).strokeWidth) > 2),
  };
}"""


@pytest.fixture(scope="module")
def addresses(filled: Path) -> list[str]:
    """The addresses of all pages."""
    return list(chain.from_iterable(every_page(filled).values()))


def violations(page: Page) -> list[str]:
    """What axe finds wrong with a page, each with the first element that it is wrong with."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    found: list[dict[str, Any]] = axe.Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]} ({one['nodes'][0]['failureSummary']})"
            for one in found]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_axe_finds_nothing_wrong_with_any_page(
    shared: Served, browser: Browser, addresses: list[str], width: int,
    scheme: Literal["light", "dark"],
) -> None:  # fmt: skip
    wrong = {}
    with opened(browser, shared.address, width=width, scheme=scheme) as page:
        for address in addresses:
            page.goto(shared.url + address)
            wrong[address] = violations(page)
    assert {address: found for address, found in wrong.items() if found} == {}


def test_axe_is_asked_indeed(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.evaluate("document.querySelector('h1').append(document.createElement('button'))")
        assert [one.split(":")[0] for one in violations(page)] == ["button-name"]


def test_no_page_is_wider_than_a_phone(
    shared: Served, browser: Browser, addresses: list[str]
) -> None:
    with opened(browser, shared.address, width=PHONE) as page:
        for address in addresses:
            page.goto(shared.url + address)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE, f"{address} is {width} wide"


def test_every_page_is_reached_by_keys_alone(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        for path, name, key in PAGES[1:] + PAGES[:1]:
            page.keyboard.press("Escape")  # the page of the search begins in its field
            page.keyboard.press("g")
            page.keyboard.press(key)
            page.wait_for_url(f"{shared.url}{path}")
            assert page.locator(".top nav [aria-current]").inner_text() == name
            assert page.locator("h1").count() == 1


def test_the_focus_is_seen_on_every_stop_of_every_page(
    shared: Served, browser: Browser, addresses: list[str]
) -> None:
    with opened(browser, shared.address) as page:
        for address in addresses:
            page.goto(shared.url + address)
            page.keyboard.press("Tab")
            if not address.startswith("/search"):  # which begins in its field
                assert page.evaluate(FOCUSED)["label"] == "Skip to the content", address
            for _ in range(25):
                page.keyboard.press("Tab")
                stop = page.evaluate(FOCUSED)
                if stop["tag"] == "BODY":
                    break
                assert stop["isSeen"], f"{address}: {stop}"
                assert stop["label"] or stop["tag"] in ("INPUT", "SELECT", "TEXTAREA"), stop


def test_the_first_link_leads_to_the_content(shared: Served, browser: Browser) -> None:
    with opened(browser, shared.address) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("path", ["/", "/topics", "/timeline", "/sources", "/ledger"])
def test_an_item_of_a_list_is_opened_by_keys(shared: Served, browser: Browser, path: str) -> None:
    with opened(browser, shared.address) as page:
        page.goto(shared.url + path)
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        link = page.evaluate("document.activeElement.href")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == link


def test_the_keys_are_shown_and_closed_by_keys(
    shared: Served, browser: Browser, addresses: list[str]
) -> None:
    with opened(browser, shared.address) as page:
        for address in addresses:
            page.goto(shared.url + address)
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press("?")
            dialog = page.get_by_role("dialog", name="Keys")
            dialog.wait_for()
            page.keyboard.press("Escape")
            dialog.wait_for(state="hidden")
