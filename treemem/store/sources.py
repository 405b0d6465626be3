"""Stores sources: sessions and documents, each with a history of messages (messages.py).

Owns the tables source, except its column open_position, source_end and awaited_title.

Tested in tests/store/test_messages.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

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
    """Returns the row number of a source, and inserts it if it is new. Raises UsageError as
    check_id does."""
    check_id(source.id)
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


def check_id(source_id: str) -> None:
    """Raises UsageError if an id is empty, too long or not printable."""
    is_text = isinstance(source_id, str)
    if not is_text or not 0 < len(source_id) <= 512 or not source_id.isprintable():
        raise UsageError(f"A source id has 1 to 512 printable characters, not {source_id!r}.")


def seq_of(database: Database, source_id: str) -> int | None:
    """The row number of a source; None if it is not stored."""
    seq = database.value("SELECT seq FROM source WHERE id = ?", (source_id,))
    return None if seq is None else int(seq)


def id_of(database: Database, source_seq: int) -> str:
    """The id of a stored source."""
    return str(database.value("SELECT id FROM source WHERE seq = ?", (source_seq,)))


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
    """The source that ends with a record, or has that message nearest to its end; None if no source
    has it. A session that continues another begins with its messages. identity: see ids.py."""
    sql = "SELECT source_seq FROM source_end WHERE identity = ? ORDER BY source_seq LIMIT 1"
    seq = database.value(sql, (identity,)) or database.value(_ENDING_WITH, (identity,))
    return None if seq is None else int(seq)


_ENDS = "SELECT identity FROM source_end WHERE source_seq = ?"
_REMOVE_END = "DELETE FROM source_end WHERE source_seq = ? AND identity = ?"
_ADD_END = "INSERT INTO source_end (source_seq, identity) VALUES (?, ?)"


def set_ends(database: Database, source_id: str, identities: Set[str]) -> None:
    """Stores by which records, that are no messages, other logs may call a source, instead of those
    stored before. A source that is not stored has none. identities: see ids.py."""
    seq = seq_of(database, source_id)
    if seq is None:
        return
    stored = {identity for (identity,) in database.rows(_ENDS, (seq,))}
    database.many(_REMOVE_END, [(seq, identity) for identity in sorted(stored - identities)])
    database.many(_ADD_END, [(seq, identity) for identity in sorted(identities - stored)])


_AWAIT = """
INSERT INTO awaited_title (identity, title)
SELECT :identity, :title WHERE (SELECT count(*) FROM awaited_title) < :most
ON CONFLICT (identity) DO UPDATE SET title = excluded.title
"""
_ARRIVED = """
SELECT a.identity, a.title FROM awaited_title a
WHERE EXISTS (SELECT 1 FROM message m WHERE m.identity = a.identity)
  OR EXISTS (SELECT 1 FROM source_end e WHERE e.identity = a.identity)
"""


def await_titles(database: Database, titles: Mapping[str, str], most: int) -> None:
    """Keeps titles for the sources that have or end with these identities. most: the number of
    titles from which on no more are kept."""
    rows = [{"identity": identity, "title": storable_text(title)[0], "most": most}
            for identity, title in titles.items()]  # fmt: skip
    database.many(_AWAIT, rows)


def arrived_titles(database: Database) -> list[tuple[str, str]]:
    """(identity, title) of the awaited titles whose sources are stored."""
    return [(*row,) for row in database.rows(_ARRIVED)]


def forget_awaited(database: Database, identity: str) -> None:
    """Deletes an awaited title."""
    database.execute("DELETE FROM awaited_title WHERE identity = ?", (identity,))


def awaited_titles(database: Database) -> Sequence[tuple[str, str]]:
    """(identity, title) of all awaited titles."""
    return database.rows("SELECT identity, title FROM awaited_title")


def rewrite_awaited(database: Database, identity: str, title: str) -> None:
    """Stores another text of an awaited title."""
    database.execute("UPDATE awaited_title SET title = ? WHERE identity = ?", (title, identity))


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


_SESSION_INSERT = "INSERT OR IGNORE INTO log_session (id) VALUES (?)"
_SESSION_SEQS = "SELECT id, seq FROM log_session WHERE id IN (SELECT value FROM json_each(?))"


def session_seqs(database: Database, names: Iterable[str | None]) -> dict[str | None, int]:
    """The row numbers of sessions that logs name, by id; stores those that are new. Without None,
    which stands for a message without a session."""
    known = sorted(name for name in set(names) if name is not None)
    database.many(_SESSION_INSERT, [(name,) for name in known])
    return dict(database.rows(_SESSION_SEQS, (json_list(known),)))
