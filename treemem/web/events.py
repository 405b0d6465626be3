"""Tells open pages that the memory has changed, whichever process changed it.

One poller asks the file for all pages, and only while a page listens. A page gets the latest marks
at once and then each time they change; what it has missed meanwhile is in the next ones, so that
nothing piles up for a slow page. Tested in tests/web/test_events.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from treemem.errors import TreememError
from treemem.queue_api import Marks

POLL_SECONDS = 1.0
# Something is sent this often, so that a connection that is gone is noticed.
QUIET_SECONDS = 15.0
# The browser waits so long before it connects again.
_RETRY_MS = 3_000


class Changes:
    """Follows the marks of a memory for any number of listeners.

    read: reads the marks; a TreememError of it only delays the next ones.
    """

    def __init__(self, read: Callable[[], Marks], poll_seconds: float = POLL_SECONDS) -> None:
        self._read = read
        self._poll_seconds = poll_seconds
        self._latest: Marks | None = None
        self._news = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self._is_stopped = False
        self.listeners = 0

    @property
    def is_polling(self) -> bool:
        """Whether the file is being asked."""
        return self._poller is not None and not self._poller.done()

    def stop(self) -> None:
        """Ends all streams, so that a server can shut down."""
        self._is_stopped = True
        self._tell()

    async def follow(self) -> AsyncIterator[Marks | None]:
        """Yields the marks now and after each change, and None when all was quiet for long."""
        self.listeners += 1
        try:
            seen = None
            while not self._is_stopped:
                if not self.is_polling:
                    self._latest = None  # what was read for earlier listeners is old
                    self._poller = asyncio.create_task(self._poll())
                if self._latest not in (None, seen):
                    seen = self._latest
                    yield seen
                    continue
                try:
                    await asyncio.wait_for(self._news.wait(), QUIET_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    async def _poll(self) -> None:
        while self.listeners and not self._is_stopped:
            marks = self._latest
            with suppress(TreememError):
                marks = await run_in_threadpool(self._read)
            if marks != self._latest:
                self._latest = marks
                self._tell()
            await asyncio.sleep(self._poll_seconds)

    def _tell(self) -> None:
        """Wakes all listeners, once."""
        news, self._news = self._news, asyncio.Event()
        news.set()


async def stream_events(request: Request) -> Response:
    """The stream of changes, as Server-Sent Events."""
    return StreamingResponse(
        _lines(request.app.state.changes), media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )  # fmt: skip


async def _lines(changes: Changes) -> AsyncIterator[bytes]:
    yield b"retry: %d\n\n" % _RETRY_MS
    async for marks in changes.follow():
        if marks is None:
            yield b": quiet\n\n"
        else:
            yield b"event: changed\ndata: %s\n\n" % orjson.dumps(asdict(marks))


ROUTES = [Route("/events", stream_events)]
