"""The tree as an icicle: its top is a node, and each row has the children of the one above.

A node is as wide as the tokens below it. Only what is wide enough to be seen is read and sent; a
zoom asks for the next window.

Tested in tests/web/test_tree_page.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.digest import scopes
from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.reports import count_of
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.types import Scope
from treemem.web.answers import ask, moment, page, period
from treemem.web.reading import nodes, read
from treemem.web.reading.windows import Block, BlockKind, Window, window

# Pixels of a row.
ROW_HEIGHT = 30
# The least distance of two times below the blocks, as a share of the window.
TICK_SHARE = 0.11
# Where the last time may begin.
TICK_END = 0.92
# The narrowest blocks that have words on a wide screen and on a phone, as shares of the window.
WORDS_SHARE_MIN, WIDE_SHARE_MIN = 0.03, 0.12
# Statements that are told of a block.
ABOUT_MAX = 5


KIND_WORDS: dict[BlockKind, str] = {
    "above": "group of sources", "source": "source", "group": "group", "leaf": "leaf",
    "run": "several nodes",
}  # fmt: skip


class Tick(NamedTuple):
    """A time below the blocks."""

    left: float
    words: str


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

        return read(memory, question)

    found = ask(request, values)
    shown: Window = found["window"]
    rows = 1 + max((block.row for block in shown.blocks), default=0)
    return found | {
        "base": _base(shown.scope), "called": called, "kind_words": KIND_WORDS,
        "rows": rows, "row_height": ROW_HEIGHT,
        "ticks": ticks(shown.blocks), "words_share": WORDS_SHARE_MIN, "wide_share": WIDE_SHARE_MIN,
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


def called(block: Block, name: str = "") -> str:
    """What a block is called. name: of the tree, if the block is its root."""
    if name:
        return name
    if block.kind == "run":
        return count_of(block.count, "more node")
    days = period(block.started_at, block.ended_at)
    if block.kind == "above":  # one gist cannot speak for sources that have nothing in common
        return ": ".join(filter(None, [days, block.words])) or "sources without times"
    return block.words or days or KIND_WORDS[block.kind]


def _base(scope: Scope) -> str:
    """The address of the whole tree of a scope, to which parameters can be added."""
    named = {} if scope.kind == "everything" else {"scope": scope.kind, "id": scope.key or ""}
    return "/tree?" + urlencode(named)


def _number(text: str | None) -> int:
    if text is None or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError("A part of a node is given as numbers: from and to.")
    return int(text)


def ticks(blocks: Sequence[Block]) -> list[Tick]:
    """The times below the blocks, of the lowest block at each place: days, or times where all of
    the window is of one day."""
    lowest: dict[float, Block] = {}
    for block in blocks:  # row by row
        lowest[round(block.left, 6)] = block
    times = [(left, moment(lowest[left].started_at)) for left in sorted(lowest)]
    days = {time[:10] for _, time in times if time}
    found: list[Tick] = []
    for left, time in times:
        words = time[:10] if len(days) > 1 else time[11:]
        is_near = bool(found) and left - found[-1].left < TICK_SHARE
        is_same = bool(found) and words == found[-1].words
        if words and left <= TICK_END and not is_near and not is_same:
            found.append(Tick(left, words))
    return found


ROUTES = [
    Route("/tree", show_tree),
    Route("/tree/window", show_window),
    Route("/tree/about", show_about),
]
