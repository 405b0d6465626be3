"""Computes sentence vectors with a small BERT, in numpy: neither a compiler nor a child process.

Reads the GGUF that bert.conversion writes, which llama.cpp reads as well, to vectors that differ in
the fourth digit. Texts of a batch are computed together: every layer multiplies one matrix with the
tokens of all of them, and only attention sees each text alone, so nothing is padded.
Tested in tests/models/test_minilm.py.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treemem.errors import ModelError
from treemem.models.bert import gguf_file
from treemem.models.bert.wordpiece import WordPiece
from treemem.models.client import default_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# The tokens that a layer is computed for at once; a longer text is computed alone.
BATCH_TOKENS = 512

_Window = tuple[int, list[int]]
_TURN = threading.Lock()


class Bert:
    """A BERT with mean pooling. It is read from its file at the first text.

    Texts longer than the context are split into windows, whose vectors are averaged by tokens.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order. Raises ModelError for a file that cannot be read."""
        network = self._network
        batches = list(_batches(_windows(network, texts)))
        sums = np.zeros((len(texts), network.dimensions), dtype=np.float32)
        # Subtle: numpy's own threads wait for each other in loops after every product. Beside a
        # busy process that took ten times as long, so a batch has one thread.
        with _one_thread_a_product(), ThreadPoolExecutor(default_threads()) as threads:
            parts = threads.map(lambda batch: network.pooled([part for _, part in batch]), batches)
            for batch, vectors in zip(batches, parts, strict=True):
                for (index, tokens), vector in zip(batch, vectors, strict=True):
                    sums[index] += max(1, len(tokens)) * vector
        rows: list[list[float]] = sums.tolist()
        return rows

    def close(self) -> None:
        """Frees the weights. The next text reads them again."""
        self.__dict__.pop("_network", None)

    @functools.cached_property
    def _network(self) -> _Network:
        try:
            return _Network(self._path)
        except KeyError as error:
            raise ModelError(
                f"{self._path} is not a BERT model: it lacks {error}", recoverable=False
            ) from error


class _Network:
    """The weights, and the formulas of Devlin et al. (2018).

    room: the tokens of a text that fit between those that begin and end it.
    """

    def __init__(self, path: Path) -> None:
        about, tensors = gguf_file.read(path)
        tokens: list[str] = about["tokenizer.ggml.tokens"]
        numbers = {_plain(token): number for number, token in enumerate(tokens)}
        self.wordpiece = WordPiece(numbers)
        self.dimensions = int(about["bert.embedding_length"])
        self.room = int(about["bert.context_length"]) - 2
        self._heads = int(about["bert.attention.head_count"])
        self._epsilon = float(about["bert.attention.layer_norm_epsilon"])
        self._first, self._last = numbers["[CLS]"], numbers["[SEP]"]
        # The table of tokens stays in half precision: a text needs few of its rows.
        self._tokens = tensors.pop("token_embd.weight")
        self._weights: dict[str, Matrix] = {
            name: values.astype(np.float32) for name, values in tensors.items()
        }
        for layer in range(int(about["bert.block_count"])):
            for kind in ("weight", "bias"):
                parts = [self._weights.pop(f"blk.{layer}.attn_{part}.{kind}") for part in "qkv"]
                self._weights[f"blk.{layer}.attn.{kind}"] = np.concatenate(parts)
        self._layers = int(about["bert.block_count"])

    def pooled(self, texts: Sequence[Sequence[int]]) -> Matrix:
        """The mean of the last layer over the tokens of each text."""
        whole = [[self._first, *tokens, self._last] for tokens in texts]
        edges = np.cumsum([0, *map(len, whole)]).tolist()
        x = self._tokens[[token for tokens in whole for token in tokens]].astype(np.float32)
        positions = [place for tokens in whole for place in range(len(tokens))]
        x += self._weights["position_embd.weight"][positions]
        x += self._weights["token_types.weight"][0]
        x = self._normalized(x, "token_embd_norm")
        for layer in range(self._layers):
            name = f"blk.{layer}"
            mixed = self._attention(self._dense(x, f"{name}.attn"), edges)
            x += self._dense(mixed, f"{name}.attn_output")
            x = self._normalized(x, f"{name}.attn_output_norm")
            hidden = _gelu(self._dense(x, f"{name}.ffn_up"))
            x += self._dense(hidden, f"{name}.ffn_down")
            x = self._normalized(x, f"{name}.layer_output_norm")
        means: Matrix = np.stack([x[start:end].mean(axis=0) for start, end in pairwise(edges)])
        return means

    def _attention(self, qkv: Matrix, edges: Sequence[int]) -> Matrix:
        """Each token's mean of the values of its text, weighted by how well query and key agree."""
        mixed = np.empty((len(qkv), self.dimensions), dtype=np.float32)
        scale = np.float32(1 / math.sqrt(self.dimensions // self._heads))
        for start, end in pairwise(edges):
            parts = qkv[start:end].reshape(end - start, 3, self._heads, -1)
            query, key, value = parts.transpose(1, 2, 0, 3)
            weights = query @ (key.transpose(0, 2, 1) * scale)
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(axis=-1, keepdims=True)
            mixed[start:end] = (weights @ value).transpose(1, 0, 2).reshape(end - start, -1)
        return mixed

    def _dense(self, x: Matrix, name: str) -> Matrix:
        y: Matrix = x @ self._weights[f"{name}.weight"].T
        y += self._weights[f"{name}.bias"]
        return y

    def _normalized(self, x: Matrix, name: str) -> Matrix:
        x = x - x.mean(axis=-1, keepdims=True)
        spread = np.einsum("ij,ij->i", x, x)[:, None] / self.dimensions
        x /= np.sqrt(spread + np.float32(self._epsilon))
        x *= self._weights[f"{name}.weight"]
        x += self._weights[f"{name}.bias"]
        return x


def _gelu(x: Matrix) -> Matrix:
    """The approximation by tanh (Hendrycks and Gimpel, 2016), as in llama.cpp."""
    inner = x * x
    inner *= np.float32(0.044715)
    inner += 1
    inner *= x
    inner *= np.float32(math.sqrt(2 / math.pi))
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return inner


def _windows(network: _Network, texts: Sequence[str]) -> Iterator[_Window]:
    """The tokens of each text, in pieces that fit the context, with the number of the text."""
    for index, text in enumerate(texts):
        tokens = network.wordpiece.tokens(text)
        for start in range(0, max(1, len(tokens)), network.room):
            yield index, tokens[start : start + network.room]


def _batches(windows: Iterable[_Window]) -> Iterator[list[_Window]]:
    batch: list[_Window] = []
    size = 0
    for window in windows:
        if batch and size + len(window[1]) > BATCH_TOKENS:
            yield batch
            batch, size = [], 0
        batch.append(window)
        size += len(window[1])
    if batch:
        yield batch


@contextmanager
def _one_thread_a_product() -> Iterator[None]:
    """Limits the BLAS of this process to one thread. The caller's threads take turns: the limit is
    the process's, so the first one to end would lift it for the others."""
    from threadpoolctl import ThreadpoolController

    with _TURN, ThreadpoolController().limit(limits=1, user_api="blas"):
        yield


def _plain(token: str) -> str:
    """A token of the GGUF as WordPiece writes it.

    Example:
        >>> [_plain(token) for token in ("[CLS]", "▁play", "ing")]
        ['[CLS]', 'play', '##ing']
    """
    if token.startswith("▁"):
        return token[1:]
    return token if token.startswith("[") and token.endswith("]") else f"##{token}"
