"""Puts the pages together into one application.

Tested in tests/web/test_answers.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from treemem.assistant.completions.routes import Completions
from treemem.errors import TreememError
from treemem.memory import Memory
from treemem.serving.opening import OpenMemory
from treemem.web import events
from treemem.web.access import PARAMETER, Access
from treemem.web.answers import answer_error
from treemem.web.api import answering
from treemem.web.events import Changes
from treemem.web.pages import (
    ledger,
    message,
    node,
    overview,
    rules,
    search,
    sources,
    timeline,
    topics,
    tree,
)

_STATIC = Path(__file__).parent / "static"


def make_app(
    open_memory: Callable[[], Memory],
    names: set[str],
    token: str,
    name: str = "memory",
    *,
    typed: bool = False,
) -> Page:
    """The application that shows a memory.

    open_memory: opens it, at the first request. names: the values of Host by which it is asked,
    see serving.listening. token: what lets a client in. name: what pages call the memory. typed:
    whether the user typed what clients of /v1 send as the user's.
    """
    routes: list[BaseRoute] = [
        *overview.ROUTES,
        *search.ROUTES,
        *topics.ROUTES,
        *tree.ROUTES,
        *node.ROUTES,
        *message.ROUTES,
        *timeline.ROUTES,
        *events.ROUTES,
        *ledger.ROUTES,
        *rules.ROUTES,
        *sources.ROUTES,
        *answering.ROUTES,
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    memory = OpenMemory(open_memory)
    completions = Completions(memory, typed=typed)
    routes += completions.routes()

    @asynccontextmanager
    async def lifespan(started: Starlette) -> AsyncIterator[None]:
        # Subtle: it belongs to the event loop that runs now.
        started.state.changes = Changes(partial(memory.use, Memory.marks))
        yield
        completions.close()
        memory.close()

    app = Starlette(
        routes=routes, lifespan=lifespan,
        exception_handlers={
            HTTPException: answer_error, TreememError: answer_error, Exception: answer_error,
            ClientDisconnect: answer_error,
        },
    )  # fmt: skip
    app.state.memory, app.state.name = memory, name
    return Page(app, names, token)


class Page(Access):
    """The application that shows a memory."""

    def __init__(self, app: Starlette, names: set[str], token: str) -> None:
        super().__init__(app, names, token, _cookie_of(names))
        self._state = app.state
        self.routes = app.routes

    def stop(self) -> None:
        """Ends the streams of open pages, which a server that shuts down would wait for."""
        self._state.changes.stop()


def address_of(base: str, token: str) -> str:
    """The address that a user opens once. base: such as "http://127.0.0.1:8642"."""
    return f"{base}/?{PARAMETER}={token}"


def _cookie_of(names: set[str]) -> str:
    """The name of the cookie: browsers send one to all ports of a host."""
    return "treemem-" + sorted(names)[0].rpartition(":")[2]
