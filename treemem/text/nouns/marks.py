"""Divides a text into words and marks, without what is no language.

Pure. Tested in tests/text/test_phrases.py.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence

from treemem.patterns import lazy_regex

# Markup, code, links, paths, and what a transcript says of sounds, photos and files: no words.
_FENCE = lazy_regex(r"^[^\S\n]*(```|~~~).*?(?:^[^\S\n]*\1|\Z)", re.MULTILINE | re.DOTALL)
_NOISE = lazy_regex(
    r"https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,64}@[^\s@]{1,64}|\[[^\]\n]{0,400}\](?!\()|\{[^}\n]{0,80}\}"
    r"|</?[A-Za-z!][^>\n]{0,200}>|\((?:inaudible|laugh\w{0,9}|applause|crosstalk|pause)\)"
    r"|(?<![\w.@~-])[~.]{0,2}/?[\w.@-]{1,60}(?:[/\\][\w.@-]{1,60})+/?|&\w{2,8};"
    r"|(?<![\w-])[\w-]{1,60}\.[a-z]{1,4}\b(?!\s[A-Z])|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b"
    r"|[`*#>|=$%^~]{2,}|`"
)
_MAY_BE_NOISE = lazy_regex(r"[@/\\\[\]{<(&`*#>|=$%^~]|\.\w|\d{8}|[0-9a-f]{8}")
# In the word where noise begins, there is one of these.
_HINT = lazy_regex(
    r"[@/\\\[{<`]|\.[a-z]|\((?:in|la|ap|cr|pa)|&\w|[*#>|=$%^~]{2}|www\.|[0-9a-fA-F]{8}"
)
_TARGET = lazy_regex(r"\]\([^)\s]{0,400}\)")
_TOKEN = lazy_regex(r"[^\W\d_]\w*(?:['’\-]\w+)*|\d+(?:[.,:]\d+)*\w*|[^\w\s]|\n\s*\n?")


def tokens_of(text: str) -> list[str]:
    """The words and marks of a text without noise. A word said twice in a row is there once."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    if "](" in text:
        text = _TARGET.sub(" ", text)
    if _HINT.search(text) and _MAY_BE_NOISE.search(text):
        text = _without_noise(text)
    tokens = _TOKEN.findall(text)
    lowers = [*map(str.lower, tokens)]
    if "’" in text:
        lowers = [lower.replace("’", "'") for lower in lowers]
    again = [
        (at, at + 1)
        for at, is_same in enumerate(map(operator.eq, lowers, lowers[1:]), 1)
        if is_same and lowers[at][0].isalpha()
    ]
    if "," in text:
        again += _after_commas(lowers)
    for start, end in sorted(again, reverse=True):
        del tokens[start:end]
    return tokens


def _after_commas(lowers: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where commas and the same word as before them stand."""
    comma = -1
    for _ in range(lowers.count(",")):
        comma = lowers.index(",", comma + 1)
        if comma + 1 < len(lowers) and lowers[comma + 1][0].isalpha():
            first = comma
            while first and lowers[first - 1] == ",":
                first -= 1
            if first and lowers[first - 1] == lowers[comma + 1]:
                yield first, comma + 2


def _without_noise(text: str) -> str:
    """The text with a full stop instead of each noise. Where nothing hints at noise, it is not
    searched for."""
    pieces = []
    end = 0
    while (hint := _HINT.search(text, end)) is not None:
        at = hint.start()
        begin = max(end, text.rfind(" ", end, at) + 1, text.rfind("\n", end, at) + 1)
        noise = _NOISE.search(text, begin)
        if noise is None:
            break
        pieces.append(text[end : noise.start()])
        end = noise.end()
    return " . ".join((*pieces, text[end:]))
