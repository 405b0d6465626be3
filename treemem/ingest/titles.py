"""Stores the titles that a log gives to sessions of other logs.

Claude Code writes the summary of a session into the file of a later one, with the id of the last
record of the first. Which of the files is read first is chance, and the other may be read weeks
later, so a title waits in the file until its session is stored. The last record may be a fragment
of a message that was read as one; the file then has its id. A title that a source has already
stays.

Tested in tests/ingest/test_titles.py.
"""

from __future__ import annotations

from treemem import ids
from treemem.forgetting.tombstones import Tombstones
from treemem.importers.common.source_ids import TITLE_CHARS_MAX
from treemem.privacy.policy import Redaction
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Message

# Titles of one file, and titles that wait; a project of years has some hundreds.
TITLES_MAX = 10_000


class TitlesElsewhere:
    """The titles of one run, by the id of a record of the session that each belongs to, and the
    records by which other logs may call the sessions of this run. Ids are unique everywhere."""

    def __init__(self, database: Database, redaction: Redaction) -> None:
        self._database = database
        self._redaction = redaction
        self._titles: dict[str, str] = {}
        self._ends: dict[str, set[str]] = {}

    def add(self, record_id: str, title: str) -> None:
        """Takes a title of the file that is being read."""
        if len(self._titles) < TITLES_MAX or record_id in self._titles:
            self._titles[record_id] = title

    def add_end(self, source_id: str, record_id: str) -> None:
        """Takes a record that ends a session or a branch of it, and is no message."""
        self._ends.setdefault(source_id, set()).add(_identity(record_id))

    def keep(self) -> None:
        """Stores what was taken since the last call. Call in the transaction that records a file as
        read, since it is not read again then."""
        if not self._titles and not self._ends:
            return
        clean = {_identity(record_id): self._redaction.title(title, TITLE_CHARS_MAX)
                 for record_id, title in self._titles.items()}  # fmt: skip
        with self._database.transaction():
            forgotten = Tombstones(self._database)
            titles = {identity: title for identity, title in clean.items()
                      if title and not forgotten.has_identity(identity)}  # fmt: skip
            sources.await_titles(self._database, titles, TITLES_MAX)
            for source_id, identities in self._ends.items():
                sources.set_ends(self._database, source_id, identities)
        self._titles.clear()
        self._ends.clear()

    def give(self) -> None:
        """Gives the titles whose sources are stored by now to these. Call at the end of a run."""
        if not sources.arrived_titles(self._database):
            return
        with self._database.transaction():
            forgotten = Tombstones(self._database)
            for identity, title in sources.arrived_titles(self._database):
                seq = sources.ending_with(self._database, identity)
                if seq is not None and not forgotten.has_source(sources.id_of(self._database, seq)):
                    sources.add_title(self._database, seq, title)
                sources.forget_awaited(self._database, identity)


def _identity(record_id: str) -> str:
    identity = ids.message_identity(Message(external_id=record_id, unique_id=True), "")
    assert identity is not None
    return identity
