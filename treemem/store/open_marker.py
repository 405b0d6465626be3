"""A small file beside the database that stands there while someone has it open.

Without it a deleted -wal file could not be told from one that was never needed, and a locked
file would not say who holds it.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


class OpenMarker:
    """The marker of one database: NAME-open, which holds the process id of who opened it last."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + "-open")

    def put(self, *, wal: bool) -> None:
        with contextlib.suppress(OSError):
            self._path.write_text(json.dumps({"pid": os.getpid(), "wal": wal}))

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def is_stale(self) -> bool:
        """A process that used a -wal file died without closing."""
        pid = self._pid()
        used_wal = bool(self._read().get("wal"))
        return used_wal and pid is not None and pid != os.getpid() and not _is_alive(pid)

    def holder(self) -> str:
        pid = self._pid()
        if pid is None or pid == os.getpid() or not _is_alive(pid):
            return ""
        return f" (process {pid} has it open)"

    def _pid(self) -> int | None:
        pid = self._read().get("pid")
        return pid if isinstance(pid, int) else None

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
