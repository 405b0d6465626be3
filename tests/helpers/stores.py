"""SQLite files as other programs write them, built from their statements and rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.common.base import Event
from treemem.types import Message, Source

Rows = Mapping[str, Sequence[Sequence[object]]]


def write_store(path: Path, schema: str, rows: Rows) -> Path:
    """A database of these tables, the rows of each in the order of its columns."""
    with sqlite3.connect(path) as connection:
        connection.executescript(schema)
        add_rows(connection, rows)
    connection.close()
    return path


def add_rows(connection: sqlite3.Connection, rows: Rows) -> None:
    for table, values in rows.items():
        for row in values:
            marks = ",".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(row))


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def events_of(path: Path, name: str) -> list[Event]:
    return list(by_name(name).read(LogFile(path.name, path)))


def messages(events: Iterable[Event]) -> list[Message]:
    return [event for event in events if isinstance(event, Message)]


def sources(events: Iterable[Event]) -> list[Source]:
    return [event for event in events if isinstance(event, Source)]


def reasons(events: Iterable[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Skipped)]


def roles_and_texts(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages(events)]


# Values of a wrong type or content, for any field.
ODD: tuple[Any, ...] = (None, True, 7, -1.5, 10**30, "x", "", [], [[]], {}, {"a": None})
