"""Open pages learn what other processes store, and keep neither the file nor the server busy."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import orjson
import pytest

from tests.helpers.browser import opened
from tests.helpers.web_server import PATIENCE, Served, serving
from treemem import DatabaseLockedError, Memory, Message
from treemem.queue_api import Marks
from treemem.web.events import Changes

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHAT = "".join(
    f'{{"role": "user", "content": "The ferry leaves at {number}."}}\n' for number in range(12)
)


def ingest_elsewhere(served: Served, text: str = CHAT) -> None:
    """Stores a log by the command line, in another process."""
    log = served.path.with_suffix(".jsonl")
    log.write_text(text)
    command = [sys.executable, "-m", "treemem_cli.main", "--db", served.path, "ingest", log]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


def marks_of(lines: Iterator[str]) -> dict[str, int]:
    """The marks of the next event of a stream."""
    return next(orjson.loads(line[6:]) for line in lines if line.startswith("data: "))


# -- the poller -------------------------------------------------------------------------


class Counted:
    """Reads marks of which each is a new one, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.threads: set[int] = set()

    def __call__(self) -> Marks:
        self.calls += 1
        self.threads.add(threading.get_ident())
        if self.calls == 2:
            raise DatabaseLockedError("locked")
        return Marks(str(self.calls), self.calls, 1, 0, 0)


def test_one_poller_asks_for_all_and_stops_without_listeners(own_loop: None) -> None:
    async def run() -> None:
        read = Counted()
        changes = Changes(read, poll_seconds=0.01)

        async def listen() -> list[int]:
            found = []
            async for marks in changes.follow():
                assert marks is not None
                found.append(marks.messages)
                if len(found) == 5:
                    break
            return found

        found = await asyncio.gather(*(listen() for _ in range(50)))
        assert len({tuple(one) for one in found}) == 1, "all hear the same"
        assert read.calls < 10
        while changes.is_polling:
            await asyncio.sleep(0.01)
        calls = read.calls
        await asyncio.sleep(0.1)
        assert read.calls == calls
        again = await listen()
        assert again[0] > calls

    asyncio.run(run())


def test_a_listener_that_leaves_is_forgotten(own_loop: None) -> None:
    async def run() -> None:
        changes = Changes(Counted(), poll_seconds=0.01)
        stream = changes.follow()
        await anext(stream)
        assert changes.listeners == 1
        await stream.aclose()  # type: ignore[attr-defined]
        assert changes.listeners == 0

    asyncio.run(run())


def test_marks_change_with_what_this_memory_and_another_store(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory, Memory.open(memory.path) as other:
        seen = [memory.marks()]
        assert memory.marks() == seen[0]
        for one in (memory, other):
            one.append("chat/1", [Message(text="We ship on Friday.")])
            seen.append(memory.marks())
        assert [marks.messages for marks in seen] == [0, 1, 2]
        assert len({marks.version for marks in seen}) == 3
        assert seen[-1].waiting > 0


@pytest.mark.parametrize("path", ["/events"])
def test_the_stream_is_only_for_the_user(shared: Served, path: str) -> None:
    assert httpx.get(shared.url + path, timeout=PATIENCE).status_code == 403


# -- pages -----------------------------------------------------------------------------


def test_a_page_that_listens_learns_what_another_process_stores(served: Served) -> None:
    with served.client() as client, client.stream("GET", "/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        before = marks_of(lines)
        ingest_elsewhere(served)
        after = marks_of(lines)
        while after["messages"] < before["messages"] + 12:
            after = marks_of(lines)
    assert after["messages"] == before["messages"] + 12
    assert after["sources"] == before["sources"] + 1
    assert after["version"] != before["version"]


def test_a_page_says_what_is_new_and_shows_it_when_it_is_asked_to(
    served: Served, browser: Browser
) -> None:
    with opened(browser, served.address) as page:
        sources = page.locator("#latest-sources article")
        assert sources.count() == 1
        with page.expect_response("**/events"):
            page.reload()
        page.wait_for_timeout(500)  # until the first marks are there
        ingest_elsewhere(served)
        news = page.locator("#news")
        news.get_by_text("New: 12 messages").wait_for()
        assert sources.count() == 1, "nothing moves under the reader"
        page.locator("#counts", has_text="2").wait_for()
        news.get_by_role("link", name="show").click()
        sources.nth(1).wait_for()
        assert news.inner_text() == ""


def test_another_page_leads_to_what_is_new_by_a_link(served: Served, browser: Browser) -> None:
    with opened(browser, served.address) as page:
        page.goto(f"{served.url}/topics")
        page.wait_for_timeout(1500)
        ingest_elsewhere(served)
        link = page.get_by_role("status").get_by_role("link", name="show")
        link.wait_for()
        with page.expect_navigation():
            link.click()


def test_a_page_in_the_background_does_not_listen(served: Served, browser: Browser) -> None:
    with opened(browser, served.address) as page:
        with page.expect_event("requestfailed", lambda one: one.url.endswith("/events")):
            page.evaluate(
                "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
                "document.dispatchEvent(new Event('visibilitychange'))"
            )
        with page.expect_request("**/events"):
            page.evaluate(
                "Object.defineProperty(document, 'hidden', {value: false});"
                "document.dispatchEvent(new Event('visibilitychange'))"
            )


def test_many_pages_listen_and_the_server_ends_within_three_seconds(filled: Path) -> None:
    with ExitStack() as streams:
        with serving(filled) as served:
            client = streams.enter_context(served.client())
            cookies = dict(client.cookies)
            lines = []
            for _ in range(40):
                own = streams.enter_context(httpx.Client(cookies=cookies, timeout=PATIENCE))
                stream = streams.enter_context(own.stream("GET", f"{served.url}/events"))
                lines.append(stream.iter_lines())
            assert len({marks_of(one)["messages"] for one in lines}) == 1
            assert client.get("/").status_code == 200
            began = time.monotonic()
        assert time.monotonic() - began < 3
        for one in lines:
            assert list(one)[-1:] != ["data"]  # ends, and does not fail
