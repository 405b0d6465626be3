"""Drives a real Chromium by Playwright, for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Milliseconds that a busy machine gets for one step.
STEP_MS = 30_000
# How often a page is left that goes on to another.
TRIES = 5


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser within the block; the test is skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs a Chromium: none of {', '.join(NAMES)} is on the PATH")
    with sync_api.sync_playwright() as playwright:
        # Subtle: without a sandbox, since root, as in a container, cannot have one.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    height: int = 900,
    scheme: Literal["light", "dark"] = "light",
    script: bool = True,
) -> Iterator[Page]:
    """A page at an address, in a browser context of its own. Fails if a script of the page fails or
    the policy of the page refuses something at any time in the block."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, java_script_enabled=script
    )  # fmt: skip
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.goto(address)
    try:
        yield page
        assert not faults, faults
    finally:
        _leave(page)
        context.close()


def follow(locator: Locator) -> None:
    """Clicks what leads to another page, and waits for that page, which a click alone does not."""
    with locator.page.expect_navigation():
        locator.click()


def _leave(page: Page) -> None:
    """Waits until a page is nowhere. To close its context while it is on the way to another page
    may never end."""
    from playwright.sync_api import Error

    for _ in range(TRIES):
        with suppress(Error):  # it was interrupted by the other page
            page.goto("about:blank")
            return
