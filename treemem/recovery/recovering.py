"""Writes a new memory of what can be read of a damaged file.

The truth is copied: messages that are proven by their hash, sources with their order and branches,
and what the user chose. Trees, ledger and views are made again by the jobs that made them first.
The damaged file is only read. The new one is written under another name, and gets its own when it
is complete, so that a recovery that is stopped leaves nothing that looks like a memory.

Tested in tests/recovery/test_recovering.py.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from treemem.errors import DatabaseCorruptError, DatabaseError, UsageError
from treemem.forgetting.tombstones import Tombstones
from treemem.recovery import choices, finding, places, writing
from treemem.recovery.damaged_pages import DamagedPages
from treemem.recovery.finding import Found
from treemem.recovery.layouts import Row
from treemem.recovery.places import Member
from treemem.recovery.records import Records
from treemem.recovery.report import LostPlaces, RecoveryReport
from treemem.recovery.verifying import Verified, Verifier
from treemem.store import settings
from treemem.store.access import keys
from treemem.store.database import Database
from treemem.store.file import aside, modes
from treemem.times import Clock, now_ms
from treemem.types import TreeShape
from treemem.worker import run

# Follows the name of the new file in that of what could not be proven.
APART = ".unproven.jsonl"
_BATCH = 500
# Settings of which the results are made again.
_MODELS = (settings.SUMMARIZER, settings.EMBEDDER)


def recover(
    file: str | Path,
    new: str | Path,
    *,
    clock: Clock = now_ms,
    shape: TreeShape = TreeShape(),
) -> RecoveryReport:
    """Writes a new memory of all that can be read of a damaged memory file, and says what is lost.

    file: the damaged file, which is only read; close it in all programs first. new: the path of the
    new memory; no file may be there. shape: must be the one that the file was created with. Model
    summaries and vectors are made again by Memory.work. Raises UsageError if `new` exists,
    DatabaseError if `file` cannot be opened, DatabaseCorruptError if no message of it can be read.
    """
    source, target = Path(file), Path(new)
    apart = target.with_name(target.name + APART)
    for path in (target, apart):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already. Choose another name for the new memory.")
    candidates = keys.candidates() if keys.was_encrypted(source) else None
    try:
        pages = DamagedPages(source, candidates)
    except OSError as error:
        raise DatabaseError(f"{source} cannot be read ({error.strerror or error}).") from error
    with contextlib.closing(pages), _written_aside(target) as part:
        work = Recovery(pages, source)
        with contextlib.closing(Database(part, key=pages.key)) as database:
            work.write(database, clock)
            limits = run.limits(0, None, None)
            run.Run(database, clock, shape, limits).work()
            topics = choices.put_topics(database, work.found, clock)
            run.Run(database, clock, shape, limits).work()
        if work.apart:
            _write_apart(apart, work.apart)
    return work.report(target, apart if work.apart else None, topics)


@contextlib.contextmanager
def _written_aside(target: Path) -> Iterator[Path]:
    """Gives a path to write to, which becomes the target once it is complete."""
    try:
        modes.create_folder(target.parent)
        with aside.written(target, replacing=False) as part:
            yield part
    except FileExistsError:
        raise UsageError(f"{target} exists by now. Choose another name.") from None
    except OSError as error:
        raise DatabaseError(f"{target} cannot be written ({error.strerror or error}).") from error


def _write_apart(path: Path, rows: list[dict[str, object]]) -> None:
    with os.fdopen(modes.create_file(path), "wb") as stream:
        stream.writelines(orjson.dumps(row) + b"\n" for row in rows)


@dataclass(slots=True)
class _Counts:
    messages: int = 0
    mended: int = 0
    sources: int = 0
    nameless: int = 0
    unsure: int = 0
    choices: int = 0
    sessions: int = 0
    sessions_left_out: int = 0


class Recovery:
    """What is found in a damaged file, and becomes a new one."""

    def __init__(self, pages: DamagedPages, path: Path) -> None:
        self._records = Records(pages)
        self._path = path
        self.found: Found = finding.find(self._records, pages.count)
        self.apart: list[dict[str, object]] = []
        self._sources = places.sources(self.found)
        self._members = places.members(self.found)
        self._counts = _Counts()
        self._condemned = {row[0] for row in self.found.rows("condemned")}
        self._ids: dict[int, str] = {}  # of the messages that are proven, by row number
        self._lost: list[LostPlaces] = []
        self._unproven: set[int] = set()

    def write(self, database: Database, clock: Clock) -> None:
        """Writes the truth into the new file, and admits the jobs that make the rest."""
        with database.transaction():
            choices.put_settings(database, self.found, self.apart)
            self._write_messages(database)
            if not self._ids:
                raise DatabaseCorruptError(
                    f"No message can be read in {self._path}: it is no memory file, or nothing of "
                    "it is left. Nothing was written. Ingest the logs into a new memory."
                )
            self._write_sources(database, clock())
            self._counts.choices = choices.put(database, self.found, self._ids, self.apart)
            self._counts.sessions, self._counts.sessions_left_out = choices.put_sessions(
                database, self.found, self._ids
            )
            writing.finish(database, clock())

    def _write_messages(self, database: Database) -> None:
        verifier = Verifier()
        sources_of: dict[int, list[str]] = defaultdict(list)
        nameless: dict[int, list[int]] = defaultdict(list)
        for member in self._members:
            source_id = self._sources.ids.get(member.source_seq)
            if source_id is None:
                nameless[member.message_seq].append(member.source_seq)
            else:
                sources_of[member.message_seq].append(source_id)
        known = [*self._sources.ids.values(), *self._sources.others]
        batch: list[Verified] = []
        ids: set[str] = set()
        tombstones = Tombstones(database)
        for row in finding.messages(self._records, self.found.message_pages):
            if row[0] in self._ids or row[1] in ids or row[0] in self._condemned:
                continue
            if tombstones.has_id(row[1]):  # in a page that was not overwritten
                continue
            verified = verifier.verified(row, sources_of.get(row[0], ()), known)
            if verified is None:
                self._keep_apart(row)
                continue
            self._ids[verified.seq] = verified.id
            ids.add(verified.id)
            self._unproven.discard(verified.seq)
            self._name(verified, nameless.get(verified.seq, []))
            batch.append(verified)
            if len(batch) == _BATCH:
                writing.put_messages(database, batch)
                batch = []
            self._counts.mended += verified.mended
        writing.put_messages(database, batch)
        self._counts.messages = len(self._ids)
        self.apart = [one for one in self.apart if one.get("id") not in ids]
        writing.put_aliases(database, self.found, self._ids)

    def _name(self, verified: Verified, nameless: list[int]) -> None:
        """Learns the id of a source from a message that is proven only in it."""
        source_id = verified.source_id
        if source_id and source_id in self._sources.others and len(nameless) == 1:
            self._sources.ids[nameless[0]] = source_id
            self._sources.others.remove(source_id)

    def _keep_apart(self, row: Row) -> None:
        self._unproven.add(row[0])
        names = ("seq", "id", "role", "author", "kind", "sent_at", "text")
        values = dict(zip(names, (row[0], row[1], *row[4:8], row[9]), strict=True))
        self.apart.append({"what": "message", "why": "its id is not the hash of it", **values})

    def _write_sources(self, database: Database, now: int) -> None:
        # Then a position that nothing speaks of is perhaps that of a message that was forgotten.
        has_forgotten = any(self.found.rows(name) for name in ("forgetting", "tombstone"))
        placed: set[int] = set()
        positions: dict[int, dict[int, bool]] = defaultdict(dict)
        present: list[Member] = []
        for member in self._members:
            if member.message_seq in self._condemned:
                continue
            is_there = member.message_seq in self._ids
            positions[member.source_seq][member.position] = is_there
            if is_there:
                placed.add(member.message_seq)
                present.append(member)
        names = dict(self._sources.ids)
        for seq in {member.source_seq for member in present} - names.keys():
            names[seq] = f"{places.NAMELESS}{seq}"
        if placeless := sorted(self._ids.keys() - placed):
            last = max([0, *names])
            names[last + 1] = places.PLACELESS
            present += [Member(last + 1, at, seq, None, None) for at, seq in enumerate(placeless)]
        self._counts.sources = len(names)
        self._counts.nameless = sum(name.startswith(places.NAMELESS) for name in names.values())
        writing.put_sources(database, names, self._sources.rows, now)
        self._counts.unsure = writing.put_members(database, self.found, present)
        for seq, source_id in sorted(names.items()):
            lost = places.gaps(positions[seq], are_sure=has_forgotten)
            if lost:
                title = self._sources.rows[seq][3] if seq in self._sources.rows else None
                count = sum(gap.last - gap.first + 1 for gap in lost)
                self._lost.append(LostPlaces(source_id, title, count, lost))

    def report(self, target: Path, apart: Path | None, topics: int) -> RecoveryReport:
        known = places.known_seqs(self.found, self._members) | self._unproven
        lost = len(known - self._ids.keys() - self._condemned)
        counts = self._counts
        return RecoveryReport(
            file=self._path, new=target, messages=counts.messages,
            lost=max(lost, sum(one.messages for one in self._lost)),
            lost_places=tuple(self._lost), kept_apart=len(self.apart), apart_path=apart,
            mended=counts.mended, sources=counts.sources, nameless=counts.nameless,
            unsure_states=counts.unsure, choices=counts.choices, topics=topics,
            sessions=counts.sessions, sessions_left_out=counts.sessions_left_out,
            needs_models=any(row[0] in _MODELS for row in self.found.rows("setting")),
        )  # fmt: skip
