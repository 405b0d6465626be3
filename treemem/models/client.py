"""Asks one local model, which runs in a child process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from treemem.models import chat
from treemem.models.chat import Chat, Prompt, Segment
from treemem.models.child import ModelChild, Streamed
from treemem.models.manifests import InstalledModel

__all__ = ["Generation", "LlamaClient", "Prompt", "Segment"]

# The texts in one request, to which the time-out applies.
EMBED_TEXTS_MAX = 32
# The time-out for loading a model.
LOAD_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer.

    tokens_in: of the prompt without its fixed segments, cached or not.
    stopped: "eos" at the end of the answer, "stop" before a stop string, "length"
    at max_tokens or the end of the context, "cancelled" where the caller ended it.
    tokens_computed: of the whole prompt, those that were not cached; None for a server.
    """

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    stopped: str
    tokens_computed: int | None = None


class LlamaClient(ModelChild):
    """A GGUF in a child process. Use it in a with statement, or close it.

    context_tokens: limited to the context that the model was trained with.
    threads: 0 leaves one core free, since a busy one slows llama.cpp down out of proportion.
    pooling: "mean", "cls", "last" or "rank", for embedding models and rerankers; None for that of
    the GGUF.
    timeout_seconds: for one answer, or for the vectors of EMBED_TEXTS_MAX texts.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int,
        threads: int = 0,
        embedding: bool = False,
        pooling: str | None = None,
        timeout_seconds: float = 300.0,
    ) -> None:
        fields: dict[str, object] = {
            "path": str(path),
            "context_tokens": context_tokens,
            "threads": threads or default_threads(),
            "embedding": embedding,
            "pooling": pooling,
        }
        super().__init__("load", fields, LOAD_SECONDS, f"the model {path}")
        self._timeout_seconds = timeout_seconds

    @classmethod
    def of(
        cls, model: InstalledModel, *, threads: int = 0, timeout_seconds: float = 300.0
    ) -> LlamaClient:
        """A client for an installed model, with the settings of its manifest."""
        return cls(
            model.path,
            context_tokens=model.context_tokens,
            threads=threads,
            embedding=model.role in ("embedder", "reranker"),
            pooling=model.pooling,
            timeout_seconds=timeout_seconds,
        )

    def generate(
        self,
        segments: Sequence[Segment],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        fixed: int = 0,
        ignore_eos: bool = False,
        streamed: Streamed | None = None,
    ) -> Generation:
        """The model's greedy continuation of the prompt: the same prompt gives the same text.

        fixed: how many of the first segments are the same in every call; they are not counted in
        tokens_in. ignore_eos: whether an answer ends only at max_tokens, a stop string or the end
        of the context. streamed: takes the text while it is written. The start that the prompt
        shares with the previous one is not computed again. Raises ModelError; for a prompt longer
        than the context before anything is computed.
        """
        answer = self._request(
            "generate",
            streamed,
            segments=[asdict(segment) for segment in segments],
            max_tokens=max_tokens,
            stop=list(stop),
            fixed=fixed,
            ignore_eos=ignore_eos,
            **({} if streamed is None else {"stream": True}),
        )
        return Generation(
            str(answer["text"]),
            int(answer["tokens_in"]),
            int(answer["tokens_out"]),
            float(answer["seconds"]),
            str(answer["stopped"]),
            int(answer["tokens_computed"]),
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order.

        The vector of a text longer than the context is the mean of its windows' vectors, weighted
        by tokens. The caller adds prefixes.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), EMBED_TEXTS_MAX):
            answer = self._request("embed", texts=list(texts[start : start + EMBED_TEXTS_MAX]))
            vectors.extend(answer["vectors"])
        return vectors

    def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for each text, in order, the larger the better it answers the query.

        A text that does not fit the context with the query is cut. Raises ModelError, also for a
        model without rank pooling.
        """
        answer = self._request("rank", query=query, texts=list(texts))
        return [float(rating) for rating in answer["ratings"]]

    def score(
        self, segments: Sequence[Segment], continuations: Sequence[str], *, fixed: int = 0
    ) -> list[list[float]]:
        """The natural logarithm of each token's likelihood, for each continuation of the text.

        fixed: how many of the first segments are the same in every call; they are computed once.
        The sum over a continuation is the log-likelihood of the whole. Put continuations with the
        same start next to each other: it is computed once, as the text is. The same request gives
        the same numbers. Raises ModelError.
        """
        parts = [asdict(segment) for segment in segments]
        answer = self._request(
            "score", segments=parts, continuations=list(continuations), fixed=fixed
        )
        return [[float(number) for number in row] for row in answer["scores"]]

    def count_tokens(self, text: str) -> int:
        """The tokens of a text as content, without those that begin a prompt."""
        return int(self._request("count", text=text)["tokens"])

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """The answer to a prompt in the model's chat template, as generate() gives it.

        tokens_in leaves out the prompt's system and examples, which are computed once.
        """
        prepared = self.chat(prompt)
        answer = self.generate(
            prepared.segments, max_tokens=max_tokens, stop=stop, fixed=prepared.fixed
        )
        return replace(answer, text=prompt.start + answer.text)

    def chat(self, prompt: Prompt) -> Chat:
        """Renders a prompt in the model's chat template; as plain text for a base model."""
        return chat.render(self.about()["chat_template"], prompt)

    def _request(
        self, op: str, streamed: Streamed | None = None, **fields: object
    ) -> dict[str, Any]:
        return self.request(op, self._timeout_seconds, streamed, **fields)


def default_threads() -> int:
    """The number of cores this process may use, less one, and at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    return max(1, cores - 1)
