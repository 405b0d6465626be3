"""Decides which items and namespaces of a LangGraph store an operation means. Pure.

Tested in tests/integrations/test_langgraph_store.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from treemem.errors import UsageError

_NUMBERS: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le,
}  # fmt: skip


def admits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an item's value has what a filter asks for. Raises UsageError for an operator that
    does not exist.

    Example:
        >>> admits({"kind": "fact", "score": 4}, {"kind": "fact", "score": {"$gt": 3}})
        True
    """
    return all(_fits(value.get(name), one) for name, one in (wanted or {}).items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, than) for name, than in wanted.items())
        return isinstance(value, Mapping) and all(
            _fits(value.get(name), one) for name, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, name: str, than: Any) -> bool:
    if name == "$eq":
        return bool(value == than)
    if name == "$ne":
        return bool(value != than)
    if name not in _NUMBERS:
        raise UsageError(f"There is no operator {name!r} in a filter; use $eq, $ne, $gt, $gte, "
                         "$lt or $lte.")  # fmt: skip
    try:
        return _NUMBERS[name](float(value), float(than))
    except (TypeError, ValueError):
        return False


def begins(namespace: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a namespace begins with a path, in which "*" is any label."""
    return len(namespace) >= len(path) and all(
        wanted in ("*", label) for label, wanted in zip(namespace, path, strict=False)
    )


def ends(namespace: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a namespace ends with a path, in which "*" is any label."""
    return begins(namespace[::-1], path[::-1])


def words_of(value: Any, name: str = "") -> list[str]:
    """The lines in which a value is remembered: one for each text and number, with the names of
    its fields before it unless the value has only one.

    Example:
        >>> words_of({"text": "Ann likes tea.", "tags": ["food"]})
        ['text: Ann likes tea.', 'tags: food']
    """
    lines = list(_lines(value, name))
    if len(lines) == 1:
        return [lines[0][1]]
    return [f"{where}: {words}" if where else words for where, words in lines]


def _lines(value: Any, name: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _lines(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _lines(one, name)
    elif isinstance(value, str | int | float) and str(value).strip():
        yield name, str(value)
