"""Counts the tokens of texts in cl100k_base, without network access, and cuts texts by tokens.

The vocabulary comes from the bpe-openai package, checked against the published hash; tiktoken
itself would download it on first use. A text is counted in blocks, so the time is linear for any
input; the edge of a block may add a token. The first texts of a process are counted here, to the
same number, since tiktoken takes longer to load than a search from a shell has to count.
"""

from __future__ import annotations

import binascii
import functools
import os
import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING

from treemem.errors import TreememError
from treemem.packages import install_command
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
# The same for a text in ASCII, without possessive repetitions, which change nothing here.
_PIECE = lazy_regex(
    r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{1,3}"
    r"| ?[^\sA-Za-z0-9]+[\r\n]*|\s+\Z|\s*[\r\n]|\s+(?!\S)|\s",
    re.ASCII,
)
_SPACES = frozenset("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
# Stands for a character that this Python does not know, or that no text can contain.
_UNKNOWN = "\0"
# Characters that are counted here before tiktoken is loaded, which takes about as long as these.
COUNTED_HERE_MAX = 60_000
# The most characters of a piece that is merged here, since the time grows with their square.
_MERGED_CHARS_MAX = 200
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
    if len(text) <= BLOCK_CHARS:
        return _count_block(text)
    return sum(
        _count_block(text[start : start + BLOCK_CHARS])
        for start in range(0, len(text), BLOCK_CHARS)
    )


def _count_block(text: str) -> int:
    """The tokens of a text of at most BLOCK_CHARS characters."""
    here = None if _encoding.cache_info().currsize else _here().count(text)
    return len(_encoding().encode_ordinary(text)) if here is None else here


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
    if texts:
        _encoding()
    if len(texts) < _POOL_TEXTS_MIN:
        return [count_tokens(text) for text in texts]
    middle = len(texts) // 2
    first = _pool().submit(lambda: [count_tokens(text) for text in texts[:middle]])
    second = [count_tokens(text) for text in texts[middle:]]
    return first.result() + second


def cut(text: str, limit: int, start: int = 0) -> list[tuple[int, int]]:
    """Cuts a text into stretches of at most limit tokens; returns the end and the tokens of each.

    The last end is len(text). A cut falls on a blank line, the end of a line or sentence, or a
    space, in this order of preference, if one is near. start: where to begin; from the end of a
    stretch on, the same ones follow.

    Example:
        >>> cut("one two three four", 2)
        [(7, 2), (18, 2)]
    """
    stretches: list[tuple[int, int]] = []
    while start < len(text):
        start, tokens = _stretch(text, start, limit)
        stretches.append((start, tokens))
    return stretches or [(start, 0)]


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


# -- counting without tiktoken ---------------------------------------------------------


@functools.cache
def _here() -> _Counter:
    return _Counter()


class _Counter:
    """Counts the first COUNTED_HERE_MAX characters of a process."""

    def __init__(self) -> None:
        self._left = COUNTED_HERE_MAX
        self._tokens = _PieceTokens()
        self._shapes = _Shapes()

    def count(self, text: str) -> int | None:
        """The tokens of a text; None if it is to be counted by tiktoken."""
        self._left -= len(text)
        if self._left < 0:
            return None
        shape = text if text.isascii() else text.translate(self._shapes)
        pieces = _PIECE.findall(shape)
        if shape is not text:
            if _UNKNOWN in shape:
                return None
            ends = accumulate(map(len, pieces))
            pieces = [text[end - len(piece) : end] for end, piece in zip(ends, pieces, strict=True)]
        if max(map(len, pieces), default=0) > _MERGED_CHARS_MAX:
            return None
        return sum(map(self._tokens.__getitem__, pieces))


class _Shapes(dict[int, str]):
    """Maps a character to one in ASCII at which the pre-tokenizer does the same."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if code < 128:
            shape = character
        elif character in _SPACES:
            shape = "\t"
        elif category in ("Cn", "Cs"):
            shape = _UNKNOWN
        elif category[0] == "L":
            shape = "s" if character == "\u017f" else "a"  # which is an s in another case
        else:
            shape = "0" if category[0] == "N" else "!"
        self[code] = shape
        return shape


class _PieceTokens(dict[str, int]):
    """Maps a piece of a text to the number of its tokens."""

    def __init__(self) -> None:
        super().__init__()
        # Subtle: to decode all tokens would take longer than to encode the pieces that are counted.
        self._ranks = dict(zip(_encoded_tokens(), count(), strict=False))

    def __missing__(self, piece: str) -> int:
        data = piece.encode()
        tokens = 1 if self._rank(data) is not None else self._merged(data)
        self[piece] = tokens
        return tokens

    def _rank(self, token: bytes) -> int | None:
        return self._ranks.get(binascii.b2a_base64(token, newline=False))

    def _merged(self, data: bytes) -> int:
        """The number of parts that are left when the pair that comes first in the vocabulary is
        merged until no pair is in it."""
        parts = [data[at : at + 1] for at in range(len(data))]
        missing = len(self._ranks)

        def rank(at: int) -> int:
            found = self._rank(parts[at] + parts[at + 1])
            return missing if found is None else found

        pairs = list(map(rank, range(len(parts) - 1)))
        while pairs and (best := min(pairs)) < missing:
            at = pairs.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del pairs[at]
            for changed in (at - 1, at):
                if 0 <= changed < len(pairs):
                    pairs[changed] = rank(changed)
        return len(parts)


# -- tiktoken --------------------------------------------------------------------------


@functools.cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):
        # A forked process has no threads, and would wait for this one for ever.
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="treemem-tokens")


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    _here.cache_clear()
    encoding = tiktoken.Encoding(
        name="treemem-cl100k",
        pat_str=_PATTERN,
        mergeable_ranks=dict(
            zip(map(binascii.a2b_base64, _encoded_tokens()), count(), strict=False)
        ),
        special_tokens={},
    )
    # 15 MB that are only there to copy an encoding: its own code has the ranks in a form of its own
    vars(encoding).pop("_mergeable_ranks", None)
    return encoding


def _encoded_tokens() -> list[bytes]:
    """The published tokens of cl100k in base64, in the order of their ranks, which count from 0.
    Raises TreememError if the copy differs."""
    import hashlib
    import zlib

    data = zlib.decompress(_vocabulary_path().read_bytes(), zlib.MAX_WBITS | 16)
    digest = hashlib.sha256(data).hexdigest()
    if digest != _VOCABULARY_SHA256:
        raise TreememError(
            f"The token vocabulary in the package bpe-openai has SHA-256 {digest}, expected "
            f"{_VOCABULARY_SHA256}. Reinstall it: "
            f"{install_command('--force-reinstall', 'bpe-openai')}"
        )
    return data.split()[::2]


def _vocabulary_path() -> Path:
    """The vocabulary file, located without importing the package, which has 70 MB of code."""
    import importlib.util

    spec = importlib.util.find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        raise TreememError(
            "The package bpe-openai, which carries the token vocabulary, is not installed. "
            f"Install it: {install_command('bpe-openai')}"
        )
    return Path(spec.origin).parent / _VOCABULARY
