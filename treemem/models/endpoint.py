"""Asks a model behind a server that speaks OpenAI's protocol.

llama-server, Ollama, LM Studio and vLLM do. The client handles time-outs, retries and the parsing
of responses: an incomplete answer is a ModelError, never a text. httpx is imported at first use.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from treemem.errors import ModelError, UsageError
from treemem.models import responses
from treemem.models.chat import Prompt, defused
from treemem.models.child import Closable, Streamed
from treemem.models.client import Generation
from treemem.models.connection import Connection
from treemem.packages import extra_command

if TYPE_CHECKING:
    import httpx

# The time-out of one answer.
TIMEOUT_SECONDS = 600.0
CONNECT_SECONDS = 5.0
# The time-out of a list of models.
PROBE_SECONDS = 5.0
TRIES = 4
# The wait before the second try; it doubles with every further one.
WAIT_FIRST_SECONDS = 0.5
# A call fails if the server wants a longer wait.
WAIT_SECONDS_MAX = 30.0
# The most first tokens that a server is asked for.
TOP_TOKENS = 20
# The size of a response.
BODY_BYTES_MAX = 8_000_000

_CHAT = "/v1/chat/completions"
_MODELS = "/v1/models"
_EMBEDDINGS = "/v1/embeddings"
_RERANK = "/v1/rerank"
# For llama-server and vLLM: a thinking model would use up the tokens of the answer.
_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


class _StatusError(ModelError):
    """The server responded with an error status."""

    def __init__(self, message: str, status: int, *, recoverable: bool) -> None:
        super().__init__(message, recoverable=recoverable)
        self.status = status


class _RetryableError(ModelError):
    """Another try may succeed. wait_seconds: the wait that the server wants, or None."""

    def __init__(
        self, message: str, *, recoverable: bool, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message, recoverable=recoverable)
        self.wait_seconds = wait_seconds


class EndpointClient(Closable):
    """One model behind one server, for one thread. Use it in a with statement, or close it.

    base_url: with or without /v1. model: its name there; None for the only one that the server
    has. timeout_seconds: for one answer. sleep, jitter: replaced in tests.

    Raises UsageError for an invalid URL, ModelError for a key that cannot be sent.
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
        self._accepts_extras = True
        self._connection = Connection()
        self._http = self._opened()

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """The model's answer at temperature 0. Special tokens in the prompt are broken up, since
        the server would parse them.

        Raises ModelError; it is not recoverable if no other prompt would be answered either.
        """
        began = time.monotonic()
        body: dict[str, Any] = {
            "model": self._model_id(),
            "messages": messages_of(prompt),
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        if stop:
            body["stop"] = list(stop)
        with self._named():
            completion = responses.completion(self._completed(body))
        sent = sum(len(message["content"]) for message in body["messages"])
        return Generation(
            completion.text,
            responses.tokens(completion.tokens_in, sent),
            responses.tokens(completion.tokens_out, len(completion.text)),
            time.monotonic() - began,
            completion.stopped,
        )

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        streamed: Streamed | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Generation:
        """The model's answer to the messages of a chat, which are sent as they are but for special
        tokens. streamed: takes it while it is written. options: further fields of the request, such
        as "temperature". Raises ModelError as answer() does; after the first piece nothing is
        tried again.
        """
        began = time.monotonic()
        sent = [one | {"content": defused(_whole(one["content"]))} if isinstance(
            one.get("content"), str) else one for one in map(dict, messages)]  # fmt: skip
        body = {"model": self._model_id(), "messages": sent, "max_tokens": max_tokens,
                "temperature": 0, **(options or {}), "stream": streamed is not None}  # fmt: skip
        with self._named():
            if streamed is None:
                completion = responses.completion(self._completed(body))
                text, counts = completion.text, (completion.tokens_in, completion.tokens_out)
                stopped = completion.stopped
            else:
                text, stopped, counts = self._streamed(body, streamed)
        chars = sum(len(str(one.get("content", ""))) for one in sent)
        return Generation(
            text, responses.tokens(counts[0], chars), responses.tokens(counts[1], len(text)),
            time.monotonic() - began, stopped,
        )  # fmt: skip

    def _streamed(
        self, body: dict[str, Any], streamed: Streamed
    ) -> tuple[str, str, tuple[int | None, int | None]]:
        """The text, why it stopped, and the tokens of both, if the server counts them. Sends what
        only some servers accept, and sends the request without it if the server refuses it."""
        if self._accepts_extras:
            try:
                extras = {"stream_options": {"include_usage": True}, **_NO_THINKING}
                return self._streamed_once(body | extras, streamed)
            except _StatusError as error:
                if error.status not in (400, 422):
                    raise
        answer = self._streamed_once(body, streamed)
        self._accepts_extras = False
        return answer

    def _streamed_once(
        self, body: dict[str, Any], streamed: Streamed
    ) -> tuple[str, str, tuple[int | None, int | None]]:
        import httpx

        said, stopped = "", ""
        counts: tuple[int | None, int | None] = (None, None)
        timeout = httpx.Timeout(self._timeout_seconds, connect=CONNECT_SECONDS)
        content = json.dumps(body).encode()
        try:
            with self._http.stream(
                "POST", self.url + _CHAT, content=content, timeout=timeout
            ) as response:
                if not response.is_success:
                    _refuse(response, response.read())
                if response.headers.get("content-type", "").startswith("application/json"):
                    return self._at_once(response.read(), streamed)  # it does not stream
                for line in _lines(response):
                    if streamed.cancelled.is_set():
                        return said, "cancelled", counts
                    if len(said) > BODY_BYTES_MAX:
                        raise ModelError(f"the answer is larger than {BODY_BYTES_MAX:,} bytes")
                    if (piece := responses.delta(line)) is None:
                        continue
                    if piece.text:
                        said += piece.text
                        streamed.take(piece.text)
                    stopped = piece.stopped or stopped
                    if piece.tokens_in is not None:
                        counts = (piece.tokens_in, piece.tokens_out)
        except httpx.HTTPError as error:
            raise self._failure(error, self._timeout_seconds) from error
        if not stopped:
            raise ModelError("the answer broke off before its end")
        return said, stopped, counts

    @staticmethod
    def _at_once(data: bytes, streamed: Streamed) -> tuple[str, str, tuple[int | None, int | None]]:
        try:
            made = responses.completion(json.loads(data))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"the answer is not JSON: {responses.short(data)}") from error
        streamed.take(made.text)
        return made.text, made.stopped, (made.tokens_in, made.tokens_out)

    def first_tokens(self, prompt: Prompt) -> dict[str, float]:
        """The likeliest first tokens of the answer, with the natural logarithm of each likelihood.

        Raises ModelError as answer() does; not recoverable if the server tells no likelihoods.
        """
        body = {
            "model": self._model_id(),
            "messages": messages_of(prompt),
            "max_tokens": 1,
            "temperature": 0,
            "stream": False,
            "logprobs": True,
            "top_logprobs": TOP_TOKENS,
        }
        with self._named():
            return responses.first_tokens(self._completed(body))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, of any length. Raises ModelError as answer() does."""
        encodable = [_whole(text) for text in texts]
        body = {"model": self._model_id(), "input": encodable, "encoding_format": "float"}
        with self._named():
            response = self._request(_EMBEDDINGS, body, self._timeout_seconds, TRIES)
            return responses.vectors(response, len(texts))

    def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text, in order, the larger the better it answers the query. Raises
        ModelError as answer() does."""
        documents = [_whole(text) for text in texts]
        body = {"model": self._model_id(), "query": _whole(query), "documents": documents,
                "top_n": len(documents)}  # fmt: skip
        with self._named():
            response = self._request(_RERANK, body, self._timeout_seconds, TRIES)
            return responses.ratings(response, len(texts))

    def models(self) -> list[str]:
        """The names of the server's models. Tries once, for a few seconds."""
        return self._models(tries=1)

    def serving(self) -> str:
        """The server's own name for the model. Tries once, for a few seconds."""
        return self._model_id(tries=1)

    def alive(self) -> bool:
        """Whether the server responds and has the model. Tries once, for a few seconds."""
        self._serving = None
        try:
            self._model_id(tries=1)
        except ModelError:
            return False
        return True

    def close(self) -> None:
        """Closes the connections. The client cannot be used afterwards."""
        self._http.close()

    # -- which model -------------------------------------------------------------------

    def _model_id(self, tries: int = TRIES) -> str:
        """The model's name at this server, from its list of models: many servers answer with any
        model that they have, whatever the name in the request."""
        if self._serving is None:
            try:
                names = self._models(tries)
            except _StatusError as error:
                if self._model is None or error.status not in (404, 405, 501):
                    raise
                names = [self._model]  # a server without a list
            self._serving = responses.pick(names, self._model, self.url)
        return self._serving

    def _models(self, tries: int) -> list[str]:
        with self._named():
            return responses.model_names(self._request(_MODELS, None, PROBE_SECONDS, tries))

    # -- one request -------------------------------------------------------------------

    def _completed(self, body: dict[str, Any]) -> Any:
        """Sends the request with a parameter that only some servers accept, and without it if the
        server refuses it."""
        if self._accepts_extras:
            try:
                return self._request(_CHAT, body | _NO_THINKING, self._timeout_seconds, TRIES)
            except _StatusError as error:
                if error.status not in (400, 422):
                    raise
        response = self._request(_CHAT, body, self._timeout_seconds, TRIES)
        self._accepts_extras = False
        return response

    def _request(
        self, path: str, body: dict[str, Any] | None, timeout_seconds: float, tries: int
    ) -> Any:
        """The server's response as JSON, after retries where they can help."""
        reached_model = False  # by any of the tries: the prompt may be the cause
        for attempt in range(1, tries + 1):
            try:
                return self._once(path, body, timeout_seconds)
            except _RetryableError as error:
                reached_model = reached_model or error.recoverable
                wait = self._wait_seconds(attempt, error.wait_seconds)
                if attempt == tries or wait > WAIT_SECONDS_MAX:
                    times = f" (tried {attempt} times)" if attempt > 1 else ""
                    raise ModelError(f"{error}{times}", recoverable=reached_model) from error
                self._sleep(wait)
        raise AssertionError("tries must be positive")

    def _wait_seconds(self, attempt: int, wanted: float | None) -> float:
        """Doubles with every attempt, with up to a quarter added at random, and is at least the
        wait that the server wants."""
        backoff: float = WAIT_FIRST_SECONDS * 2 ** (attempt - 1) * (1 + self._jitter() / 4)
        return max(backoff, wanted or 0.0)

    def _once(self, path: str, body: dict[str, Any] | None, timeout_seconds: float) -> Any:
        import httpx

        method = "GET" if body is None else "POST"
        content = None if body is None else json.dumps(body).encode()
        timeout = httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        try:
            request = self._http.build_request(
                method, self.url + path, content=content, timeout=timeout,
                extensions={"trace": self._connection.trace},
            )  # fmt: skip
            # httpx limits the wait for each byte only.
            with self._connection.cut_after(timeout_seconds):
                response = self._http.send(request, stream=True)
                try:
                    data = _read(response)
                finally:
                    response.close()
        except httpx.HTTPError as error:
            if self._connection.was_cut:
                raise ModelError(f"no answer within {timeout_seconds:.0f} s") from error
            raise self._failure(error, timeout_seconds) from error
        except httpx.InvalidURL as error:
            raise ModelError(_message_of(error), recoverable=False) from error
        if self._connection.was_cut:  # a body without a length seems to be whole
            raise ModelError(f"no answer within {timeout_seconds:.0f} s")
        if not response.is_success:
            _refuse(response, data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"the answer is not JSON: {responses.short(data)}") from error

    @staticmethod
    def _failure(error: httpx.HTTPError, timeout_seconds: float) -> ModelError:
        """What an error of httpx means for the call."""
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return _RetryableError(f"no connection: {_message_of(error)}", recoverable=False)
        if isinstance(error, httpx.TimeoutException):
            return ModelError(f"no answer within {timeout_seconds:.0f} s")
        if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
            return _RetryableError(f"the connection broke: {_message_of(error)}", recoverable=True)
        return ModelError(_message_of(error), recoverable=False)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Adds the server's URL to an error, and removes the API key from it."""
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
                "A model server needs the package httpx, which is not installed: run "
                f"{extra_command('endpoint')}",
                recoverable=False,
            ) from error
        # No compression, which would hide the size of a response.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._api_key is not None:
            if not re.fullmatch(r"[\x21-\x7e]+", self._api_key):
                raise ModelError(
                    f"The API key for {self.url} is empty or has invalid characters. "
                    "Set its environment variable again.",
                    recoverable=False,
                )
            headers["Authorization"] = f"Bearer {self._api_key}"
        # This machine is not reached through a proxy.
        return httpx.Client(headers=headers, trust_env=not is_local(self.url))


