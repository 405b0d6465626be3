"""Compiles regular expressions when they are first used, and folds texts for those that ignore
case.

The modules define some six hundred, of which a command uses a few. To compile all of those that its
modules define would take longer than a search.

Tested in tests/test_patterns.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, AnyStr, Generic, NamedTuple, cast

_METHODS = (
    "search",
    "match",
    "fullmatch",
    "finditer",
    "findall",
    "split",
    "sub",
    "subn",
    "scanner",
)


class _LazyRegex(Generic[AnyStr]):
    """Stands for a compiled expression: has its methods and attributes."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a protocol, such as that of copies, which asks before __init__
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # From now on they are found without this method.
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


class _FoldedRegex(_LazyRegex[str]):
    """One for folded texts, which the tests find by its class."""


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns what re.compile would; a wrong expression fails only when it is used, or in the
    tests. re's own functions do not take it: call its methods.

    Example:
        >>> lazy_regex("fees?", re.IGNORECASE).findall("Fee and fees")
        ['Fee', 'fees']
    """
    return cast("re.Pattern[AnyStr]", _LazyRegex(pattern, flags))


# The letters beside those of ASCII that re.IGNORECASE takes for one. A capital sigma has two small
# letters, of which str.lower takes one by its place.
_TAKEN_FOR = str.maketrans("\u0130\u0131\u017f\u212a\u03a3", "iisk\u03c3")
_CAPITALS = lazy_regex(r"\\.|\(\?P|[A-Z\u0130\u0131\u017f\u212a]+")


def folded(text: str) -> str:
    """The text in small letters, as folded_regex needs it; of the same length.

    Example:
        >>> folded("Never Mind")
        'never mind'
    """
    return (text if text.isascii() else text.translate(_TAKEN_FOR)).lower()


def folded_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like lazy_regex with re.IGNORECASE, for texts that are folded: finds the same two to four
    times faster, since re skips no place where a text cannot match if it ignores case. pattern: has
    no part that minds case.

    Example:
        >>> folded_regex("(?:TODO|later)").search(folded("A Todo")).span()
        (2, 6)
    """
    small = _CAPITALS.sub(lambda found: found[0] if found[0][0] in "\\(" else folded(found[0]),
                          pattern)  # fmt: skip
    return cast("re.Pattern[str]", _FoldedRegex(small, flags & ~re.IGNORECASE))


def for_folded(expression: re.Pattern[str]) -> re.Pattern[str]:
    """The expression, which ignores case, for texts that are folded; see folded_regex.

    Example:
        >>> for_folded(lazy_regex("Mind", re.IGNORECASE)).findall(folded("Never Mind"))
        ['mind']
    """
    return folded_regex(expression.pattern, cast("_LazyRegex[str]", expression)._flags)


class Clue(NamedTuple):
    """A slow expression that ignores case, and folded texts of which every match has one."""

    pattern: re.Pattern[str]
    needed: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether the expression occurs in a text."""
        has = folded(text).__contains__
        return any(map(has, self.needed)) and self.pattern.search(text) is not None


def matches_from(
    beginnings: re.Pattern[str], pattern: re.Pattern[str], text: str
) -> Iterator[re.Match[str]]:
    """Yields what pattern.finditer does, for a pattern that is slow to try at each character.

    beginnings: a set of characters, one of which every match begins with; it is found fast.

    Example:
        >>> [m[0] for m in matches_from(re.compile("[ab]"), re.compile("aa|ab|b"), "aab")]
        ['aa', 'b']
    """
    done = 0
    for beginning in beginnings.finditer(text):
        at = beginning.start()
        if at >= done and (match := pattern.match(text, at)) is not None:
            yield match
            done = match.end()
