"""Takes in what other machines have put into a shared folder, and puts there what is new here.

A segment is merged as the file of another machine is, so any order and any number of times gives
the same. Killed at any point, the next sync goes on: what a segment is to be called is stored
before it gets its name, and an own segment is removed only after what replaces it is there.

Tested in tests/backups/syncing/test_syncing.py.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from treemem.backups import parts
from treemem.backups.merging import merging
from treemem.backups.syncing import codes, publishing, segments, state
from treemem.backups.syncing.folder import HEAD, SOURCES, Arriving, Forged, SharedFolder
from treemem.backups.syncing.state import State
from treemem.backups.values import BackupProgress, SyncReport, SyncTaken
from treemem.errors import BackupError, DatabaseError, Hint, UsageError
from treemem.forgetting import condemning
from treemem.store.database import IN_MEMORY, Database
from treemem.store.file import aside, modes, sidecars
from treemem.times import Clock
from treemem.types import TreeShape


@dataclass(slots=True)
class _Pass:
    """What a sync has found and done so far. joined: whether the memory has just got its id.
    former: the one that it had before."""

    code: str | None = None
    joined: bool = False
    former: str | None = None
    taken: dict[str, SyncTaken] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def synced(
    database: Database, path: Path, clock: Clock, shape: TreeShape, *, code: str | None,
    dry_run: bool, progress: BackupProgress | None,
) -> SyncReport:  # fmt: skip
    """Brings the memory and a shared folder up to date. See Memory.sync."""
    if str(database.path) == IN_MEMORY:
        raise UsageError("A memory in working memory has no file, and cannot be synced.")
    folder = SharedFolder(path)
    done = _Pass()
    with parts.room_for(path, "the sync"), _room(database) as room:
        folder_id, known = _known(database, folder, code, done, dry_run=dry_run)
        known.path = os.path.realpath(folder.path)
        if not dry_run:
            folder.clean(known.machine)
            _check_own(database, folder, folder_id, known, done)
        for machine, name in _new(folder, known, done):
            _count(done, machine)
            if progress is not None:
                progress("Taking in", sum(one.segments for one in done.taken.values()), 0)
            with _passing_over(done, machine):
                if dry_run:
                    folder.fetch(machine, name, known.code, None)
                else:
                    _take_in(database, folder, known, (machine, name), (clock, shape), room, done)
                    state.save(database, folder_id, known)
        if dry_run:
            plan = publishing.planned(database, folder, known)
            out = publishing.Written(len(plan.states), plan.messages)
        else:
            condemning.finish(database, clock, shape)
            out = publishing.published(database, folder, folder_id, known, shape, clock(), room)
    return SyncReport(
        folder=path, machine=known.machine or None, is_new_machine=done.joined,
        former=done.former, code=done.code,
        taken=tuple(one for one in done.taken.values() if one.segments), sources=out.sources,
        messages=out.messages, segments=out.segments, written_bytes=out.bytes, removed=out.removed,
        waiting=tuple(done.waiting), refused=tuple(done.refused), dry_run=dry_run,
    )  # fmt: skip


@contextlib.contextmanager
def _room(database: Database) -> Iterator[Path]:
    """A private folder beside the memory for one sync at a time, in which nothing is left."""
    real = sidecars.real_path(database.path)
    folder = real.with_name(real.name + ".sync")
    modes.create_folder(folder)
    with parts.locked(folder / "lock", f"Another sync of {database.path}"):
        room = folder / "work"
        shutil.rmtree(room, ignore_errors=True)  # of one that was killed
        modes.create_folder(room)
        try:
            yield room
        finally:
            shutil.rmtree(room, ignore_errors=True)


# -- joining ---------------------------------------------------------------------------


def _known(
    database: Database, folder: SharedFolder, code: str | None, done: _Pass, *, dry_run: bool
) -> tuple[str, State]:
    """The id of the folder, and what the memory knows of it, which it joins if it has not yet.
    Raises UsageError if it cannot."""
    marker = _marker(folder, code)
    if marker is None:
        if state.is_known_at(database, os.path.realpath(folder.path)):
            raise BackupError(
                f"{folder.path} is empty, although this memory has shared it. If it is on a drive, "
                "connect it. To begin anew, make a folder with another name."
            )
        done.joined = True
        if dry_run:
            return "", State(codes.new(), "")
        done.code = codes.new()
        known = State(done.code, secrets.token_hex(8), path=os.path.realpath(folder.path))
        folder_id = folder.set_up(done.code)
        state.save(database, folder_id, known)
        return folder_id, known
    folder_id = marker[0]
    stored = state.load(database, folder_id)
    if stored is not None and (code is None or codes.normal(code) == stored.code):
        return folder_id, stored
    code = _checked(folder, marker, code)
    done.joined = True
    known = State(code, "" if dry_run else secrets.token_hex(8))
    if not dry_run:
        state.save(database, folder_id, known)
    return folder_id, known


def check(path: Path, code: str | None) -> None:
    """Raises what a sync would of a memory that has joined no folder."""
    folder = SharedFolder(path)
    marker = _marker(folder, code)
    if marker is not None:
        _checked(folder, marker, code)


def _marker(folder: SharedFolder, code: str | None) -> tuple[str, str] | None:
    """See SharedFolder.marker. Raises UsageError for the code of a folder that has none."""
    marker = folder.marker()
    if marker is None and code is not None:
        raise UsageError(
            f"{folder.path} is not set up, so no code is asked for. If another machine has set "
            "it up, wait until it has arrived here."
        )
    return marker


def _checked(folder: SharedFolder, marker: tuple[str, str], code: str | None) -> str:
    """The code of a folder that the memory has not joined. Raises UsageError if it is not."""
    folder_id, fingerprint = marker
    if code is None:
        raise UsageError(
            f"{folder.path} was set up by another machine, whose code is needed to join it.",
            hint=Hint(
                "There it is shown by: memory.sync_code(folder). Here: memory.sync(folder, code=…)",
                f"There it is shown by: treemem sync {folder.path} --show-code. Here: treemem sync "
                f"{folder.path} --join, or set {codes.VARIABLE}",
            ),
        )
    code = codes.normal(code)
    if codes.fingerprint(code, folder_id) != fingerprint:
        raise UsageError(f"This is not the code of {folder.path}. Nothing was changed.")
    return code


def code_of(database: Database, path: Path) -> str:
    """The code of a folder that the memory has joined. Raises UsageError."""
    marker = SharedFolder(path).marker()
    known = None if marker is None else state.load(database, marker[0])
    if known is None:
        raise UsageError(f"This memory has not joined {path}.")
    return known.code


def _check_own(
    database: Database, folder: SharedFolder, folder_id: str, known: State, done: _Pass
) -> None:
    """Takes another id if somebody else has written under this one: a copy of the memory file, or
    this memory before it was restored."""
    for name in folder.segments(known.machine):
        if name in known.former:  # the folder has brought it back
            folder.remove(known.machine, name)
        elif name not in known.own:
            with _passing_over(done, known.machine):
                folder.fetch(known.machine, name, known.code, None)
                known.taken[known.machine] = {
                    own: {key: said for key, (said, _) in one.sources.items()}
                    for own, one in known.own.items()
                }
                done.former = known.machine
                known.machine, known.own, known.counter = secrets.token_hex(8), {}, ""
                done.joined = True
                state.save(database, folder_id, known)
                return


# -- taking in -------------------------------------------------------------------------


def _new(folder: SharedFolder, known: State, done: _Pass) -> list[tuple[str, str]]:
    """(machine, name) of the segments of others that were not taken in; forgets those that are no
    longer there. After new sources a head is read again, with the names of their topics; not one
    that was gone, so that who kept it cannot have forgotten again what was undone."""
    found: list[tuple[str, str]] = []
    there: dict[str, list[str]] = {}
    taken = {}
    for machine in folder.machines():
        if machine != known.machine:
            there[machine] = list(known.taken.get(machine, ()))
            with _passing_over(done, machine):
                there[machine] = folder.segments(machine)
    for machine, had in known.taken.items():
        for name in had:
            if name.endswith(HEAD) and name not in there.get(machine, ()):
                known.drop(name)
    for machine, names in there.items():
        names = [name for name in names if name not in known.former]
        had = known.taken.get(machine, {})
        if any(name not in had for name in names if name.endswith(SOURCES)):
            had = {name: had[name] for name in had if name.endswith(SOURCES)}
        taken[machine] = {name: had[name] for name in names if name in had}
        found += [(machine, name) for name in names if name not in had]
    known.taken = taken
    return found


@contextlib.contextmanager
def _passing_over(done: _Pass, machine: str) -> Iterator[None]:
    """Notes why a segment cannot be taken in now, and goes on."""
    try:
        yield
    except Forged as error:
        done.refused.append(str(error))
    except Arriving as error:
        done.waiting.append(str(error))
    except (BackupError, DatabaseError, ValueError) as error:
        done.waiting.append(f"A segment of {machine} could not be taken in: {error}")
    else:
        return
    if machine in done.taken:
        one = done.taken[machine]
        done.taken[machine] = SyncTaken(**{**asdict(one), "segments": one.segments - 1})


def _count(done: _Pass, machine: str) -> None:
    one = done.taken.get(machine, SyncTaken(machine))
    done.taken[machine] = SyncTaken(**{**asdict(one), "segments": one.segments + 1})


def _take_in(
    database: Database, folder: SharedFolder, known: State, segment: tuple[str, str],
    how: tuple[Clock, TreeShape], room: Path, done: _Pass,
) -> None:  # fmt: skip
    machine, name = segment
    copy = room / "segment.sqlite3"
    aside.remove(copy)
    aside.remove(copy.with_name(copy.name + ".z"))
    folder.fetch(machine, name, known.code, copy)
    try:
        sent = segments.read(database, copy, known.code)
        report = merging.merged(database, copy, *how, dry_run=False, views=sent.views)
    finally:
        aside.remove(copy)
    if report.is_unfinished:
        raise BackupError("jobs of a process that was ended are not free yet; sync in a minute.")
    known.taken.setdefault(machine, {})[name] = sent.states
    one = done.taken[machine]
    done.taken[machine] = SyncTaken(
        machine, one.segments, one.sources + report.sources, one.grown + len(report.grown),
        one.messages + report.messages, one.forgotten + report.forgotten,
        one.choices + report.choices, one.names + report.names, sent.name,
    )  # fmt: skip
