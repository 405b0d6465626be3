"""Reads the conversations of Antigravity: of its command line, which follows Gemini CLI, and of its
editors. A conversation has a transcript in its "brain", and a database, which is read where there
is no transcript. Older versions encrypted it.

Tested in tests/importers/test_antigravity.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.antigravity import database, families, transcript
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.records import read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import one_line
from treemem.importers.streams import sealed
from treemem.types import Source

IN_FULL = "step, told in full by the transcript beside it"
NEEDS = (
    "encrypted by Antigravity",
    "Newer versions keep a transcript in the folder brain, which is read: continue the "
    "conversation there, and it is written.",
)


class Antigravity(Importer):
    """Imports the conversations below ~/.gemini/antigravity-cli and ~/.gemini/antigravity."""

    name = families.FORMAT
    version = 1
    description = "conversations of Antigravity (transcripts, databases)"
    kept = "turns, thinking, tool calls and results, undone turns, sub-agents, summaries, notices"
    dropped = "usage, model names, artifacts, steps of unknown form, encrypted conversations"
    marks = (("step_index", "source", "type"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if database.is_database(sqlite_files.table_columns(file, head)):
            return 0.95
        if sealed.is_sealed(file, head, self.name):
            return 0.6
        objects, rest = head_objects(head)
        return 0.9 if any(map(transcript.is_step, objects[:4] or [head_value(rest)])) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            head = stream.read(len(sqlite_files.MAGIC))
        is_store = head == sqlite_files.MAGIC
        if file.suffix == sealed.SUFFIX and not is_store and head[:1] != b"{":
            yield from sealed.refused(file, NEEDS)
        about = families.about(file)
        source = Source(
            f"{self.name}/{about.id}",
            self.name,
            title=one_line(about.title),
            origin=file.label,
            parent_id=f"{self.name}/{about.parent}" if about.parent else None,
            rewritten=True,
            project=about.project,
        )
        if is_store:
            yield from database.read(file, source, is_told=self.retells(file))
        elif self.retells(file):
            with file.open() as stream:
                for record in read_records(stream):
                    yield record if isinstance(record, Skipped) else Skipped(IN_FULL, record.line)
        else:
            yield from transcript.read(file, source)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The database's -wal, and what tells the conversation instead of it."""
        told = (_in_full(file), families.transcript_of(file))
        return [*sqlite_files.companions(file), *(each for each in told if each is not None)]

    def retells(self, file: LogFile) -> bool:
        """Whether a transcript tells what a database has, or one in full what another has."""
        return _in_full(file) is not None or families.transcript_of(file) is not None

    def needs_of(self, name: str) -> tuple[str, str] | None:
        """That a file with this name is encrypted, and what to do; None for others."""
        return NEEDS if name.endswith(sealed.SUFFIX) else None


def _in_full(file: LogFile) -> LogFile | None:
    """The transcript in full beside one that leaves out parts of long texts."""
    if file.name != families.SHORT:
        return None
    found = file.neighbour(families.FULL)
    return found if found is not None and found.size_bytes else None
