"""Stores sources: sessions and documents, each with a history of messages (messages.py).

Owns the table source, except its column open_position.

Tested in tests/store/test_messages.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treemem.errors import UsageError
from treemem.store.database import Database, json_list, storable_text
from treemem.types import Source

_ENSURE = """
INSERT INTO source (id, format, title, origin, parent_id, project, created_at_ms)
VALUES (:id, :format, :title, :origin, :parent_id, :project, :now)
ON CONFLICT (id) DO UPDATE SET title = coalesce(excluded.title, title),
  parent_id = coalesce(excluded.parent_id, parent_id), project = coalesce(project, excluded.project)
RETURNING seq
"""


def ensure(database: Database, source: Source, now_ms: int) -> int:
    """Returns the row number of a source, and inserts it if it is new. Raises UsageError if the id
    is empty, too long or not printable."""
    is_text = isinstance(source.id, str)
    if not is_text or not 0 < len(source.id) <= 512 or not source.id.isprintable():
        raise UsageError(f"A source id has 1 to 512 printable characters, not {source.id!r}.")
    title, _ = storable_text(source.title or "")
    return int(
        database.value(
            _ENSURE,
            {"id": source.id, "format": source.format, "title": title or None,
             "origin": storable_text(source.origin or "")[0] or None,
             "parent_id": source.parent_id, "now": now_ms,
             "project": storable_text(source.project or "")[0] or None},
        )
    )  # fmt: skip


def seq_of(database: Database, source_id: str) -> int | None:
    """The row number of a source; None if it is not stored."""
    seq = database.value("SELECT seq FROM source WHERE id = ?", (source_id,))
    return None if seq is None else int(seq)


def is_mine(database: Database, source_id: str) -> bool:
    """Whether the reader has said that the source's user is the reader."""
    value = database.value("SELECT is_mine FROM source WHERE id = ?", (source_id,))
    return bool(value)


def set_mine(database: Database, source_seq: int) -> None:
    """Records that the source's user is the reader."""
    database.execute("UPDATE source SET is_mine = 1 WHERE seq = ?", (source_seq,))


def has_format(database: Database, format_name: str) -> bool:
    """Whether any source of this format is stored."""
    sql = "SELECT 1 FROM source WHERE format = ? LIMIT 1"
    return database.value(sql, (format_name,)) is not None


_OF_MESSAGES = """
SELECT DISTINCT s.seq, s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.message_seq IN (SELECT value FROM json_each(?)) ORDER BY s.seq
"""


def of_messages(database: Database, message_seqs: Iterable[int]) -> list[tuple[int, str]]:
    """(row number, id) of each source that has any of these messages."""
    return [(row[0], row[1]) for row in database.rows(_OF_MESSAGES, (json_list(message_seqs),))]


def titles(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, title) of each source with a title."""
    return database.rows("SELECT seq, title FROM source WHERE title IS NOT NULL")


_ENDING_WITH = """
SELECT s.seq FROM message m JOIN source_message sm ON sm.message_seq = m.seq
JOIN source s ON s.seq = sm.source_seq AND s.parent_id IS NULL
WHERE m.identity = ?
ORDER BY (SELECT max(position) FROM source_message WHERE source_seq = s.seq) - sm.position, s.seq
LIMIT 1
"""


def ending_with(database: Database, identity: str) -> int | None:
    """The source that has a message nearest to its end; None if no source has it. A session that
    continues another begins with its messages. identity: of the message, see ids.py."""
    seq = database.value(_ENDING_WITH, (identity,))
    return None if seq is None else int(seq)


def add_title(database: Database, source_seq: int, title: str) -> None:
    """Gives a source a title unless it has one."""
    sql = "UPDATE source SET title = ? WHERE seq = ? AND title IS NULL"
    database.execute(sql, (storable_text(title)[0], source_seq))


def rewrite_title(database: Database, source_seq: int, title: str) -> None:
    database.execute("UPDATE source SET title = ? WHERE seq = ?", (title, source_seq))


def projects(database: Database) -> Sequence[tuple[int, str]]:
    """(row number, project) of each source with a project."""
    return database.rows("SELECT seq, project FROM source WHERE project IS NOT NULL")


def rewrite_project(database: Database, source_seq: int, project: str) -> None:
    database.execute("UPDATE source SET project = ? WHERE seq = ?", (project, source_seq))
