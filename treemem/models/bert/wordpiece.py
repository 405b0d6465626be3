"""Splits texts into the WordPiece tokens of BERT, lower-case and without accents. Pure.

Tested in tests/models/test_minilm.py.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping

# Words whose tokens are remembered, and the characters of the longest of them.
WORDS_MAX = 50_000
WORD_CHARS_MAX = 64
_CJK = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _Spaced(dict[int, str | None]):
    """What replaces a character, by its code: None for one that is dropped. A mark of punctuation
    and an ideograph are words of their own."""

    def __missing__(self, code: int) -> str | None:
        self[code] = found = _spaced(chr(code))
        return found


class WordPiece:
    """A vocabulary: the number of each token, in which "##" marks one that continues a word."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids = vocabulary
        self._unknown = (vocabulary["[UNK]"],)
        self._chars_max = max(map(len, vocabulary))
        self._spaced = _Spaced()
        self._remembered = functools.lru_cache(WORDS_MAX)(self._pieces)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, without those that begin and end it."""
        bare = unicodedata.normalize("NFD", text.lower()).translate(self._spaced)
        ids: list[int] = []
        for word in bare.split(" "):
            if word:
                short = len(word) <= WORD_CHARS_MAX
                ids += self._remembered(word) if short else self._pieces(word)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest token that begins the word, then the longest that continues it, and so on.
        A word that they do not cover is one unknown token."""
        pieces: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            end = min(len(word), start + self._chars_max)
            while (number := self._ids.get(mark + word[start:end])) is None:
                end -= 1
                if end == start:
                    return self._unknown
            pieces.append(number)
            start, mark = end, "##"
        return tuple(pieces)


def _spaced(character: str) -> str | None:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if category[0] == "C" or category == "Mn" or character == "\ufffd":
        return None
    is_mark = category[0] == "P" or (category[0] == "S" and character < "\x7f")
    is_word = any(first <= ord(character) <= last for first, last in _CJK)
    return f" {character} " if is_mark or is_word else character
