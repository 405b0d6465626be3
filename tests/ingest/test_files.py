"""What a file held before its damage is stored, and the report says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.ingest.files import BATCH_MESSAGES_MAX, Options, ingest_all
from treemem.privacy.policy import Redaction
from treemem.store.database import Database
from treemem.types import Source


class Damaged(Importer):
    """A log that cannot be read to its end."""

    name = "damaged"
    version = 1

    def __init__(self, count: int, error: Exception) -> None:
        self.count = count
        self.error = error

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 1.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield Source("damaged/1", self.name)
        for number in range(self.count):
            yield Message("user", f"We milked cow {number}.", external_id=str(number))
        raise self.error


@pytest.mark.parametrize("count", [0, 5, BATCH_MESSAGES_MAX, 2 * BATCH_MESSAGES_MAX + 5])
@pytest.mark.parametrize("error", [ImportFileError("it is damaged"), OSError(5, "it is damaged")])
def test_messages_before_damage_are_stored_and_counted(
    memory: Memory, database: Database, tmp_path: Path, count: int, error: Exception
) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x")
    report = ingest_all(
        database, [LogFile("log", log)], lambda: 0, lambda: None,
        Options(Redaction.of(database), importer=Damaged(count, error)),
    )  # fmt: skip
    (file,) = report.files
    assert "damaged" in str(file.error)
    assert (file.records, file.added) == (count, count)
    assert len(memory.messages("damaged/1")) == count if count else not memory.sources()
