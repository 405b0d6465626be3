"""Answers /v1/chat/completions and /v1/models, for programs that speak OpenAI's API.

The caller lets requests in; these routes ask for no token. An answer is computed in a thread; of
one that is streamed, the thread ends when the client leaves, and what was said until then is kept.

Tested in tests/assistant/completions/test_routes.py.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from treemem.assistant import chat_model
from treemem.assistant.chat_model import ChatModel, LocalChat
from treemem.assistant.completions import history, protocol
from treemem.assistant.completions.protocol import SESSION_HEADER, RefusedError, Wanted
from treemem.assistant.conversation import ChatAnswer
from treemem.errors import ModelError, TreememError, UsageError
from treemem.models.child import Streamed

Result = TypeVar("Result")
# Conversations are told apart by so many locks.
_LOCKS = 64
# Requests that are answered at the same time; the others wait. They have threads of their own, so
# that a model which is slow does not hold up what else the server answers.
AT_ONCE_MAX = 16
_LOG = logging.getLogger(__name__)


class Uses(Protocol):
    """What opens a memory for a request."""

    def use(self, ask: Callable[[Any], Result]) -> Result:
        """What a function returns for the Memory."""
        ...


class Completions:
    """Answers requests with the chat model of a memory, which it keeps open.

    typed: whether the user typed what clients send as the user's. Else it is a program's words,
    which never become a rule: many put prompts of their own there.
    """

    def __init__(self, memory: Uses, *, typed: bool = False) -> None:
        self._memory, self._typed = memory, typed
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._model_lock = threading.Lock()
        self._threads: anyio.CapacityLimiter | None = None
        self._model: ChatModel | None = None

    def routes(self) -> list[BaseRoute]:
        """The routes, for an application that lets requests in."""
        return [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._list_models),
            Route("/v1/models/{name:path}", self._show_model),
            Route("/v1/{rest:path}", _not_there, methods=["GET", "POST", "DELETE"]),
        ]

    def close(self) -> None:
        """Closes the model."""
        with self._model_lock:
            if self._model is not None:
                self._model.close()
                self._model = None

    # -- requests ------------------------------------------------------------------------

    async def _complete(self, request: Request) -> Response:
        try:
            wanted = protocol.wanted(await _body(request), request.headers.get(SESSION_HEADER))
            model = await anyio.to_thread.run_sync(self._opened)
            if wanted.model != model.name:
                raise _no_model(wanted.model, model.name)
            if isinstance(model, LocalChat):
                protocol.check_local(wanted.options)
            if wanted.is_streamed:
                return await self._streaming(wanted, model)
            answer = await self._in_thread(self._answer, wanted, model, None)
        except (RefusedError, TreememError) as error:
            return _refusal(error)
        counts = protocol.usage(answer.tokens_in, answer.tokens_out)
        body = protocol.completion(
            _answer_id(), int(time.time()), model.name, answer.text, answer.stopped, counts
        )
        return _json(body, headers=_header(wanted))

    async def _streaming(self, wanted: Wanted, model: ChatModel) -> Response:
        """A stream that has begun: an error before the first piece is an answer of its own."""
        pieces = _Pieces()
        work = asyncio.create_task(self._in_thread(self._answer, wanted, model, pieces.streamed))
        work.add_done_callback(lambda _: pieces.end())
        try:
            first = await pieces.next()
            if first is None:
                await work  # raises what went wrong
        except asyncio.CancelledError:
            pieces.streamed.cancelled.set()
            raise
        events = _events(wanted, model.name, first, pieces, work)
        return StreamingResponse(
            events, media_type="text/event-stream",
            headers={**_header(wanted), "cache-control": "no-store"},
        )  # fmt: skip

    async def _list_models(self, request: Request) -> Response:
        del request
        try:
            model = await anyio.to_thread.run_sync(self._opened)
        except TreememError:
            return _json({"object": "list", "data": []})
        return _json({"object": "list", "data": [_model_body(model)]})

    async def _show_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            model = await anyio.to_thread.run_sync(self._opened)
            if name != model.name:
                raise _no_model(name, model.name)
        except (RefusedError, TreememError) as error:
            return _refusal(error)
        return _json(_model_body(model))

    # -- in threads ----------------------------------------------------------------------

    async def _in_thread(self, run: Callable[..., Result], *arguments: Any) -> Result:
        if self._threads is None:  # it belongs to the event loop that runs now
            self._threads = anyio.CapacityLimiter(AT_ONCE_MAX)
        return await anyio.to_thread.run_sync(run, *arguments, limiter=self._threads)

    def _opened(self) -> ChatModel:
        """The chat model in use now. Raises ModelError."""
        setting = self._memory.use(lambda memory: chat_model.in_use(memory._database))
        with self._model_lock:
            if self._model is None or self._model.setting != setting:
                if self._model is not None:
                    self._model.close()
                    self._model = None
                self._model = self._memory.use(lambda memory: chat_model.of(memory._database))
            return self._model

    def _answer(self, wanted: Wanted, model: ChatModel, streamed: Streamed | None) -> ChatAnswer:
        with self._locks[hash(wanted.name) % _LOCKS]:
            if streamed is not None and streamed.cancelled.is_set():
                raise ModelError("the client left before its answer began")

            def answer(memory: Any) -> ChatAnswer:
                placed = history.placed(memory, memory._database, model, wanted, self._typed)
                return placed.conversation.answer(
                    streamed=streamed, max_tokens=wanted.max_tokens, options=wanted.options,
                    before=placed.before,
                )  # fmt: skip

            return self._memory.use(answer)


class _Pieces:
    """Hands the pieces of a text from a thread to the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.streamed = Streamed(self._take)

    async def next(self) -> str | None:
        """The next piece; None after the last one."""
        return await self._queue.get()

    def end(self) -> None:
        """Says that there is no further piece."""
        self._queue.put_nowait(None)

    def _take(self, piece: str) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, piece)


