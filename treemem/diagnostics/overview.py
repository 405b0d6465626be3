"""Says shortly what a memory holds, and how many logs of this machine's tools are not in it.

Looks at names and sizes only, for a limited time, and imports no importer.

Tested in tests/diagnostics/test_overview.py.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from treemem import times
from treemem.formats.places import located
from treemem.formats.table import FORMATS
from treemem.store.database import Database
from treemem.tree import tally

# The time for looking at logs, in seconds: a person waits for the answer.
SECONDS_MAX = 0.1
# Smaller files are not remembered by the store, so they would always be new.
_SIZE_BYTES_MIN = 48
# A log that is longer by this than when it was read has grown: the end of a document that has not
# is stored without its brackets.
_GROWN_BYTES = 1_000
_SOURCES = "SELECT count(*) FROM source"
_LATEST = "SELECT id, created_at_ms FROM source ORDER BY created_at_ms DESC, seq DESC LIMIT 1"
_READ = """
SELECT path, max(size_bytes) FROM (
  SELECT path, size_bytes FROM log_file UNION ALL SELECT path, size_bytes FROM log_mark
) GROUP BY path
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """What a memory holds, and what is new.

    started_at, ended_at: of the messages, ISO 8601 in UTC; None without times. latest: the id of
    the source that was added last, and latest_at when. new_logs, grown_logs: by format, how many
    logs of tools are not stored, or have grown since they were read; is_complete: whether there
    was time for all of them.
    """

    path: str
    size_bytes: int
    sources: int
    messages: int
    started_at: str | None
    ended_at: str | None
    latest: str | None = None
    latest_at: str | None = None
    new_logs: dict[str, int] = field(default_factory=dict)
    grown_logs: dict[str, int] = field(default_factory=dict)
    is_complete: bool = True

    @classmethod
    def without_memory(cls, path: Path) -> Overview:
        """The overview where no memory file exists yet at this path."""
        changes = _changes({}, _logs(os.environ, Path.home()), SECONDS_MAX)
        return cls(str(path), 0, 0, 0, None, None, None, None, *changes)


def read_overview(
    database: Database,
    max_seconds: float = SECONDS_MAX,
    logs: Iterable[tuple[str, Path]] | None = None,
) -> Overview:
    """Reads what a memory holds. max_seconds: for looking at logs. logs: as in Memory.overview; it
    takes as long as these need."""
    everything = tally.of_everything(database)
    latest = database.row(_LATEST) or (None, None)
    known = {str(path): int(size) for path, size in database.rows(_READ)}
    if logs is None:
        changes = _changes(known, _logs(os.environ, Path.home()), max_seconds)
    else:
        sized = ((name, str(path.resolve()), _size(path)) for name, path in logs)
        changes = _changes(known, sized, math.inf)
    return Overview(
        str(database.path), _size(database.path), database.value(_SOURCES), everything.messages,
        times.from_ms(everything.first_ms), times.from_ms(everything.last_ms), latest[0],
        times.from_ms(latest[1]), *changes,
    )  # fmt: skip


def _changes(
    known: Mapping[str, int], logs: Iterable[tuple[str, str, int]], max_seconds: float
) -> tuple[dict[str, int], dict[str, int], bool]:
    """How many logs of each format are new, how many have grown, and whether all were looked at.
    known: the sizes of those that were read, by path. logs: format, path and size of each."""
    new_logs: dict[str, int] = {}
    grown_logs: dict[str, int] = {}
    end = time.monotonic() + max_seconds
    for format_name, path, size_bytes in logs:
        if time.monotonic() > end:
            return new_logs, grown_logs, False
        if size_bytes < _SIZE_BYTES_MIN:
            continue
        if path not in known:
            new_logs[format_name] = new_logs.get(format_name, 0) + 1
        elif size_bytes > known[path] + _GROWN_BYTES:
            grown_logs[format_name] = grown_logs.get(format_name, 0) + 1
    return new_logs, grown_logs, True


def _logs(environ: Mapping[str, str], home: Path) -> Iterator[tuple[str, str, int]]:
    """(format, path, size) of each log of a tool that has a folder for them. Logs in the folders of
    projects are left out, since these may be anywhere below the home folder."""
    for row in FORMATS:
        seen: set[str] = set()
        for pattern in row.places:
            folder, below = located(pattern, environ, home)
            if folder == home or not folder.is_dir():
                continue
            try:
                for path in folder.resolve().glob(below):
                    if str(path) not in seen and path.is_file():
                        seen.add(str(path))
                        yield row.name, str(path), _size(path)
            except OSError:  # a folder that may not be read
                continue


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # in memory, or gone in the meantime
        return 0
