"""An address of every page that a server of a memory has, taken from its routes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from starlette.routing import Mount, Route

from treemem import Memory, Scope
from treemem.web.answers import in_address
from treemem.web.app import make_app

# What a page loads by itself, and streams without end.
PARTS = ("/search/answer", "/tree/window", "/tree/about")
ENDLESS = ("/events",)


def routes() -> list[tuple[str, str]]:
    """The method and the path of every route of the page, as in its application."""
    app = make_app(lambda: Memory.open(":memory:"), {"127.0.0.1:1"}, "x" * 20)
    found: list[tuple[str, str]] = []
    for route in app.routes:
        if isinstance(route, Route):
            found += [(method, route.path) for method in sorted(route.methods or ())
                      if method != "HEAD"]  # fmt: skip
        else:
            assert isinstance(route, Mount), f"{route!r} has no method and path"
    return found


def every_page(path: Path, query: str = "the") -> dict[str, list[str]]:
    """Addresses of the pages of a memory file, by the path of their route: those that a user opens,
    each with what the memory has to show there."""
    with Memory.open(path) as memory:
        tree = memory.tree(Scope.everything(), cite=False)
        nodes = sorted(tree.nodes(), key=lambda node: node.level)
        source = memory.sources(limit=1)[0].source.id
        messages = memory.messages(source)
        long = max(messages, key=lambda message: len(message.text))
        entries = memory.ledger(limit=1)
        topics = memory.topics.list(limit=1)
        days = memory.days()
    filled = {
        "/": ["/"],
        "/search": ["/search", f"/search?q={quote(query)}"],
        "/tree": ["/tree", f"/tree?scope=source&id={quote(source, safe='')}"],
        "/node/{node_id}": [f"/node/{nodes[0].id}", f"/node/{nodes[-1].id}"],
        "/message/{message_id}": [f"/message/{messages[0].id}", f"/message/{long.id}"],
        "/source/{source_id:path}": [f"/source/{in_address(source)}"],
        "/sources": ["/sources"],
        "/ledger": ["/ledger", "/ledger?kind=open"],
        "/ledger/{entry}": [f"/ledger/{entry.id}" for entry in entries],
        "/rules": ["/rules"],
        "/topics": ["/topics"],
        "/topic/{id}": [f"/topic/{topic.id}" for topic in topics],
        "/timeline": ["/timeline"],
        "/api": ["/api"],
        "/timeline/{day}": [f"/timeline/{day.day}" for day in days[-1:]],
    }
    assert filled.keys() == pages(), "each page has its addresses here"
    return filled


def pages() -> set[str]:
    """The paths of the routes that are pages."""
    shown = {path for method, path in routes() if method == "GET"} - {*PARTS, *ENDLESS}
    return {path for path in shown if not path.startswith(("/api/", "/v1/"))}
