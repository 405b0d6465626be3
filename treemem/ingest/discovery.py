"""Finds the logs of the agents on this machine, and counts their files and bytes.

Reads names, sizes and dates, but no log. Looks in the places that the importers list
(Importer.places), unless a tool's environment variable names another folder.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from treemem.formats.places import located
from treemem.importers import Importer, every
from treemem.importers.streams import compressed
from treemem.ingest.walk import may_be_file
from treemem.reports import needs_text
from treemem.store.usage import UsageRow
from treemem.times import from_ms
from treemem.types import TreeShape

# Bytes of a log file per token of its messages: field names, ids and copies for display add to the
# text. The demo's log has 8.9; chats with short messages have more.
BYTES_PER_TOKEN = 8

# A compressed log has about this many times the bytes of its file.
COMPRESSED_RATIO = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files of a format are: a folder and a glob pattern below it, with "/" separators.
    A file that matches is also found compressed, with a suffix such as ".zst" behind its name.

    is_loose: the folder is the home folder, which is too large to watch as a whole.
    """

    format: str
    folder: Path
    pattern: str
    is_loose: bool = False

    def files(self) -> Iterator[Path]:
        """Yields the files that exist now, sorted by path; none if the folder is missing."""
        with contextlib.suppress(OSError):
            # One pass over the folders, which may be many, finds the compressed files too.
            pattern = self.pattern if self.pattern.endswith("*") else f"{self.pattern}*"
            paths = sorted(self.folder.glob(pattern))
            yield from filter(may_be_file, filter(self.matches, paths))

    def matches(self, path: Path) -> bool:
        """Whether a path is below the folder and matches the pattern.

        Example:
            >>> place = Place("x", Path("logs"), "*/*.jsonl")
            >>> place.matches(Path("logs/a/b.jsonl")), place.matches(Path("logs/b.jsonl"))
            (True, False)
        """
        if not path.is_relative_to(self.folder):
            return False
        parts, pattern = path.relative_to(self.folder).parts, self.pattern.split("/")
        plain = (*parts[:-1], compressed.plain_name(parts[-1])) if parts else parts
        return _fits(parts, pattern) or (plain != parts and _fits(plain, pattern))


