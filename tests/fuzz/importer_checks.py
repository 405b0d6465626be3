"""Checks that hold for an importer whatever the bytes are."""

from __future__ import annotations

from collections.abc import Sequence

from treemem.errors import ImportFileError
from treemem.importers import Importer, LogFile, Skipped
from treemem.importers.common.base import Event
from treemem.importers.common.records import read_records
from treemem.store import messages
from treemem.types import Message, Source


def check(importer: Importer, file: LogFile) -> None:
    """Reads the file twice. Raises AssertionError, or an error that importers must not raise."""
    first = events_of(importer, file)
    assert first == events_of(importer, file), "the same bytes yielded other events"
    _check_order(first)
    for event in first:
        if isinstance(event, Message):
            _check_message(event)
        elif isinstance(event, Skipped):
            assert event.reason, "a record was skipped without a reason"


def check_lines(importer: Importer, file: LogFile) -> None:
    """Checks a format of JSON Lines as well: each record ends in at least one event."""
    check(importer, file)
    with file.open() as stream:
        records = sum(1 for _ in read_records(stream))
    events = [event for event in events_of(importer, file) if not isinstance(event, Source)]
    assert len(events) >= records, f"{records} records, but {len(events)} events"


def events_of(importer: Importer, file: LogFile) -> list[Event]:
    """The events; those before an ImportFileError if there is one."""
    result: list[Event] = []
    try:
        result.extend(importer.read(file))
    except ImportFileError as error:
        text = str(error)
    else:
        return result
    assert file.label in text, "the error does not name the file"
    return result


def _check_order(events: Sequence[Event]) -> None:
    has_source = False
    for event in events:
        has_source = has_source or isinstance(event, Source)
        assert has_source or not isinstance(event, Message), "a message came before its source"


def _check_message(message: Message) -> None:
    """Checks that the message can be stored and its parts are inside its text."""
    messages.storable(message)
    for part in message.parts:
        assert 0 <= part.start <= part.end <= len(message.text), "a part lies outside of the text"
    for blob in message.blobs:
        assert len(blob.digest) == 64
        assert blob.size_bytes >= 0