async def _events(
    wanted: Wanted, model: str, first: str | None, pieces: _Pieces,
    work: asyncio.Task[ChatAnswer],
) -> AsyncIterator[str]:  # fmt: skip
    """The events of a stream: pieces, the end, and the tokens if they were asked for."""
    answer_id, created = _answer_id(), int(time.time())
    try:
        yield _event(protocol.chunk(
            answer_id, created, model, {"role": "assistant", "content": ""}
        ))  # fmt: skip
        piece = first
        while piece is not None:
            yield _event(protocol.chunk(answer_id, created, model, {"content": piece}))
            piece = await pieces.next()
        try:
            answer = await work
        except (RefusedError, TreememError) as error:
            yield _event(_as_refused(error).body())
            return
        yield _event(protocol.chunk(answer_id, created, model, {}, answer.stopped))
        if wanted.has_usage:
            counts = protocol.usage(answer.tokens_in, answer.tokens_out)
            last = protocol.chunk(answer_id, created, model, {})
            yield _event({**last, "choices": [], "usage": counts})
        yield "data: [DONE]\n\n"
    finally:
        pieces.streamed.cancelled.set()  # the client may have left


def _json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # Subtle: a text may have what only an escape can write, a lone surrogate.
    return Response(json.dumps(body), status, headers, "application/json")


def _event(body: Any) -> str:
    return f"data: {json.dumps(body)}\n\n"


async def _body(request: Request) -> object:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"The body is not JSON: {error}.") from error


async def _not_there(request: Request) -> Response:
    """What another path below /v1 is answered."""
    path = request.url.path[:80]
    return _refusal(RefusedError(404, f"{request.method} {path} is not served here."))


def _refusal(error: RefusedError | TreememError) -> Response:
    refused = _as_refused(error)
    return _json(refused.body(), refused.status)


def _as_refused(error: RefusedError | TreememError) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, UsageError):
        return RefusedError(400, str(error))
    if isinstance(error, ModelError):
        status = 502 if error.recoverable else 503
        return RefusedError(status, error.for_shell(), kind="server_error", code="model_error")
    _LOG.warning("a completion failed: %s", error)
    return RefusedError(500, error.for_shell(), kind="server_error")


def _no_model(name: str, known: str) -> RefusedError:
    return RefusedError(
        404, f"There is no model {name[:80]!r} here; there is {known!r}.", param="model",
        code="model_not_found",
    )  # fmt: skip


def _model_body(model: ChatModel) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "treemem"}


def _answer_id() -> str:
    return f"chatcmpl-{secrets.token_hex(12)}"


def _header(wanted: Wanted) -> dict[str, str]:
    """The header with the conversation's name, by which a client can go on with it; none for a name
    that a header cannot have, which the client has chosen itself."""
    name = wanted.name.removeprefix("v1/")
    return {SESSION_HEADER: name} if name.isascii() else {}
