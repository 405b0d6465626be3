"""Counts the fields of records by their paths, with types and lengths, and without their values.

Pure.

Tested in tests/importers/test_explaining.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from treemem.importers.common.coerce import json_or_none
from treemem.importers.common.source_ids import is_uuid
from treemem.importers.explaining.names import shown, shown_keys
from treemem.patterns import lazy_regex

_DEPTH_MAX = 8
_PATHS_MAX = 300
_ELEMENTS_MAX = 50
_TIME = lazy_regex(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
_NUMBER = lazy_regex(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class FieldSeen:
    """A field of the records. path: the keys that lead to it, "[]" for the elements of a list; a
    key that looks like data is HIDDEN. seen: how often it was there. types: how
    often each type was. chars_min, chars_max: the shortest and the longest of its strings. looks:
    what all strings or numbers look like: time, UUID, number, JSON. first: its type and length in
    the first record, None if it was not in it."""

    path: str
    seen: int
    types: dict[str, int]
    chars_min: int | None
    chars_max: int | None
    looks: str | None
    first: str | None


@dataclass(slots=True)
class _Seen:
    types: Counter[str] = field(default_factory=Counter)
    looks: set[str | None] = field(default_factory=set)
    chars: list[int] = field(default_factory=list)
    first: str | None = None


class Shapes:
    """The fields of the records that were added. are_several: they are alike, so that the keys of a
    record name fields, and only objects in it may be maps. levels: the keys of each object, none
    hidden, to be compared with those of known formats."""

    def __init__(self, *, are_several: bool = False) -> None:
        self._are_several = are_several
        self.records = 0
        self.levels: dict[tuple[str, ...], set[str]] = {}
        self._seen: dict[tuple[str, ...], _Seen] = {}

    def add(self, record: object) -> None:
        self._add(record, (), is_first=self.records == 0)
        self.records += 1

    def fields(self) -> tuple[FieldSeen, ...]:
        """All fields, in the order in which they were first seen, each below its parent."""
        order = {path: number for number, path in enumerate(self._seen)}

        def place(path: tuple[str, ...]) -> list[int]:
            return [order[path[:depth]] for depth in range(1, len(path) + 1)]

        return tuple(
            FieldSeen(
                path=".".join(path) or "(record)",
                seen=seen.types.total(),
                types=dict(seen.types),
                chars_min=min(seen.chars, default=None),
                chars_max=max(seen.chars, default=None),
                looks=next(iter(seen.looks)) if len(seen.looks) == 1 else None,
                first=seen.first,
            )
            for path, seen in sorted(self._seen.items(), key=lambda item: place(item[0]))
        )

    def _add(self, value: object, path: tuple[str, ...], *, is_first: bool) -> None:
        if len(path) > _DEPTH_MAX or (path not in self._seen and len(self._seen) >= _PATHS_MAX):
            return
        seen = self._seen.setdefault(path, _Seen())
        kind, looks = type_of(value), looks_of(value)
        seen.types[kind] += 1
        if looks is not None or isinstance(value, str | int | float):
            seen.looks.add(looks)
        if isinstance(value, str):
            seen.chars.append(len(value))
        if is_first and seen.first is None:
            seen.first = with_size(value)
        if isinstance(value, dict):
            self.levels.setdefault(path, set()).update(map(str, value))
            is_record = self._are_several and not path
            names = {key: shown(key) for key in value} if is_record else shown_keys(value)
            for key, name in names.items():
                self._add(value[key], (*path, name), is_first=is_first)
        elif isinstance(value, list):
            for element in value[:_ELEMENTS_MAX]:
                self._add(element, (*path, "[]"), is_first=is_first)


def type_of(value: object) -> str:
    """The type of a value in words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bytes):
        return "bytes"
    return "list" if isinstance(value, list) else "object"


def with_size(value: object) -> str:
    """The type of a value and its size.

    Example:
        >>> with_size("abc"), with_size([1, 2]), with_size(7)
        ('string (3)', 'list (2)', 'number')
    """
    sized = isinstance(value, str | bytes | list | dict)
    return f"{type_of(value)} ({len(value)})" if sized else type_of(value)  # type: ignore[arg-type]


def looks_of(value: object) -> str | None:
    """What a string or a number looks like, None if it is nothing special.

    Example:
        >>> looks_of("2026-01-05T08:00:00Z"), looks_of(1_700_000_000), looks_of("12"), looks_of("a")
        ('time', 'time in s', 'number', None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        units = (("s", 1), ("ms", 10**3), ("µs", 10**6), ("ns", 10**9))
        found = (unit for unit, scale in units if 10**9 * scale <= value < 3 * 10**9 * scale)
        unit = next(found, None)
        return unit and f"time in {unit}"
    if not isinstance(value, str):
        return None
    if is_uuid(value):
        return "UUID"
    if _NUMBER.fullmatch(value[:60]):
        return "number"
    if len(value) < 60 and _TIME.fullmatch(value):
        return "time"
    is_json = value[:1] in ("{", "[") and isinstance(json_or_none(value), dict | list)
    return "JSON" if is_json else None
