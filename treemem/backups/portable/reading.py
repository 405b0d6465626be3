"""Takes an export into a memory: all of it or nothing, nothing twice, and every id proved.

The truth is stored in one transaction, at whose end each message must have the hash that its id is,
and each leaf, too. Trees, ledger and topics are then made by the jobs that made them first; topics
get the names, pins and merges of the export, and model summaries are checked as new answers are.
A process that is killed between goes on when the same file is taken in again.

Tested in tests/backups/portable/test_exports.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treemem.backups.portable import rows, summaries, topics
from treemem.backups.portable.tables import BY_NAME
from treemem.backups.portable.writing import FORMAT, VERSION
from treemem.backups.values import ImportReport
from treemem.diagnostics import doctor
from treemem.errors import BackupError, ConstraintError, NotFoundError
from treemem.forgetting.tombstones import Tombstones
from treemem.queue import jobs
from treemem.store import settings
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker import collection_jobs, run, source_jobs


@dataclass(slots=True)
class _Plan:
    """What of a file is taken in. digest: of the file. known: sources that the memory has as they
    are. differing: that it has otherwise, and keeps. forgotten: with what was forgotten here.
    needed: the messages of the new ones."""

    digest: str = ""
    new: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)


def taken_in(database: Database, file: Path, clock: Clock, shape: TreeShape) -> ImportReport:
    """Stores what an export has. See Memory.import_from."""
    if not file.is_file():
        raise NotFoundError(f"There is no file {file}.")
    try:
        return _taken_in(database, file, clock, shape)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ConstraintError) as error:
        raise BackupError(
            f"{file} has a line that is no part of an export ({type(error).__name__}: {error}). "
            "Nothing was stored."
        ) from error


def _taken_in(database: Database, file: Path, clock: Clock, shape: TreeShape) -> ImportReport:
    with database.transaction():
        plan = _planned(database, file)
        is_pending = settings.get(database, settings.IMPORTING) == plan.digest
        had_topics = database.row("SELECT 1 FROM topic LIMIT 1") is not None
        before = database.value("SELECT count(*) FROM message")
        if plan.new:
            _put_truth(database, file, plan, clock(), shape)
            if not had_topics:
                settings.put(database, settings.IMPORTING, plan.digest)
                is_pending = True
        added = database.value("SELECT count(*) FROM message") - before
    passed = refused = 0
    limits = run.limits(0, None, None)
    run.Run(database, clock, shape, limits).work()
    # A process that was killed holds its job until its lease ends.
    is_unfinished = any(jobs.has_open(database, kind) for kind in ("seal", "extract"))
    if is_pending and not is_unfinished:
        with database.transaction():
            topics.put(database, _lines(file, "topic"))
            collection_jobs.admit(database, clock(), at_once=True)
        run.Run(database, clock, shape, limits).work()
    if not is_unfinished:
        with database.transaction():
            for line in _lines(file, "summary"):
                good, bad = summaries.put(database, line)
                passed, refused = passed + good, refused + bad
            settings.put(database, settings.IMPORTING, None)
    return ImportReport(
        path=file, sources=len(plan.new), messages=added, known=len(plan.known),
        differing=tuple(plan.differing), forgotten=tuple(plan.forgotten), statements=passed,
        refused=refused, is_unfinished=is_unfinished,
    )  # fmt: skip


# -- what is there already -------------------------------------------------------------


def _planned(database: Database, file: Path) -> _Plan:
    """Reads the whole file, checks that it is complete, and compares it with the memory."""
    places: dict[str, Any] = {}
    members: dict[str, set[str]] = {}
    plan = _Plan(_verified(file))
    tombstones = Tombstones(database)
    buried: set[str] = set()
    for line in _lines(file, "source", "message", "place"):
        if line["type"] == "message":
            if tombstones.has_id(line["id"]) or tombstones.has_identity(str(line["identity"])):
                buried.add(line["id"])
        elif line["type"] == "source":
            places[line["id"]] = hashlib.blake2b()
            members[line["id"]] = set()
        else:
            key = json.dumps([line["position"], line["message"], line["state"]])
            places[line["source"]].update(key.encode())
            members[line["source"]].add(line["message"])
    for source_id, state in places.items():
        there = rows.places_of(database, source_id)
        if buried & members[source_id] or (there is None and tombstones.has_source(source_id)):
            plan.forgotten.append(source_id)
        elif there is None:
            plan.new.add(source_id)
            plan.needed |= members[source_id]
        elif there == state.hexdigest():
            plan.known.add(source_id)
        else:
            plan.differing.append(source_id)
    return plan


def _verified(file: Path) -> str:
    """The digest of a file that is whole. Raises BackupError."""
    digest = hashlib.blake2b(digest_size=20)
    number, last = 0, b""
    with file.open("rb") as stream:
        for data in stream:
            if number == 0:
                _check_header(file, data)
            if last:
                digest.update(last)
            last = data
            number += 1
    end = _loaded(last) if last else {}
    if end.get("type") != "end":
        raise BackupError(f"{file} is no export of treemem's, or its end is missing.")
    if (end.get("lines"), end.get("digest")) != (number - 1, digest.hexdigest()):
        raise BackupError(f"{file} is damaged: it is not what its last line says it is.")
    return digest.hexdigest()


def _check_header(file: Path, data: bytes) -> None:
    header = _loaded(data)
    if header.get("type") != "header" or header.get("format") != FORMAT:
        raise BackupError(
            f"{file} is no export of treemem's. To store a log: treemem ingest {file}"
        )
    if header.get("version") != VERSION:
        raise BackupError(f"{file} was written by a newer treemem. Upgrade treemem to read it.")


def _loaded(data: bytes) -> dict[str, Any]:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) else {}


def _lines(file: Path, *types: str) -> Iterator[dict[str, Any]]:
    with file.open("rb") as stream:
        for data in stream:
            line = json.loads(data)
            if not types or line["type"] in types:
                yield line


# -- storing ---------------------------------------------------------------------------


def _put_truth(database: Database, file: Path, plan: _Plan, now_ms: int, shape: TreeShape) -> None:
    writer = rows.Writer(database, plan.new, plan.needed, shape)
    for line in _lines(file):
        kind = line["type"]
        if kind in BY_NAME:
            writer.put_row(BY_NAME[kind], line)
        elif kind in ("setting", "source", "message", "alias", "place", "leaf", "forgotten"):
            getattr(writer, f"put_{kind}")(line)
    writer.finish()
    for finding in doctor.message_findings(database):
        if finding:
            raise BackupError(f"{file} is not what was exported: {finding}. Nothing was stored.")
    for source_id in sorted(plan.new):
        source_jobs.admit_seal(database, source_id, now_ms)
    collection_jobs.admit(database, now_ms, at_once=True)
