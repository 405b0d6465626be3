"""Where the agents on this machine keep their logs, and how much there is of each.

It looks at names, sizes and dates only: not one byte of a log is read here. The formats say
where their tools keep what (Importer.places); what the environment says about it comes first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from treemem.importers import IMPORTERS, Importer
from treemem.ingest.walk import may_be_file
from treemem.store.usage import UsageRow
from treemem.times import from_ms
from treemem.types import TreeShape

# Of a log as it lies on disk: names of fields, ids and copies for the screen are no text. The log
# of the demo has 8.9, chats of short messages have more.
BYTES_PER_TOKEN = 8

# A folder below the home folder, the variable that names another in its place, and what the
# tool puts behind that. The first that is set counts.
_OVERRIDES = (
    (".claude/", "CLAUDE_CONFIG_DIR", ""),
    (".codex/", "CODEX_HOME", ""),
    (".copilot/", "COPILOT_HOME", ""),
    (".gemini/", "GEMINI_CLI_HOME", ".gemini/"),
    (".pi/agent/", "PI_CODING_AGENT_DIR", ""),
    (".config/io.datasette.llm/", "LLM_USER_PATH", ""),
    ("Library/Application Support/io.datasette.llm/", "LLM_USER_PATH", ""),
    (".config/", "XDG_CONFIG_HOME", ""),
    (".local/share/", "XDG_DATA_HOME", ""),
    (".local/state/", "XDG_STATE_HOME", ""),
    ("AppData/Roaming/", "APPDATA", ""),
    ("AppData/Local/", "LOCALAPPDATA", ""),
)
_WILD = "*?["


@dataclass(frozen=True, slots=True)
class Place:
    """Where a format's files are: below folder, by a pattern with "/" between its steps.

    is_loose: they may lie anywhere in the home folder, which is too much to be followed whole.
    """

    format: str
    folder: Path
    pattern: str
    is_loose: bool = False

    def files(self) -> Iterator[Path]:
        """The files that are there now, in the order of their names; none without the folder."""
        with contextlib.suppress(OSError):
            yield from filter(may_be_file, sorted(self.folder.glob(self.pattern)))

    def matches(self, path: Path) -> bool:
        """Whether a file would be one of them.

        Example:
            >>> place = Place("x", Path("logs"), "*/*.jsonl")
            >>> place.matches(Path("logs/a/b.jsonl")), place.matches(Path("logs/b.jsonl"))
            (True, False)
        """
        if not path.is_relative_to(self.folder):
            return False
        return _fits(path.relative_to(self.folder).parts, self.pattern.split("/"))


@dataclass(frozen=True, slots=True)
class Found:
    """The logs of one format. newest: when the last of them was written, ISO 8601 in UTC.

    tokens: estimated from the bytes.
    """

    format: str
    folders: tuple[Path, ...]
    files: int
    size_bytes: int
    newest: str
    tokens: int

    def leaves(self) -> int:
        return -(-self.tokens // TreeShape().leaf_tokens_max)


def places(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    importers: Iterable[Importer] = IMPORTERS,
) -> list[Place]:
    """Where each format's files would be on this machine, whether or not there are any."""
    return _places([(each.name, each.places) for each in importers], environ, home)


def beside(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    importers: Iterable[Importer] = IMPORTERS,
) -> list[Place]:
    """Where what is read together with those files would be: most of their bytes."""
    return _places([(each.name, each.beside) for each in importers], environ, home)


def discover(
    among: Sequence[Place] | None = None, read_with: Sequence[Place] | None = None
) -> list[Found]:
    """What lies in the places, one value a format, the largest first. read_with: places of which
    only the bytes count, for the formats that are there."""
    files: dict[str, dict[Path, os.stat_result]] = {}
    folders: dict[str, set[Path]] = {}
    for place in places() if among is None else among:
        for path in place.files():
            with contextlib.suppress(OSError):  # gone in the meantime
                files.setdefault(place.format, {})[path] = path.stat()
                folders.setdefault(place.format, set()).add(place.folder)
    more = dict.fromkeys(files, 0)
    for place in beside() if read_with is None else read_with:
        if place.format in more:
            more[place.format] += sum(map(_size, place.files()))
    found = [
        _found(name, folders[name], list(stats.values()), more[name])
        for name, stats in files.items()
    ]
    return sorted(found, key=lambda each: -each.size_bytes)


def seconds_per_leaf(by_level: Iterable[UsageRow]) -> float | None:
    """How long the models of a memory have worked for each leaf, groups and roots included;
    None where they have made no leaf's summary. by_level: Memory.usage("level")."""
    rows = list(by_level)
    leaves = sum(row.jobs for row in rows if row.key == "0")
    return sum(row.seconds for row in rows) / leaves if leaves else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone in the meantime
        return 0


def _found(name: str, folders: set[Path], stats: list[os.stat_result], more_bytes: int) -> Found:
    size_bytes = more_bytes + sum(each.st_size for each in stats)
    newest = from_ms(max(each.st_mtime_ns for each in stats) // 1_000_000)
    return Found(
        format=name,
        folders=tuple(sorted(folders)),
        files=len(stats),
        size_bytes=size_bytes,
        newest=newest or "",
        tokens=size_bytes // BYTES_PER_TOKEN,
    )


def _places(
    patterns: Iterable[tuple[str, tuple[str, ...]]],
    environ: Mapping[str, str] | None,
    home: Path | None,
) -> list[Place]:
    given = os.environ if environ is None else environ
    root = Path.home() if home is None else home
    found = (_place(name, each, given, root) for name, several in patterns for each in several)
    return list(dict.fromkeys(found))


def _place(name: str, pattern: str, environ: Mapping[str, str], home: Path) -> Place:
    folder = home
    for prefix, variable, below in _OVERRIDES:
        if pattern.startswith(prefix) and environ.get(variable):
            folder = Path(environ[variable]).expanduser()
            pattern = below + pattern.removeprefix(prefix)
            break
    steps = pattern.split("/")
    while len(steps) > 1 and not any(char in steps[0] for char in _WILD):
        folder /= steps.pop(0)
    return Place(name, folder, "/".join(steps), is_loose=folder == home)


def _fits(steps: Sequence[str], pattern: Sequence[str]) -> bool:
    """Step by step; "**" stands for any number of them."""
    if not pattern:
        return not steps
    if pattern[0] == "**":
        return any(_fits(steps[at:], pattern[1:]) for at in range(len(steps) + 1))
    return bool(steps) and fnmatchcase(steps[0], pattern[0]) and _fits(steps[1:], pattern[1:])
