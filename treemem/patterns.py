"""Compiles regular expressions when they are first used.

The modules define some six hundred, of which a command uses a few. To compile all of those that its
modules define would take longer than a search.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

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


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns what re.compile would; a wrong expression fails only when it is used, or in the
    tests. re's own functions do not take it: call its methods.

    Example:
        >>> lazy_regex("fees?", re.IGNORECASE).findall("Fee and fees")
        ['Fee', 'fees']
    """
    return cast("re.Pattern[AnyStr]", _LazyRegex(pattern, flags))
