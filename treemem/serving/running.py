"""Says where the page of a memory file is served, to other programs of the same user.

A file in the user's runtime folder has the address and the process, never the token: whoever opens
the address without having been let in is refused.

Tested in tests/cli/content/test_page.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from treemem.store.file import aside

# Seconds that a server of this machine gets to answer.
ANSWER_SECONDS = 1.0


@contextlib.contextmanager
def announced(memory: Path, address: str) -> Iterator[None]:
    """Within the block, found() gives the address for this memory file."""
    path: Path | None = None
    with contextlib.suppress(OSError):  # the page works without
        path = _path(memory)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = {"address": address, "pid": os.getpid()}
        aside.write(path, json.dumps(content).encode(), durable=False)
    try:
        yield
    finally:
        if path and _read(path) == (address, os.getpid()):  # not that of a later server
            path.unlink(missing_ok=True)


def found(memory: Path) -> str | None:
    """The address of the page that is served for a memory file, such as "http://127.0.0.1:8642";
    None if there is none, or if nobody answers there any more."""
    try:
        entry = _read(_path(memory))
    except OSError:
        return None
    if entry is None:
        return None
    place = urlsplit(entry[0])
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), ANSWER_SECONDS):
            return entry[0]
    except (OSError, ValueError):
        return None


def _path(memory: Path) -> Path:
    """The file for a memory file. Raises OSError if the user's folder is another user's."""
    import platformdirs

    name = hashlib.sha256(os.fsencode(memory.resolve())).hexdigest()[:16]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder that it does not use
        folder = Path(platformdirs.user_runtime_dir("treemem"))
    return folder / f"page-{name}.json"


def _read(path: Path) -> tuple[str, int] | None:
    try:
        entry = json.loads(path.read_text())
        address, pid = entry["address"], entry["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_http = isinstance(address, str) and address.startswith("http://") and address.isprintable()
    return (address, pid) if is_http and isinstance(pid, int) else None
