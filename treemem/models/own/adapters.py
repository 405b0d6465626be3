"""Adapts a program's own functions and objects to what treemem asks of models.

Calls of one object are serialized, since few are made for several threads at once. Whatever an
object raises becomes a ModelError.

Tested in tests/models/own/test_registry.py.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from treemem.errors import ModelError
from treemem.models.own import registry

if TYPE_CHECKING:
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation
    from treemem.models.embedders import Vectors

Answer = TypeVar("Answer")

# The length of an exception's text in a message.
_REASON_CHARS_MAX = 300
_lock = threading.RLock()


class OwnEmbedder:
    """A function, or an object with embed_documents and embed_query."""

    def __init__(self, setting: str) -> None:
        registry.get("embedder", setting)
        self._setting = setting
        self._dimensions: int | None = None
        self.name = registry.identity_of("embedder", setting)

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            rows = self._rows(["dimensions"])
            if len(rows) != 1 or not rows[0]:
                raise ModelError(f"{self.name} gave {len(rows)} vectors for 1 text.")
            self._dimensions = len(rows[0])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        from treemem.models.embedders import unit

        return unit(self._rows(list(texts)), len(texts), self.dimensions, self.name)

    def embed_query(self, text: str) -> Vectors:
        from treemem.models.embedders import unit

        model = registry.get("embedder", self._setting)
        if isinstance(model, registry.Embeddings):
            rows = _asked(self.name, lambda: [list(map(float, model.embed_query(text)))])
        else:
            rows = self._rows([text])
        vector: Vectors = unit(rows, 1, self.dimensions, self.name)[0]
        return vector

    def alive(self) -> bool:
        return registry.find("embedder", self._setting) is not None

    def close(self) -> None:
        """The object belongs to the program, so it stays open."""

    def _rows(self, texts: list[str]) -> list[list[float]]:
        model = registry.get("embedder", self._setting)
        embed = model.embed_documents if isinstance(model, registry.Embeddings) else model
        return _asked(self.name, lambda: [list(map(float, row)) for row in embed(texts)])


class OwnChecker:
    """A function from lines of a log, each "Speaker: words", and a note to how well they support
    it, from 0 to 1."""

    def __init__(self, setting: str) -> None:
        registry.get("checker", setting)
        self._setting = setting

    def score(self, lines: Sequence[str], note: str) -> float:
        """The function's score. Raises ModelError."""
        model, name = registry.get("checker", self._setting), registry.name_of(self._setting)
        return score_of(model, lines, note, name)


class OwnReranker:
    """A function from a question and texts to a number for each."""

    def __init__(self, setting: str) -> None:
        registry.get("reranker", setting)
        self._setting = setting

    def rate(self, query: str, texts: Sequence[str]) -> list[float]:
        model, name = registry.get("reranker", self._setting), registry.name_of(self._setting)
        return ratings_of(model, query, texts, name)

    def close(self) -> None:
        """The function belongs to the program."""


class OwnClient:
    """A function that answers the messages of a chat, as the client of a role: "summarizer" or
    "chat"."""

    def __init__(self, setting: str, role: str = "summarizer") -> None:
        registry.get(role, setting)
        self._setting, self._role = setting, role

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """The function's answer, up to the first stop string. Raises ModelError."""
        from treemem.models.endpoint import messages_of

        return self.chat(messages_of(prompt), max_tokens=max_tokens, stop=stop)

    def chat(
        self, messages: list[dict[str, str]], *, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generation:
        """The function's answer to the messages of a chat, as answer() gives it."""
        from treemem.models.client import Generation
        from treemem.models.responses import tokens

        model, name = registry.get(self._role, self._setting), registry.name_of(self._setting)
        began = time.monotonic()
        text = _asked(name, lambda: model(messages, max_tokens))
        if not isinstance(text, str):
            raise ModelError(f"{name} gave {type(text).__name__} instead of a text.")
        ends = [at for at in (text.find(end) for end in stop) if at >= 0]
        text = text[: min(ends)] if ends else text
        sent = sum(len(message["content"]) for message in messages)
        return Generation(
            text, tokens(None, sent), tokens(None, len(text)), time.monotonic() - began,
            "stop" if ends else "eos",
        )  # fmt: skip


def score_of(model: Any, lines: Sequence[str], note: str, name: str) -> float:
    """How well lines support a note, as a function says. Raises ModelError."""
    found = _asked(name, lambda: float(model(list(lines), note)))
    if not 0 <= found <= 1:
        raise ModelError(f"{name} gave {found:g} for a note, which is not from 0 to 1.")
    return found


def ratings_of(model: Any, query: str, texts: Sequence[str], name: str) -> list[float]:
    """What a function says of each text. Raises ModelError."""
    ratings = _asked(name, lambda: [float(rating) for rating in model(query, list(texts))])
    if len(ratings) != len(texts) or not all(map(math.isfinite, ratings)):
        raise ModelError(f"{name} gave {len(ratings)} finite numbers for {len(texts)} texts.")
    return ratings


def _asked(name: str, request: Callable[[], Answer]) -> Answer:
    """The answer of a program's own code. Raises ModelError for whatever it raises."""
    try:
        with _lock:
            return request()
    except ModelError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARS_MAX]
        raise ModelError(f"{name} failed: {reason}") from error
