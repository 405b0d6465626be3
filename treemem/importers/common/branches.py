"""Follows the branches of a log: paths to the root, tree order, rewound ranges.

Pure; knows no format.

Tested in tests/importers/test_chatgpt.py and test_copilot_cli.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping


def path_to_root(parent_of: Mapping[str, str | None], leaf: str | None) -> set[str]:
    """Returns a node and all its ancestors; stops where a cycle closes.

    Example:
        >>> sorted(path_to_root({"a": None, "b": "a", "c": "a"}, "b"))
        ['a', 'b']
    """
    path: set[str] = set()
    while leaf is not None and leaf in parent_of and leaf not in path:
        path.add(leaf)
        leaf = parent_of[leaf]
    return path


def tree_order(parent_of: Mapping[str, str | None], active: set[str]) -> Iterator[str]:
    """Yields every node after its parent, and abandoned branches before the active one. Nodes in a
    cycle come last.

    Example:
        >>> tree = {"c": "a", "b": "a", "a": None, "x": "y", "y": "x"}
        >>> list(tree_order(tree, {"a", "c"}))
        ['a', 'b', 'c', 'x', 'y']
    """
    children: dict[str | None, list[str]] = {}
    for node, parent in parent_of.items():
        children.setdefault(parent if parent in parent_of else None, []).append(node)
    for siblings in children.values():
        # The stack pops from the end.
        siblings.reverse()
        siblings.sort(key=lambda node: node not in active)
    seen: set[str] = set()
    stack = list(children.get(None, ()))
    while stack:
        node = stack.pop()
        seen.add(node)
        yield node
        stack += children.get(node, ())
    yield from (node for node in parent_of if node not in seen)


class RewoundRanges:
    """The ranges of ordinals that a log rewound, added in the order in which the log rewinds them.

    Example:
        >>> gone = RewoundRanges()
        >>> gone.add(4, 6)
        >>> gone.add(2, 9)
        >>> [number for number in range(12) if number in gone]
        [2, 3, 4, 5, 6, 7, 8]
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Adds a range; end is exclusive, and at least the end of the previous range."""
        while self._starts and self._starts[-1] >= start:
            self._starts.pop()
            self._ends.pop()
        self._starts.append(start)
        self._ends.append(end)

    def __contains__(self, ordinal: int) -> bool:
        at = bisect_right(self._starts, ordinal) - 1
        return at >= 0 and ordinal < self._ends[at]
