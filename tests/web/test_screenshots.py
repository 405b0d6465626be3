"""Pictures of the pages for the documentation: `make screenshots` makes those that are in it.

They show the session of the demo, and nothing of anybody's memory.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.browser import opened
from tests.helpers.every_page import every_page
from tests.helpers.web_server import Served
from treemem.web.answers import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).parents[2] / "docs"
IMAGES = DOCS / "images"
GUIDE = (DOCS / "how-to" / "page.md").read_text()
QUERY = "what did we decide about manual tickets?"
# The route that stands for a page, by the name of its picture. A single session has no map of
# topics, so its topic is shown.
ROUTES = {
    "overview": "/", "search": "/search", "tree": "/tree", "node": "/node/{node_id}",
    "ledger": "/ledger", "topics": "/topic/{id}", "timeline": "/timeline/{day}",
    "sources": "/source/{source_id:path}",
}  # fmt: skip
WIDTH, HEIGHT, QUALITY = 1000, 640, 34
BYTES_MAX = 60_000


@pytest.mark.parametrize("name", ROUTES)
def test_a_picture_is_made_of_each_page(
    shared: Served, filled: Path, browser: Browser, tmp_path: Path, name: str
) -> None:
    address = every_page(filled, QUERY)[ROUTES[name]][-1 if name in ("search", "node") else 0]
    with opened(browser, shared.address, width=WIDTH, height=HEIGHT) as page:
        page.goto(shared.url + address)
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(300)
        devtools = page.context.new_cdp_session(page)
        shot = devtools.send(
            "Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "fromSurface": True}
        )
    made = base64.b64decode(shot["data"])
    assert made[8:12] == b"WEBP"
    assert 5_000 < len(made) <= BYTES_MAX
    folder = Path(os.environ.get("TREEMEM_SCREENSHOTS", tmp_path))
    (folder / f"page-{name}.webp").write_bytes(made)


def test_each_page_has_its_picture_in_the_documentation() -> None:
    assert {name.lower() for _, name, _ in PAGES} <= set(ROUTES)
    shown = re.findall(r"^!\[([^]]+)\]\(\.\./images/page-(\w+)\.webp\)$", GUIDE, re.MULTILINE)
    assert sorted(name for _, name in shown) == sorted(ROUTES)
    assert all(len(words) > 20 for words, _ in shown), "each says what is to be seen"
    pictures = list(IMAGES.glob("*.webp"))
    assert {path.name for path in pictures} == {f"page-{name}.webp" for name in ROUTES}
    for path in pictures:
        assert path.stat().st_size <= BYTES_MAX
        assert path.read_bytes()[8:12] == b"WEBP"
