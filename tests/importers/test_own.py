"""Tests the importers that a program passes to Memory.ingest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treemem import Event, Importer, LogFile, Memory, Message, Skipped, Source, UsageError
from treemem.watch.follower import Follower, Target


def ship_log(file: LogFile) -> Iterator[Event]:
    """A line is an entry: "name: words"."""
    yield Source(f"ship/{file.stem}", "ship_log", origin=file.label)
    with file.open() as stream:
        for number, line in enumerate(stream, start=1):
            author, colon, text = line.decode().strip().partition(": ")
            if colon:
                yield Message(author=author, text=text)
            else:
                yield Skipped("no entry", line=number)


class ShipLog(Importer):
    name = "ship-log"
    version = 1
    description = "a line an entry"
    kept = "author, words"
    dropped = ""

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return ship_log(file)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "monday.txt"
    path.write_text("Ana: The mast is up.\n\nBen: The sail is torn.\n")
    return path


@pytest.mark.parametrize("importer", [ship_log, ShipLog()], ids=["function", "object"])
def test_a_log_is_read_with_the_importer_that_was_passed(
    memory: Memory, log: Path, importer: object
) -> None:
    (file,) = memory.ingest(log, importer=importer).files  # type: ignore[arg-type]
    assert (file.records, file.added, file.skipped) == (3, 2, {"no entry": 1})
    texts = [message.text for message in memory.messages("ship/monday")]
    assert texts == ["The mast is up.", "The sail is torn."]


def test_a_plan_reads_as_ingest_would(memory: Memory, log: Path) -> None:
    planned = memory.plan(log, importer=ship_log)
    assert memory.is_empty
    ingested = memory.ingest(log, importer=ship_log)
    assert [(one.format, one.added) for one in planned.files] == [
        (one.format, one.added) for one in ingested.files
    ]  # fmt: skip
    assert ingested.added == 2
    with pytest.raises(UsageError, match="not both"):
        memory.plan(log, importer=ship_log, format_name="chat")


def test_a_follower_reads_with_your_own_importer(memory: Memory, log: Path) -> None:
    for _ in range(2):
        Follower(memory, [Target.of(log)], lambda _: None, importer=ship_log).run(once=True)
    assert {view.source.format for view in memory.sources()} == {"ship_log"}
    assert memory.status().messages == 2


def test_a_grown_log_adds_its_tail(memory: Memory, log: Path) -> None:
    memory.ingest(log, importer=ship_log)
    with log.open("a") as stream:
        stream.write("Ana: I mend it.\n")
    assert memory.ingest(log, importer=ship_log).added == 1
    assert memory.ingest(log, importer=ship_log).added == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [(ShipLog, r"An importer is an instance of treemem\.Importer"),
     ("ship-log", "takes as importer an Importer, a function or None, not str: 'ship-log'"),
     (3, "takes as importer an Importer, a function or None, not int: 3")],
)  # fmt: skip
def test_what_is_not_an_importer_is_refused(
    memory: Memory, log: Path, wrong: object, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        memory.ingest(log, importer=wrong)  # type: ignore[arg-type]


class Own(ShipLog):
    """Yields what it is given."""

    def __init__(self, events: Any) -> None:
        self.events = events

    def read(self, file: LogFile) -> Iterator[Event]:
        del file
        return self.events  # type: ignore[no-any-return]


SOURCE, SAID = Source("ship/monday", "ship_log"), Message(text="The mast is up.")


@pytest.mark.parametrize("is_object", [False, True])
@pytest.mark.parametrize(
    ("events", "words"),
    [(3, "returned int, not the events of monday.txt: Source"),
     (None, "returned NoneType, not the events of monday.txt: Source"),
     (["The mast is up."], "gave str: 'The mast is up.', which is not a Source"),
     ([SOURCE, None], "gave NoneType: None, which is not a Source"),
     ([SAID, SOURCE], "gave a message of monday.txt before its source: 'The mast is up.'"),
     ([Skipped("no entry"), SAID], "gave a message of monday.txt before its source")],
)  # fmt: skip
def test_an_importer_that_gives_no_events_in_order_is_refused_by_name(
    memory: Memory, log: Path, events: Any, words: str, is_object: bool
) -> None:
    importer: Any = Own(events) if is_object else lambda _: events
    name = "ship-log" if is_object else "<lambda>"
    for method in (memory.ingest, memory.plan):
        with pytest.raises(UsageError, match=f"^{name} {words}"):
            method(log, importer=importer)
    assert memory.is_empty


def test_a_format_and_an_importer_exclude_each_other(memory: Memory, log: Path) -> None:
    with pytest.raises(UsageError, match="not both"):
        memory.ingest(log, importer=ship_log, format_name="chat")
