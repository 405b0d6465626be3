"""Stretches of a log that it takes back further on, as rewinds and rollbacks do.

It holds two numbers for each, and knows nothing of any format.
"""

from __future__ import annotations

from bisect import bisect_right


class TakenBack:
    """Ranges of ordinals, each of which is taken back at a later point than the one before.

    Example:
        >>> gone = TakenBack()
        >>> gone.add(4, 6)
        >>> gone.add(2, 9)
        >>> [number for number in range(12) if number in gone]
        [2, 3, 4, 5, 6, 7, 8]
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """All from start to end, exclusive; end is at least that of the range before."""
        while self._starts and self._starts[-1] >= start:
            self._starts.pop()
            self._ends.pop()
        self._starts.append(start)
        self._ends.append(end)

    def __contains__(self, ordinal: int) -> bool:
        at = bisect_right(self._starts, ordinal) - 1
        return at >= 0 and ordinal < self._ends[at]
