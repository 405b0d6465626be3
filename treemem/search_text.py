"""What full text sees of a text, and how a query is made safe for it.

Pure. FTS5's tokenizer finds words between spaces; scripts that are written without spaces
are indexed as overlapping pairs of characters instead, in the text and in the query alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Han, kana, hangul, Thai, Lao, Khmer, Myanmar and the supplementary ideographs.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNSPACED += "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"\w+")
QUERY_TERMS_MAX = 64


def fold(text: str) -> str | None:
    """The text with unspaced runs cut into pairs, or None where it has none.

    Example:
        >>> fold("使用缓存 now")
        ' 使用 用缓 缓存  now'
        >>> fold("plain") is None
        True
    """
    if text.isascii() or not _RUN.search(text):
        return None
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", text)


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[index : index + 2] for index in range(len(run) - 1)]


def terms(text: str) -> list[str]:
    """The distinct words of a query, lower case, in order; unspaced runs as pairs.

    Example:
        >>> terms('Why did "AND" fail?')
        ['why', 'did', 'and', 'fail']
    """
    folded = fold(text) or text
    words = (word for found in _WORD.findall(folded) for word in found.lower().split("_"))
    return list(dict.fromkeys(word for word in words if word))[:QUERY_TERMS_MAX]


def match_expression(words: Iterable[str], *, every: bool) -> str:
    """An FTS5 expression for all or any of the words. Nothing in a word is syntax.

    A single unspaced character matches every pair that begins with it.

    Example:
        >>> match_expression(["a", "near"], every=False)
        '"a" OR "near"'
    """
    quoted = [f'"{word}"*' if _RUN.fullmatch(word) and len(word) == 1 else f'"{word}"'
              for word in words]  # fmt: skip
    return (" AND " if every else " OR ").join(quoted)
