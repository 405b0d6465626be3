"""The first page: what came in lately, open points, rules in force, and what is missing.

Tested in tests/web/test_overview.py.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.memory import Memory
from treemem.types import Scope
from treemem.web.answers import ask, page
from treemem.web.pages.rules import done_to

# Items of each list.
OPEN_MAX, RULES_MAX, SOURCES_MAX = 8, 12, 8


def show_overview(request: Request) -> Response:
    """The overview."""
    done = ask(request, lambda memory: done_to(memory, request.query_params))
    return page(request, "overview.html", **ask(request, _values), **done)


def _values(memory: Memory) -> dict[str, Any]:
    status = memory.status()
    if not status.messages:
        return {"status": status}
    rules = [rule for rule in memory.rules() if rule.state in ("in force", "pinned")]
    return {
        "status": status,
        "headline": memory.headline(Scope.everything()),
        "open_points": memory.ledger(kinds=["open"], states=["holds"], limit=OPEN_MAX),
        "counts": status.ledger,
        "rules": rules[:RULES_MAX],
        "latest": memory.sources(limit=SOURCES_MAX),
        "health": [*memory.notices, *status.missing],
    }


ROUTES = [Route("/", show_overview)]
