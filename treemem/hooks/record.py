"""Keeps what the last hooks did, one JSON object a line, so that a failure can be looked up.

A hook says nothing that would disturb a session. Nothing from a log is kept here.

Tested in tests/hooks/test_record.py.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from treemem import config

# The size at which the file is moved aside, in place of the one before.
BYTES_MAX = 131_072
# Of a note.
_CHARS_MAX = 400


@dataclass(frozen=True, slots=True)
class Run:
    """One thing that a hook did. at: when, ISO 8601. event: its name, or "store" for what it
    started. session: the id. failed: whether it did not do it. note: what was done, or why not.
    ms: how long it took. memory: the path of the memory file."""

    at: str
    event: str
    session: str
    failed: bool
    note: str
    ms: int
    memory: str


def path() -> Path:
    """The file of the runs."""
    return config.data_folder() / "hooks.jsonl"


def add(run: Run) -> None:
    """Writes a run down, as far as that is possible."""
    values = asdict(run) | {"note": run.note[:_CHARS_MAX]}
    line = json.dumps(values).encode() + b"\n"
    file = path()
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if file.stat().st_size > BYTES_MAX:
                file.replace(file.with_suffix(".old.jsonl"))
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)  # in one piece, so that hooks at the same time do not mix
        finally:
            os.close(handle)


def last(count: int) -> list[Run]:
    """The last runs, the latest first. What is no run is passed over."""
    lines: list[str] = []
    for file in (path().with_suffix(".old.jsonl"), path()):
        with suppress(OSError):
            lines += file.read_text("utf-8", "replace").splitlines()
    runs = []
    for line in reversed(lines):
        with suppress(ValueError, TypeError, KeyError):
            values = json.loads(line)
            runs.append(Run(**{one.name: values[one.name] for one in fields(Run)}))
        if len(runs) == count:
            break
    return runs
