"""Two processes that read one log under different policies at once store it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.logs import chat_lines
from tests.privacy.test_policy import WITH_SECRETS
from treemem import Memory
from treemem.importers.chat.importer import ChatJsonl
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.ingest.files import Options, ingest_all
from treemem.privacy.policy import Redact, Redaction
from treemem.store.database import Database


class Interrupted(Importer):
    """The chat importer; when all is read and nothing is stored yet, something else happens."""

    name = ChatJsonl.name
    version = ChatJsonl.version

    def __init__(self, happens: Callable[[], object]) -> None:
        self.happens = happens

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 1.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield from ChatJsonl().read(file)
        self.happens()


@pytest.mark.parametrize(("mine", "others"), [(True, False), (False, True), (True, "pii")])
def test_messages_that_another_process_stores_meanwhile_are_stored_once(
    memory: Memory, database: Database, tmp_path: Path, mine: Redact, others: Redact
) -> None:
    texts = ["We met.", WITH_SECRETS, "Write to ana@farm.org with " + WITH_SECRETS, "We left."]
    log = tmp_path / "chat.jsonl"
    log.write_bytes(chat_lines([{"role": "user", "content": text} for text in texts]))
    with Memory.open(memory.path) as other:
        importer = Interrupted(lambda: other.ingest(log, redact=others))
        (report,) = ingest_all(
            database, [LogFile(str(log), log)], lambda: 0, lambda _: None,
            Options(Redaction.of(database, mine), importer=importer),
        ).files  # fmt: skip
        assert report.records == report.added + report.known == len(texts)
        assert len(memory.messages(report.sources[0])) == len(texts)
        memory.work(max_calls=0)
        assert memory.diagnose().healthy
