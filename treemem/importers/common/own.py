"""Makes an importer of a program's own function or object, for Memory.ingest.

Tested in tests/importers/test_own.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from treemem.errors import UsageError
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.types import Message, Source

# A function from a log file to its events, in the order of the file: each Source before its
# messages, a Skipped for every record that is not a message.
ReadLog: TypeAlias = Callable[[LogFile], Iterable[Event]]


class OwnImporter(Importer):
    """Reads files with a program's own function, whose name is that of the format."""

    version = 1
    kept = dropped = ""

    def __init__(self, read: ReadLog) -> None:
        self._read = read
        self.name = getattr(read, "__name__", type(read).__name__)
        self.description = f"files that {self.name} reads"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file, head
        return 0.0  # it reads only what it is named for

    def read(self, file: LogFile) -> Iterable[Event]:  # type: ignore[override]
        return self._read(file)  # checked_events checks what that is


def checked_events(importer: Importer, file: LogFile) -> Iterator[Event]:
    """The events of a program's own importer. Raises UsageError for what is none, and for a message
    before its source."""
    events: object = importer.read(file)
    if not isinstance(events, Iterable):
        raise UsageError(
            f"{importer.name} returned {type(events).__name__}, not the events of {file.name}: "
            "Source, Message and Skipped values."
        )
    has_source = False
    for event in events:
        if not isinstance(event, Event):
            raise UsageError(
                f"{importer.name} gave {type(event).__name__}: {repr(event)[:80]}, which is not a "
                "Source, a Message or a Skipped."
            )
        has_source = has_source or isinstance(event, Source)
        if isinstance(event, Message) and not has_source:
            raise UsageError(
                f"{importer.name} gave a message of {file.name} before its source: "
                f"{repr(event.text)[:80]}. Yield a Source(id, format) first."
            )
        yield event


def importer_of(given: object) -> Importer:
    """The importer that was given, or one that calls the function that was. Raises UsageError."""
    if isinstance(given, Importer):
        return given
    if callable(given) and not isinstance(given, type):
        return OwnImporter(given)
    shown = f"the class {given.__name__}" if isinstance(given, type) else repr(given)[:80]
    raise UsageError(
        "An importer is an instance of treemem.Importer, or a function from a LogFile to its "
        f"events, not {shown}."
    )
