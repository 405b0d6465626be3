"""Stores checkpoints of sessions, and resumes them.

A checkpoint keeps no copy of the turns, which are never changed. It records how many there were,
and the state of the files that they refer to, so that resuming can say what has changed since.

Tested in tests/sessions/test_checkpoints.py.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from treemem import times
from treemem.errors import AmbiguousIdError, Hint, NotFoundError, UsageError
from treemem.sessions import files, opening, shapes
from treemem.sessions.engine import Engine
from treemem.sessions.files import FileChange, FileState
from treemem.sessions.opening import Wanted
from treemem.sessions.session import Session
from treemem.sessions.shapes import Shape
from treemem.store import json_text
from treemem.store.database import Database
from treemem.store.live import pins, sessions, turns
from treemem.store.live.pins import CheckpointRow
from treemem.types import Source

DAY_MS = 24 * 3_600_000
# After such a pause, a session begins with its digest; a checkpoint is deleted after such a time.
SOFT_MS, KEPT_MS = DAY_MS, 90 * DAY_MS
_ID_DIGITS = 11
SEE_CHECKPOINTS = Hint("See: session.checkpoints()", "See: treemem session show SESSION")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of a session that can be resumed.

    turns: how many the session had. files: those that its turns refer to, as they were. made_at,
    expires_at: ISO 8601 in UTC.
    """

    id: str
    turns: int
    files: tuple[FileState, ...]
    made_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session that goes on. changes: of the files of the checkpoint. turns_since: those that were
    added after it. idle_seconds: since the last turn. is_soft: the session begins with its digest.
    """

    session: Session
    checkpoint: Checkpoint
    changes: tuple[FileChange, ...]
    turns_since: int
    idle_seconds: float
    is_soft: bool

    def lines(self) -> list[str]:
        """What a user or a model should know before going on."""
        said = []
        for kind in ("changed", "deleted", "moved"):
            found = [change for change in self.changes if change.kind == kind]
            if found:
                one = len(found) == 1
                what = "1 file" if one else f"{len(found)} files"
                verb = f"{'was' if one else 'were'} {kind}" if kind != "changed" else (
                    "has changed" if one else "have changed"
                )  # fmt: skip
                said.append(f"{what} referenced in this session {verb}: " + ", ".join(
                    f"{c.path} → {c.moved_to}" if c.moved_to else c.path for c in found
                ))  # fmt: skip
        if self.turns_since:
            said.append(f"{self.turns_since} turns were added after the checkpoint.")
        if self.is_soft:
            said.append("The session begins with its digest; recall(ID) returns earlier turns.")
        return said


def add(
    engine: Engine, source_id: str, paths: Iterable[str | Path], keep_days: float | None
) -> Checkpoint:
    """Stores a checkpoint of a session. Raises UsageError."""
    database = engine.database
    if keep_days is not None and not (isinstance(keep_days, int | float) and keep_days > 0):
        raise UsageError(f"A checkpoint is kept for a number of days above 0, not {keep_days!r}.")
    kept_ms = KEPT_MS if keep_days is None else int(keep_days * DAY_MS)
    with database.reading():
        row = sessions.of_source(database, source_id)
        assert row is not None, "an open session is stored"
        stored = turns.between(database, row.seq, 0)
    shape: Shape = "anthropic" if row.shape == "anthropic" else "openai"
    read = [shapes.parse(json.loads(turn.content), shape) for turn in stored]
    folder = _folder_of(row.project)
    several = [paths] if isinstance(paths, str | Path) else paths
    given = [str(folder / Path(path).expanduser()) for path in several]
    found = [str(folder / Path(path)) for path in files.referenced(read)]
    known = files.manifest(list(dict.fromkeys([*given, *found])), folder)
    now = engine.clock()
    made = CheckpointRow(
        f"c{secrets.token_hex(6)[:_ID_DIGITS]}", row.seq, len(stored),
        json.dumps([asdict(state) for state in known]), now, now + kept_ms,
    )  # fmt: skip
    with database.transaction():
        pins.delete_expired(database, now)
        pins.add_checkpoint(database, made)
    return _value(made)


def of_session(engine: Engine, source_id: str) -> list[Checkpoint]:
    """The checkpoints of a session that have not expired, the latest first."""
    database = engine.database
    with database.reading():
        row = sessions.of_source(database, source_id)
        found = [] if row is None else pins.checkpoints(database, row.seq)
    now = engine.clock()
    return [_value(one) for one in found if one.expires_at_ms > now]


def resume(engine: Engine, checkpoint_id: str, soft: bool | None, agent: str | None) -> Resumed:
    """See Memory.resume."""
    database = engine.database
    with database.reading():
        row = _find(database, checkpoint_id, engine.clock())
        live = sessions.by_seq(database, row.session_seq)
    session = opening.open_session(engine, Wanted(Source(live.source_id, "api"), agent=agent))
    checkpoint = _value(row)
    folder = _folder_of(live.project)
    idle_ms = max(0, engine.clock() - live.used_at_ms)
    is_soft = idle_ms >= SOFT_MS if soft is None else soft
    count = session.turn_count
    if is_soft and count:
        session.compact(soft=True)
    return Resumed(
        session, checkpoint, tuple(files.changes(checkpoint.files, folder)),
        count - checkpoint.turns, idle_ms / 1000, is_soft and count > 0,
    )  # fmt: skip


def _find(database: Database, checkpoint_id: str, now_ms: int) -> CheckpointRow:
    if not isinstance(checkpoint_id, str) or len(checkpoint_id) < 4:
        raise UsageError(f"A checkpoint's id is such as c0123456789a, not {checkpoint_id!r}.")
    found = pins.checkpoints_from(database, checkpoint_id)
    if not found:
        raise NotFoundError(f"No checkpoint {checkpoint_id!r}.", hint=SEE_CHECKPOINTS)
    if len(found) > 1:
        raise AmbiguousIdError(f"{checkpoint_id!r} matches several checkpoints; give more of it.")
    if found[0].expires_at_ms <= now_ms:
        raise NotFoundError(
            f"The checkpoint {checkpoint_id!r} expired on "
            f"{(times.from_ms(found[0].expires_at_ms) or '')[:10]}.",
            hint=Hint(
                "Its turns are still there: memory.session(name)",
                "Its turns are still there: treemem session context SESSION",
            ),
        )
    return found[0]


def _folder_of(project: str | None) -> Path:
    """The folder that relative paths are in."""
    folder = Path(project) if project else Path.cwd()
    return folder if folder.is_absolute() and folder.is_dir() else Path.cwd()


def _value(row: CheckpointRow) -> Checkpoint:
    states = tuple(FileState(**one) for one in json_text.list_of(row.files))
    return Checkpoint(
        row.id, row.turns, states, times.from_ms(row.made_at_ms) or "",
        times.from_ms(row.expires_at_ms) or "",
    )  # fmt: skip
