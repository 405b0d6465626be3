"""Writes logs for tests of the watcher, and waits for their effects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from treemem import Memory

WAIT_SECONDS = 40.0


def line(text: str) -> str:
    return json.dumps({"role": "user", "content": text}) + "\n"


def append(path: Path, text: str) -> None:
    with path.open("a") as stream:
        stream.write(text)


def stored_texts(database: Path) -> list[str]:
    """The texts of all stored messages."""
    with Memory.open(database) as memory:
        return [message.text for view in memory.sources()
                for message in memory.messages(view.source.id)]  # fmt: skip


def until(is_so: Callable[[], bool]) -> None:
    """Waits until is_so() is true, at most WAIT_SECONDS."""
    end = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.05)
