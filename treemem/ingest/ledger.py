"""Files that were read to their end: the same bytes again add nothing, at reading speed."""

from __future__ import annotations

import hashlib
import json

from treemem.importers.common.base import Importer, LogFile
from treemem.reports import FileReport
from treemem.store.database import Database

_HASH_BLOCK_BYTES = 1 << 20
_LOAD = """
SELECT source_ids, records, messages, skipped, problems, problem_count
FROM imported_file WHERE digest = ?
"""
_REMEMBER = """
INSERT OR REPLACE INTO imported_file (digest, source_ids, records, messages, skipped, problems,
  problem_count) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_FORGET_EARLIER = "DELETE FROM imported_file WHERE source_ids = ? AND records < ?"
_FORGET_STATES = """
DELETE FROM imported_file
WHERE EXISTS (SELECT 1 FROM json_each(source_ids) WHERE value = :source)
"""


def digest_of(file: LogFile, importer: Importer, redaction: str) -> str:
    """Over the importer, what it takes for a secret, and every byte of the file and of those
    read with it."""
    state = hashlib.blake2b(digest_size=16, person=b"file")
    state.update(f"{importer.name}/{importer.version}\n{redaction}\n".encode())
    for part in (file, *importer.companions(file)):
        with part.open() as stream:
            while block := stream.read(_HASH_BLOCK_BYTES):
                state.update(block)
        # Subtle: only a companion's end is marked, so that a file alone keeps its digest.
        state.update(b"" if part is file else b"\0end\0")
    return state.hexdigest()


def load(database: Database, digest: str, report: FileReport) -> bool:
    """Whether the file was read before; then the report says what it held, all of it known."""
    row = database.row(_LOAD, (digest,))
    if row is None:
        return False
    report.sources = json.loads(row[0])
    report.records, report.known = row[1], row[2]
    report.skipped = json.loads(row[3])
    report.problems, report.problem_count = json.loads(row[4]), row[5]
    return True


def remember(database: Database, digest: str, report: FileReport, *, growing: bool) -> None:
    """Remembers a file, once all of it is stored. growing: it is read again and again, so its
    earlier states are forgotten."""
    # Not an empty one: it belongs to no source yet, so that nothing could make it forgotten
    # when a document, filled in the meantime, is emptied again.
    if report.added + report.known == 0:
        return
    with database.transaction():
        if growing:
            # Were it not the same file after all, that would have to be read once more.
            earlier = (json.dumps(report.sources), report.records)
            database.execute(_FORGET_EARLIER, earlier)
        database.execute(
            _REMEMBER,
            (digest, json.dumps(report.sources), report.records, report.added + report.known,
             json.dumps(report.skipped), json.dumps(report.problems), report.problem_count),
        )  # fmt: skip


def forget_states(database: Database, source_id: str) -> None:
    """Every state of a source's files has to be read again."""
    database.execute(_FORGET_STATES, {"source": source_id})
