"""Text from a loaded model: greedy, within a grammar if one is given.

Runs in the child process. The most likely token is taken each time, the one with the
smaller id of two that are equal, so that an answer is a function of its prompt. What would
repeat three tokens of the answer is unlikely to be taken: small models run in circles. Numbers
and punctuation may: in "3.11 and 2.3.1" the same three tokens come back for good reason.
"""

from __future__ import annotations

import codecs
import ctypes
import time
from collections.abc import Sequence
from typing import Any

import llama_cpp.llama_cpp as api
import numpy as np
from numpy.typing import NDArray

from treemem.errors import ModelError
from treemem.models.llama import LoadedModel

_FIRST_CANDIDATES = 32
# In logits. Not a ban: a grammar may leave no other token than the repeated one.
_REPETITION_COST = 12.0
_REPETITION_TOKENS = 3
_PIECE_BYTES = 512
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def generate(
    model: LoadedModel,
    segments: Sequence[dict[str, Any]],
    grammar: str | None,
    max_tokens: int,
    stop: Sequence[str],
    fixed: int,
) -> dict[str, Any]:
    """The answer's text, tokens_in, tokens_out, seconds, why it stopped, and tokens_computed."""
    began = time.perf_counter()
    beginning = prompt_tokens(model, segments[:fixed]) if fixed else []
    tokens = [*beginning, *prompt_tokens(model, segments[fixed:], opening=not fixed)]
    if len(tokens) >= model.context_tokens:
        raise ModelError(
            f"the prompt has {len(tokens):,} tokens, the context holds {model.context_tokens:,} "
            "with at least one for the answer: shorten the text, or use a longer context"
        )
    chooser = Chooser(model, grammar)
    try:
        computed = model.prefill(tokens, len(beginning))
        room = min(max_tokens, model.context_tokens - len(tokens))
        text, count, stopped = _continue(model, chooser, room, [s.encode() for s in stop])
    finally:
        chooser.close()
    return {
        "text": text,
        "tokens_in": len(tokens) - len(beginning),
        "tokens_out": count,
        "seconds": time.perf_counter() - began,
        "stopped": stopped,
        "tokens_computed": computed,
    }


def prompt_tokens(
    model: LoadedModel, segments: Sequence[dict[str, Any]], *, opening: bool = True
) -> list[int]:
    """The segments' tokens, with the one that opens a prompt where the model wants one."""
    opens = opening and api.llama_vocab_get_add_bos(model.vocab)
    tokens = [api.llama_vocab_bos(model.vocab)] if opens else []
    for segment in segments:
        tokens += model.tokenize(segment["text"], special=segment["special"])
    if not tokens:
        raise ModelError("the prompt is empty")
    return tokens


def _continue(
    model: LoadedModel, chooser: Chooser, max_tokens: int, stop: Sequence[bytes]
) -> tuple[str, int, str]:
    """The text, its tokens and why it stopped: at its end, at a stop string, for length."""
    out = bytearray()
    for count in range(max_tokens):
        token = chooser.choose()
        if api.llama_vocab_is_eog(model.vocab, token):
            return _text(out), count, "eos"
        before = len(out)
        out += _piece(model, token)
        for text in stop:
            # Only what a new piece can have completed is looked at.
            at = out.find(text, max(0, before - len(text) + 1))
            if at >= 0:
                return _text(out[:at]), count + 1, "stop"
        if count + 1 < max_tokens:
            chooser.accept(token)
            model.decode([token])
    return _text(out), max_tokens, "length"


class Chooser:
    """Chooses the next token by the model's last logits.

    With a grammar the few most likely tokens are tried first: asking the grammar for each of
    the vocabulary costs more than the model does.
    """

    def __init__(self, model: LoadedModel, grammar: str | None) -> None:
        self._model = model
        self._said: list[int] = []
        self._followed: dict[tuple[int, ...], set[int]] = {}
        self._grammar = None
        if grammar is not None:
            text = grammar.encode()
            self._grammar = api.llama_sampler_init_grammar(model.vocab, text, b"root")
            if not self._grammar:
                raise ModelError("the grammar is not valid GBNF with a rule named root")

    def choose(self) -> int:
        """The likeliest token that stands for text, or ends it, and that the grammar allows."""
        pointer = api.llama_get_logits_ith(self._model.context, -1)
        logits = np.ctypeslib.as_array(pointer, shape=(self._model.token_count,)).copy()
        # They stand for no text, though a grammar may take their names for some.
        logits[self._model.silent_tokens] = -np.inf
        repeated = self._followed.get(tuple(self._said[1 - _REPETITION_TOKENS :]))
        if repeated:
            logits[sorted(repeated)] -= _REPETITION_COST
        if self._grammar is None:
            return int(np.argmax(logits))
        few = min(_FIRST_CANDIDATES, len(logits))
        for candidates in (np.argpartition(-logits, few - 1)[:few], np.arange(len(logits))):
            token = self._allowed(candidates, logits)
            if token is not None:
                return token
        raise ModelError("the grammar allows no token here")

    def accept(self, token: int) -> None:
        """Moves the grammar on, and remembers what followed what."""
        before = tuple(self._said[1 - _REPETITION_TOKENS :])
        if any(map(str.isalpha, _piece(self._model, token).decode("utf-8", "ignore"))):
            self._followed.setdefault(before, set()).add(token)
        self._said.append(token)
        if self._grammar is not None:
            api.llama_sampler_accept(self._grammar, token)

    def close(self) -> None:
        """Frees the grammar."""
        if self._grammar is not None:
            api.llama_sampler_free(self._grammar)
            self._grammar = None

    def _allowed(self, ids: NDArray[Any], logits: NDArray[np.float32]) -> int | None:
        """The likeliest of these tokens that the grammar allows, or None."""
        rows = np.zeros(len(ids), _CANDIDATE)
        rows["id"] = np.sort(ids)
        rows["logit"] = logits[rows["id"]]
        data = ctypes.cast(rows.ctypes.data, ctypes.POINTER(api.llama_token_data))
        array = api.llama_token_data_array(data, len(rows), -1, False)
        api.llama_sampler_apply(self._grammar, ctypes.byref(array))
        best = int(np.argmax(rows["logit"]))
        return None if np.isneginf(rows["logit"][best]) else int(rows["id"][best])


def _piece(model: LoadedModel, token: int) -> bytes:
    buffer = ctypes.create_string_buffer(_PIECE_BYTES)
    length = api.llama_token_to_piece(model.vocab, token, buffer, _PIECE_BYTES, 0, False)
    return buffer.raw[: max(0, length)]


def _text(data: bytes | bytearray) -> str:
    """The bytes as text; a character that was cut off at the end is left out."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(data))
