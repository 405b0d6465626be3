"""Answers the calls of the API: reads a request, asks the memory, and answers in JSON.

An answer has an ETag of the state of the file, so that one that a client has already costs no more
than a look at that state. Tested in tests/web/api/test_answering.py.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.errors import UsageError
from treemem.forms.values import json_value
from treemem.memory import Memory
from treemem.web.answers import ask, page
from treemem.web.api.calls import ENDPOINTS
from treemem.web.api.endpoints import Endpoint
from treemem.web.api.openapi import document
from treemem.web.api.samples import Sample, with_samples

PREFIX = "/api/v1"
_TIMES = {"since", "until"}
# Another process numbers the states of the file anew.
_PROCESS = secrets.token_hex(8)
_JSON = "application/json"


def _handler(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = await _body(request) if endpoint.method == "POST" else {}
        query = request.query_params.multi_items()
        arguments = endpoint.read(request.path_params, query, body)
        return await run_in_threadpool(_answer, endpoint, request, arguments)

    return answer


def _answer(endpoint: Endpoint, request: Request, arguments: dict[str, Any]) -> Response:
    if endpoint.method == "POST":
        return _json(ask(request, lambda memory: endpoint.run(memory, **arguments)), {})
    headers = {"cache-control": "private, no-cache"}
    if not endpoint.moves and not _TIMES & arguments.keys():
        # Subtle: before the answer is read, so that a change in between gives a new one.
        headers["etag"] = _etag(request, ask(request, Memory.marks).version)
        if _has(request, headers["etag"]):
            return Response(status_code=304, headers=headers)
    if not endpoint.is_paged:
        return _json(ask(request, lambda memory: endpoint.run(memory, **arguments)), headers)
    limit, offset = (
        arguments.get(one.name, one.default)
        for one in sorted(endpoint.arguments, key=lambda one: one.name)
        if one.name in ("limit", "offset")
    )
    asked = arguments | {"limit": limit + 1}
    found = ask(request, lambda memory: endpoint.run(memory, **asked))
    if len(found) > limit:
        headers["link"] = f'<{_page_at(request, offset + limit)}>; rel="next"'
    return _json(found[:limit], headers)


def _json(value: Any, headers: dict[str, str]) -> Response:
    # Subtle: a text may have what only an escape can write, a lone surrogate.
    return Response(json.dumps(json_value(value)), 200, headers, _JSON)


def _etag(request: Request, version: str) -> str:
    asked = f"{_PROCESS} {version} {request.url.path}?{request.url.query}"
    return f'"{hashlib.sha256(asked.encode()).hexdigest()[:32]}"'


def _has(request: Request, etag: str) -> bool:
    known = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") == etag for one in known.split(","))


def _page_at(request: Request, offset: int) -> str:
    """The address of another page of a list, without its host."""
    pairs = [pair for pair in request.query_params.multi_items() if pair[0] != "offset"]
    return f"{request.url.path}?{urlencode([*pairs, ('offset', offset)])}"


async def _body(request: Request) -> dict[str, object]:
    """The JSON of a request. Only a program sends this type without being asked first, so no form
    of another page passes for a call. Raises HTTPException, UsageError."""
    raw = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise HTTPException(415, f"Send the header Content-Type: {_JSON}, also without a body.")
    try:
        body = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise UsageError(f"The body is not JSON: {error}.") from None
    if not isinstance(body, dict):
        raise UsageError("The body is a JSON object of the arguments by name.")
    return body


# -- what there is ---------------------------------------------------------------------


def _show_openapi(_: Request) -> Response:
    return Response(orjson.dumps(document(ENDPOINTS, PREFIX)), media_type=_JSON)


def _show_page(request: Request) -> Response:
    """The page for people: each call with its arguments, and an example that works."""
    found: list[tuple[Endpoint, Sample]] = ask(
        request, lambda memory: with_samples(memory, ENDPOINTS)
    )
    base = f"{request.url.scheme}://{request.url.netloc}{PREFIX}"
    return page(request, "api.html", found=found, base=base, prefix=PREFIX)


def _unknown(request: Request) -> Response:
    """Raises HTTPException."""
    path = request.url.path
    taken = sorted(method for method, route in _CALLS if route.path_regex.fullmatch(path))
    words = f"There is no call {request.method} {path}: see /api."
    if taken:
        raise HTTPException(405, words, {"allow": ", ".join(taken)})
    raise HTTPException(404, words)


_CALLS = [
    (one.method, Route(PREFIX + one.path, _handler(one), methods=[one.method])) for one in ENDPOINTS
]
ROUTES = [
    Route("/api", _show_page),
    Route(f"{PREFIX}/openapi.json", _show_openapi),
    *(route for _, route in _CALLS),
    Route("/api/{rest:path}", _unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
]
