"""Writes a small file beside the database while a process has it open.

The file names the process and the files that it has open. It tells a deleted -wal file from one
that never existed, and a -wal file of the database from one of a file that was replaced.

What is found under this name is not trusted: links are not followed, only a short regular file is
read, and anything else stays there.

Tested in tests/store/file/test_open_marker.py and tests/regressions/test_storage.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from treemem.store.file import modes
from treemem.store.file.guard import Identity, identity_of
from treemem.store.file.sidecars import JOURNAL, WAL

# A marker is shorter.
_BYTES_MAX = 4_096
# The largest process id of any system.
_PID_MAX = 2**31 - 1
_READ = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # for a pipe without a writer
)


class OpenMarker:
    """The file NAME-open beside a database, by the process that last opened it.

    path: of the database itself, not of a link to it.
    """

    def __init__(self, path: Path) -> None:
        self._memory = path
        self._path = path.with_name(path.name + "-open")

    def put(
        self, *, wal: bool, memory: Identity | None = None, wal_file: Identity | None = None
    ) -> None:
        """Writes the marker for this process, in place of that of another one.

        Leaves alone what is no file, so there is no marker then. wal: whether it uses a -wal file.
        memory, wal_file: the files that it has open.
        """
        content = {"pid": os.getpid(), "wal": wal, "memory": memory, "wal_file": wal_file}
        if self.obstacle() is not None:
            return
        temporary = self._path.with_name(f"{self._path.name}.new")
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
            descriptor = modes.create_file(temporary)
            try:
                status = os.fstat(descriptor)
                content["marker"] = (status.st_dev, status.st_ino)
                os.write(descriptor, json.dumps(content).encode())
            finally:
                os.close(descriptor)
            temporary.replace(self._path)

    def remove(self) -> None:
        if self.obstacle() is None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def obstacle(self) -> str | None:
        """A sentence, if something that is no file has the marker's name."""
        try:
            mode = self._path.lstat().st_mode
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return None
        return (
            f"{self._path} is not a file, so treemem cannot note there which files it has open, "
            "and cannot recognize a -wal file of another memory. Move it away."
        )

    def is_stale(self) -> bool:
        """Whether a process that used a -wal file died without closing the database."""
        pid = self.pid()
        used_wal = bool(self._read().get("wal"))
        return used_wal and pid is not None and pid != os.getpid() and not _is_alive(pid)

    def holder(self) -> str:
        """Returns " (process PID has it open)", or "" if no other process does."""
        pid = self.other()
        return "" if pid is None else f" (process {pid} has it open)"

    def other(self) -> int | None:
        """The id of another living process that has the database open; None if none is known."""
        pid = self.pid()
        return None if pid is None or pid == os.getpid() or not _is_alive(pid) else pid

    def pid(self) -> int | None:
        pid = self._read().get("pid")
        return pid if type(pid) is int and 0 < pid <= _PID_MAX else None

    def leftovers(self) -> list[Path]:
        """The -wal and -journal files at the path that belong to another file than the one there.

        SQLite would merge them into it, and destroy both. They belong to another file if there is
        no database, or if the marker says that they were open together with another file: whoever
        copies or moves a database together with them copies both or neither.
        """
        wal, journal = (
            self._memory.with_name(self._memory.name + suffix) for suffix in (WAL, JOURNAL)
        )
        here = identity_of(self._memory)
        if here is None or self._memory.stat().st_size == 0:
            return self._older_than_memory(wal, journal)
        content = self._read()
        if content.get("memory") in (None, list(here)):
            return []
        stale = []
        if content.get("wal_file") == _listed(identity_of(wal)):
            stale.append(wal)
        # A journal exists during a transaction only. A marker that was copied proves nothing.
        if content.get("marker") == _listed(identity_of(self._path)):
            stale.append(journal)
        return [path for path in stale if _has_content(path)]

    def _older_than_memory(self, wal: Path, journal: Path) -> list[Path]:
        """The files beside a missing or an empty database that were there before it.

        Subtle: another connection may just be creating the database. Its journal is younger than
        the empty file, and it has a -wal file only once the database is no longer empty.
        """
        found = [wal] if _has_content(wal) else []
        memory, written = _status_of(self._memory), _status_of(journal)
        is_live = memory is not None and (
            written is None or written.st_mtime_ns >= memory.st_ctime_ns
        )
        if _has_content(journal) and not is_live:
            found.append(journal)
        memory = _status_of(self._memory)  # read after the -wal file
        return found if memory is None or memory.st_size == 0 else []

    def _read(self) -> dict[str, Any]:
        try:
            descriptor = os.open(self._path, _READ)
        except OSError:
            return {}
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _BYTES_MAX:
                return {}
            content = json.loads(os.read(descriptor, _BYTES_MAX))
        except (OSError, ValueError, RecursionError):
            return {}
        finally:
            os.close(descriptor)
        return content if isinstance(content, dict) else {}


def _status_of(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _listed(identity: Identity | None) -> list[int] | None:
    """An identity as JSON gives it back."""
    return None if identity is None else list(identity)


def _has_content(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
