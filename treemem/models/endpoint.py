"""A client for a model behind a server that speaks OpenAI's protocol.

llama-server, Ollama, LM Studio and vLLM do. The client owns time-outs, retries and the reading
of answers: what is no whole answer is a ModelError, never a text. httpx is loaded at first use.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import urlsplit

from treemem.errors import ModelError, UsageError
from treemem.models import responses
from treemem.models.chat import Prompt, defused
from treemem.models.client import Generation

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 600.0
CONNECT_SECONDS = 5.0
PROBE_SECONDS = 5.0
TRIES = 4
WAIT_FIRST_SECONDS = 0.5
# A server that wants a longer wait than this is not asked again in this call.
WAIT_SECONDS_MAX = 30.0
BODY_BYTES_MAX = 8_000_000

_PIP = "pip install 'treemem[endpoint]'"
_CHAT = "/v1/chat/completions"
_MODELS = "/v1/models"
_EMBEDDINGS = "/v1/embeddings"
# llama-server and vLLM: a model that can think first is asked not to, as its thoughts would
# use up the tokens of the answer.
_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


class _StatusError(ModelError):
    """The server answered with a status that is no success."""

    def __init__(self, message: str, status: int, *, recoverable: bool) -> None:
        super().__init__(message, recoverable=recoverable)
        self.status = status


class _AgainError(ModelError):
    """Another try may succeed. wait_seconds: what the server asked for, or None."""

    def __init__(
        self, message: str, *, recoverable: bool, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message, recoverable=recoverable)
        self.wait_seconds = wait_seconds


class EndpointClient:
    """One model behind one server; use it in a with statement, or close it.

    base_url: with or without /v1. model: its name there; None takes the only one there is.
    timeout_seconds: for one answer. sleep, jitter: for the tests. Not for several threads.

    Raises UsageError for a URL that is none, ModelError for a key that cannot be sent.
    """

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        *,
        api_key: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.url = base_of(base_url)
        self._model = model
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._sleep = sleep
        self._jitter = jitter
        self._serving: str | None = None
        self._knows_extras = True
        self._http = self._opened()

    def answer(
        self,
        prompt: Prompt,
        *,
        grammar: str | None = None,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation:
        """The model's answer, at temperature 0. All of the prompt is content: special tokens
        in it are broken up, since the server would parse them.

        grammar: GBNF, for servers that know it; others answer without. Raises ModelError,
        which is not recoverable where no other prompt would be answered either.
        """
        began = time.monotonic()
        body: dict[str, Any] = {
            "model": self._model_id(),
            "messages": _messages(prompt),
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        if stop:
            body["stop"] = list(stop)
        extras = _NO_THINKING | ({"grammar": grammar} if grammar else {})
        with self._named():
            told = responses.completion(self._completed(body, extras))
        sent = sum(len(message["content"]) for message in body["messages"])
        return Generation(
            told.text,
            responses.tokens(told.tokens_in, sent),
            responses.tokens(told.tokens_out, len(told.text)),
            time.monotonic() - began,
            told.stopped,
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, as long as the server makes it. Raises ModelError, as
        answer does."""
        whole = [_whole(text) for text in texts]
        body = {"model": self._model_id(), "input": whole, "encoding_format": "float"}
        with self._named():
            told = self._asked(_EMBEDDINGS, body, self._timeout_seconds, TRIES)
            return responses.vectors(told, len(texts))

    def models(self) -> list[str]:
        """The names of the models the server has. One try, a few seconds."""
        return self._models(tries=1)

    def serving(self) -> str:
        """The server's own name for the model. One try, a few seconds."""
        return self._model_id(tries=1)

    def alive(self) -> bool:
        """Whether the server answers and has the model, found out in a few seconds."""
        self._serving = None
        try:
            self._model_id(tries=1)
        except ModelError:
            return False
        return True

    def close(self) -> None:
        """Closes the connections. The client cannot be used again."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- which model -------------------------------------------------------------------

    def _model_id(self, tries: int = TRIES) -> str:
        """The model's name at this server. It is looked up before the first answer: many
        servers answer with what they have, whatever name they are asked for."""
        if self._serving is None:
            try:
                known = self._models(tries)
            except _StatusError as error:
                if self._model is None or error.status not in (404, 405, 501):
                    raise
                known = [self._model]  # a server without a list
            self._serving = responses.pick(known, self._model, self.url)
        return self._serving

    def _models(self, tries: int) -> list[str]:
        with self._named():
            return responses.model_names(self._asked(_MODELS, None, PROBE_SECONDS, tries))

    # -- one request -------------------------------------------------------------------

    def _completed(self, body: dict[str, Any], extras: dict[str, Any]) -> Any:
        """Asks with what only some servers know; one that refuses that is asked without."""
        if self._knows_extras:
            try:
                return self._asked(_CHAT, body | extras, self._timeout_seconds, TRIES)
            except _StatusError as error:
                if error.status not in (400, 422):
                    raise
        found = self._asked(_CHAT, body, self._timeout_seconds, TRIES)
        self._knows_extras = False
        return found

    def _asked(
        self, path: str, body: dict[str, Any] | None, timeout_seconds: float, tries: int
    ) -> Any:
        """The server's answer as JSON, tried again where that can help."""
        at_work = False  # a try got as far as the model: the prompt may be to blame
        for attempt in range(1, tries + 1):
            try:
                return self._once(path, body, timeout_seconds)
            except _AgainError as error:
                at_work = at_work or error.recoverable
                wait = self._wait_seconds(attempt, error.wait_seconds)
                if attempt == tries or wait > WAIT_SECONDS_MAX:
                    times = f" (tried {attempt} times)" if attempt > 1 else ""
                    raise ModelError(f"{error}{times}", recoverable=at_work) from error
                self._sleep(wait)
        raise AssertionError("at least one try is made")

    def _wait_seconds(self, attempt: int, asked: float | None) -> float:
        """Doubling, with up to a quarter on top, and never less than the server asked for."""
        own: float = WAIT_FIRST_SECONDS * 2 ** (attempt - 1) * (1 + self._jitter() / 4)
        return max(own, asked or 0.0)

    def _once(self, path: str, body: dict[str, Any] | None, timeout_seconds: float) -> Any:
        import httpx

        method = "GET" if body is None else "POST"
        content = None if body is None else json.dumps(body).encode()
        timeout = httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        try:
            request = self._http.build_request(
                method, self.url + path, content=content, timeout=timeout
            )
            response = self._http.send(request, stream=True)
            try:
                data = _read(response, time.monotonic() + timeout_seconds)
            finally:
                response.close()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise _AgainError(f"no connection: {_said(error)}", recoverable=False) from error
        except httpx.TimeoutException as error:
            raise ModelError(f"no answer within {timeout_seconds:.0f} s") from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _AgainError(f"the connection broke: {_said(error)}", recoverable=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelError(_said(error), recoverable=False) from error
        if not response.is_success:
            _refuse(response, data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"the answer is no JSON: {responses.short(data)}") from error

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Says in an error whose it is, and keeps the key out of it."""
        try:
            yield
        except ModelError as error:
            text = f"The model server {self.url}: {error}"
            if self._api_key:
                text = text.replace(self._api_key, "…")
            error.args = (text,)
            raise

    def _opened(self) -> httpx.Client:
        try:
            import httpx
        except ImportError as error:
            raise ModelError(
                f"A model server needs the package httpx, which is not installed: {_PIP}",
                recoverable=False,
            ) from error
        # Compression is not asked for: it would hide how large an answer is.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._api_key is not None:
            if not re.fullmatch(r"[\x21-\x7e]+", self._api_key):
                raise ModelError(
                    f"The API key for {self.url} is empty or has characters that no key has. "
                    "Set its environment variable again.",
                    recoverable=False,
                )
            headers["Authorization"] = f"Bearer {self._api_key}"
        # The way to this machine itself leads through no proxy.
        return httpx.Client(headers=headers, trust_env=not _is_local(self.url))


def base_of(url: str) -> str:
    """A server's address without a slash or /v1 at its end.

    Raises UsageError where it is none, or carries a password, which would be stored.

    Example:
        >>> base_of("http://localhost:8080/v1/")
        'http://localhost:8080'
    """
    if re.search(r"[@?#]", url):
        # The address is not repeated: what it holds may be secret.
        raise UsageError(
            "The address of a model server has a name, a password, or something after ? or # in "
            "it. Give it without; a key goes into an environment variable: --key-env NAME"
        )
    if not url.isprintable() or re.search(r"\s", url.strip()):
        raise UsageError(f"{url!r} has characters that no address has.")
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} cannot be read as an address: {error}.") from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is no address of a model server. Write it like http://host:8080")
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path}"


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    turns = [("system", prompt.system)] if prompt.system else []
    for question, answer in prompt.examples:
        turns += [("user", question), ("assistant", answer)]
    turns.append(("user", prompt.question))
    return [{"role": role, "content": defused(_whole(text))} for role, text in turns]


def _whole(text: str) -> str:
    """Half a character cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _read(response: httpx.Response, deadline: float) -> bytes:
    """The body as it was sent. Raises ModelError where it is too large or drips in too long."""
    chunks, size = [], 0
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise ModelError(f"the answer is larger than {BODY_BYTES_MAX:,} bytes")
        if time.monotonic() > deadline:
            raise ModelError("the answer did not end in time")
    return b"".join(chunks)


def _refuse(response: httpx.Response, data: bytes) -> NoReturn:
    status = response.status_code
    message = (
        f"HTTP {status}: {responses.error_message(data) or responses.short(response.reason_phrase)}"
    )
    if status in (429, 503):  # busy, or still loading
        wait = _retry_after(response.headers.get("retry-after"))
        raise _AgainError(message, recoverable=False, wait_seconds=wait)
    if status >= 500:
        raise _AgainError(message, recoverable=True)
    # Too long or too odd a prompt is that prompt's trouble; anything else is everyone's.
    raise _StatusError(message, status, recoverable=status in (400, 413, 422))


def _retry_after(value: str | None) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or as a date."""
    if value is None:
        return None
    if re.fullmatch(r"\d{1,9}", value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
