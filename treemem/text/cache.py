"""Caches results of pure functions of a text in a limited amount of memory.

The text itself is the key, so no entry is ever out of date. The least recently used entry is
dropped first.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

# Sentences and words of which a function remembers the results. The leaves whose results are
# stored together have about 4,000 statements, which several steps look at; few come again later.
SENTENCES_CACHED_MAX = 4_000
WORDS_CACHED_MAX = 16_000
# Bytes of an entry in addition to its text and its value.
ENTRY_BYTES = 250

# Results that are given to a function and not asked for, at most: more than a pool makes ahead.
GIVEN_MAX = 2 * SENTENCES_CACHED_MAX

Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., Any])


def cached(bytes_max: int) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """Decorates a pure function of a text: caches its results in at most bytes_max bytes.

    Strings in a result are not counted, since most stems are shared with other results. If most
    are new, as in hexadecimal dumps, the cache takes up to three times as much. A result larger
    than a tenth of bytes_max is not cached.

    Example:
        >>> @cached(1_000_000)
        ... def words(text):
        ...     return text.split()
        >>> words("late fees") is words("late fees")
        True
    """

    def decorate(function: Callable[[str], Value]) -> Callable[[str], Value]:
        entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        lock = threading.Lock()
        taken = 0

        @functools.wraps(function)
        def cached_function(text: str) -> Value:
            nonlocal taken
            with lock:
                entry = entries.get(text)
                if entry is not None:
                    entries.move_to_end(text)
                    return entry[0]
            value = function(text)
            size = sys.getsizeof(text) + _size_of(value) + ENTRY_BYTES
            if size <= bytes_max // 10:
                with lock:
                    if text not in entries:  # another thread may have added it
                        entries[text] = value, size
                        taken += size
                    while taken > bytes_max:
                        taken -= entries.popitem(last=False)[1][1]
            return value

        return cached_function

    return decorate


# Results of remembered functions that another process has made, by name and arguments.
_NOT_GIVEN = object()
_GIVEN: dict[str, dict[tuple[Any, ...], Any]] = {}


def remembered(maxsize: int) -> Callable[[Function], Function]:
    """Decorates a pure function: keeps its latest results, as functools.lru_cache does, and takes
    those that are given to it.

    Example:
        >>> @remembered(100)
        ... def length(text):
        ...     return len(text)
        >>> give({"length": {("late fees",): 9}})
        >>> length("late fees"), length("fees")
        (9, 4)
    """

    def decorate(function: Function) -> Function:
        assert function.__name__ not in _GIVEN, f"two functions are called {function.__name__}"
        given: dict[tuple[Any, ...], Any] = {}
        _GIVEN[function.__name__] = given

        @functools.lru_cache(maxsize=maxsize)
        @functools.wraps(function)
        def remembering(*arguments: Any) -> Any:
            found = given.pop(arguments, _NOT_GIVEN)  # at once, as others may ask, too
            return function(*arguments) if found is _NOT_GIVEN else found

        return cast("Function", remembering)

    return decorate


def give(results: Mapping[str, Mapping[tuple[Any, ...], Any]]) -> None:
    """Gives remembered functions results of theirs, by name and arguments."""
    for name, found in results.items():
        given = _GIVEN[name]
        if len(given) > GIVEN_MAX:  # nobody asks for them
            given.clear()
        given.update(found)


def _size_of(value: object) -> int:
    """The bytes of a result and of the dictionaries and tuples in it."""
    parts = value if isinstance(value, tuple) else ()
    inner = sum(sys.getsizeof(part) for part in parts if isinstance(part, dict | tuple))
    return sys.getsizeof(value) + inner
