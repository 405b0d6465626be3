"""The ledger: lists what was picked, closes, reopens and drops it, and shows why an entry matters.

Each change goes back to the list that it was made in, where it is said and can be undone.

Tested in tests/web/test_ledger_page.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from treemem.errors import AmbiguousIdError, NotFoundError, UsageError
from treemem.memory import Memory
from treemem.types import ENTRY_KINDS, ENTRY_STATES, ORIGINS, Entry, EntryOrder, Message
from treemem.web.answers import ask, for_page, form_of, page
from treemem.web.filters import SCOPE, TIMES, Filters, choices, filters_in, filters_of
from treemem.web.hits import weighed
from treemem.web.reading.stretches import Stretch, around, located, stretches_of

NAMES = ("kind", "state", "origin", *SCOPE, *TIMES, "sort", "page")
# Entries of a page, messages of an entry, and characters of each.
PAGE_ENTRIES, MESSAGES_MAX, MESSAGE_CHARS = 40, 20, 1_200
# What people call the kinds and the states: of several entries, and of one. Subtle: facts are so
# many that they bury the others, so no kind means all others, and "all" means these and facts.
KINDS = {"constraint": "Rules", "decision": "Decisions", "open": "Open points",
         "error": "Errors", "fact": "Facts", "all": "Everything"}  # fmt: skip
_KINDS_FIRST = tuple(kind for kind in ENTRY_KINDS if kind != "fact")
STATES = {"holds": "hold", "closed": "are closed", "superseded": "were replaced",
          "withdrawn": "were dropped or taken back"}  # fmt: skip
ORDERS: dict[str, EntryOrder] = {"salience": "salience", "latest": "latest", "time": "time"}
_ORDER_WORDS = {"salience": "What matters most", "latest": "Latest first", "time": "Oldest first"}
_CHANGES: dict[str, Callable[[Memory, str], Entry]] = {
    "close": lambda memory, entry: memory.ledger.close(entry),
    "reopen": lambda memory, entry: memory.ledger.reopen(entry),
    "drop": lambda memory, entry: memory.ledger.drop(entry),
    "restore": lambda memory, entry: memory.ledger.restore(entry),
}
_DONE = {"close": "Closed", "reopen": "Reopened", "drop": "Dropped", "restore": "Undone"}


class Said(NamedTuple):
    """A message that says an entry, by the words around that. left: characters not shown."""

    message: Message
    stretches: Sequence[Stretch]
    left: int


def show_ledger(request: Request) -> Response:
    """A page of the entries that a filter admits."""
    filters = filters_of("/ledger", request.query_params, NAMES)
    done = ask(request, lambda memory: _done(memory, request))
    offered = ask(request, lambda memory: choices(memory, filters))
    status, values = 200, {"entries": [], "has_next": False, "wrong": None}
    try:
        values |= ask(request, lambda memory: _entries(memory, filters))
    except (UsageError, NotFoundError, AmbiguousIdError) as error:
        status = 404 if isinstance(error, NotFoundError) else 400
        values["wrong"] = for_page(str(error))
    return page(
        request, "ledger.html", status, **values, **offered, **done, kinds=KINDS, states=STATES,
        origins=ORIGINS, orders=_ORDER_WORDS, is_empty=ask(request, lambda memory: memory.is_empty),
    )  # fmt: skip


def _entries(memory: Memory, filters: Filters) -> dict[str, Any]:
    """The entries of a page, and whether there are more. Raises UsageError, NotFoundError."""
    chosen = filters.values
    kind, state, origin = chosen.get("kind"), chosen.get("state", "holds"), chosen.get("origin")
    if (order := chosen.get("sort", "salience")) not in ORDERS:
        raise UsageError(f"There is no order {order!r}; use {', '.join(ORDERS)}.")
    found = memory.ledger(
        filters.scope,
        kinds=_KINDS_FIRST if kind is None else ENTRY_KINDS if kind == "all" else [kind],  # type: ignore[list-item]
        states=ENTRY_STATES if state == "all" else [state],  # type: ignore[list-item]
        origins=ORIGINS if origin is None else [origin],  # type: ignore[list-item]
        since=chosen.get("since"), until=chosen.get("until"), order=ORDERS[order],
        limit=PAGE_ENTRIES + 1, offset=PAGE_ENTRIES * (filters.page - 1),
    )  # fmt: skip
    return {"entries": found[:PAGE_ENTRIES], "has_next": len(found) > PAGE_ENTRIES}


# -- changes ---------------------------------------------------------------------------


async def change_entry(request: Request) -> Response:
    """Closes, reopens or drops an entry, or undoes that, and goes back to where it was asked."""
    form = await form_of(request)
    entry_id, action = request.path_params["entry"], form.get("do", "")
    if action not in _CHANGES:
        raise UsageError(f"An entry can be closed, reopened or dropped, not {action!r}.")

    def change(memory: Memory) -> tuple[str, str | None]:
        before = memory.ledger.show(entry_id, messages_max=0)
        return before.id, _undo_of(action, before, _CHANGES[action](memory, before.id))

    changed, undo = await run_in_threadpool(ask, request, change)
    if form.get("back") == "entry":
        target = filters_of(f"/ledger/{quote(changed)}", {}, ())
    else:
        target = filters_in(form.get("back", ""), "/ledger", NAMES)
    page_now = target.values.get("page")
    return RedirectResponse(target.but(page=page_now, did=action, entry=changed, undo=undo), 303)


def _undo_of(action: str, before: Entry, after: Entry) -> str | None:
    """The change that makes an entry what it was before another; None if nothing has changed."""
    if before.state == after.state:
        return None
    if action in ("reopen", "restore") and before.by is None:  # then the user had chosen it
        return {"closed": "close", "withdrawn": "drop", "holds": "reopen"}.get(before.state)
    return "restore"


def _done(memory: Memory, request: Request) -> dict[str, Any]:
    """What was just changed, for the template, and what undoes it."""
    did, undo = request.query_params.get("did", ""), request.query_params.get("undo", "")
    nothing = {"done": None, "undo": None, "changed": None}
    if did not in _DONE:
        return nothing
    try:
        entry = memory.ledger.show(request.query_params.get("entry", ""), messages_max=0)
    except (NotFoundError, AmbiguousIdError):
        return nothing
    return {"done": _DONE[did], "undo": undo if undo in _CHANGES else None, "changed": entry}


# -- one entry -------------------------------------------------------------------------


def show_entry(request: Request) -> Response:
    """An entry, the messages that say it, what ended it, and why it matters."""
    entry_id = request.path_params["entry"]
    values = ask(request, lambda memory: _entry(memory, entry_id))
    done = ask(request, lambda memory: _done(memory, request))
    return page(request, "ledger_entry.html", **values, **done, states=STATES)


def _entry(memory: Memory, entry_id: str) -> dict[str, Any]:
    entry = memory.ledger.show(entry_id, messages_max=MESSAGES_MAX)
    by = entry.by
    later = [] if by is None else [memory.message(one) for one in by.message_ids[:MESSAGES_MAX]]
    return {
        "entry": entry,
        "said": [excerpt_of(one, entry.text) for one in entry.messages],
        "later": [] if by is None else [excerpt_of(one, by.text) for one in later],
        "parts_of": weighed(entry.explanation),
        "messages_max": MESSAGES_MAX,
    }


def excerpt_of(message: Message, sentence: str) -> Said:
    """The words of a message around a sentence that it says, which is marked as a citation is."""
    spans = located(sentence, message.text)
    start, end = around(spans, len(message.text), MESSAGE_CHARS)
    stretches = stretches_of(message, start, end, {0: spans})
    return Said(message, stretches, len(message.text) - (end - start))


ROUTES = [
    Route("/ledger", show_ledger), Route("/ledger/{entry}", show_entry),
    Route("/ledger/{entry}", change_entry, methods=["POST"]),
]  # fmt: skip
