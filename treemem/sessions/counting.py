"""Counts the tokens of turns by the tokenizer of the model that reads them.

Tested in tests/sessions/test_budget.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from treemem.errors import ModelError, UsageError
from treemem.sessions.shapes import Turn
from treemem.text import tokens

CL100K = "cl100k"
# Tokens that a message takes beside its words, and a call or result of a tool beside its own.
MESSAGE_TOKENS, CALL_TOKENS = 4, 12
# What providers count for an image of the size that they scale to, and about what a document of
# two pages has. Nothing here reads either.
IMAGE_TOKENS, DOCUMENT_TOKENS = 1_600, 3_000


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def __call__(self, text: str) -> int: ...


def counter_of(tokenizer: str) -> TokenCounter:
    """The counter of a tokenizer: "cl100k", the name of an installed model, or the path of a GGUF.
    A GGUF is read in a child process. Raises UsageError, ModelError."""
    if not isinstance(tokenizer, str) or not tokenizer:
        raise UsageError(f"A tokenizer is {CL100K!r}, an installed model or a GGUF, not "
                         f"{tokenizer!r}.")  # fmt: skip
    if tokenizer == CL100K:
        return tokens.count_tokens
    from treemem.models import manifests
    from treemem.models.client import LlamaClient

    path = Path(tokenizer)
    if path.suffix != ".gguf":
        path = manifests.installed(tokenizer).path
    elif not path.is_file():
        raise ModelError(f"There is no file {tokenizer}.")
    return LlamaClient(path, context_tokens=256).count_tokens


def tokens_of(turn: Turn, count: TokenCounter) -> int:
    """The tokens of a turn."""
    total = MESSAGE_TOKENS
    for part in turn.parts:
        if part.kind == "image":
            total += IMAGE_TOKENS
        elif part.kind == "document":
            total += DOCUMENT_TOKENS
        else:
            total += count(part.text) if part.text else 0
            total += count(part.name or "") + CALL_TOKENS if part.use_id else 0
    return total
