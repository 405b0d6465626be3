"""Remembers where copies of a memory were written, and finds those that have what was forgotten.

The memory file keeps the paths alone: when a copy was made is read from the copy itself, since a
time written with each backup would be a change that the next one has to store.

Tested in tests/forgetting/test_copies.py.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from treemem import times
from treemem.errors import DatabaseReadOnlyError, Hint, Notice, TreememError
from treemem.forgetting import tombstones
from treemem.reports import MemoryCopy, count_of
from treemem.store import json_text, settings
from treemem.store.access import drivers
from treemem.store.database import IN_MEMORY, Database
from treemem.store.file import sidecars

FOLDER: Final = "folder"
FILE: Final = "file"
EXPORT: Final = "export"
KEPT: Final = "kept"
# By what retention.py is recorded to have forgotten.
RETENTION: Final = "retention"
# So many places are remembered; the first ones are let go.
_PLACES_MAX = 200
# Bytes of an export's first line.
_HEADER_BYTES = 4_096
_BACKUP_OF = "SELECT value FROM setting WHERE name = ?"


@contextlib.contextmanager
def remembering(database: Database, target: Path, kind: str) -> Iterator[None]:
    """Notes in the memory file that a copy is written to a path, before it is, so that the copy
    knows it too; not if writing it fails. kind: FOLDER, FILE or EXPORT."""
    place = [os.path.abspath(target), kind]  # noqa: PTH100 - a link may lead elsewhere later
    is_new = place not in _places(database)
    if is_new:
        _put(database, [*_places(database), place])
    try:
        yield
    except BaseException:
        if is_new:
            _put(database, [one for one in _places(database) if one != place])
        raise


def _places(database: Database) -> list[list[str]]:
    """Path and kind of each remembered copy."""
    return [
        [place[0], place[1]]
        for place in json_text.list_of(settings.get(database, settings.COPIES))
        if isinstance(place, list) and len(place) == 2
        and isinstance(place[0], str) and place[0] and place[1] in (FOLDER, FILE, EXPORT)
    ]  # fmt: skip


def _put(database: Database, places: list[list[str]]) -> None:
    kept = places[-_PLACES_MAX:]
    with contextlib.suppress(DatabaseReadOnlyError), database.transaction():
        value = orjson.dumps(kept).decode() if kept else None
        settings.put(database, settings.COPIES, value)


def copies_of(database: Database, forgotten_ms: int | None = None) -> list[MemoryCopy]:
    """The copies of a memory, those beside it last. forgotten_ms: when something was forgotten;
    None for the last time that the user did, and that was not undone."""
    if str(database.path) == IN_MEMORY:
        return []
    if forgotten_ms is None:
        forgotten_ms = last_forgotten_ms(database)
    places = _places(database)
    real = sidecars.real_path(database.path)
    for suffix in sidecars.COPIES:
        for path in sorted(real.parent.glob(f"{glob.escape(real.name + suffix)}*")):
            if not path.name.endswith((sidecars.WAL, sidecars.SHM, sidecars.JOURNAL, ".part")):
                places.append([str(path), KEPT])
    return [_copy(Path(path), kind, forgotten_ms) for path, kind in places]


def made_before(database: Database, forgotten_ms: int | None = None) -> list[MemoryCopy]:
    """Those of the copies that were made before, and those that are not there. Looks at no file if
    nothing was forgotten."""
    if forgotten_ms is None and (forgotten_ms := last_forgotten_ms(database)) is None:
        return []
    return [copy for copy in copies_of(database, forgotten_ms) if copy.before_forgetting]


def last_forgotten_ms(database: Database) -> int | None:
    """When the user forgot something last, of what was not undone; None if never. What a rule of
    retention forgets day by day does not count."""
    return max(
        (row.at_ms for row in tombstones.records(database)
         if row.undone_at_ms is None and RETENTION not in row.chosen_by),
        default=None,
    )  # fmt: skip


def notice(database: Database) -> str | None:
    """A sentence, if there are copies that were made before the user forgot something."""
    number = sum(copy.before_forgetting for copy in made_before(database) if copy.is_there)
    if not number:
        return None
    return Notice(
        f"{count_of(number, 'copy')} of the memory may have what was forgotten since.",
        Hint("See memory.copies()", "See: treemem backup places"),
        is_lasting=True,
    )


def let_go(database: Database) -> None:
    """Ends to remember the copies that were deleted. One whose folder is missing or empty may be on
    a disk that is not connected."""
    places = _places(database)
    kept = [place for place in places if not _is_deleted(Path(place[0]))]
    if kept != places:
        _put(database, kept)


def _is_deleted(path: Path) -> bool:
    try:
        return not os.path.exists(path) and any(path.parent.iterdir())  # noqa: PTH110
    except OSError:
        return False


def _copy(path: Path, kind: str, forgotten_ms: int | None) -> MemoryCopy:
    """What is known of a copy. One that is not there counts as made before."""
    try:
        made = sorted(_snapshots(path) if kind == FOLDER else [_made_ms(path, kind)])
    except (OSError, ValueError):
        made = []
    before = sum(forgotten_ms is not None and ms <= forgotten_ms for ms in made)
    # Subtle: os.path.exists() is false, not an error, for a name that is too long.
    if not made and not os.path.exists(path):  # noqa: PTH110
        return MemoryCopy(str(path), kind, None, None, 0, int(forgotten_ms is not None),
                          is_there=False)  # fmt: skip
    oldest, newest = (times.from_ms(made[0]), times.from_ms(made[-1])) if made else (None, None)
    return MemoryCopy(str(path), kind, oldest, newest, len(made), before)


def _snapshots(folder: Path) -> Iterator[int]:
    """When each snapshot of a folder was made. Their names have the second."""
    for path in (folder / "snapshots").iterdir():
        name, _, _ = path.name.removesuffix(".json").partition("-")
        with contextlib.suppress(ValueError):
            named = datetime.strptime(name, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            yield _exact_ms(times.to_ms(named), path)


def _exact_ms(second_ms: int, path: Path) -> int:
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        if path.is_file():
            return int(orjson.loads(path.read_bytes())["made_at_ms"])
    return second_ms


def _made_ms(path: Path, kind: str) -> int:
    """When one file was made, as it says itself, or as the file system does. Raises OSError."""
    if not path.is_file():
        raise FileNotFoundError(str(path))
    told: dict[str, Any] = {}
    if kind == EXPORT:
        with path.open("rb") as stream:
            told = json_text.object_of(stream.readline(_HEADER_BYTES).decode("utf-8", "replace"))
    elif kind == FILE:
        with contextlib.suppress(TreememError, *drivers.errors()):
            uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
            with contextlib.closing(drivers.open_copy(path, uri, uri=True)) as connection:
                row = connection.execute(_BACKUP_OF, (settings.BACKUP_OF,)).fetchone()
                told = json_text.object_of(row and row[0])
    made_ms = told.get("made_at_ms")
    return made_ms if isinstance(made_ms, int) else int(path.stat().st_mtime * 1000)
