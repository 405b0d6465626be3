"""Reads requests of OpenAI's chat completions, and writes answers, pieces and errors in its shapes.

Pure. What cannot be done is refused by name, not ignored.

Tested in tests/assistant/completions/test_protocol.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treemem.assistant.chat_model import text_of
from treemem.text.labels import flat

# The header that names a conversation, and characters of a name.
SESSION_HEADER = "x-treemem-session"
NAME_CHARS_MAX = 100
# Messages of a request.
MESSAGES_MAX = 10_000
# Fields that are passed on to a server. A local model answers greedily and takes "stop" alone; the
# first ones only make an answer more or less random, so that they may stay without effect there.
SAMPLING = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")
PASSED_ON = (*SAMPLING, "stop", "response_format", "logit_bias", "reasoning_effort")
# Fields that mean nothing for an answer here.
_WITHOUT_EFFECT = (
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "user",
    "metadata", "store", "n", "parallel_tool_calls", "service_tier", "safety_identifier",
    "prompt_cache_key",
)  # fmt: skip
_ROLES = ("system", "developer", "user", "assistant")
_FINISH = {"eos": "stop", "stop": "stop", "length": "length", "cancelled": "stop"}


class RefusedError(Exception):
    """A request that is not answered. status: of HTTP. kind, param, code: as OpenAI's errors have
    them."""

    def __init__(
        self, status: int, message: str, *, kind: str = "invalid_request_error",
        param: str | None = None, code: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.kind, self.param, self.code = status, kind, param, code

    def body(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"message": str(self), "type": self.kind, "param": self.param,
                          "code": self.code}}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request.

    system: the words of its system messages. messages: the others, with words, the user's last.
    name: of the conversation. is_named: whether the client named it. options: for a server.
    """

    model: str
    system: str
    messages: tuple[Mapping[str, Any], ...]
    name: str
    is_named: bool
    is_streamed: bool
    has_usage: bool
    max_tokens: int | None
    options: Mapping[str, Any]


def wanted(body: object, header: str | None) -> Wanted:
    """Reads the body of a request. header: the conversation's name in it. Raises RefusedError."""
    if not isinstance(body, Mapping):
        raise RefusedError(400, "The body is a JSON object with model and messages.")
    _refuse_unsupported(body)
    messages = _messages(body.get("messages"))
    system = "\n\n".join(text_of(one) for one in messages if one["role"] in ("system", "developer"))
    said = tuple(one for one in messages if one["role"] in ("user", "assistant"))
    said = tuple(one for one in said if one["role"] == "user" or text_of(one).strip())
    if not said or said[-1]["role"] != "user":
        raise RefusedError(400, "The last message has to be the user's.", param="messages")
    name = _named(header, body.get("metadata"))
    return Wanted(
        model=_text(body, "model"), system=system, messages=said,
        name=f"v1/{name or _derived(body.get('user'), system, said)}", is_named=name is not None,
        is_streamed=_flag(body, "stream"),
        has_usage=_flag(body.get("stream_options") or {}, "include_usage"),
        max_tokens=_most(body), options=_options(body),
    )  # fmt: skip


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    if body.get("n") not in (None, 1):
        raise RefusedError(
            400, "Only one answer is given: n is 1.", param="n", code="unsupported_value"
        )
    for field, value in body.items():
        if field not in PASSED_ON and field not in _WITHOUT_EFFECT and value not in (
            None, False, [], {},
        ):  # fmt: skip
            raise RefusedError(
                400, f"{flat(str(field))[:60]} is not supported here.", param=str(field)[:60],
                code="unsupported_parameter",
            )  # fmt: skip


