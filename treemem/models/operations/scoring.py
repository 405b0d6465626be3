"""Computes how likely a loaded model finds continuations of a text.

Runs in the child process. Each continuation is split into tokens on its own and read after the
same prefix, which is computed once. A start that a continuation has in common with the one before
it is not computed again either, so related continuations belong next to each other. The numbers
depend on the request alone, never on earlier ones.
Tested in tests/models/operations/test_scoring.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llama_cpp.llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError
from treemem.models.llama import CHUNK_TOKENS, LoadedModel
from treemem.models.operations.sampling import prompt_tokens


def score(
    model: LoadedModel,
    segments: Sequence[dict[str, Any]],
    continuations: Sequence[str],
    fixed: int = 0,
) -> dict[str, Any]:
    """The log-likelihoods of the tokens of each continuation; see LlamaClient.score."""
    beginning = prompt_tokens(model, segments[:fixed]) if fixed else []
    prefix = [*beginning, *prompt_tokens(model, segments[fixed:], opening=not fixed)]
    tokenized = [model.tokenize(text, special=False) for text in continuations]
    longest = len(prefix) + max(map(len, tokenized), default=0)
    if longest > model.context_tokens:
        raise ModelError(
            f"the text and its continuation have {longest:,} tokens, the context holds "
            f"{model.context_tokens:,}: shorten the text, or use a longer context"
        )
    path = _Path(model, prefix, len(beginning))
    return {"scores": [path.follow(tokens) for tokens in tokenized]}


@dataclass(frozen=True, slots=True)
class Row:
    """The logits of all tokens at one place, and the logarithm of the sum of their exponentials."""

    logits: NDArray[np.float32]
    total: float

    @classmethod
    def at(cls, model: LoadedModel, position: int) -> Row:
        """After a position of the last batch."""
        pointer = api.llama_get_logits_ith(model.context, position)
        logits = np.ctypeslib.as_array(pointer, shape=(model.token_count,)).copy()
        highest = logits.max()
        return cls(logits, float(highest) + math.log(float(np.exp(logits - highest).sum())))

    def log_likelihood(self, token: int) -> float:
        return min(0.0, float(self.logits[token]) - self.total)


class _Path:
    """The prefix and the tokens after it that are in the cache.

    rows: one after the prefix, and one after each token behind it.
    """

    def __init__(self, model: LoadedModel, prefix: list[int], fixed: int) -> None:
        self._model = model
        self._prefix = prefix
        self._fixed = fixed
        self._tokens: list[int] = []
        model.prefill(prefix, fixed)
        self._rows: list[Row] = [Row.at(model, -1)]

    def follow(self, tokens: list[int]) -> list[float]:
        """The log-likelihood of each token, given the prefix and the tokens before it."""
        shared = _shared(self._tokens, tokens[:-1])
        if shared < len(tokens) - 1:
            self._return_to(shared)
        # The last token is not read, since nothing follows it.
        while (done := len(self._tokens)) < len(tokens) - 1:
            piece = tokens[done : min(done + CHUNK_TOKENS, len(tokens) - 1)]
            self._read(piece)
        return [row.log_likelihood(token) for row, token in zip(self._rows, tokens, strict=False)]

    def _return_to(self, length: int) -> None:
        """Forgets the tokens after the first `length` ones behind the prefix."""
        if length == len(self._tokens):
            return
        if not self._model.cut(len(self._prefix) + length):
            # The cache of a recurrent model cannot be cut.
            self._model.forget()
            self._model.prefill(self._prefix, self._fixed)
            length = 0
        del self._tokens[length:], self._rows[length + 1 :]

    def _read(self, piece: list[int]) -> None:
        start = len(self._prefix) + len(self._tokens)
        batch = api.llama_batch_init(len(piece), 0, 1)
        try:
            batch.n_tokens = len(piece)
            for number, token in enumerate(piece):
                batch.token[number], batch.pos[number] = token, start + number
                batch.n_seq_id[number], batch.seq_id[number][0] = 1, 0
                batch.logits[number] = True
            self._model.decode_batch(batch)
        finally:
            api.llama_batch_free(batch)
        self._rows += [Row.at(self._model, number) for number in range(len(piece))]
        self._tokens += piece


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length
