"""Writes a small file beside the database while a process has it open.

The file tells a deleted -wal file from one that never existed, and names the process that has the
database open.

Tested in tests/store/test_database.py and tests/regressions/test_storage.py.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


class OpenMarker:
    """The file NAME-open beside a database, with the id of the process that last opened it."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + "-open")

    def put(self, *, wal: bool) -> None:
        """Writes the marker for this process. wal: whether it uses a -wal file."""
        with contextlib.suppress(OSError):
            self._path.write_text(json.dumps({"pid": os.getpid(), "wal": wal}))

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def is_stale(self) -> bool:
        """Whether a process that used a -wal file died without closing the database."""
        pid = self._pid()
        used_wal = bool(self._read().get("wal"))
        return used_wal and pid is not None and pid != os.getpid() and not _is_alive(pid)

    def holder(self) -> str:
        """Returns " (process PID has it open)", or "" if no other process does."""
        pid = self._pid()
        if pid is None or pid == os.getpid() or not _is_alive(pid):
            return ""
        return f" (process {pid} has it open)"

    def _pid(self) -> int | None:
        pid = self._read().get("pid")
        return pid if isinstance(pid, int) else None

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
