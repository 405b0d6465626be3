"""What tests of the watcher share: logs to write, and waiting for what comes of it."""

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


def said(database: Path) -> list[str]:
    """Every message that is stored, over all sources."""
    with Memory.open(database) as memory:
        return [message.text for view in memory.sources()
                for message in memory.messages(view.source.id)]  # fmt: skip


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
