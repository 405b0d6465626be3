"""The first page: what came in lately, open points, rules in force, and what is missing.

Tested in tests/web/test_overview.py.
"""

from __future__ import annotations

from datetime import date
from itertools import islice
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from treemem import times
from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.types import Scope
from treemem.web.answers import ask, form_of, page
from treemem.web.pages.rules import done_to
from treemem.web.pages.timeline import Chart, chart

# Items of each list.
OPEN_MAX, RULES_MAX, SOURCES_MAX, DEAD_MAX = 8, 12, 8, 5
# Days of the bars of messages, up to the latest one, at most and at least; and of those of model
# calls, up to today.
ACTIVITY_DAYS, ACTIVITY_DAYS_MIN, USAGE_DAYS = 90, 30, 30


def show_overview(request: Request) -> Response:
    """The overview."""
    done = ask(request, lambda memory: done_to(memory, request.query_params))
    return page(request, "overview.html", **ask(request, _values), **done)


def _values(memory: Memory) -> dict[str, Any]:
    status = memory.status()
    if not status.messages:
        return {"status": status}
    in_force = (rule for rule in memory.rules() if rule.state in ("in force", "pinned"))
    rules = list(islice(in_force, RULES_MAX))
    return {
        "status": status,
        "headline": memory.headline(Scope.everything()),
        "open_points": memory.ledger(kinds=["open"], states=["holds"], limit=OPEN_MAX),
        "counts": status.ledger,
        "rules": rules,
        "titles": memory.titles({rule.source_id for rule in rules if rule.source_id}),
        "latest": memory.sources(limit=SOURCES_MAX),
        "health": [*memory.notices, *status.missing],
        "activity": _activity(memory),
        "queue": _queue(status.jobs),
        "dead": memory.jobs(["dead"], DEAD_MAX),
        "usage": _usage(memory),
    }


def _activity(memory: Memory) -> Chart:
    """The messages of the days up to the latest."""
    counts = {one.day: (one.messages,) for one in memory.days()}
    if not counts:
        return chart({}, [])
    days = _days_up_to(max(counts), ACTIVITY_DAYS)
    first = min(min(counts), days[-min(ACTIVITY_DAYS_MIN, len(days))])
    return chart(counts, [day for day in days if day >= first])


def _days_up_to(last: str, count: int) -> list[str]:
    end = date.fromisoformat(last).toordinal()
    return [date.fromordinal(day).isoformat() for day in range(max(end - count + 1, 1), end + 1)]


def _queue(jobs: dict[str, dict[str, int]]) -> list[tuple[str, int, int, int]]:
    """The kinds of jobs that are not all done: how many wait, run and have failed."""
    rows = [(kind, by.get("todo", 0), by.get("running", 0), by.get("dead", 0))
            for kind, by in jobs.items()]  # fmt: skip
    return [row for row in rows if any(row[1:])]


def _usage(memory: Memory) -> dict[str, Any]:
    """The model calls of the last days, and what they have cost."""
    days = _days_up_to(f"{times.local(times.now_ms()):%Y-%m-%d}", USAGE_DAYS)
    rows = memory.usage("day", since=days[0])
    return {
        "chart": chart({row.key: (row.calls,) for row in rows}, days),
        "calls": sum(row.calls for row in rows),
        "tokens_in": sum(row.tokens_in for row in rows),
        "tokens_out": sum(row.tokens_out for row in rows),
        "minutes": round(sum(row.seconds for row in rows) / 60),
    }


async def change_job(request: Request) -> Response:
    """Makes a job that has failed due again, and goes back to the page."""
    form = await form_of(request)
    job, action = form.get("job", ""), form.get("do", "")
    if action != "retry" or not job.isdecimal():
        raise UsageError(f"A job can be retried by its number, not {action!r} {job!r}.")
    await run_in_threadpool(ask, request, lambda memory: memory.retry_job(int(job)))
    return RedirectResponse("/#queue", 303)


ROUTES = [
    Route("/", show_overview),
    Route("/jobs", change_job, methods=["POST"]),
]
