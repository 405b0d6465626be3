"""Prints the page docs/reference/schema.md: `python -m treemem.store.schema_page`.

The page is generated from the DDL in the folder schema, which migrations.py runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from treemem.patterns import lazy_regex
from treemem.store import entries, event_days
from treemem.store.schema import additions, live, spine

_HEADING = """# Schema

Generated from the DDL in `treemem/store/schema/` by `python -m treemem.store.schema_page`.
Columns that end in `_ms` are milliseconds since 1970 UTC. A `seq` is a row number in this file.
"""
_TABLE = lazy_regex(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \( *-- (.*)\n((?:  .*\n)+)")
_ADDED = lazy_regex(r"ALTER TABLE (\w+) ADD COLUMN (.*)")
_DROPPED = lazy_regex(r"DROP TABLE (\w+)")
_DROPPED_COLUMN = lazy_regex(r"ALTER TABLE (\w+) (?:DROP|RENAME) COLUMN (\w+)")
_COLUMN = lazy_regex(r"\"?([a-z_]+)\"? ([A-Z]+)(.*)")
_CHOICES = lazy_regex(r"IN \(('.*?')\)")
_REFERENCE = lazy_regex(r"REFERENCES (\w+)")


def markdown() -> str:
    """The page: one section per table, with one row per column."""
    ddl = "".join((
        spine.TRUTH, spine.TOPICS, spine.VIEWS, spine.EMBEDDERS,
        spine.VECTORS.format(table="vector_N"), spine.QUEUE, spine.USAGE,
        additions.ORIGINS, additions.LOG_FILES, additions.LEDGER, entries.MARKED,
        event_days.TABLE, additions.MERGES, additions.TITLES, additions.LOG_MARKS, live.LIVE,
        live.PRIVATE, live.PROGRAM_STATE, additions.LEAN, entries.FORMER,
        additions.SESSIONS, additions.LOOKS, additions.SUBJECTS, additions.LAID_OUT,
        additions.STRETCHES, additions.NARROW, additions.FORGETTING, additions.CENSUS,
        additions.PROOF, additions.CHOICES,
    ))  # fmt: skip
    added: dict[str, list[str]] = {}
    for table, column in _ADDED.findall(ddl):
        added.setdefault(table, []).append(column.replace(";", "", 1))
    dropped = set(_DROPPED.findall(ddl))
    gone = set(_DROPPED_COLUMN.findall(ddl))
    tables = {table: rest for table, *rest in _TABLE.findall(ddl)}  # the last form of each
    sections = (_section(table, description, [*_kept(table, body, gone), *added.get(table, ())])
                for table, (description, body) in tables.items()
                if table not in dropped)  # fmt: skip
    return "\n".join([_HEADING, *sections])


def _kept(table: str, body: str, gone: Collection[tuple[str, str]]) -> list[str]:
    """The lines of a table without the columns that a later step takes from it."""
    return [line for line in body.splitlines() if (table, line.split()[0]) not in gone]


def _section(table: str, description: str, lines: Iterable[str]) -> str:
    rows: list[list[str]] = []
    for line in lines:
        declaration, _, comment = (part.strip() for part in line.partition("--"))
        column = _COLUMN.match(declaration)
        if column is not None:
            rows.append([column[1], column[2], comment, *_details(column[3])])
        elif not declaration and line.startswith(" " * 10):  # continues the comment above
            rows[-1][2] += f" {comment}"
    printed = [
        f"| `{name}` | {kind} | {'; '.join(filter(None, meaning))} |"
        for name, kind, *meaning in rows
    ]
    heading = f"## {table}\n\n{description[0].upper()}{description[1:]}.\n"
    return "\n".join([heading, "| column | type | meaning |", "|---|---|---|", *printed, ""])


def _details(constraints: str) -> list[str]:
    """The table that a column references, and its allowed values, if any."""
    reference, choices = _REFERENCE.search(constraints), _CHOICES.search(constraints)
    details = [] if reference is None else [f"a `{reference[1]}`"]
    if choices is not None:
        details.append(choices[1].replace("','", "', '"))
    return details


if __name__ == "__main__":
    print(markdown(), end="")  # noqa: T201
