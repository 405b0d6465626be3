"""What a model server said: its answers, its list of models, its errors.

Pure. Everything here comes from elsewhere and is not trusted: what has not the shape of a
whole answer raises ModelError.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from treemem.errors import ModelError

NAMES_SHOWN_MAX = 20
MESSAGE_CHARS_MAX = 300
NAME_CHARS_MAX = 64
CHARS_PER_TOKEN = 4
_TOKENS_MAX = 1 << 31
_THOUGHT_END = "</think>"
_STOPPED = {None: "eos", "stop": "eos", "eos": "eos", "length": "length"}


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. tokens_in, tokens_out: None where the server does not count.

    stopped: "eos" or "length"; the protocol does not tell a stop string from the end.
    """

    text: str
    tokens_in: int | None
    tokens_out: int | None
    stopped: str


def completion(told: Any) -> Completion:
    """The answer in the body of a chat completion, without thoughts at its head.

    Raises ModelError for a body that is an error, has no answer, or an empty one.
    """
    if (message := _error_in(told)) is not None:
        raise ModelError(f"an error instead of an answer: {message}")
    try:
        choice = told["choices"][0]
        text, reason = choice["message"]["content"], choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"no answer in {short(told)}") from error
    if not isinstance(reason, str | None) or reason not in _STOPPED:
        raise ModelError(f"the answer ended by {short(reason)}")
    if not isinstance(text, str | None):
        raise ModelError(f"the answer is no text: {short(text)}")
    said = without_thoughts(text or "")
    if not said.strip():
        thought = "only thoughts" if text or choice["message"].get("reasoning_content") else "empty"
        raise ModelError(f"the answer is {thought} (ended by {reason})")
    usage = told.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Completion(
        said, _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")),
        _STOPPED[reason],
    )  # fmt: skip


def vectors(told: Any, count: int) -> list[list[float]]:
    """The vectors in the body of an answer about embeddings, in the order of the texts.

    Raises ModelError for a body that is an error, or has not one vector of numbers a text.
    """
    if (message := _error_in(told)) is not None:
        raise ModelError(f"an error instead of vectors: {message}")
    try:
        rows = sorted(told["data"], key=lambda row: int(row["index"]))
        found = [[float(number) for number in row["embedding"]] for row in rows]
        places = [int(row["index"]) for row in rows]
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"no vectors in {short(told)}") from error
    if places != list(range(count)):
        raise ModelError(f"{len(found)} vectors where {count} texts were sent")
    return found


def without_thoughts(text: str) -> str:
    """The text without a block of thoughts at its head; one that does not end leaves nothing.

    Some servers put the opening tag into the prompt, so that only the closing one is told.

    Example:
        >>> without_thoughts("<think>Hm.</think>\\n\\nYes.")
        'Yes.'
    """
    head = text.lstrip()
    thoughts, end, answer = head.partition(_THOUGHT_END)
    if end and (head.startswith("<think>") or "<think>" not in thoughts):
        return answer.lstrip()
    return "" if head.startswith("<think>") else text


def model_names(told: Any) -> list[str]:
    """The names in the body of a list of models. Raises ModelError where there is no list."""
    rows = told.get("data") if isinstance(told, dict) else None
    if not isinstance(rows, list):
        said = _error_in(told) or short(told)
        raise ModelError(f"no list of models: {said}", recoverable=False)
    names = [row.get("id") for row in rows if isinstance(row, dict)]
    return [name for name in names if isinstance(name, str) and name]


def pick(names: list[str], wanted: str | None, url: str) -> str:
    """The server's own name for the model that is wanted, or for the only one it has.

    Raises ModelError, not recoverable, that lists what the server has.
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
    said = "has several models" if names else "has no model"
    if wanted is not None:
        said = f"has no model {short(wanted)}"
    raise ModelError(
        f"The model server {url} {said}. It has: {shown}{more}. Name one: --model NAME",
        recoverable=False,
    )


def clean(model: str) -> str:
    """A model's name for use as a producer's: the same for every server that has the model.

    Of a file's path only its own name counts.

    Example:
        >>> clean("/srv/models/qwen3-8b.gguf"), clean("qwen3:8b"), clean("Qwen/Qwen3-8B")
        ('qwen3-8b', 'qwen3-8b', 'Qwen-Qwen3-8B')
    """
    name = model.strip()
    if name.lower().endswith(".gguf"):
        name = re.split(r"[/\\]", name)[-1][: -len(".gguf")]
    found = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:NAME_CHARS_MAX]
    return found or hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]


def tokens(told: int | None, chars: int) -> int:
    """The tokens that the server counted, or an estimate from the text's length."""
    return max(1, chars // CHARS_PER_TOKEN) if told is None else told


def error_message(body: bytes) -> str:
    """What a server says in the body of an error, on one short line."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return short(body)
    return _error_in(told) or short(told)


def short(value: object) -> str:
    """A value from elsewhere on one line of an error message."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    flat = " ".join(text[: 4 * MESSAGE_CHARS_MAX].split())
    return flat if len(flat) <= MESSAGE_CHARS_MAX else flat[: MESSAGE_CHARS_MAX - 1] + "…"


def _error_in(told: Any) -> str | None:
    """The message of an error body, in the shapes that servers give it, or None."""
    if not isinstance(told, dict):
        return None
    error = told.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error
    if not error and "choices" not in told and "data" not in told:
        error = told.get("message") or told.get("detail")
    return short(error) if error else None


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOKENS_MAX:
        return value
    return None
