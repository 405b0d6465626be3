"""Parses the responses of model servers: answers, vectors, lists of models, errors.

Pure. Responses are not trusted: one that is not a complete answer raises ModelError.
Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from typing import Any

from treemem.errors import ModelError
from treemem.reports import count_of

# An error message lists at most this many models.
NAMES_SHOWN_MAX = 20
# An error message quotes at most this many characters of a server's text.
MESSAGE_CHARS_MAX = 300
NAME_CHARS_MAX = 64
# The estimate for servers that do not count tokens.
CHARS_PER_TOKEN = 4
_TOKENS_MAX = 1 << 31
_THOUGHT_END = "</think>"
_STOPPED = {None: "eos", "stop": "eos", "eos": "eos", "length": "length"}


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer.

    tokens_in, tokens_out: None if the server does not count them. stopped: "eos" or "length"; the
    protocol does not distinguish a stop string from the end.
    """

    text: str
    tokens_in: int | None
    tokens_out: int | None
    stopped: str


def completion(body: Any) -> Completion:
    """The answer in the body of a chat completion, without the thinking before it.

    Raises ModelError for an error, and for a missing or empty answer.
    """
    if (message := _error_in(body)) is not None:
        raise ModelError(f"an error instead of an answer: {message}")
    try:
        choice = body["choices"][0]
        text, reason = choice["message"]["content"], choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"no answer in {short(body)}") from error
    if not isinstance(reason, str | None) or reason not in _STOPPED:
        raise ModelError(f"the answer ended by {short(reason)}")
    if not isinstance(text, str | None):
        raise ModelError(f"the answer is not text: {short(text)}")
    answer = without_thoughts(text or "")
    if not answer.strip():
        thought = "only thoughts" if text or choice["message"].get("reasoning_content") else "empty"
        raise ModelError(f"the answer is {thought} (ended by {reason})")
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Completion(
        answer, _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")),
        _STOPPED[reason],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a streamed answer. stopped: as in Completion, in the last one; else None.
    tokens_in, tokens_out: where the server counts them."""

    text: str = ""
    stopped: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


def delta(line: str) -> Delta | None:
    """The piece in a line of a streamed completion; None for a line without one.

    Raises ModelError for an error, and for what is no piece of an answer.

    Example:
        >>> delta('data: {"choices": [{"delta": {"content": "Hi"}}]}').text
        'Hi'
    """
    if not line.startswith("data:") or line[5:].strip() in ("", "[DONE]"):
        return None
    try:
        body = json.loads(line[5:])
        if (message := _error_in(body)) is not None:
            raise ModelError(f"an error instead of an answer: {message}")
        usage = body.get("usage") or {}
        choice = (body.get("choices") or [{}])[0]
        text, reason = (choice.get("delta") or {}).get("content"), choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"no answer in {short(line)}") from error
    if not isinstance(text, str | None) or not isinstance(reason, str | None):
        raise ModelError(f"no answer in {short(line)}")
    if reason not in _STOPPED:
        raise ModelError(f"the answer ended by {short(reason)}")
    counts = usage if isinstance(usage, dict) else {}
    return Delta(
        text or "", None if reason is None else _STOPPED[reason],
        _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")),
    )  # fmt: skip


def first_tokens(body: Any) -> dict[str, float]:
    """The first tokens of an answer that were most likely, with the natural logarithm of each
    likelihood. Raises ModelError for an error, and where there are none.

    Example:
        >>> first = {"top_logprobs": [{"token": "Yes", "logprob": -0.1}]}
        >>> first_tokens({"choices": [{"logprobs": {"content": [first]}}]})
        {'Yes': -0.1}
    """
    if (message := _error_in(body)) is not None:
        raise ModelError(f"an error instead of an answer: {message}")
    try:
        rows = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        found = {str(row["token"]): float(row["logprob"]) for row in rows}
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(
            "the server tells no likelihoods of its tokens (logprobs), so its model cannot serve "
            "as checker: use llama-server or vLLM, or another checker",
            recoverable=False,
        ) from error
    numbers = {token: number for token, number in found.items() if number == number}
    if not numbers:
        raise ModelError(f"no first token in {short(body)}")
    return numbers


def vectors(body: Any, count: int) -> list[list[float]]:
    """The vectors in the body of an embeddings response, in the order of the texts.

    Raises ModelError for an error, and unless there is one vector of numbers for each text.
    """
    if (message := _error_in(body)) is not None:
        raise ModelError(f"an error instead of vectors: {message}")
    try:
        rows = sorted(body["data"], key=lambda row: int(row["index"]))
        embeddings = [[float(number) for number in row["embedding"]] for row in rows]
        indexes = [int(row["index"]) for row in rows]
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"no vectors in {short(body)}") from error
    if indexes != list(range(count)):
        raise ModelError(
            f"{count_of(len(embeddings), 'vector')} for {count_of(count, 'text')} that were sent"
        )
    return embeddings


def ratings(body: Any, count: int) -> list[float]:
    """The ratings in the body of a rerank response, in the order of the texts.

    Raises ModelError for an error, and unless there is one finite number for each text.

    Example:
        >>> rows = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
        >>> ratings({"results": rows}, 2)
        [0.1, 0.9]
    """
    if isinstance(body, dict) and "results" not in body and (message := _error_in(body)):
        raise ModelError(f"an error instead of ratings: {message}")
    try:
        found = {int(row["index"]): float(row["relevance_score"]) for row in body["results"]}
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"no ratings in {short(body)}") from error
    if sorted(found) != list(range(count)) or not all(map(math.isfinite, found.values())):
        raise ModelError(f"{count_of(len(found), 'rating')} for {count_of(count, 'text')}")
    return [found[index] for index in range(count)]


def without_thoughts(text: str) -> str:
    """The text without a block of thoughts before it; nothing if the block does not end.

    Some servers put the opening tag into the prompt, so that the text has only the closing one.

    Example:
        >>> without_thoughts("<think>Hm.</think>\\n\\nYes.")
        'Yes.'
    """
    head = text.lstrip()
    thoughts, end, answer = head.partition(_THOUGHT_END)
    if end and (head.startswith("<think>") or "<think>" not in thoughts):
        return answer.lstrip()
    return "" if head.startswith("<think>") else text


def model_names(body: Any) -> list[str]:
    """The names in the body of a list of models. Raises ModelError if there is no list."""
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        reason = _error_in(body) or short(body)
        raise ModelError(f"no list of models: {reason}", recoverable=False)
    names = [row.get("id") for row in rows if isinstance(row, dict)]
    return [name for name in names if isinstance(name, str) and name]


def pick(names: list[str], wanted: str | None, url: str) -> str:
    """The server's own name for the wanted model, or for its only model if wanted is None.

    Raises ModelError, not recoverable, with the names that the server has.
    """
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return wanted
    same = [name for name in names if wanted is not None and clean(name) == clean(wanted)]
    if same:
        return same[0]
    shown = ", ".join(short(name) for name in names[:NAMES_SHOWN_MAX]) or "none"
    more = f" and {len(names) - NAMES_SHOWN_MAX} more" if len(names) > NAMES_SHOWN_MAX else ""
    problem = "has several models" if names else "has no model"
    if wanted is not None:
        problem = f"has no model {short(wanted)}"
    raise ModelError(
        f"The model server {url} {problem}. It has: {shown}{more}. Name one: --model NAME",
        recoverable=False,
    )


def clean(model: str) -> str:
    """A model's name as part of a producer's name: the same for every server that has the model.

    Only the last part of a file path is used.

    Example:
        >>> clean("/srv/models/qwen3-8b.gguf"), clean("qwen3:8b"), clean("Qwen/Qwen3-8B")
        ('qwen3-8b', 'qwen3-8b', 'Qwen-Qwen3-8B')
    """
    name = model.strip()
    if name.lower().endswith(".gguf"):
        name = re.split(r"[/\\]", name)[-1][: -len(".gguf")]
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:NAME_CHARS_MAX]
    return safe or hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]


def tokens(counted: int | None, chars: int) -> int:
    """The tokens that the server counted, or an estimate from the length of the text."""
    return max(1, chars // CHARS_PER_TOKEN) if counted is None else counted


def error_message(data: bytes) -> str:
    """The message in the body of an error response, on one short line."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return short(data)
    return _error_in(body) or short(body)


def short(value: object) -> str:
    """A value from a server, shortened to one line for an error message."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    flat = " ".join(text[: 4 * MESSAGE_CHARS_MAX].split())
    return flat if len(flat) <= MESSAGE_CHARS_MAX else flat[: MESSAGE_CHARS_MAX - 1] + "…"


def _error_in(body: Any) -> str | None:
    """The message of an error body, in any of the shapes that servers use, or None."""
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error
    if not error and "choices" not in body and "data" not in body:
        error = body.get("message") or body.get("detail")
    return short(error) if error else None


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOKENS_MAX:
        return value
    return None
