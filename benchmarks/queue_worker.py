"""A worker to be killed.

    python -m benchmarks.queue_worker NAME DATABASE LOG LIFE

works until the queue is empty or the process is killed, and notes in LOG, durably, what it
did: "did N" when job N's work is done, "ack N" when the queue has acknowledged its end.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from benchmarks.queue_contenders import Contender, opened

WORK_SECONDS = 0.001


def main() -> None:
    name, database, log, life = sys.argv[1:]
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    work(opened(name, Path(database), int(life)), handle)


def work(queue: Contender, log: int) -> None:
    _note(log, "up")
    while numbers := queue.take(1):
        time.sleep(WORK_SECONDS)
        for number in numbers:
            _note(log, f"did {number}")
        queue.done()
        for number in numbers:
            _note(log, f"ack {number}")
    _note(log, "empty")


def _note(log: int, line: str) -> None:
    os.write(log, f"{line}\n".encode())
    os.fsync(log)


if __name__ == "__main__":
    main()
