"""A client for one local model, which runs in a child process of its own.

The child is started at the first question and started again after it died. Calls from
several threads wait for each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from treemem.errors import ModelError
from treemem.models import chat
from treemem.models.chat import Chat, Prompt, Segment
from treemem.models.child import ModelProcess
from treemem.models.manifests import InstalledModel

__all__ = ["Generation", "LlamaClient", "Prompt", "Segment"]

# Texts in one request; the time-out is for one request.
EMBED_TEXTS_MAX = 32
LOAD_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer.

    tokens_in: of the prompt, also where its start was still in the cache.
    stopped: "eos" where the model (or the grammar) came to its end, "stop" at a stop string,
    which is not part of the text, "length" at max_tokens or the end of the context.
    tokens_computed: tokens of the whole prompt that the cache did not hold; None for a server.
    """

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    stopped: str
    tokens_computed: int | None = None


class LlamaClient:
    """A GGUF behind a child process; use it in a with statement, or close it.

    context_tokens: at most what the model was trained for is used.
    threads: 0 leaves one core free: a busy neighbour slows llama.cpp down out of proportion.
    pooling: "mean", "cls" or "last", for embedding models; None is as the GGUF says.
    timeout_seconds: for one answer, or the vectors of 32 texts.
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
        self._load = {
            "path": str(path),
            "context_tokens": context_tokens,
            "threads": threads or default_threads(),
            "embedding": embedding,
            "pooling": pooling,
        }
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._process: ModelProcess | None = None
        self._started_by = 0
        self._about: dict[str, Any] = {}

    @classmethod
    def of(
        cls, model: InstalledModel, *, threads: int = 0, timeout_seconds: float = 300.0
    ) -> LlamaClient:
        """A client for an installed model, as its manifest says."""
        return cls(
            model.path,
            context_tokens=model.context_tokens,
            threads=threads,
            embedding=model.role == "embedder",
            pooling=model.pooling,
            timeout_seconds=timeout_seconds,
        )

    def generate(
        self,
        segments: Sequence[Segment],
        *,
        grammar: str | None = None,
        max_tokens: int,
        stop: Sequence[str] = (),
        fixed: int = 0,
    ) -> Generation:
        """The model's continuation of the prompt: greedy, so the same again for the same prompt.

        grammar: GBNF with a rule named root. What the prompt shares with the last call's is
        not computed again. fixed: so many of the segments come in every call; they are not
        counted in tokens_in. Raises ModelError, for a prompt longer than the context before
        anything is computed.
        """
        answer = self._request(
            "generate",
            segments=[asdict(segment) for segment in segments],
            grammar=grammar,
            max_tokens=max_tokens,
            stop=list(stop),
            fixed=fixed,
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

        A text longer than the context is embedded window by window; its vector is their
        mean, weighted by tokens. Prefixes are the caller's.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), EMBED_TEXTS_MAX):
            answer = self._request("embed", texts=list(texts[start : start + EMBED_TEXTS_MAX]))
            vectors.extend(answer["vectors"])
        return vectors

    def count_tokens(self, text: str) -> int:
        """The model's tokens in a text as content, without those that open a prompt."""
        return int(self._request("count", text=text)["tokens"])

    def answer(
        self,
        prompt: Prompt,
        *,
        grammar: str | None = None,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation:
        """The model's answer to a prompt in its own chat template. See generate.

        tokens_in leaves out the fixed beginning of the prompt, which is computed once.
        """
        prepared = self.chat(prompt)
        answer = self.generate(
            prepared.segments, grammar=grammar, max_tokens=max_tokens, stop=stop,
            fixed=prepared.fixed,
        )  # fmt: skip
        return replace(answer, text=prompt.start + answer.text)

    def chat(self, prompt: Prompt) -> Chat:
        """The prompt in the model's own chat template; plain text for a base model."""
        with self._lock:
            self._running()
        return chat.chat(self._about["chat_template"], prompt)

    @property
    def pid(self) -> int | None:
        """The child's process id, or None while none runs."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def close(self) -> None:
        """Ends the child. A later call starts a new one."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _request(self, op: str, **fields: object) -> dict[str, Any]:
        with self._lock:
            return self._running().request(op, self._timeout_seconds, **fields)

    def _running(self) -> ModelProcess:
        process = self._process
        # A fork shares the pipes: two processes would read each other's answers.
        if process is not None and process.alive and self._started_by == os.getpid():
            return process
        self._process = None
        process = ModelProcess()
        try:
            self._about = process.request("load", LOAD_SECONDS, **self._load)
        except ModelError as error:
            process.close()
            raise ModelError(
                f"the model {self._load['path']} could not be loaded: {error}", recoverable=False
            ) from error
        self._process, self._started_by = process, os.getpid()
        return process


def default_threads() -> int:
    """One less than the cores this process may use, at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    return max(1, cores - 1)