@dataclass(frozen=True, slots=True)
class FormatLogs:
    """The logs of one format.

    size_bytes: includes companion files. newest: the latest modification time of a log, ISO 8601
    in UTC. tokens: estimated from size_bytes. passed_over: sentences that say how many of the
    files need a package that is not installed.
    """

    format: str
    folders: tuple[Path, ...]
    files: int
    size_bytes: int
    newest: str
    tokens: int
    passed_over: tuple[str, ...] = ()

    def leaves(self) -> int:
        """The number of leaves that the logs would fill, estimated from the tokens."""
        return -(-self.tokens // TreeShape().leaf_tokens_max)


def places(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    importers: Iterable[Importer] | None = None,
) -> list[Place]:
    """The places of each format's logs on this machine, whether or not they exist. importers: None
    for all."""
    chosen = list(every() if importers is None else importers)
    patterns = [(importer.name, importer.places) for importer in chosen]
    variables = os.environ if environ is None else environ
    root = Path.home() if home is None else home
    fixed = _places(patterns, variables, root)
    listed = [
        Place(importer.name, folder, pattern)
        for importer in chosen
        for folder, pattern in importer.more_places(variables, root)
    ]
    return list(dict.fromkeys([*fixed, *listed]))


def companion_places(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    importers: Iterable[Importer] | None = None,
) -> list[Place]:
    """The places of the companion files, which are read with the logs and may be far larger."""
    chosen = every() if importers is None else importers
    patterns = [(importer.name, importer.beside) for importer in chosen]
    return _places(patterns, environ, home)


def discover(
    log_places: Sequence[Place] | None = None, companions: Sequence[Place] | None = None
) -> list[FormatLogs]:
    """Finds the logs in these places; one value per format, the largest first. companions: places
    whose bytes are added to formats that have logs. None means all places."""
    files: dict[str, dict[Path, os.stat_result]] = {}
    folders: dict[str, set[Path]] = {}
    for place in places() if log_places is None else log_places:
        for path in place.files():
            with contextlib.suppress(OSError):  # gone in the meantime
                files.setdefault(place.format, {})[path] = path.stat()
                folders.setdefault(place.format, set()).add(place.folder)
    more = dict.fromkeys(files, 0)
    for place in companion_places() if companions is None else companions:
        if place.format in more:
            more[place.format] += sum(map(_size, place.files()))
    needs_of = {importer.name: importer.needs_of for importer in every()}
    logs = [
        _format_logs(name, folders[name], stats, more[name], needs_of.get(name, _nothing))
        for name, stats in files.items()
    ]
    return sorted(logs, key=lambda format_logs: -format_logs.size_bytes)


def seconds_per_leaf(by_level: Iterable[UsageRow]) -> float | None:
    """Seconds of model time per leaf, with the time for groups and roots; None if no model has
    summarized a leaf. by_level: Memory.usage("level")."""
    rows = list(by_level)
    leaves = sum(row.jobs for row in rows if row.key == "0")
    return sum(row.seconds for row in rows) / leaves if leaves else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone in the meantime
        return 0


def _format_logs(
    name: str,
    folders: set[Path],
    files: dict[Path, os.stat_result],
    more_bytes: int,
    needs_of: Callable[[str], tuple[str, str] | None],
) -> FormatLogs:
    stats = list(files.values())
    size_bytes = more_bytes + sum(stat.st_size for stat in stats)
    newest = from_ms(max(stat.st_mtime_ns for stat in stats) // 1_000_000)
    needed = {path: _needs(path, needs_of) for path in files}
    counts = Counter(filter(None, needed.values()))
    readable = {path: stat for path, stat in files.items() if not _is_encrypted(needed[path])}
    log_bytes = more_bytes + sum(_log_bytes(path, stat) for path, stat in readable.items())
    return FormatLogs(
        format=name,
        folders=tuple(sorted(folders)),
        files=len(stats),
        size_bytes=size_bytes,
        newest=newest or "",
        tokens=log_bytes // BYTES_PER_TOKEN,
        passed_over=tuple(needs_text(count, *needs) for needs, count in sorted(counts.items())),
    )


def _needs(path: Path, needs_of: Callable[[str], tuple[str, str] | None]) -> tuple[str, str] | None:
    """What a file is that cannot be read as things are, and what to do about it."""
    missing = compressed.zstd_needs() if compressed.is_missing_for(path.name) else None
    return needs_of(path.name) or missing


def _is_encrypted(needs: tuple[str, str] | None) -> bool:
    """Whether no package lets a file be read, so that its bytes give no tokens."""
    return needs is not None and needs[1].endswith(".")


def _nothing(name: str) -> None:
    del name


def _log_bytes(path: Path, stat: os.stat_result) -> int:
    is_compressed = compressed.plain_name(path.name) != path.name
    return stat.st_size * COMPRESSED_RATIO if is_compressed else stat.st_size


def _places(
    patterns: Iterable[tuple[str, tuple[str, ...]]],
    environ: Mapping[str, str] | None,
    home: Path | None,
) -> list[Place]:
    variables = os.environ if environ is None else environ
    root = Path.home() if home is None else home
    return list(dict.fromkeys(
        _place(name, pattern, variables, root)
        for name, patterns_of_format in patterns
        for pattern in patterns_of_format
    ))  # fmt: skip


def _place(name: str, pattern: str, environ: Mapping[str, str], home: Path) -> Place:
    folder, below = located(pattern, environ, home)
    return Place(name, folder, below, is_loose=folder == home)


def _fits(steps: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match a pattern; "**" matches any number of parts."""
    if not pattern:
        return not steps
    if pattern[0] == "**":
        return any(_fits(steps[at:], pattern[1:]) for at in range(len(steps) + 1))
    return bool(steps) and fnmatchcase(steps[0], pattern[0]) and _fits(steps[1:], pattern[1:])
