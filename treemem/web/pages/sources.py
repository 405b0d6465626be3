"""The sources: the sessions, chats and documents, and each of them with its words.

Tested in tests/web/test_sources_page.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.digest import scopes
from treemem.errors import AmbiguousIdError, NotFoundError, UsageError
from treemem.memory import Memory
from treemem.places import resuming
from treemem.store import summaries
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.tree import browse
from treemem.tree.browse import SourceView
from treemem.types import Message, Place, Scope
from treemem.web.answers import ask, for_page, page
from treemem.web.filters import SCOPE, TIMES, Filters, choices, filters_of
from treemem.web.icicle import KIND_WORDS, called
from treemem.web.reading import read, windows
from treemem.web.reading.stretches import Stretch, stretches_of
from treemem.web.reading.windows import Block

NAMES = (*SCOPE, *TIMES, "page")
# Sources of a page, sub-agents below each of them, and those that a source's own page lists.
PAGE_SOURCES, BELOW_MAX, AGENTS_MAX = 30, 5, 20
# Messages of a page, characters of each, and nodes below the root of the tree.
PAGE_MESSAGES, MESSAGE_CHARS, NODES_MAX = 40, 2_000, 16
# Digits of the number of a message, less one.
_FIRST_DIGITS_MAX = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A source of the list with the first of its sub-agents."""

    view: SourceView
    agents: Sequence[SourceView] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """A message of a source. number: its place, from 1. left: characters that are not shown."""

    number: int
    message: Message
    stretches: Sequence[Stretch]
    left: int


# -- the list --------------------------------------------------------------------------


def show_sources(request: Request) -> Response:
    """A page of the sources that a filter admits, the most recent first."""
    filters = filters_of("/sources", request.query_params, NAMES)
    status, values = 200, {"rows": [], "trivial": [], "total": 0, "has_next": False, "wrong": None}
    try:
        values |= ask(request, lambda memory: _listed(memory, filters))
    except (UsageError, NotFoundError, AmbiguousIdError) as error:
        status = 404 if isinstance(error, NotFoundError) else 400
        values["wrong"] = for_page(str(error))
    offered = ask(request, lambda memory: choices(memory, filters))
    is_empty = ask(request, lambda memory: memory.is_empty)
    return page(request, "sources.html", status, **values, **offered, is_empty=is_empty)


def _listed(memory: Memory, filters: Filters) -> dict[str, Any]:
    """The sources of a page, those in which hardly anything was said apart. Raises UsageError,
    NotFoundError."""
    # Sub-agents stand below their session, unless that is what is looked at.
    chosen: dict[str, Any] = {
        "scope": filters.scope, "since": filters.values.get("since"),
        "until": filters.values.get("until"), "with_agents": "source" in filters.values,
    }  # fmt: skip
    offset = PAGE_SOURCES * (filters.page - 1)
    total = len(memory.source_ids(**chosen))
    whole = len(memory.source_ids(**{**chosen, "with_agents": True}))
    views = memory.sources(**chosen, limit=PAGE_SOURCES, offset=offset)
    rows = [
        Row(view, () if chosen["with_agents"] else _agents(memory, view, BELOW_MAX))
        for view in views
    ]
    return {
        "rows": [row for row in rows if not row.view.is_trivial],
        "trivial": [row for row in rows if row.view.is_trivial],
        "total": total, "agents": whole - total, "has_next": total > offset + PAGE_SOURCES,
    }  # fmt: skip


def _agents(memory: Memory, view: SourceView, most: int) -> list[SourceView]:
    """The latest sub-agents of a source."""
    if not view.agents:
        return []
    found = memory.sources(Scope.where(source=view.source.id), limit=most + 1)
    return [one for one in found if one.source.id != view.source.id][:most]


# -- one source ------------------------------------------------------------------------


def show_source(request: Request) -> Response:
    """What a source is about, and a page of its messages."""
    source_id = request.path_params["source_id"]
    start = _start(request.query_params.get("from", "1"))
    values = ask(request, lambda memory: _source(memory, source_id, start))
    return page(
        request, "source.html", **values, size=PAGE_MESSAGES, called=called, kind_words=KIND_WORDS,
        nodes_max=NODES_MAX, agents_max=AGENTS_MAX,
    )  # fmt: skip


def _start(given: str) -> int:
    """The number of the first message of a page, from 1. Raises UsageError."""
    is_number = given.isascii() and given.isdecimal() and len(given) < _FIRST_DIGITS_MAX
    if not is_number or int(given) < 1:
        raise UsageError(f"Messages are numbered from 1, so none is number {given!r}.")
    return int(given)


def _source(memory: Memory, source_id: str, start: int) -> dict[str, Any]:
    view = memory.source(source_id)
    name = view.source.id
    scope = Scope.source(name)

    def around(database: Database, private: Private) -> tuple[Place, list[Block]]:
        place = resuming.place_of(database, scopes.source(database, name).seq, None)
        return place, _below_root(database, private, view.root_id)

    place, nodes = read(memory, around)
    parent = view.source.parent_id
    return {
        "view": view, "start": start, "place": place, "nodes": nodes,
        "headline": memory.headline(scope), "digest": memory.digest(scope),
        "parent": parent if parent in memory.titles([parent or ""]) else None,
        "agents": _agents(memory, view, AGENTS_MAX),
        "words": [
            _words(number, message)
            for number, message in enumerate(
                memory.messages(name, limit=PAGE_MESSAGES, offset=start - 1), start
            )
        ],
    }  # fmt: skip


def _below_root(database: Database, private: Private, root_id: str | None) -> list[Block]:
    """The nodes below the root of a source; none if the root is a leaf."""
    if root_id is None:
        return []
    root_seq = browse.node_row(database, root_id)[0]
    seqs = summaries.child_seqs(database, root_seq)[: NODES_MAX + 1]
    return windows.blocks_of(database, private, seqs, is_inside=True)


def _words(number: int, message: Message) -> Words:
    end = min(len(message.text), MESSAGE_CHARS)
    return Words(number, message, stretches_of(message, 0, end), len(message.text) - end)


ROUTES = [Route("/sources", show_sources), Route("/source/{source_id:path}", show_source)]
