"""Computes vectors with a loaded embedding model.

Runs in the child process. Several texts are computed in one batch. A text longer than the
context is split into windows, so no text is rejected or cut. Tested in tests/models/test_minilm.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import llama_cpp.llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError
from treemem.models.llama import BATCH_TOKENS, SEQUENCES_MAX, LoadedModel


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens of a part of a text. weight: its share of the vector of text number text_index."""

    text_index: int
    tokens: list[int]
    weight: float


def embed(model: LoadedModel, texts: Sequence[str]) -> list[list[float]]:
    """One vector of length 1 for each text."""
    size = int(api.llama_model_n_embd_out(model.model))
    sums = np.zeros((len(texts), size))
    for windows in batches(_windows(model, texts)):
        for window, vector in zip(windows, compute(model, windows, size), strict=True):
            sums[window.text_index] += window.weight * vector
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0):
        raise ModelError("the model gave a vector without a direction")
    return [[float(x) for x in row] for row in sums / lengths]


def _windows(model: LoadedModel, texts: Sequence[str]) -> Iterator[Window]:
    before, after = _wrapping(model)
    room = model.context_tokens - len(before) - len(after)
    for index, text in enumerate(texts):
        tokens = model.tokenize(text, special=False)
        if not tokens and not before and not after:
            raise ModelError("a text without any token has no vector")
        for start in range(0, max(1, len(tokens)), room):
            part = tokens[start : start + room]
            yield Window(index, [*before, *part, *after], max(1, len(part)))


def _wrapping(model: LoadedModel) -> tuple[list[int], list[int]]:
    """The tokens that the model expects before and after a text, such as [CLS] and [SEP]."""
    bare = model.tokenize("a", special=False)
    whole = model.tokenize("a", special=False, opening=True)
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return whole[:start], whole[start + len(bare) :]
    return [], []


def batches(windows: Iterator[Window]) -> Iterator[list[Window]]:
    """Groups windows into batches of at most BATCH_TOKENS; a longer window gets its own."""
    batch: list[Window] = []
    size = 0
    for window in windows:
        full = size + len(window.tokens) > BATCH_TOKENS or len(batch) == SEQUENCES_MAX
        if batch and full:
            yield batch
            batch, size = [], 0
        batch.append(window)
        size += len(window.tokens)
    if batch:
        yield batch


def compute(model: LoadedModel, windows: Sequence[Window], size: int) -> list[NDArray[np.float32]]:
    """What the pooling gives for each window: `size` numbers."""
    model.forget()
    count = sum(len(window.tokens) for window in windows)
    batch = api.llama_batch_init(count, 0, 1)
    try:
        row = 0
        for sequence, window in enumerate(windows):
            for position, token in enumerate(window.tokens):
                batch.token[row] = token
                batch.pos[row] = position
                batch.n_seq_id[row] = 1
                batch.seq_id[row][0] = sequence
                batch.logits[row] = 1
                row += 1
        batch.n_tokens = count
        status = api.llama_decode(model.context, batch)
    finally:
        api.llama_batch_free(batch)
    if status != 0:
        raise ModelError(f"llama.cpp could not compute {count} tokens (code {status})")
    return [_vector(model, sequence, size) for sequence in range(len(windows))]


def _vector(model: LoadedModel, sequence: int, size: int) -> NDArray[np.float32]:
    pointer = api.llama_get_embeddings_seq(model.context, sequence)
    if not pointer:
        raise ModelError(
            "the model gives a vector for each token, not for a text: set a pooling such as mean"
        )
    return np.ctypeslib.as_array(pointer, shape=(size,)).copy()
