"""The rules: what you told assistants for good, where it comes from, and whether it holds.

A rule is added here in the words that the user types into the form, and in no other way.

Tested in tests/web/test_rules_page.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from treemem.errors import AmbiguousIdError, NotFoundError, UsageError
from treemem.ledger.choices import RuleView
from treemem.memory import Memory
from treemem.types import Scope
from treemem.web.answers import ask, for_page, form_of, page
from treemem.web.filters import Filters, choices, filters_in, filters_of

NAMES = ("state", "project", "page")
PAGE_RULES = 40
# The lists: the states of their rules, and their names.
STATES = {
    "held": (("in force", "pinned"), "In force"),
    "taken": (("taken back",), "Taken back"),
    "dropped": (("dropped",), "Dropped"),
}
_CHANGES: dict[str, Callable[[Memory, str], RuleView]] = {
    "pin": Memory.pin_rule, "drop": Memory.drop_rule, "restore": Memory.restore_rule,
}  # fmt: skip
_DONE = {
    "pin": "It holds everywhere", "drop": "Dropped", "restore": "As you said it", "add": "Added",
    "delete": "Deleted",
}  # fmt: skip


def show_rules(request: Request) -> Response:
    """A page of the rules in a state."""
    filters = filters_of("/rules", request.query_params, NAMES)
    return _shown(request, filters, request.query_params)


def _shown(request: Request, filters: Filters, told: Any, wrong: str | None = None) -> Response:
    """The page. told: what was just done. wrong: what was wrong with the words of a new rule."""
    status = 400 if wrong else 200
    values: dict[str, Any] = {"rules": [], "has_next": False, "numbers": {}}
    try:
        values |= ask(request, lambda memory: _rules(memory, filters))
    except (UsageError, NotFoundError, AmbiguousIdError) as error:
        status = 404 if isinstance(error, NotFoundError) else 400
        wrong = for_page(str(error))
    done = ask(request, lambda memory: done_to(memory, told))
    offered = ask(request, lambda memory: choices(memory, filters))
    return page(request, "rules.html", status, **values, **done, **offered, states=STATES,
                wrong=wrong, words=told.get("words", "") if wrong else "")  # fmt: skip


def _rules(memory: Memory, filters: Filters) -> dict[str, Any]:
    """The rules of a page. Raises UsageError, NotFoundError."""
    project, state = filters.values.get("project"), filters.values.get("state", "held")
    if state not in STATES:
        raise UsageError(f"There is no list {state!r} of rules; use {', '.join(STATES)}.")
    every = memory.rules(Scope.where(project=project))
    chosen = [rule for rule in every if rule.state in STATES[state][0]]
    start = PAGE_RULES * (filters.page - 1)
    return {
        "rules": chosen[start : start + PAGE_RULES],
        "has_next": len(chosen) > start + PAGE_RULES,
        "numbers": {
            name: sum(rule.state in states for rule in every)
            for name, (states, _) in STATES.items()
        },
    }  # fmt: skip


async def change_rule(request: Request) -> Response:
    """Adds a rule, or pins, drops or restores one, and goes back to the page that asked for it."""
    form = await form_of(request)
    action, rule_id = form.get("do", ""), form.get("rule", "")
    target = filters_in(form.get("back", ""), "/rules", NAMES)
    if action == "add":
        try:
            added = await run_in_threadpool(ask, request, _adding(form.get("words", "")))
        except UsageError as error:
            wrong = for_page(str(error))
            return await run_in_threadpool(_shown, request, target, form, wrong)
        return RedirectResponse(f"/rules?did=add&rule={added.id}&undo=delete", 303)
    if action not in (*_CHANGES, "delete"):
        raise UsageError(f"A rule can be pinned, dropped or restored, not {action!r}.")
    undo = await run_in_threadpool(ask, request, _changing(action, rule_id))
    if form.get("back") == "/":
        target = Filters("/", {})
    page_now = target.values.get("page")
    return RedirectResponse(target.but(page=page_now, did=action, rule=rule_id, undo=undo), 303)


def _adding(words: str) -> Callable[[Memory], RuleView]:
    """Adds a rule in the user's own words."""

    def add(memory: Memory) -> RuleView:
        # Subtle: the digits of an id alone would pin another rule, which nobody has read here.
        if words.isascii() and len(words.split()) < 2:
            raise UsageError(f"{words.strip()!r} is not a sentence.")
        return memory.pin_rule(words)

    return add


def _changing(action: str, rule_id: str) -> Callable[[Memory], str | None]:
    """Changes a rule and returns what undoes that; None if nothing does. A rule that was written
    here is deleted only by an action of that name."""

    def change(memory: Memory) -> str | None:
        before = _found(memory, rule_id)
        is_written_here = before is not None and not before.message_ids
        if action == "delete" or (action == "restore" and is_written_here):
            if not is_written_here:
                raise UsageError(f"Rule {rule_id!r} was said in a log; it can be dropped.")
            memory.restore_rule(rule_id)
            return None
        _CHANGES[action](memory, rule_id)
        assert before is not None  # or there was an error
        return {"pinned": "pin", "dropped": "drop"}.get(before.state, "restore")

    return change


def done_to(memory: Memory, told: Any) -> dict[str, Any]:
    """What was just done, for the template, and what undoes it."""
    did, undo = told.get("did", ""), told.get("undo", "")
    return {
        "done": _DONE.get(did),
        "undo": undo if undo in (*_CHANGES, "delete") else None,
        "changed": _found(memory, told.get("rule", "")) if did in _DONE else None,
    }


def _found(memory: Memory, rule_id: str) -> RuleView | None:
    """The rule of an id, whole or not; None if there is none."""
    return next((rule for rule in memory.rules() if rule_id and rule.id.startswith(rule_id)), None)


ROUTES = [Route("/rules", show_rules), Route("/rules", change_rule, methods=["POST"])]
