"""Stores the log of a session that ends: in a process of its own, since the session does not wait.

Tested in tests/hooks/test_ending.py.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from treemem.errors import TreememError, UsageError

if TYPE_CHECKING:
    from treemem.memory import Memory
    from treemem.reports import IngestReport

# The formats of logs that an event may name.
FORMATS = ("claude-code",)
# Beside a log, of the same name: the folder with those of the agents that it started.
AGENTS = "subagents"


def regular_file(path: Path | None) -> Path:
    """The path that an event names, if it is that of a file; nothing of it is read. Raises
    UsageError."""
    if path is None:
        raise UsageError("The event names no log.")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is no file, so it is not stored.")
    return path


def checked_log(path: Path) -> Path:
    """A file that is the log of a session. Raises UsageError for any other, and ImportFileError for
    one that cannot be read."""
    from treemem import importers  # the hook itself does without them, in half of the time
    from treemem.importers import LogFile

    found = importers.detect(LogFile(str(path), regular_file(path))).name
    if found not in FORMATS:
        raise UsageError(f"{path} is no log of a session; it looks like {found}.")
    return path


def _is_log(path: Path | None) -> bool:
    try:
        return path is not None and checked_log(path) == path
    except TreememError:
        return False


def start(command: Sequence[str]) -> None:
    """Starts a process that goes on after this one and all that started it."""
    subprocess.Popen(  # noqa: S603 - this program, by its own path
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd=Path(os.sep), close_fds=True,
    )  # fmt: skip


def store(memory: Memory, log: Path) -> IngestReport:
    """Stores what is new in a log, and in those of its agents, and brings the trees up to date.
    Raises UsageError and ImportFileError for what is no log."""
    from treemem.ingest.walk import find_files

    files = list(find_files([checked_log(log)]))
    agents = log.with_suffix("") / AGENTS
    if agents.is_dir():
        files += [file for file in find_files([agents]) if _is_log(file.path)]
    report = memory.ingest_files(files, growing=True)
    memory.work(max_calls=0)
    return report
