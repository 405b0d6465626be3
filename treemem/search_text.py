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

    The last character of a run also stands alone, so that each character begins a word.

    Example:
        >>> fold("使用缓存 now")
        ' 使用 用缓 缓存 存  now'
        >>> fold("plain") is None
        True
    """
    if text.isascii() or not _RUN.search(text):
        return None
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run.group()))} {run.group()[-1]} ", text)


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)]


def terms(text: str) -> list[str]:
    """The distinct words of a query, lower case, in order; unspaced runs as pairs.

    Example:
        >>> terms('Why did "AND" fail?')
        ['why', 'did', 'and', 'fail']
    """
    folded = _RUN.sub(lambda run: f" {' '.join(_pairs(run.group()) or run.group())} ", text)
    words = (word for found in _WORD.findall(folded) for word in found.lower().split("_"))
    return list(dict.fromkeys(word for word in words if word))[:QUERY_TERMS_MAX]


def match_expression(words: Iterable[str], *, every: bool) -> str:
    """An FTS5 expression for all or any of the words. Nothing in a word is syntax.

    A single unspaced character matches every pair that begins with it.

    Example:
        >>> match_expression(["a", "near"], every=False)
        '"a" OR "near"'
    """
    quoted = [_quoted(word) for word in words]
    return (" AND " if every else " OR ").join(quoted)


def _quoted(word: str) -> str:
    escaped = word.replace('"', '""').replace("\0", " ")
    is_single = len(word) == 1 and _RUN.fullmatch(word)
    return f'"{escaped}"*' if is_single else f'"{escaped}"'
