"""No text of a log runs, hides or breaks anything on any page, whatever it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.helpers.browser import opened
from tests.helpers.every_page import PARTS, every_page, pages, routes
from tests.helpers.web_server import PATIENCE, Served, serving
from treemem import Memory, Message

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = (
    '<script>window.owned = 1</script><img src=x onerror="window.owned = 1"><svg onload=owned=1>'
)
RULE = f"We must never {SCRIPT} \x1b[31mred\x1b[0m \u202ereversed\u2066 {{{{ 7*7 }}}} ' \" again."
TEXTS = [
    f"{RULE} We decided to sail on Friday. TODO: mend the {SCRIPT} sails.",
    "A NUL \x00 and a lone surrogate \ud800 and \u2028 and \ufeff.",
    "</title></textarea></style><script>window.owned = 1</script>",
    "א" * 300 + "\u202e" + "عربي " * 50,
    "x" * 1_000_000,
    f"Error: {SCRIPT} " + "word " * 200_000,
    "javascript:window.owned=1 [click](javascript:window.owned=1)",
]
# What would control the direction of text, or a terminal.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "<b>\u202ehostile.sqlite3"
    with Memory.open(path) as memory:
        for number in range(6):
            said = [Message("user", text, f"<i>Ana{SCRIPT}", f"2026-03-0{number + 1}T10:00:00")
                    for text in TEXTS]  # fmt: skip
            memory.append(
                f"log/{number}/../<i>?&#%00{SCRIPT}",
                [*said, Message("assistant", TEXTS[0]), Message("user", RULE, "N" * 500_000)],
                title=f"<u>{TEXTS[0]}</u>", project=f"/tmp/{SCRIPT}",
            )  # fmt: skip
        memory.work(max_calls=0)
        for topic in memory.topics.list():
            memory.topics.rename(topic.id, f"<h1>{SCRIPT}"[:80])
        memory.pin_rule(f"Never {SCRIPT}")
    return path


@pytest.fixture(scope="module")
def served_hostile(hostile: Path) -> Iterator[Served]:
    with serving(hostile) as served:
        yield served


def test_nothing_runs_and_nothing_is_wider_than_a_phone(
    hostile: Path, served_hostile: Served, browser: Browser
) -> None:
    with opened(browser, served_hostile.address, width=390) as page:
        for address in chain.from_iterable(every_page(hostile, SCRIPT).values()):
            page.goto(served_hostile.url + address)
            assert page.evaluate("window.owned") is None, address
            assert page.locator("main :is(script, img, iframe, object, i, u)").count() == 0, address
            own = "[onload], [onerror], [onclick], [onmouseover], [style], [href^='javascript']"
            assert page.locator(own).count() == 0, address
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, f"{address} is {width} wide"


def test_every_page_is_light_and_has_no_controls(hostile: Path, served_hostile: Served) -> None:
    found = every_page(hostile, SCRIPT)
    parts = [f"{path}?{rest}" for path, rest in zip(PARTS, ("q=sail", "", ""), strict=True)]
    with served_hostile.client() as client:
        for address in [*chain.from_iterable(found.values()), *parts]:
            text = client.get(address).text
            assert len(text) < 400_000, f"{address} has {len(text)} characters"
            assert not CONTROLS.search(text), address
            assert "<script>window" not in text, address
            assert "<svg onload" not in text, address


# -- requests that the user did not make -----------------------------------------------

FORGED: list[tuple[str, dict[str, str], bool]] = [
    ("without the cookie", {}, False),
    ("with a wrong token", {"authorization": "Bearer wrong"}, False),
    ("under another name", {"host": "evil.example"}, True),
    ("from another origin", {"origin": "http://evil.example"}, True),
    ("from no origin", {"origin": "null"}, True),
    ("from another port", {"origin": "http://127.0.0.1:1"}, True),
    ("from another site", {"sec-fetch-site": "cross-site"}, True),
    ("from another port of this host", {"sec-fetch-site": "same-site"}, True),
]
ROUTES = [*routes(), ("GET", "/static/style.css"), ("POST", "/nowhere")]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda value: value)
def test_every_route_refuses_forged_requests(shared: Served, method: str, path: str) -> None:
    with shared.client() as client:
        cookie = f"treemem-{shared.port}={client.cookies[f'treemem-{shared.port}']}"
    address = re.sub(r"\{[^}]*\}", "0", path)
    forged = list(FORGED)
    if method != "GET":
        forged.append(("that says nothing of its page", {}, True))
    for name, headers, has_cookie in forged:
        given = {**headers, **({"cookie": cookie} if has_cookie else {})}
        response = httpx.request(
            method, shared.url + address, headers=given, timeout=PATIENCE, verify=False
        )
        # Clients of OpenAI read the reason from the status.
        refusals = {401, 403, 421} if path.startswith("/v1/") else {403}
        assert response.status_code in refusals, f"a request {name}"


def test_what_changes_something_is_never_a_link() -> None:
    """A request that only reads is let in from a bookmark, so none of them may change anything."""
    changing = {path for method, path in routes() if method not in ("GET", "HEAD")}
    assert {"/rules", "/jobs", "/topic/{id}", "/ledger/{entry}"} <= changing
    assert pages() >= {"/", "/search", "/tree", "/topics", "/timeline", "/sources", "/ledger"}
