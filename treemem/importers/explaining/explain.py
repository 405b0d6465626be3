"""Says what was seen in a file: its fields or tables, and which known formats it is nearest to.

No value of the file is in what comes out: it can be pasted into a public report, after a look.

Tested in tests/importers/test_explaining.py.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from treemem.importers import Importer, every
from treemem.importers.common import archives, sqlite_files
from treemem.importers.common.base import LogFile
from treemem.importers.common.coerce import json_or_none
from treemem.importers.common.sniffing import (
    describe_content,
    head_lines,
    head_objects,
    head_value,
    is_json,
    is_text,
)
from treemem.importers.explaining.names import HIDDEN, shown
from treemem.importers.explaining.shapes import FieldSeen, Shapes
from treemem.importers.streams.heads import HEAD_BYTES

_READ_BYTES = 64 * HEAD_BYTES
_ROWS_READ = 20
_ROWS_COUNTED_MAX = 10_000
_NEAREST_MAX = 3
_SUFFIX_CHARS_MAX = 8


@dataclass(frozen=True, slots=True)
class TableSeen:
    """A table of a SQLite file. rows: their number, None if there are more than 10,000. fields: of
    the first rows; those of a column of JSON are below the column's name."""

    name: str
    rows: int | None
    fields: tuple[FieldSeen, ...]


@dataclass(frozen=True, slots=True)
class NearFormat:
    """A format that has some of the names. score: how certain its importer is, 0 if it refuses the
    file. has, lacks: the names by which it is compared, that are there and that are not."""

    format: str
    score: float
    has: tuple[str, ...]
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileExplanation:
    """What was seen in a file. format: the format that reads it, None if it is unknown. content: a
    few words. records: how many were looked at, from the file's beginning. fields: of the records.
    tables: of a SQLite file. members: how many files of each suffix an archive has. nearest: the
    most alike first."""

    format: str | None
    content: str
    suffix: str
    size_bytes: int
    records: int
    fields: tuple[FieldSeen, ...]
    tables: tuple[TableSeen, ...]
    members: dict[str, int]
    nearest: tuple[NearFormat, ...]


def explain_format(file: LogFile | Path | str) -> FileExplanation:
    """Says what was seen in a file of any format, without its words. Raises ImportFileError if it
    cannot be read."""
    if not isinstance(file, LogFile):
        file = LogFile(str(file), Path(file))
    head = file.head(_READ_BYTES)
    all_importers = every()
    scores = {importer.name: importer.recognizes(file, head) for importer in all_importers}
    best = max(scores, key=lambda name: scores[name])
    shapes, tables, members = Shapes(), dict[str, Shapes](), dict[str, int]()
    if head.startswith(sqlite_files.MAGIC):
        content, tables = "a SQLite file", _tables(file)
    elif head.startswith(b"PK\x03\x04"):
        content, members = "a ZIP archive", _members(file)
    elif is_json(head):
        content, shapes = _records(head)
    else:
        content = _text(head) if is_text(head) else describe_content(head)
    levels = [set(tables), *_levels(tables.values()), *_levels([shapes])]
    return FileExplanation(
        format=best if scores[best] > 0 else None,
        content=content,
        suffix=_suffix(file.suffix),
        size_bytes=file.size_bytes,
        records=shapes.records,
        fields=shapes.fields() if shapes.records else (),
        tables=tuple(_table(file, name, seen) for name, seen in tables.items()),
        members=members,
        nearest=_nearest(all_importers, scores, levels),
    )


def _records(head: bytes) -> tuple[str, Shapes]:
    """What a head of JSON is, and its records."""
    value = head_value(head)
    objects, _ = head_objects(head)
    if value is None:
        content, records = "JSON Lines" if objects else describe_content(head), objects
    elif isinstance(value, list):
        content, records = "a JSON array, each element a record", value
    else:
        content, records = "a JSON object", [value]
    shapes = Shapes(are_several=len(records) > 1)
    for record in records:
        shapes.add(record)
    return content, shapes


