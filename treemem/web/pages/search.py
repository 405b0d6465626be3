"""Searches as you type: the passages that answer a question, with what matches and why.

Without script it is a form; with it, the same answer is fetched alone.

Tested in tests/web/test_search_page.py.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.errors import AmbiguousIdError, NotFoundError, Notice, UsageError
from treemem.memory import Memory
from treemem.reports import count_of
from treemem.web.answers import ask, for_page, page
from treemem.web.filters import SCOPE, TIMES, Filters, choices, filters_of
from treemem.web.hits import hits_of

NAMES = ("q", *SCOPE, *TIMES, "sort", "budget")
# Tokens of an answer, and of one with more.
BUDGET, BUDGET_MORE = 2_000, 6_000
ORDERS = ("score", "time")
# Kinds of question that summaries answer, in words.
QUESTION_KINDS = {
    "about": "what something is about", "order": "the order of events", "decisions": "decisions",
    "open": "open points", "rules": "rules",
}  # fmt: skip


def show_search(request: Request) -> Response:
    """The form, and the answer to the question in the address."""
    filters = filters_of("/search", request.query_params, NAMES)
    answer = ask(request, lambda memory: _answer(memory, filters))
    offered = ask(request, lambda memory: choices(memory, filters))
    return page(request, "search.html", answer.pop("status"), **answer, **offered)


def show_answer(request: Request) -> Response:
    """The answer alone, as a part of the page. What is half typed is no failure."""
    filters = filters_of("/search", request.query_params, NAMES)
    answer = ask(request, lambda memory: _answer(memory, filters))
    answer.pop("status")
    return page(request, "search_answer.html", **answer, filters=filters)


def _answer(memory: Memory, filters: Filters) -> dict[str, Any]:
    """What the answer's template shows. status: of HTTP."""
    question = filters.values.get("q", "")
    asks = any(letter.isalnum() for letter in question)
    nothing: dict[str, Any] = {
        "question": question, "asks": asks, "status": 200, "hits": [], "rules": [], "notices": [],
        "lasting": [], "kind": None, "wrong": None, "found": "", "can_be_more": False,
        "is_empty": memory.is_empty,
    }  # fmt: skip
    if not asks or nothing["is_empty"]:
        return nothing
    wants_more = filters.values.get("budget") == str(BUDGET_MORE)
    try:
        result = memory.search(
            question, scope=filters.scope, since=filters.values.get("since"),
            until=filters.values.get("until"), project=filters.values.get("project"),
            budget_tokens=BUDGET_MORE if wants_more else BUDGET,
            order="time" if filters.values.get("sort") == "time" else "score",
        )  # fmt: skip
    except (UsageError, NotFoundError, AmbiguousIdError) as error:
        status = 404 if isinstance(error, NotFoundError) else 400
        wrong = for_page(str(error))
        return nothing | {"status": status, "wrong": wrong, "found": wrong}
    notices = [one for one in result.missing if not _is_lasting(one)]
    passages = count_of(len(result.passages), "passage")
    return nothing | {
        "hits": hits_of(result.passages, question),
        "rules": result.standing,
        "notices": notices,
        "lasting": [one for one in result.missing if _is_lasting(one)],
        "kind": QUESTION_KINDS.get(result.kind),
        "found": f"{passages} found." if result.passages else "Nothing was found.",
        "can_be_more": not wants_more and result.tokens > BUDGET / 2,
    }


def _is_lasting(sentence: str) -> bool:
    """Whether a sentence is as true of the next search, so that it is said below."""
    return isinstance(sentence, Notice) and sentence.is_lasting


ROUTES = [Route("/search", show_search), Route("/search/answer", show_answer)]
