"""The first page: what came in lately, open points, rules in force, and what is missing.

Tested in tests/web/test_overview.py.
"""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.types import Scope
from treemem.web.answers import ask, form_of, page

# Items of each list.
OPEN_MAX, RULES_MAX, SOURCES_MAX = 8, 12, 8


def show_overview(request: Request) -> Response:
    """The overview."""
    return page(request, "overview.html", **ask(request, _values))


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


async def change_rule(request: Request) -> Response:
    """Pins or drops a rule, and goes back to the page."""
    form = await form_of(request)
    rule, action = form.get("rule", ""), form.get("do", "")
    changes = {"pin": Memory.pin_rule, "drop": Memory.drop_rule, "restore": Memory.restore_rule}
    if action not in changes:
        raise UsageError(f"A rule can be pinned, dropped or restored, not {action!r}.")
    change = changes[action]
    await run_in_threadpool(ask, request, lambda memory: change(memory, rule))
    return RedirectResponse("/", 303)


ROUTES = [Route("/", show_overview), Route("/rules", change_rule, methods=["POST"])]
