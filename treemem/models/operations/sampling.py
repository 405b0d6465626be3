"""Generates text from a loaded model.

Runs in the child process. The most likely token is chosen, of equals the one with the smallest
id, so that an answer is a function of its prompt. A token that would repeat three tokens of the
answer is made unlikely, since small models run in circles; unless it has no letter: in
"3.11 and 2.3.1" the repetition is right, though not for long.

Tested in tests/models/test_client.py.
"""

from __future__ import annotations

import codecs
import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import llama_cpp.llama_cpp as api
import numpy as np

from treemem.errors import ModelError
from treemem.models.llama import CancelledError, LoadedModel

# In logits.
_REPETITION_COST = 12.0
_REPETITION_TOKENS = 3
# After so many tokens without a letter, such as fences around nothing, these are not repeated
# either.
_MARKS_MAX = 60
_PIECE_BYTES = 512


def generate(
    model: LoadedModel,
    segments: Sequence[dict[str, Any]],
    max_tokens: int,
    stop: Sequence[str],
    fixed: int,
    ignore_eos: bool,
    emit: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The fields of an answer; see client.Generation. emit: takes its pieces as they are made."""
    began = time.perf_counter()
    beginning = prompt_tokens(model, segments[:fixed]) if fixed else []
    tokens = [*beginning, *prompt_tokens(model, segments[fixed:], opening=not fixed)]
    if len(tokens) >= model.context_tokens:
        raise ModelError(
            f"the prompt has {len(tokens):,} tokens, the context holds {model.context_tokens:,} "
            "including at least one of the answer: shorten the text, or use a longer context"
        )
    room = min(max_tokens, model.context_tokens - len(tokens))
    chooser = Chooser(model, ignore_eos=ignore_eos)
    computed, pieces = 0, _Pieces(emit, stop)
    try:
        computed = model.prefill(tokens, len(beginning))
        text, count, stopped = _continue(model, chooser, room, [s.encode() for s in stop], pieces)
    except CancelledError:
        text, count, stopped = "", 0, "cancelled"
    pieces.end(text)
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
    """The tokens of the segments, after the token that begins a prompt if the model wants one."""
    opens = opening and api.llama_vocab_get_add_bos(model.vocab)
    tokens = [api.llama_vocab_bos(model.vocab)] if opens else []
    for segment in segments:
        tokens += model.tokenize(segment["text"], special=segment["special"])
    if not tokens:
        raise ModelError("the prompt is empty")
    return tokens


def _continue(
    model: LoadedModel, chooser: Chooser, max_tokens: int, stop: Sequence[bytes], pieces: _Pieces
) -> tuple[str, int, str]:
    """The text, its number of tokens, and why it stopped: "eos", "stop", "length" or
    "cancelled"."""
    out = bytearray()
    for count in range(max_tokens):
        if model.is_cancelled():
            return _text(out), count, "cancelled"
        token = chooser.choose()
        if api.llama_vocab_is_eog(model.vocab, token):
            return _text(out), count, "eos"
        before = len(out)
        out += _piece(model, token)
        for text in stop:
            # Searches only the part that the new piece can have completed.
            at = out.find(text, max(0, before - len(text) + 1))
            if at >= 0:
                return _text(out[:at]), count + 1, "stop"
        pieces.add(out)
        if count + 1 < max_tokens:
            chooser.accept(token)
            model.decode([token])
    return _text(out), max_tokens, "length"


class _Pieces:
    """Gives a text out while it is made. What may be the beginning of a stop string, or of a
    character, is held back."""

    def __init__(self, emit: Callable[[str], None] | None, stop: Sequence[str]) -> None:
        self._emit = emit
        self._held = max((len(text.encode()) for text in stop), default=1) - 1
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sent_bytes = self._sent_chars = 0

    def add(self, out: bytearray) -> None:
        """Gives out what is new in the text so far."""
        end = len(out) - self._held
        if self._emit is None or end <= self._sent_bytes:
            return
        self._give(self._decoder.decode(bytes(out[self._sent_bytes : end])))
        self._sent_bytes = end

    def end(self, text: str) -> None:
        """Gives out the rest of the whole text."""
        self._give(text[self._sent_chars :])

    def _give(self, piece: str) -> None:
        self._sent_chars += len(piece)
        if piece and self._emit is not None:
            self._emit(piece)


class Chooser:
    """Chooses the next token by the model's last logits."""

    def __init__(self, model: LoadedModel, *, ignore_eos: bool) -> None:
        self._model = model
        self._ignore_eos = ignore_eos
        self._answer: list[int] = []
        self._followed: dict[tuple[int, ...], set[int]] = {}
        self._marks = 0  # tokens since the last letter

    def choose(self) -> int:
        """The most likely token that has text or, without ignore_eos, ends the answer."""
        pointer = api.llama_get_logits_ith(self._model.context, -1)
        logits = np.ctypeslib.as_array(pointer, shape=(self._model.token_count,)).copy()
        logits[self._model.silent_tokens] = -np.inf
        repeated = self._followed.get(tuple(self._answer[1 - _REPETITION_TOKENS :]))
        if repeated:
            logits[sorted(repeated)] -= _REPETITION_COST
        token = int(np.argmax(logits))
        while self._ignore_eos and api.llama_vocab_is_eog(self._model.vocab, token):
            logits[token] = -np.inf
            token = int(np.argmax(logits))
        return token

    def accept(self, token: int) -> None:
        """Records the token after the ones before it."""
        before = tuple(self._answer[1 - _REPETITION_TOKENS :])
        letters = any(map(str.isalpha, _piece(self._model, token).decode("utf-8", "ignore")))
        self._marks = 0 if letters else self._marks + 1
        if letters or self._marks > _MARKS_MAX:
            self._followed.setdefault(before, set()).add(token)
        self._answer.append(token)


def _piece(model: LoadedModel, token: int) -> bytes:
    buffer = ctypes.create_string_buffer(_PIECE_BYTES)
    length = api.llama_token_to_piece(model.vocab, token, buffer, _PIECE_BYTES, 0, False)
    return buffer.raw[: max(0, length)]


def _text(data: bytes | bytearray) -> str:
    """Decodes the bytes, without an incomplete character at the end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(data))
