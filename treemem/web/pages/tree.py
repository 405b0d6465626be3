"""The tree as an icicle: its top is a node, and each row has the children of the one above.

A node is as wide as the tokens below it. Only what is wide enough to be seen is read and sent; a
zoom asks for the next window.

Tested in tests/web/test_tree_page.py.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.digest import scopes
from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.types import Scope
from treemem.web import icicle
from treemem.web.answers import ask, page
from treemem.web.reading import nodes, read
from treemem.web.reading.windows import Window, window

# Statements that are told of a block.
ABOUT_MAX = 5


def show_tree(request: Request) -> Response:
    """The page of a tree."""
    return page(request, "tree.html", **_values(request))


def show_window(request: Request) -> Response:
    """The part of the page that a zoom replaces."""
    return page(request, "tree_window.html", **_values(request))


def show_about(request: Request) -> Response:
    """What a block is about, for who points at it."""
    node_id = request.query_params.get("node", "")

    def question(database: Database, private: Private) -> nodes.About:
        return nodes.about(database, private, node_id)

    about = ask(request, lambda memory: read(memory, question))
    return page(request, "tree_about.html", about=about, most=ABOUT_MAX)


def _values(request: Request) -> dict[str, Any]:
    given = request.query_params
    scope = scope_of(given.get("scope", ""), given.get("id", ""))
    part = (_number(given["from"]), _number(given["to"])) if "from" in given else None

    def values(memory: Memory) -> dict[str, Any]:
        def question(database: Database, private: Private) -> dict[str, Any]:
            found = scopes.resolved(database, scope)
            shown = window(database, found, private, given.get("node") or None, part)
            return {"window": shown, "name": nodes.name_of(database, private, found)}

        return read(memory, question) | {"is_empty": memory.is_empty}

    found = ask(request, values)
    shown: Window = found["window"]
    base = _base(shown.scope)
    name = found["name"] if len(shown.path) == 1 else ""
    return found | {
        "called": icicle.called, "kind_words": icicle.KIND_WORDS, "row_height": icicle.ROW_HEIGHT,
        "zoom": lambda block: icicle.zoom_of(block, base),
        "drawn": list(icicle.drawn(shown.blocks, base, name, given.get("at"))),
        "ticks": icicle.ticks(shown.blocks),
        "rows": 1 + max((block.row for block in shown.blocks), default=0),
    }  # fmt: skip


def scope_of(kind: str, key: str) -> Scope:
    """The scope that an address names. Raises UsageError."""
    if kind in ("", "everything"):
        return Scope.everything()
    if kind == "source":
        return Scope.source(key)
    if kind == "topic":
        return Scope.topic(key)
    raise UsageError(f"A tree is of everything, a source or a topic, not of {kind!r}.")


def _base(scope: Scope) -> str:
    """The address of the whole tree of a scope, to which parameters can be added."""
    named = {} if scope.kind == "everything" else {"scope": scope.kind, "id": scope.key or ""}
    return "/tree?" + urlencode(named)


def _number(text: str | None) -> int:
    if text is None or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError("A part of a node is given as numbers: from and to.")
    return int(text)


ROUTES = [
    Route("/tree", show_tree),
    Route("/tree/window", show_window),
    Route("/tree/about", show_about),
]