def _text(head: bytes) -> str:
    lines = head_lines(head)
    if not any(map(str.strip, lines)):
        return describe_content(head)
    middle = statistics.median(map(len, lines))
    blank = sum(not line.strip() for line in lines)
    return (
        f"text; of its first {len(lines):,} lines {blank:,} are blank, and half have "
        f"{middle:,.0f} characters or more"
    )


def _members(file: LogFile) -> dict[str, int]:
    counts: Counter[str] = Counter()
    archive = archives.Archive(file)
    try:
        list(archive.survey())
        counts.update(_suffix(member.suffix) or "no suffix" for member in archive.members())
    finally:
        archive.close()
    return dict(counts.most_common())


def _tables(file: LogFile) -> dict[str, Shapes]:
    """The first rows of each table. Text that is JSON is taken apart."""
    found: dict[str, Shapes] = {}
    with sqlite_files.open_tables(file) as tables:
        for name, columns in sorted(tables.columns().items()):
            shapes = found.setdefault(name, Shapes(are_several=True))
            shapes.levels[()] = set(columns)
            names = sorted(columns)
            listed = ", ".join(map(_quoted, names))
            sql = f"SELECT {listed} FROM {_quoted(name)} LIMIT {_ROWS_READ}"  # noqa: S608
            for row in tables.rows(sql):
                shapes.add(dict(zip(names, map(_parsed, row), strict=True)))
    return found


def _parsed(value: object) -> object:
    if isinstance(value, str | bytes) and value[:1] in ("{", "[", b"{", b"["):
        parsed = json_or_none(value)
        return value if parsed is None else parsed
    return value


def _table(file: LogFile, name: str, seen: Shapes) -> TableSeen:
    some = f"SELECT 1 FROM {_quoted(name)} LIMIT {_ROWS_COUNTED_MAX + 1}"  # noqa: S608
    sql = f"SELECT count(*) FROM ({some})"  # noqa: S608
    with sqlite_files.open_tables(file) as tables:
        rows = next(tables.rows(sql))[0]
    fields = seen.fields() if seen.records else tuple(
        FieldSeen(shown(column), 0, {}, None, None, None, None)
        for column in sorted(seen.levels[()])
    )  # fmt: skip
    own = tuple(one for one in fields if one.path != "(record)")
    return TableSeen(shown(name), rows if rows <= _ROWS_COUNTED_MAX else None, own)


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _levels(shapes: Iterable[Shapes]) -> list[set[str]]:
    return [keys for one in shapes for keys in one.levels.values()]


def _nearest(
    importers: Iterable[Importer], scores: dict[str, float], levels: list[set[str]]
) -> tuple[NearFormat, ...]:
    """The formats that read the file, and those that have half of their marks in one object or
    table of it."""
    near: list[tuple[float, NearFormat]] = []
    for importer in importers:
        best, has, lacks = 0.0, tuple[str, ...](), tuple[str, ...]()
        for marks in importer.marks:
            for keys in levels:
                share = sum(mark in keys for mark in marks) / len(marks)
                if share > best:
                    best = share
                    has = tuple(mark for mark in marks if mark in keys)
                    lacks = tuple(mark for mark in marks if mark not in keys)
        score = scores[importer.name]
        if score > 0 or best >= 0.5:
            near.append((score + best, NearFormat(importer.name, round(score, 2), has, lacks)))
    ranked = sorted(near, key=lambda pair: -pair[0])
    return tuple(one for _, one in islice(ranked, _NEAREST_MAX))


def _suffix(suffix: str) -> str:
    """A suffix, unless it may be words, as of the file "Letter to Dr. Who"."""
    is_plain = len(suffix) <= _SUFFIX_CHARS_MAX and suffix.isascii() and suffix[1:].isalnum()
    return suffix if is_plain or not suffix else HIDDEN
