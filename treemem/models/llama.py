"""Calls llama.cpp: loads models, tokenizes, fills the cache, quantizes files.

Only the child process imports this module, since any call of llama.cpp may abort the process.
Special tokens in text are parsed only if the caller says so. Tested in tests/models/test_client.py.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
import unicodedata
from collections import deque
from collections.abc import Callable
from typing import Any

import llama_cpp.llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError

BATCH_TOKENS = 512
# A prompt is computed in pieces of this size, and only whole pieces stay cached for the next
# prompt. So every piece has the same shape, cached or not, and the answer is the same to the last
# bit. Measured: as fast as pieces of 512.
CHUNK_TOKENS = 128
# One batch embeds at most this many texts.
SEQUENCES_MAX = 16

_WARNING = 3
_DISABLED, _AUTO = 0, -1
_POOLING = {None: -1, "mean": 1, "cls": 2, "last": 3, "rank": 4}
_POOLING_NAMES = {"1": "mean", "2": "cls", "3": "last", "4": "rank"}
_FILE_TYPES = {
    "0": "F32", "1": "F16", "2": "Q4_0", "3": "Q4_1", "7": "Q8_0", "8": "Q5_0", "9": "Q5_1",
    "10": "Q2_K", "12": "Q3_K_M", "14": "Q4_K_S", "15": "Q4_K_M", "16": "Q5_K_S",
    "17": "Q5_K_M", "18": "Q6_K", "32": "BF16",
}  # fmt: skip
_VALUE_BYTES = 1 << 16
_complaints: deque[str] = deque(maxlen=2)


class CancelledError(Exception):
    """Nobody waits any more for what is computed."""


class LoadedModel:
    """A model with one context.

    embedding: whether the context is for vectors, not for text. pooling: as for LlamaClient.
    """

    def __init__(
        self, path: str, context_tokens: int, threads: int, embedding: bool, pooling: str | None
    ) -> None:
        self.model = _open(path, vocabulary_only=False)
        self.vocab = api.llama_model_get_vocab(self.model)
        self.context_tokens = min(context_tokens, int(api.llama_model_n_ctx_train(self.model)))
        parameters = api.llama_context_default_params()
        parameters.n_ctx = self.context_tokens
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.no_perf = True
        if embedding:
            _for_vectors(parameters, self.context_tokens, pooling)
        else:
            _for_text(parameters)
        self.context = api.llama_init_from_model(self.model, parameters)
        if not self.context:
            raise ModelError(f"no memory for a context of {self.context_tokens} tokens")
        self.chat_template = metadata(self.model, "tokenizer.chat_template")
        self.token_count = int(api.llama_vocab_n_tokens(self.vocab))
        self.ranks = api.llama_pooling_type(self.context) == _POOLING["rank"]
        self._is_wordpiece = metadata(self.model, "tokenizer.ggml.model") == "bert"
        self._memory = api.llama_get_memory(self.context)
        self._cached: list[int] = []
        self._ends: list[int] = []
        self.is_cancelled: Callable[[], bool] = lambda: False

    def tokenize(self, text: str, *, special: bool, opening: bool = False) -> list[int]:
        """The tokens of a text. special: whether control tokens are parsed. opening: whether the
        tokens that the model expects around a text are added."""
        if self._is_wordpiece:
            # llama.cpp removes accents by a table without Hangul: 서울 would be one unknown word,
            # although the model was trained on its five letters.
            text = unicodedata.normalize("NFD", text)
        data = text.encode("utf-8", "replace")
        room = len(data) + 16
        tokens = (api.llama_token * room)()
        count = api.llama_tokenize(self.vocab, data, len(data), tokens, room, opening, special)
        if count < 0:
            raise ModelError(f"the text of {len(data):,} bytes cannot be split into tokens")
        return list(tokens[:count])

    def prefill(self, tokens: list[int], fixed: int = 0) -> int:
        """Computes the tokens of the prompt that are not cached. Returns their number.

        fixed: how many tokens at the start are the same in every call. A piece ends after them,
        so that all of them stay cached.
        """
        ends = [*range(CHUNK_TOKENS, fixed, CHUNK_TOKENS)]
        ends += [*range(fixed or CHUNK_TOKENS, len(tokens), CHUNK_TOKENS), len(tokens)]
        cached = self._cut_cache(tokens, ends)
        self._cached, self._ends = [], []  # in case a piece fails
        start = cached
        for end in ends:
            if self.is_cancelled():
                raise CancelledError
            if end > cached:
                self.decode(tokens[start:end])
                start = end
        self._cached, self._ends = tokens, ends
        return len(tokens) - cached

    def decode(self, tokens: list[int]) -> None:
        """Computes tokens after the end of the cache."""
        array = (api.llama_token * len(tokens))(*tokens)
        self.decode_batch(api.llama_batch_get_one(array, len(tokens)))

    def decode_batch(self, batch: Any) -> None:
        """Computes the tokens of a batch of llama.cpp."""
        status = api.llama_decode(self.context, batch)
        if status != 0:
            self._cached = []
            raise ModelError(f"llama.cpp could not compute {batch.n_tokens} tokens (code {status})")

    def cut(self, length: int) -> bool:
        """Removes what the cache has after the first `length` tokens. Returns whether it could."""
        return bool(api.llama_memory_seq_rm(self._memory, 0, length, -1))

    @functools.cached_property
    def silent_tokens(self) -> NDArray[np.bool_]:
        """For each token: whether it is a control token that does not end an answer."""
        vocab = self.vocab
        return np.array(
            [
                bool(api.llama_vocab_is_control(vocab, token))
                and not api.llama_vocab_is_eog(vocab, token)
                for token in range(self.token_count)
            ]
        )

    def forget(self) -> None:
        """Empties the cache."""
        self._cached = []
        if self._memory:
            api.llama_memory_clear(self._memory, True)

    def _cut_cache(self, tokens: list[int], ends: list[int]) -> int:
        """Cuts the cache down to the whole pieces that it shares with the start of the prompt.
        Returns their tokens: fewer than the prompt has, since its last one is always computed."""
        shared = 0
        for new, old in zip(tokens[:-1], self._cached, strict=False):
            if new != old:
                break
            shared += 1
        length = 0
        for end, old_end in zip(ends, self._ends, strict=False):
            if end != old_end or end > shared:
                break
            length = end
        # The cache of a recurrent model cannot be cut, and the call fails.
        if length == 0 or not self.cut(length):
            api.llama_memory_clear(self._memory, True)
            return 0
        return length


def describe(path: str) -> dict[str, Any]:
    """Reads the metadata of a GGUF, without its weights."""
    model = _open(path, vocabulary_only=True)
    architecture = metadata(model, "general.architecture")
    about = {
        "architecture": architecture,
        "context_tokens": int(metadata(model, f"{architecture}.context_length") or 512),
        "dimensions": int(metadata(model, f"{architecture}.embedding_length") or 0),
        "pooling": _POOLING_NAMES.get(metadata(model, f"{architecture}.pooling_type") or ""),
        "chat": metadata(model, "tokenizer.chat_template") is not None,
        "licence": metadata(model, "general.license"),
        "quantization": _quantization(metadata(model, "general.file_type")),
    }
    api.llama_model_free(model)
    return about


def quantize(source: str, target: str, quantization: str) -> None:
    """Converts source to another quantization and writes it to target. Uses one thread, so that
    the result is the same everywhere."""
    _start()
    codes = {name: int(code) for code, name in _FILE_TYPES.items()}
    parameters = api.llama_model_quantize_default_params()
    parameters.nthread = 1
    parameters.ftype = codes[quantization]
    parameters.allow_requantize = True
    status = api.llama_model_quantize(
        os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)
    )
    if status != 0:
        raise ModelError(f"{source} cannot be quantized to {quantization} (code {status})")


def metadata(model: Any, key: str) -> str | None:
    """A value of the GGUF's metadata as text; None if it is missing."""
    buffer = ctypes.create_string_buffer(_VALUE_BYTES)
    length = api.llama_model_meta_val_str(model, key.encode(), buffer, _VALUE_BYTES)
    return buffer.value.decode("utf-8", "replace") if length >= 0 else None


