"""Stores the titles that a log gives to sessions of other logs.

Claude Code writes the summary of a session into the file of a later one, with the id of the last
message of the first. Which of the files is read first is chance, so the titles of a run are stored
at its end. A title that a source has already stays.

Tested in tests/ingest/test_titles.py.
"""

from __future__ import annotations

from treemem import ids
from treemem.importers.common.source_ids import TITLE_CHARS_MAX
from treemem.privacy.policy import Redaction
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Message

# Titles of one run that are kept; a project of years has some hundreds.
TITLES_MAX = 10_000


class TitlesElsewhere:
    """The titles of one run, by the id of a message of the session that each belongs to."""

    def __init__(self, database: Database, redaction: Redaction) -> None:
        self._database = database
        self._redaction = redaction
        self._titles: dict[str, str] = {}

    def add(self, message_id: str, title: str) -> None:
        """Keeps a title until the end of the run. message_id: in its log, unique everywhere."""
        if len(self._titles) < TITLES_MAX or message_id in self._titles:
            self._titles[message_id] = title

    def store(self) -> None:
        """Gives the titles to the sources of the messages, as far as they are stored."""
        if not self._titles:
            return
        with self._database.transaction():
            for message_id, title in self._titles.items():
                message = Message(external_id=message_id, unique_id=True)
                identity = ids.message_identity(message, "")
                assert identity is not None
                seq = sources.ending_with(self._database, identity)
                clean = self._redaction.title(title, TITLE_CHARS_MAX)
                if seq is not None and clean:
                    sources.add_title(self._database, seq, clean)
        self._titles.clear()
