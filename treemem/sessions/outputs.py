"""Reads long texts in parts: stored results of tools, and files that jobs still write to.

Tested in tests/sessions/test_outputs.py.
"""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

from treemem.errors import Hint, NotFoundError, UsageError
from treemem.patterns import lazy_regex
from treemem.sessions import shapes
from treemem.sessions.state import State
from treemem.sessions.values import Output
from treemem.store.database import Database
from treemem.store.live import turns

# Characters, or bytes, that are returned at once.
CHARS = 8_000
CHARS_MAX = 1_000_000
# A file that has not grown for this long may have stalled.
STALLED_SECONDS = 60.0
_HANDLE = lazy_regex(r"h([0-9]{1,9})\.([0-9]{1,4})")


def read(database: Database, state: State, handle: str, offset: int, limit: int) -> Output:
    """A part of a stored part of a turn. Raises UsageError, NotFoundError."""
    _check(offset, limit)
    match = _HANDLE.fullmatch(handle) if isinstance(handle, str) else None
    if match is None:
        raise UsageError(f"A handle is such as h12.0, as contexts show it, not {handle!r}.")
    position, number = int(match[1]), int(match[2])
    with database.reading():
        rows = turns.between(database, state.row.seq, position, position + 1)
    parts = shapes.parse(json.loads(rows[0].content), state.shape).parts if rows else ()
    if number >= len(parts):
        raise NotFoundError(
            f"Nothing has the handle {handle} in {state.row.source_id}.",
            hint=Hint("Use one that a context shows.", "Use one that a context shows."),
        )
    text = parts[number].text
    end = min(len(text), offset + limit)
    return Output(text[offset:end], offset, end, len(text), end >= len(text))


def follow(path: str | os.PathLike[str], offset: int, limit: int) -> Output:
    """What was written to a file since an offset. A character that is not complete yet is left for
    the next call. Raises UsageError if it is no file that can be read."""
    _check(offset, limit)
    try:
        with open(path, "rb", opener=_opener) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path} is no file that can be followed.")
            if offset > status.st_size:
                return Output(
                    "", offset, 0, status.st_size, is_end=False,
                    note=f"The file has {status.st_size} bytes now, fewer than {offset}: it was "
                    "begun again. Read it from 0.",
                )  # fmt: skip
            file.seek(offset)
            data = file.read(limit)
    except OSError as error:
        raise UsageError(f"{Path(path)} cannot be read: {error.strerror or error}.") from error
    text, used = _decoded(data)
    idle = max(0.0, time.time() - status.st_mtime)
    is_end = offset + used >= status.st_size
    note = ""
    if is_end and idle > STALLED_SECONDS:
        note = f"Nothing was written for {idle:.0f} seconds: the job has ended or stalled."
    return Output(text, offset, offset + used, status.st_size, is_end, round(idle, 1), note)


def _opener(path: str, flags: int) -> int:
    """Opens without waiting, as for a pipe that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _decoded(data: bytes) -> tuple[str, int]:
    """The text of some bytes of UTF-8 and how many were used: not those of a cut character at the
    end."""
    for cut in range(min(4, len(data))):
        try:
            return data[: len(data) - cut].decode(), len(data) - cut
        except UnicodeDecodeError as error:
            if error.end < len(data) - cut or error.reason != "unexpected end of data":
                break
    return data.decode("utf-8", "replace"), len(data)


def _check(offset: int, limit: int) -> None:
    if not isinstance(offset, int) or offset < 0:
        raise UsageError(f"An offset is a number from 0, not {offset!r}.")
    if not isinstance(limit, int) or not 0 < limit <= CHARS_MAX:
        raise UsageError(f"A limit is a number from 1 to {CHARS_MAX:,}, not {limit!r}.")
