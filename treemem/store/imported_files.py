"""Remembers the files that were read to their end: reading one again adds nothing.

Owns the table imported_file. A file is known by a digest of its bytes and of how it was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from treemem.reports import FileReport
from treemem.store.database import Database

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


def load(database: Database, digest: str, report: FileReport) -> bool:
    """Whether the file was read before. If so, the report gets its figures, all messages known."""
    row = database.row(_LOAD, (digest,))
    if row is None:
        return False
    report.sources = json.loads(row[0])
    report.records, report.known = row[1], row[2]
    report.skipped = json.loads(row[3])
    report.problems, report.problem_count = json.loads(row[4]), row[5]
    return True


def remember(database: Database, digest: str, report: FileReport, *, growing: bool) -> None:
    """Remembers a file of which everything is stored. growing: it is read again and again, so its
    earlier states are forgotten."""
    # An empty file is not remembered: it belongs to no source yet, so nothing could make it
    # forgotten when a document, filled in the meantime, is emptied again.
    if report.added + report.known == 0:
        return
    with database.transaction():
        if growing:
            # Were it another file after all, that one would be read once more.
            earlier = (json.dumps(report.sources), report.records)
            database.execute(_FORGET_EARLIER, earlier)
        database.execute(
            _REMEMBER,
            (digest, json.dumps(report.sources), report.records, report.added + report.known,
             json.dumps(report.skipped), json.dumps(report.problems), report.problem_count),
        )  # fmt: skip


def forget_states(database: Database, source_id: str) -> None:
    """Forgets every state of a source's files, so that each is read again."""
    database.execute(_FORGET_STATES, {"source": source_id})


# -- words of logs ---------------------------------------------------------------------


def problem_texts(database: Database) -> Iterable[tuple[str, str]]:
    """The problems of each file, a JSON list, by its digest."""
    return database.rows("SELECT digest, problems FROM imported_file")


def rewrite_problems(database: Database, digest: str, problems: str) -> None:
    """Stores another JSON list of problems for a file."""
    database.execute("UPDATE imported_file SET problems = ? WHERE digest = ?", (problems, digest))
