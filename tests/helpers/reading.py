"""Reads a log from memory into events, and selects them by type."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterator, Mapping

from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, detect
from treemem.importers.common import archives
from treemem.importers.common.base import Event
from treemem.types import Message, Source


def events_of(data: bytes | str, label: str, expected: str) -> list[Event]:
    """The events of a file. expected: the name of the importer that has to detect it."""
    file = LogFile(label, data=data.encode() if isinstance(data, str) else data)
    importer = detect(file)
    assert importer.name == expected
    return list(importer.read(file))


def messages_in(events: list[Event]) -> list[Message]:
    return [event for event in events if isinstance(event, Message)]


def reasons_in(events: list[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Skipped)]


def sources_in(events: list[Event]) -> list[str]:
    return [event.id for event in events if isinstance(event, Source)]


def zipped(members: Mapping[str, object]) -> bytes:
    """A ZIP archive. Values that are neither text nor bytes are stored as JSON."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, value in members.items():
            is_plain = isinstance(value, str | bytes)
            archive.writestr(name, value if is_plain else json.dumps(value))
    return target.getvalue()


def archive_events(data: bytes, label: str = "export.zip") -> dict[str, list[Event]]:
    """The events of each member that an importer detects."""
    events: dict[str, list[Event]] = {}
    with archives.open_archive(LogFile(label, data=data)) as archive:
        assert archive is not None
        assert list(archive.survey()) == []
        for member in archive.members():
            name = member.label.removeprefix(f"{label}!")
            events[name] = list(detect(member).read(member))
    return events


def mutated(data: bytes, seed: int) -> bytes:
    """The data with bits flipped, pieces removed or doubled, and sometimes its end cut off."""
    chance = random.Random(seed)
    broken = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(broken) + 1)
        kind = chance.randrange(4)
        if kind == 0 and at < len(broken):
            broken[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del broken[at : at + chance.randrange(40)]
        elif kind == 2:
            broken[at:at] = broken[at : at + chance.randrange(200)]
        else:
            del broken[at + len(broken) // 2 :]
    return bytes(broken)


def retyped(value: object, seed: int) -> object:
    """A JSON value in which one in eight values has another type."""
    chance = random.Random(seed)
    odd: list[object] = [
        None,
        3,
        -1.5,
        "",
        "text",
        [],
        {},
        True,
        [None, {"a": []}],
        10**30,
        {"text": 7},
    ]

    def changed(part: object) -> object:
        if chance.random() < 0.125:
            return chance.choice(odd)
        if isinstance(part, dict):
            return {key: changed(inner) for key, inner in part.items()}
        return [changed(inner) for inner in part] if isinstance(part, list) else part

    return changed(value)


def assert_reads(name: str, data: bytes, label: str) -> None:
    """Asserts that an importer yields events, each message after a source, or raises
    ImportFileError, whatever the bytes are."""
    from treemem.importers import by_name

    has_source = False
    try:
        for event in _bounded(by_name(name).read(LogFile(label, data=data))):
            has_source = has_source or isinstance(event, Source)
            assert has_source or isinstance(event, Skipped)
            if isinstance(event, Message):
                for part in event.parts:
                    assert 0 <= part.start < part.end <= len(event.text)
    except ImportFileError:
        return


def _bounded(events: Iterator[Event]) -> Iterator[Event]:
    for number, event in enumerate(events):
        assert number < 100_000, "the importer does not end"
        yield event
