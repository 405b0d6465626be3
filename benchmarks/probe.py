"""What a process cost: its peak memory and the bytes it wrote, and what the ground is like.

Linux tells both exactly; elsewhere getrusage answers for the memory, and nobody for the bytes.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

FSYNC_TRIES = 200
_PAGE_BYTES = 4_096
_BARE = "from pathlib import Path; print(Path('/proc/self/status').read_text())"


def peak_bytes() -> int:
    """The most memory that this process ever held.

    Subtle: getrusage also counts what the parent held when it forked; VmHWM does not.
    """
    peak = _peak_of(_proc("status"))
    if peak is not None:
        return peak
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def bare_peak_bytes() -> int:
    """The same for an interpreter that does nothing, 0 where it cannot be told."""
    command = [sys.executable, "-c", _BARE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _peak_of(done.stdout) or 0


def children_peak_bytes() -> int:
    """The most memory that any finished child of this process held."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * scale


def cpu_seconds() -> float:
    """What this process and its finished children computed, on all cores, start included."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def written_bytes() -> int | None:
    """Bytes handed to write() by this process and its finished children (wchar), or None.

    Not write_bytes, which depends on the file system and on what it still holds back.
    """
    for line in _proc("io").splitlines():
        name, _, value = line.partition(":")
        if name == "wchar":
            return int(value)
    return None


def fsync_ms(folder: Path) -> float:
    """The median of writing one page and fsync, which is the price of every durable commit."""
    path = folder / "fsync.probe"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    times = []
    try:
        for index in range(FSYNC_TRIES):
            began = time.perf_counter()
            os.pwrite(handle, b"x" * _PAGE_BYTES, index * _PAGE_BYTES)
            os.fsync(handle)
            times.append(1000 * (time.perf_counter() - began))
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)  # another run may use the same folder
    return statistics.median(times)


def _proc(name: str) -> str:
    path = Path("/proc/self") / name
    return path.read_text() if path.exists() else ""


def _peak_of(status: str) -> int | None:
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return None