def _open(path: str, *, vocabulary_only: bool) -> Any:
    _start()
    _complaints.clear()
    parameters = api.llama_model_default_params()
    parameters.vocab_only = vocabulary_only
    model = api.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        reason = "; ".join(_complaints) or "no reason given"
        raise ModelError(f"llama.cpp cannot read {path} as a GGUF model: {reason}")
    return model


def _for_text(parameters: Any) -> None:
    parameters.n_batch = BATCH_TOKENS
    parameters.n_ubatch = CHUNK_TOKENS
    # Reusing a shared start needs the whole cache, even with a sliding window.
    parameters.swa_full = True
    # On a CPU, flash attention computes prompts a fifth to a third faster, but answers 1.5 times
    # slower after 500 tokens and 3 times after 3,000: it pays only for answers below 50 tokens.
    parameters.flash_attn_type = _AUTO if api.llama_supports_gpu_offload() else _DISABLED


def _for_vectors(parameters: Any, context_tokens: int, pooling: str | None) -> None:
    parameters.embeddings = True
    parameters.pooling_type = _POOLING[pooling]
    # An encoder needs the whole text in one batch.
    parameters.n_batch = parameters.n_ubatch = max(context_tokens, BATCH_TOKENS)
    parameters.n_seq_max = SEQUENCES_MAX
    parameters.kv_unified = True


def _quantization(file_type: str | None) -> str:
    return _FILE_TYPES.get(file_type or "", f"type {file_type}")


def _log(level: int, text: bytes, _data: ctypes.c_void_p) -> None:
    words = text.decode("utf-8", "replace")
    if level < _WARNING or not words.strip(". \n"):
        return
    sys.stderr.write(words)
    sys.stderr.flush()
    _complaints.append(words.strip())


@functools.cache
def _start() -> tuple[object, ...]:
    """Initializes llama.cpp, once. Returns the objects that must stay alive."""
    log = api.llama_log_callback(_log)
    api.llama_log_set(log, ctypes.c_void_p(0))
    stack = _refuse_amx()
    api.llama_backend_init()
    return log, stack


def _refuse_amx() -> object:
    """Makes Linux deny this process the AMX tile registers, so that llama.cpp uses its AVX-512
    code. Returns an object that must stay alive.

    gcc removes the stores to the tile configuration from llama.cpp's AMX code, so that the first
    tile instruction is illegal (ggml-org/llama.cpp pull request 26954). Only server processors
    have AMX. The kernel denies it to a process whose signal stack is too small for the
    registers, so such a stack is set; nothing runs on it.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    size = 4096
    stack = ctypes.create_string_buffer(size)
    setting = _SignalStack(ctypes.addressof(stack), 0, size)
    ctypes.CDLL(None).sigaltstack(ctypes.byref(setting), None)
    return stack


class _SignalStack(ctypes.Structure):
    _fields_ = (("pointer", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))