def base_of(url: str) -> str:
    """A server's address without a slash or /v1 at its end.

    Raises UsageError for an invalid address, or one with a password, which would be stored.

    Example:
        >>> base_of("http://localhost:8080/v1/")
        'http://localhost:8080'
    """
    if re.search(r"[@?#]", url):
        # The message does not repeat the address, which may contain a secret.
        raise UsageError(
            "The address of a model server contains a name, a password, a query or a fragment. "
            "Remove it; pass a key by an environment variable: --key-env NAME"
        )
    if not url.isprintable() or re.search(r"\s", url.strip()):
        raise UsageError(f"{url!r} has characters that are not allowed in an address.")
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not an address: {error}.") from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a model server, such as http://host:8080")
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path}"


def is_local(url: str) -> bool:
    """Whether a server is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """A prompt as the messages of a chat, without what a server would take for control tokens."""
    turns = [("system", prompt.system)] if prompt.system else []
    for question, answer in prompt.examples:
        turns += [("user", question), ("assistant", answer)]
    turns.append(("user", prompt.question))
    return [{"role": role, "content": defused(_whole(text))} for role, text in turns]


def _whole(text: str) -> str:
    """Replaces lone surrogates, which cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _lines(response: httpx.Response) -> Iterator[str]:
    """The lines of a stream. Subtle: those of httpx also end at a line separator within a text.
    Raises ModelError if one is too long."""
    rest = b""
    for chunk in response.iter_raw():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(rest) > BODY_BYTES_MAX:
            raise ModelError(f"the answer is larger than {BODY_BYTES_MAX:,} bytes")
    if rest:
        yield rest.decode("utf-8", "replace")


def _read(response: httpx.Response) -> bytes:
    """The raw body. Raises ModelError if it is too large."""
    chunks, size = [], 0
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise ModelError(f"the answer is larger than {BODY_BYTES_MAX:,} bytes")
    return b"".join(chunks)


def _refuse(response: httpx.Response, data: bytes) -> NoReturn:
    status = response.status_code
    message = (
        f"HTTP {status}: {responses.error_message(data) or responses.short(response.reason_phrase)}"
    )
    if status in (429, 503):  # busy, or still loading
        wait = _retry_after(response.headers.get("retry-after"))
        raise _RetryableError(message, recoverable=False, wait_seconds=wait)
    if status >= 500:
        raise _RetryableError(message, recoverable=True)
    # Only this prompt is refused by these statuses, every prompt by the others.
    raise _StatusError(message, status, recoverable=status in (400, 413, 422))


def _retry_after(value: str | None) -> float | None:
    """The seconds in a Retry-After header, which contains a number or a date."""
    if value is None:
        return None
    if re.fullmatch(r"\d{1,9}", value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _message_of(error: Exception) -> str:
    return str(error) or type(error).__name__
