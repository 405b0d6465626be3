"""Makes pages from templates, in which no text of a log is ever markup, and answers errors.

Tested in tests/web/test_answers.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import jinja2
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from treemem.assistants.texts import day, short, when
from treemem.errors import (
    AmbiguousIdError,
    DatabaseLockedError,
    NotFoundError,
    Notice,
    TreememError,
    UsageError,
)
from treemem.memory import Memory
from treemem.origins.spans import plain_origin
from treemem.reports import count_of
from treemem.text.labels import clipped, visible

Result = TypeVar("Result")

# The pages of the navigation: path, name, and the key that leads there after "g".
PAGES = (
    ("/", "Overview", "o"), ("/search", "Search", "s"), ("/tree", "Tree", "t"),
    ("/ledger", "Ledger", "l"), ("/topics", "Topics", "p"), ("/timeline", "Timeline", "d"),
    ("/sources", "Sources", "c"),
)  # fmt: skip
# The page of the navigation to which those of a single thing belong.
_LISTS = {"/topic": "/topics", "/source": "/sources", "/node": "/tree", "/rules": "/ledger"}
# What people call an entry of the kinds whose names say less.
_KIND_WORDS = {"constraint": "rule", "open": "open point"}
_STATUS: dict[type[TreememError], int] = {
    NotFoundError: 404, AmbiguousIdError: 409, UsageError: 400, DatabaseLockedError: 503,
}  # fmt: skip


def ask(request: Request, question: Callable[[Memory], Result]) -> Result:
    """What a function returns for the memory that is served. Raises its errors."""
    result: Result = request.app.state.memory.use(question)
    return result


def page(request: Request, template: str, /, http_status: int = 200, **values: Any) -> Response:
    """A page from a template, which gets these values."""
    path = "/" + request.url.path.split("/")[1]
    here = _LISTS.get(path, path)
    whole = _environment().get_template(template).render(
        pages=PAGES, here=here, is_list=request.url.path == here,
        memory_name=request.app.state.name, **values,
    )  # fmt: skip
    return HTMLResponse(whole, http_status)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form that a page sent; of several of a name the last."""
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def wants_json(request: Request) -> bool:
    """Whether a request is one of a program, not for a page."""
    path = request.url.path
    return path.startswith(("/api/", "/v1/"))


def answer_error(request: Request, error: Exception) -> Response:
    """The answer to a request that failed: what was wrong, and the way out."""
    status, words = 500, f"An unexpected {type(error).__name__}; the server's output has more."
    headers = None
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    if isinstance(error, HTTPException):
        status, words, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, TreememError):
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        words = error.for_shell()
    if wants_json(request):
        return JSONResponse({"error": words}, status, headers)
    response = page(request, "error.html", status, words=words, code=status)
    response.headers.update(headers or {})
    return response


def for_page(sentence: str) -> str:
    """A sentence of the library; one that speaks of methods, with commands in place of these."""
    return sentence.for_shell() if isinstance(sentence, Notice) else sentence


# -- templates -------------------------------------------------------------------------


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("treemem.web"), autoescape=True, finalize=_finalized,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "day": day, "moment": when, "period": period, "short": short, "number": number,
        "clip": clipped, "count": count_of, "urlencode": in_address, "for_page": for_page,
        "plain_origin": plain_origin, "kind_word": lambda kind: _KIND_WORDS.get(kind, kind),
    }  # fmt: skip
    return environment


def _finalized(value: object) -> object:
    """What a template prints of a value: no character of it controls the direction of text."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return "" if value is None else value


def in_address(text: object) -> str:
    """A text as it stands in an address, whatever is in it.

    Example:
        >>> in_address("claude-code/1 2"), in_address("log/../x")
        ('claude-code/1%202', 'log%2F..%2Fx')
    """
    # Subtle: browsers take the dots in "/../" for a way up.
    is_way = any(way in f"/{text}/" for way in ("/./", "/../", "//"))
    return quote(str(text), safe="" if is_way else "/")


def period(started: object, ended: object) -> str:
    """The days from one moment to another, or their times if it is the same day."""
    first, last = when(started), when(ended)
    if not first or not last or first == last:
        return first or last
    if first[:10] == last[:10]:
        return f"{first} – {last[11:]}"
    return f"{first[:10]} – {last[:10]}"


def number(value: float) -> str:
    """A number with commas between thousands."""
    return f"{value:,}"
