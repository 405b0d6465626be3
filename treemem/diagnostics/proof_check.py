"""Checks that all rows are as treemem wrote them, and drops those that can be made again.

Tested in tests/diagnostics/test_proof_check.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.store import vectors
from treemem.store.database import Database
from treemem.store.proof import digests
from treemem.store.proof.tables import is_vectors
from treemem.topics import census

# Summaries above a changed one show its statements.
_SUMMARIES = """
WITH RECURSIVE up (node_seq, producer_seq) AS (
  SELECT node_seq, producer_seq FROM summary WHERE seq IN ({seqs})
  UNION SELECT nc.node_seq, up.producer_seq FROM up JOIN node_child nc ON nc.child_seq = up.node_seq
)
DELETE FROM summary WHERE (node_seq, producer_seq) IN (SELECT node_seq, producer_seq FROM up)
"""
_OF_SUMMARIES = "SELECT seq FROM summary WHERE seq BETWEEN :low AND :high"
_OF_STATEMENTS = """
SELECT summary_seq FROM statement WHERE seq BETWEEN :low AND :high
UNION SELECT summary_seq FROM summary_statement WHERE statement_seq BETWEEN :low AND :high
"""
_SUMMARIES_OF = {
    "summary": _OF_SUMMARIES,
    "summary_statement": _OF_SUMMARIES,
    "statement": _OF_STATEMENTS,
    "citation": _OF_STATEMENTS,
}
_MARKS = ("DELETE FROM log_mark_key WHERE {group}", "DELETE FROM log_mark WHERE {group}")
# How the rows of a group are dropped. Jobs that repair() admits make them again; of files that are
# not known as read, the logs are read again.
_DROPPED = {
    "log_mark": _MARKS,
    "log_mark_key": _MARKS,
    **{
        table: (f"DELETE FROM {table} WHERE {{group}}",)  # noqa: S608
        for table in ("file_look", "imported_file", "leaf_profile", "job", "breaker")
    },
}
# What repair() makes again as a whole.
_MADE_AGAIN = ("entry_link", "event_day")
_CENSUS = ("topic_census", "phrase_count", "topic_phrase", "waiting_phrase")


def findings(database: Database) -> Iterator[str]:
    """A sentence for each group of rows that something else than treemem has changed, "" for
    others."""
    for table, part in digests.looked_at(database):
        if part is None:
            yield ""
        else:
            yield f"rows of {table.name_of(part)} are not as they were written"


def drop(database: Database) -> None:
    """Drops changed rows that are made again, in the caller's transaction. Groups of other rows
    stay marked as changed until they are deleted, whatever is stored beside them."""
    changed = [(table, part) for table, part in digests.looked_at(database) if part is not None]
    for table, part in changed:
        group, values = table.group(part)
        if database.row(*table.rows_of(part)) is None:
            digests.mark_changed(database, table, part)
        if table.name in _SUMMARIES_OF:
            sql = _SUMMARIES.format(seqs=_SUMMARIES_OF[table.name])
            database.execute(sql, {"low": values[0], "high": values[1]})
        elif table.name in _DROPPED:
            for sql in _DROPPED[table.name]:
                database.execute(sql.format(group=group), values)
        elif table.name == "entry":
            _drop_entries(database)
        elif is_vectors(table.name):
            sql = f"SELECT DISTINCT node_seq FROM {table.name} WHERE {group}"  # noqa: S608
            nodes = [seq for (seq,) in database.rows(sql, values)]
            vectors.remove(database, nodes, vectors.embedder_of(table.name))
        elif table.name in _CENSUS:
            census.forget(database)
        elif table.name not in _MADE_AGAIN:
            digests.mark_changed(database, table, part)


def _drop_entries(database: Database) -> None:
    """All of them, since each depends on those before it."""
    database.execute("UPDATE statement SET entry_seq = NULL WHERE entry_seq IS NOT NULL")
    database.execute("UPDATE entry SET by_seq = NULL WHERE by_seq IS NOT NULL")
    for table in ("entry_link", "subject_list", "entry"):
        database.execute(f"DELETE FROM {table}")  # noqa: S608
