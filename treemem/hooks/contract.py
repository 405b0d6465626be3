"""Reads what Claude Code tells a hook, and writes what it takes as an answer.

From the reference of hooks (https://code.claude.com/docs/en/hooks, as of August 2026), by which
this folder goes:

- A hook is a shell command in a settings file, which gets an event as JSON on standard input. Every
  event has session_id, transcript_path, cwd and hook_event_name. Handlers run in the current
  folder; identical commands of several files run once.
- SessionStart has a source: startup, resume, clear, compact or fork. With exit code 0, the
  additionalContext of the JSON on standard output is added to the context. "Keep these hooks fast."
- SessionEnd has a reason and decides nothing; its output is discarded. All such hooks share 1.5 s,
  or the longest timeout that a settings file gives one of them, up to 60 s.
- PreCompact runs before a compaction. Exit code 2 would prevent it.
- A timeout is in seconds. Exit code 2 is an error that blocks, where something can be blocked; any
  other but 0 is shown as the first line of standard error, and the session goes on.

Texts of a hook's answer are cut at 10,000 characters. Standard input is not always closed.

Tested in tests/hooks/test_contract.py.
"""

from __future__ import annotations

import json
import os
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemem.errors import UsageError

SESSION_START, SESSION_END, PRE_COMPACT = "SessionStart", "SessionEnd", "PreCompact"
# Whose sources of SessionStart get a context: those in whose window the last one no longer is.
NEW_WINDOWS = ("startup", "clear", "compact")
# Of the texts of an answer.
CHARS_MAX = 10_000
# Of an event: ids, paths and a few words.
EVENT_BYTES_MAX = 1_048_576
# How long the event may take to arrive, which is written before the hook is started.
EVENT_SECONDS = 1.0
_PATH_CHARS_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Event:
    """What happened. name: of the event. session: its id. folder: where the session works.
    transcript: the path of its log; None without one. source: of SessionStart."""

    name: str
    session: str
    folder: Path
    transcript: Path | None
    source: str


def read_event(stream: int, seconds: float = EVENT_SECONDS) -> Event:
    """Reads an event from a file descriptor, until it is whole. Raises UsageError for anything
    else, and if it does not come in time."""
    received, ends_at = b"", time.monotonic() + seconds
    while len(received) <= EVENT_BYTES_MAX:
        left = ends_at - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            raise UsageError(f"No event came within {seconds:g} s: only Claude Code calls this.")
        piece = os.read(stream, 65_536)
        received += piece
        if not piece or received.rstrip().endswith(b"}"):
            try:
                return event_of(json.loads(received))
            except (ValueError, RecursionError) as error:
                if not piece:
                    raise UsageError(f"The event is not JSON: {error}") from None
    raise UsageError(f"The event is longer than {EVENT_BYTES_MAX:,} bytes.")


def event_of(data: object) -> Event:
    """The event that an object describes. Its values are text that nobody has checked. Raises
    UsageError."""
    if not isinstance(data, dict):
        raise UsageError("The event is not an object.")
    name = _text(data, "hook_event_name")
    if name not in (SESSION_START, SESSION_END, PRE_COMPACT):
        raise UsageError(f"There is no use for the event {name[:40]!r}.")
    # The folder in which the program was started, which stays while the session changes its own.
    root = os.environ.get("CLAUDE_PROJECT_DIR", "")
    folder = _path(root) or _path(_text(data, "cwd")) or Path.cwd()
    return Event(
        name, _text(data, "session_id")[:_PATH_CHARS_MAX], folder,
        _path(_text(data, "transcript_path")), _text(data, "source"),
    )  # fmt: skip


def answer_of(context: str) -> str:
    """The JSON that adds a text to the context of a session that begins."""
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": SESSION_START, "additionalContext": context}}
    )


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _path(text: str) -> Path | None:
    """A path that is whole; None for anything else."""
    if not text or "\0" in text or len(text) > _PATH_CHARS_MAX:
        return None
    path = Path(text).expanduser() if text.startswith("~/") else Path(text)
    return path if path.is_absolute() else None
