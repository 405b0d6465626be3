"""Migrates memory files to the newest schema in ordered steps.

A released step never changes; new ones are added below it. The DDL of the steps is in the folder
schema.

Tested in tests/store/test_database.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from treemem.store.schema import additions, live, spine
from treemem.text.fts import extra_words

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

APPLICATION_ID = 0x74726D6D  # "trmm"
SCHEMA_VERSION = 27
# Steps of SQL alone, independent of the others.
_LIVE_STEPS = (
    ("m009_merges_and_titles", additions.MERGES + additions.TITLES),
    ("m010_live_sessions", live.LIVE),
    ("m011_private_facts", live.PRIVATE),
    ("m012_program_state", live.PROGRAM_STATE),
    ("m013_latest_entries", additions.LATEST),
    ("m014_indexed_together", additions.INDEXED_TOGETHER),
    ("m016_log_marks", additions.LOG_MARKS),
    ("m017_sessions", additions.SESSIONS),
    ("m018_looks", additions.LOOKS),
    ("m020_ordered", additions.ORDERED),
    ("m021_laid_out", additions.LAID_OUT),
    ("m024_forgetting", additions.FORGETTING),
    ("m025_census", additions.CENSUS),
    ("m026_proof", additions.PROOF),
    ("m027_choices", additions.CHOICES),
)


def apply(
    connection: Any, is_complete: Callable[[str], bool], sqlite_version: tuple[int, ...]
) -> None:
    """Brings the schema up to SCHEMA_VERSION, in the caller's IMMEDIATE transaction.
    is_complete: the driver's complete_statement."""
    from sqlite_utils import Database, Migrations

    from treemem.store import entries, event_days  # which need this module to be opened

    steps = Migrations("treemem")
    run = partial(_run, is_complete)

    @steps()
    def m001_spine(database: Database) -> None:
        run(database, *spine.ALL, *_secure_delete(sqlite_version))

    @steps()
    def m002_origins(database: Database) -> None:
        run(database, additions.ORIGINS, additions.EXTRACT_AGAIN)

    @steps()
    def m003_log_files(database: Database) -> None:
        run(database, additions.LOG_FILES)

    @steps()
    def m004_other_stems(database: Database) -> None:
        _index_again(database.conn, "message", "author")
        _index_again(database.conn, "statement", "NULL")

    @steps()
    def m005_ledger(database: Database) -> None:
        run(database, additions.LEDGER, additions.EXTRACT_AGAIN)

    @steps()
    def m006_quality(database: Database) -> None:
        run(database, additions.EXTRACT_AGAIN)  # importance and salience have other weights

    @steps()
    def m007_event_days(database: Database) -> None:
        event_days.create(database.conn)

    @steps()
    def m008_rules(database: Database) -> None:
        run(database, entries.MARKED, additions.EXTRACT_AGAIN)

    for name, script in _LIVE_STEPS:

        @steps(name=name)
        def live_step(database: Database, script: str = script) -> None:
            run(database, script)

    _add_lists(steps, run)
    steps.apply(Database(connection))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _add_lists(steps: Migrations, run: Callable[..., None]) -> None:
    """Adds the steps that bring what entries are about into lists, and those after them."""
    from treemem.store import entries  # as above

    @steps()
    def m015_lean_ledger(database: Database) -> None:
        run(database, additions.LEAN)
        entries.pack_subjects(database.conn)

    @steps()
    def m019_subjects(database: Database) -> None:
        run(database, additions.SUBJECTS)
        entries.list_subjects(database.conn)

    @steps()
    def m022_stretches(database: Database) -> None:
        run(database, additions.STRETCHES)

    @steps()
    def m023_narrow(database: Database) -> None:
        run(database, additions.NARROW)


def _run(is_complete: Callable[[str], bool], database: Database, *scripts: str) -> None:
    for script in scripts:
        for sql in split_script(script, is_complete):
            database.conn.execute(sql)


def _secure_delete(sqlite_version: tuple[int, ...]) -> list[str]:
    return [spine.SECURE_DELETE] if sqlite_version >= spine.SECURE_DELETE_SINCE else []


def _index_again(connection: Any, table: str, author: str) -> None:
    """Brings the extra words of a table's rows up to date, and the full-text index with them.

    author: the column of the name that is indexed before the text.
    """
    rows = connection.execute(f"SELECT seq, search_text, {author}, text FROM {table}")  # noqa: S608
    changed = [
        (words, seq)
        for seq, stored, name, text in rows
        if (words := extra_words(f"{name}: {text}" if name else text)) != stored
    ]
    for words, seq in changed:
        connection.execute(
            f"INSERT INTO {table}_fts ({table}_fts, rowid, text) "  # noqa: S608
            f"SELECT 'delete', seq, text FROM {table}_search WHERE seq = ?", (seq,),
        )  # fmt: skip
        connection.execute(
            f"UPDATE {table} SET search_text = ? WHERE seq = ?",  # noqa: S608
            (words, seq),
        )
        connection.execute(
            f"INSERT INTO {table}_fts (rowid, text) "  # noqa: S608
            f"SELECT seq, text FROM {table}_search WHERE seq = ?", (seq,),
        )  # fmt: skip


def split_script(script: str, is_complete: Callable[[str], bool]) -> list[str]:
    """Splits a script into SQL statements; a trigger is one statement.

    The driver's executescript would first commit the open transaction.

    Example:
        >>> split_script("SELECT 1;SELECT 2;", lambda sql: sql.endswith(";"))
        ['SELECT 1;', 'SELECT 2;']
    """
    statements: list[str] = []
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if is_complete(pending):
            statements.append(pending)
            pending = ""
    return [sql for sql in statements if sql.strip(" \n;")]
