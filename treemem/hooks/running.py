"""Does what an event asks for, and writes down how it went. Nothing here raises.

Tested in tests/hooks/test_running.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from treemem import config
from treemem.errors import TreememError
from treemem.hooks import contract, record
from treemem.hooks.contract import Event
from treemem.hooks.record import Run
from treemem.memory import Memory
from treemem.reports import count_of

# The agent that reads the memory: what other agents keep to themselves is not for it.
AGENT = "claude-code"


# Starts to store a log, of the session of an id.
Store: TypeAlias = Callable[[Path, str], None]


def respond(stream: int, database: Path | None, store: Store) -> tuple[str, str]:
    """Answers the event on a file descriptor. database: the memory file; None for the default.
    Returns what goes to standard output, and a line for standard error; each may be empty."""
    began, event, answer = time.monotonic(), None, ""
    try:
        event = contract.read_event(stream)
        answer, note = _done(event, database, store)
    except Exception as error:
        return "", _failed(error, event.name if event else "unknown",
                           event.session if event else "", database, began)  # fmt: skip
    _add(event.name, event.session, note, database, began)
    return answer, ""


def stored(log: Path, session: str, database: Path | None) -> str:
    """Stores a log, in the process that respond() has started. Returns "", or what went wrong."""
    from treemem.hooks import ending

    began = time.monotonic()
    try:
        with Memory.open(database) as memory:
            report = ending.store(memory, log)
        problems = [file.error for file in report.files if file.error]
        if problems:
            raise TreememError("; ".join(problems))
    except Exception as error:
        return _failed(error, "store", session, database, began)
    _add("store", session, f"{count_of(report.added, 'message')} added", database, began)
    return ""


def memory_path(database: Path | None) -> Path:
    """The whole path of the memory file. database: None for the default."""
    return (database or config.default_database_path()).absolute()


def _done(event: Event, database: Path | None, store: Store) -> tuple[str, str]:
    """The answer to an event, and a note on it."""
    if event.name != contract.SESSION_START:
        from treemem.hooks import ending

        store(ending.regular_file(event.transcript), event.session)
        return "", "its log is being stored"
    if event.source not in contract.NEW_WINDOWS:
        return "", f"nothing to say after {event.source or 'no source'}"
    path = memory_path(database)
    if not path.exists():
        return "", "nothing is stored yet"
    from treemem.hooks.beginning import context_of

    with Memory.open(path, must_exist=True, agent=AGENT) as memory:
        text = context_of(memory, event.folder)
    if not text:
        return "", "nothing is stored about this project"
    return contract.answer_of(text), f"{len(text):,} characters given"


def _failed(
    error: Exception, event: str, session: str, database: Path | None, began: float
) -> str:  # fmt: skip
    is_expected = isinstance(error, TreememError)
    reason = str(error) if is_expected else f"{type(error).__name__}: {error}"
    reason = " ".join(reason.split())
    _add(event, session, reason, database, began, failed=True)
    return f"treemem: {reason} See: treemem hooks status"


def _add(
    event: str, session: str, note: str, database: Path | None, began: float, *,
    failed: bool = False,
) -> None:  # fmt: skip
    took = int((time.monotonic() - began) * 1_000)
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    record.add(Run(at, event, session, failed, note, took, str(memory_path(database))))
