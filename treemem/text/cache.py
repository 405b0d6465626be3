"""What was worked out of texts, kept for the next search: the least recently used goes first.

The text itself is the key, so that a text that changes is simply another one, and nothing ever
has to be declared out of date. Nothing here outlives the process.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

# Of an entry, beside its text and its value.
ENTRY_BYTES = 250

Value = TypeVar("Value")


def kept(bytes_max: int) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """Decorates a pure function of a text: its last results are kept, in at most so many bytes.

    Strings within a result are not counted: stems are shared with others. Where most of them
    are new, as in hexadecimal dumps, it takes up to three times as much. A result that alone would
    take a tenth of the room is not kept.

    Example:
        >>> @kept(1_000_000)
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
        def found(text: str) -> Value:
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
                    if text not in entries:  # another thread may have been faster
                        entries[text] = value, size
                        taken += size
                    while taken > bytes_max:
                        taken -= entries.popitem(last=False)[1][1]
            return value

        return found

    return decorate


def _size_of(value: object) -> int:
    """The bytes of a result and of the dictionaries and tuples in it."""
    parts = value if isinstance(value, tuple) else ()
    inner = sum(sys.getsizeof(part) for part in parts if isinstance(part, dict | tuple))
    return sys.getsizeof(value) + inner
