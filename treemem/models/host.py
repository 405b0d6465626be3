"""Runs llama.cpp, or onnxruntime, in a child process: `python -m treemem.models.host`.

Reads requests, one line of JSON each, and answers each with one line, before which a text that is
streamed comes in pieces, one line each. Only these are written to stdout. The process exits as soon
as its stdin closes, even during a computation, since nobody waits for the answer any more.

Tested in tests/models/test_child.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from treemem.models.child import CANCEL

if TYPE_CHECKING:
    from treemem.models.llama import LoadedModel
    from treemem.models.operations.classifying import Classifier

Fields = dict[str, Any]


class Host:
    """Answers requests with the model that was loaded."""

    def __init__(self, cancelled: Collection[int] = ()) -> None:
        """cancelled: the numbers of requests whose answer nobody waits for any more."""
        self._model: LoadedModel | None = None
        self._classifier: Classifier | None = None
        self._cancelled = cancelled
        self._number = 0
        self._emit: Callable[[str], None] = lambda _: None

    def begin(self, number: int, emit: Callable[[str], None]) -> None:
        """Says which request is answered next. emit: takes each piece of a text as it is made."""
        self._number, self._emit = number, emit

    def answer(self, op: str, fields: Fields) -> Fields:
        """The answer to one request. Raises any error of its operation."""
        operations: dict[str, Callable[..., Fields]] = {
            "load": self._load,
            "generate": self._generate,
            "embed": self._embed,
            "score": self._score,
            "rank": self._rank,
            "count": self._count,
            "load_classifier": self._load_classifier,
            "classify": self._classify,
            "describe": self._describe,
            "quantize": self._quantize,
        }
        return operations[op](**fields)

    def _load(self, **fields: Any) -> Fields:
        from treemem.models.llama import LoadedModel

        self._model = LoadedModel(**fields)
        return {
            "chat_template": self._model.chat_template,
            "context_tokens": self._model.context_tokens,
        }

    def _generate(self, *, stream: bool = False, **fields: Any) -> Fields:
        from treemem.models.operations import sampling

        model, number = self._loaded(), self._number
        model.is_cancelled = lambda: number in self._cancelled
        try:
            return sampling.generate(model, emit=self._emit if stream else None, **fields)
        finally:
            model.is_cancelled = lambda: False

    def _embed(self, texts: list[str]) -> Fields:
        from treemem.models.operations import embedding

        return {"vectors": embedding.embed(self._loaded(), texts)}

    def _score(self, **fields: Any) -> Fields:
        from treemem.models.operations import scoring

        return scoring.score(self._loaded(), **fields)

    def _rank(self, query: str, texts: list[str]) -> Fields:
        from treemem.models.operations import ranking

        return {"ratings": ranking.rank(self._loaded(), query, texts)}

    def _count(self, text: str) -> Fields:
        return {"tokens": len(self._loaded().tokenize(text, special=False))}

    def _load_classifier(self, **fields: Any) -> Fields:
        from treemem.models.operations.classifying import Classifier

        self._classifier = Classifier(**fields)
        return {}

    def _classify(self, pairs: list[tuple[str, str]]) -> Fields:
        from treemem.models.operations import classifying

        assert self._classifier is not None, "no classifier is loaded"
        return classifying.classify(self._classifier, pairs)

    def _describe(self, path: str) -> Fields:
        from treemem.models import llama

        return llama.describe(path)

    def _quantize(self, source: str, target: str, quantization: str) -> Fields:
        from treemem.models import llama

        llama.quantize(source, target, quantization)
        return {}

    def _loaded(self) -> LoadedModel:
        assert self._model is not None, "no model is loaded"
        return self._model


def main() -> None:
    """Answers requests until stdin closes."""
    _set_limits()
    answers = _claim_stdout()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=_read_requests, args=(requests, cancelled), daemon=True).start()
    host = Host(cancelled)
    while True:
        request = json.loads(requests.get())
        number, op = request.pop("id"), request.pop("op")
        host.begin(number, partial(_write_piece, answers, number))
        try:
            answer = host.answer(op, request)
        except Exception as error:  # any error is an answer
            answer = {"error": _message_of(error)}
        _write(answers, {"id": number, **answer})


def _write(answers: IO[bytes], line: Fields) -> None:
    answers.write(json.dumps(line).encode() + b"\n")
    answers.flush()


def _write_piece(answers: IO[bytes], number: int, piece: str) -> None:
    _write(answers, {"id": number, "piece": piece})


def _message_of(error: Exception) -> str:
    from treemem.errors import ModelError

    text = str(error)
    return text if isinstance(error, ModelError) else f"{type(error).__name__}: {text}"


def _claim_stdout() -> IO[bytes]:
    """Reserves stdout for answers; the output of libraries goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _read_requests(requests: queue.SimpleQueue[bytes], cancelled: set[int]) -> None:
    """Reads lines: requests, and the numbers of those that are cancelled while they are answered,
    which must not wait behind them."""
    while line := sys.stdin.buffer.readline():
        if line.startswith(CANCEL):
            cancelled.add(int(line[len(CANCEL) :]))
        else:
            requests.put(line)
    os._exit(0)


def _set_limits() -> None:
    """Disables core files, which would contain private text, and lets the kernel end this process
    first when memory runs out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")


if __name__ == "__main__":
    main()