def _messages(given: object) -> list[Mapping[str, Any]]:
    if not isinstance(given, list) or not 0 < len(given) <= MESSAGES_MAX:
        raise RefusedError(400, f"messages is a list of 1 to {MESSAGES_MAX:,}.", param="messages")
    for at, one in enumerate(given):
        where = f"messages[{at}]"
        if not isinstance(one, Mapping) or one.get("role") not in _ROLES:
            raise RefusedError(
                400, f"{where} has a role of {', '.join(_ROLES)}; tools are not supported.",
                param=where,
            )  # fmt: skip
        content = one.get("content")
        parts = content if isinstance(content, list) else []
        is_text = isinstance(content, str) or (
            bool(parts) and all(isinstance(p, Mapping) and isinstance(p.get("text"), str)
                                for p in parts)
        )  # fmt: skip
        if one.get("tool_calls") or not (is_text or (content is None and one["role"] != "user")):
            raise RefusedError(400, f"{where} has to contain text alone.", param=f"{where}.content")
    return given


def _named(header: str | None, metadata: object) -> str | None:
    """The name that a client gives its conversation; None without one. Raises RefusedError."""
    given = header
    if given is None and isinstance(metadata, Mapping):
        given = metadata.get("session")
    if given is None:
        return None
    name = str(given).strip()
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable() or "~" in name:
        raise RefusedError(
            400, f"A conversation's name has 1 to {NAME_CHARS_MAX} printable characters and no ~.",
            param=SESSION_HEADER,
        )  # fmt: skip
    return name


def _derived(user: object, system: str, said: Sequence[Mapping[str, Any]]) -> str:
    """The name of a conversation without one: a hash of how it begins, which is sent each time."""
    begin = "\0".join([str(user or ""), system, text_of(said[0])])
    return hashlib.blake2b(begin.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise RefusedError(400, f"{field} is a text.", param=field)
    return value


def _flag(body: object, field: str) -> bool:
    value = body.get(field) if isinstance(body, Mapping) else None
    if not isinstance(value, bool | None):
        raise RefusedError(400, f"{field} is true or false.", param=field)
    return bool(value)


def _most(body: Mapping[str, Any]) -> int | None:
    for field in ("max_completion_tokens", "max_tokens"):
        value = body.get(field)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise RefusedError(400, f"{field} is a number from 1 on.", param=field)
            return value
    return None


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {field: body[field] for field in PASSED_ON if body.get(field) is not None}
    stop = options.get("stop")
    if isinstance(stop, str):
        options["stop"] = [stop]
    elif stop is not None and not (
        isinstance(stop, list) and all(isinstance(one, str) and one for one in stop)
    ):
        raise RefusedError(400, "stop is a text or a list of texts.", param="stop")
    return options


def check_local(options: Mapping[str, Any]) -> None:
    """Raises RefusedError for options that a local model would have to ignore, though they change
    what an answer means."""
    for field in ("response_format", "logit_bias"):
        value = options.get(field)
        if value and value != {"type": "text"}:
            raise RefusedError(
                400, f"{field} needs a model on a server.", param=field,
                code="unsupported_parameter",
            )  # fmt: skip


# -- answers ---------------------------------------------------------------------------


def usage(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out}  # fmt: skip


def completion(
    answer_id: str, created: int, model: str, text: str, stopped: str, counts: dict[str, int]
) -> dict[str, Any]:
    """The body of a whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, "refusal": None},
              "logprobs": None, "finish_reason": _FINISH[stopped]}  # fmt: skip
    return {"id": answer_id, "object": "chat.completion", "created": created, "model": model,
            "choices": [choice], "usage": counts}  # fmt: skip


def chunk(
    answer_id: str, created: int, model: str, delta: Mapping[str, Any], stopped: str | None = None
) -> dict[str, Any]:
    """One piece of a streamed answer. stopped: in the last one."""
    choice = {"index": 0, "delta": delta, "logprobs": None,
              "finish_reason": None if stopped is None else _FINISH[stopped]}  # fmt: skip
    return {"id": answer_id, "object": "chat.completion.chunk", "created": created, "model": model,
            "choices": [choice]}  # fmt: skip
