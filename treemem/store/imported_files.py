"""Stores which files were read completely, so that they are not read again.

A file is identified by a digest of its bytes, the importer and the redaction rules.

Tested in tests/ingest/test_files.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from treemem.reports import FileReport
from treemem.store import json_text
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
WHERE EXISTS (
  SELECT 1 FROM json_each(CASE WHEN json_valid(source_ids) THEN source_ids ELSE '[]' END)
  WHERE value = :source)
"""


def load(database: Database, digest: str, report: FileReport) -> bool:
    """Returns whether the file was read before; if so, fills in its report."""
    row = database.row(_LOAD, (digest,))
    if row is None:
        return False
    sources = json_text.list_of(row[0])
    if not sources:  # damaged: the file is read again
        return False
    report.sources = sources
    report.records, report.known = row[1], row[2]
    report.skipped = json_text.object_of(row[3])
    report.problems, report.problem_count = json_text.list_of(row[4]), row[5]
    return True


def remember(database: Database, digest: str, report: FileReport, *, growing: bool) -> None:
    """Records that a file was read completely. growing: deletes the records of its earlier states,
    since it is read repeatedly."""
    # An empty file is not recorded: it belongs to no source, so forget_states could not find it
    # when a document that has been filled in the meantime is empty again.
    if report.added + report.known == 0:
        return
    with database.transaction():
        if growing:
            # If this deletes the record of another file, that file is just read again.
            earlier = (json.dumps(report.sources), report.records)
            database.execute(_FORGET_EARLIER, earlier)
        database.execute(
            _REMEMBER,
            (digest, json.dumps(report.sources), report.records, report.added + report.known,
             json.dumps(report.skipped), json.dumps(report.problems), report.problem_count),
        )  # fmt: skip


def forget_states(database: Database, source_id: str) -> None:
    """Deletes the records of all states of a source's files, so that they are read again."""
    database.execute(_FORGET_STATES, {"source": source_id})


def forget_all(database: Database) -> None:
    """Deletes the records of all files, so that each is read again."""
    database.execute("DELETE FROM imported_file")
    forget_looks(database)


# -- looks -----------------------------------------------------------------------------

_LOOKED = "SELECT digest, format FROM file_look WHERE path_hash = ? AND look = ?"
_LOOK = """
INSERT OR REPLACE INTO file_look (path_hash, look, digest, format) VALUES (?, ?, ?, ?)
"""


def looked(database: Database, path_hash: str, look: str) -> tuple[str, str] | None:
    """The digest and the format of a file that looked so when it was read; None if none did."""
    row = database.row(_LOOKED, (path_hash, look))
    return None if row is None else (row[0], row[1])


def look(database: Database, path_hash: str, look: str, digest: str, format_name: str) -> None:
    """Records how a file looked that has this digest."""
    with database.transaction():
        database.execute(_LOOK, (path_hash, look, digest, format_name))


def forget_looks(database: Database) -> None:
    """Deletes how files looked, so that each is opened again."""
    database.execute("DELETE FROM file_look")


# -- texts, for a scrub ----------------------------------------------------------------


def problem_texts(database: Database) -> Iterable[tuple[str, str]]:
    """(digest, problems) of each file; problems is a JSON list."""
    return database.rows("SELECT digest, problems FROM imported_file")


def rewrite_problems(database: Database, digest: str, problems: str) -> None:
    """Replaces a file's JSON list of problems."""
    database.execute("UPDATE imported_file SET problems = ? WHERE digest = ?", (problems, digest))
