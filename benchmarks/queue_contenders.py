"""The contenders of the queue benchmark, behind one narrow seam.

Each is used as its documentation says, with the most durable setting that it has. A worker
that died comes back with life + 1: for treemem that moves the clock beyond the last lease.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from treemem.queue import jobs
from treemem.store.database import Database, driver

KIND = "benchmark"
# Longer than any lease: each life of the worker finds the leases of the last one run out.
LIFE_MS = 10 * jobs.LEASE_MS
_ADMIT_BATCH = 500


class Contender(Protocol):
    """A queue on disk. Every job carries its number and a payload of about 100 bytes."""

    batches: bool

    def fill(self, count: int) -> None: ...

    def take(self, limit: int, /) -> list[int]:
        """Claims up to limit jobs; empty when none is left."""
        ...

    def done(self) -> None:
        """Finishes all that was taken; it is committed when this returns."""
        ...

    def close(self) -> None: ...


def payload(number: int) -> dict[str, object]:
    return {"number": number, "scope": "source", "key": f"claude-code/{number:036d}"}


class Treemem:
    """Claims under a lease; finishes, durably, in the transaction of the job's results."""

    batches = True

    def __init__(self, path: Path, life: int = 0) -> None:
        self._database = Database(path)
        self._shift_ms = life * LIFE_MS
        self._held: list[jobs.Claim] = []

    def fill(self, count: int) -> None:
        for start in range(0, count, _ADMIT_BATCH):
            with self._database.transaction():
                for number in range(start, min(count, start + _ADMIT_BATCH)):
                    jobs.admit(self._database, KIND, str(number), payload(number), self._now())

    def take(self, limit: int) -> list[int]:
        self._held = jobs.claim(self._database, [KIND], self._now(), limit=limit)
        return [int(held.payload["number"]) for held in self._held]

    def done(self) -> None:
        with self._database.transaction():
            jobs.finish(self._database, self._held, self._now())

    def close(self) -> None:
        self._database.close()

    def _now(self) -> int:
        return time.time_ns() // 1_000_000 + self._shift_ms


class Floor:
    """No queue, only what SQLite needs to end a job: one UPDATE of its row, one commit."""

    batches = True

    def __init__(self, path: Path, life: int = 0) -> None:
        del life
        self._connection = driver.connect(str(path), isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = wal")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._last = self._taken = 0

    def fill(self, count: int) -> None:
        self._last = count
        table = "CREATE TABLE job (seq INTEGER PRIMARY KEY, payload TEXT, state TEXT)"
        self._connection.execute(table)
        self._connection.execute("BEGIN")
        rows = [(number, str(payload(number)), "todo") for number in range(count)]
        self._connection.executemany("INSERT INTO job VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def take(self, limit: int) -> list[int]:
        first, self._taken = self._taken, min(self._last, self._taken + limit)
        self._held = list(range(first, self._taken))
        return self._held

    def done(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        update = "UPDATE job SET state = 'done' WHERE seq = ?"
        self._connection.executemany(update, [(number,) for number in self._held])
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class Huey:
    """SqliteHuey with fsync=True. It deletes a job as it is taken, and has no finish."""

    batches = False

    def __init__(self, path: Path, life: int = 0) -> None:
        del life
        from huey import SqliteHuey

        self._huey = SqliteHuey(filename=str(path), fsync=True)
        self._job = self._huey.task()(_nothing)

    def fill(self, count: int) -> None:
        for number in range(count):
            self._job(**payload(number))

    def take(self, _limit: int) -> list[int]:
        task = self._huey.dequeue()
        return [] if task is None else [int(task.kwargs["number"])]

    def done(self) -> None:
        """Nothing to do: what was taken is gone already."""

    def close(self) -> None:
        self._huey.storage.close()


class PersistQueue:
    """SQLiteAckQueue: get marks a job, ack ends it; WAL, and SQLite's default, FULL."""

    batches = False

    def __init__(self, path: Path, life: int = 0) -> None:
        del life
        from persistqueue import SQLiteAckQueue

        self._queue = SQLiteAckQueue(str(path.parent), db_file_name=path.name, auto_commit=True)
        self._held: object = None

    def fill(self, count: int) -> None:
        for number in range(count):
            self._queue.put(payload(number))

    def take(self, _limit: int) -> list[int]:
        from persistqueue import Empty

        try:
            self._held = self._queue.get(block=False)
        except Empty:
            return []
        assert isinstance(self._held, dict)
        return [int(self._held["number"])]

    def done(self) -> None:
        self._queue.ack(self._held)

    def close(self) -> None:
        self._queue.close()


def _nothing(**_: object) -> None:
    """The task of huey: its work is done by the benchmark."""


CONTENDERS: dict[str, type[Contender]] = {
    "treemem": Treemem, "huey": Huey, "persist-queue": PersistQueue,
    "one UPDATE": Floor,
}  # fmt: skip


def opened(name: str, path: Path, life: int = 0) -> Contender:
    constructor = CONTENDERS[name]
    return constructor(path, life)  # type: ignore[call-arg]


def drain(queue: Contender, limit: int) -> Iterator[list[int]]:
    """Takes and finishes until nothing is left; yields the numbers between the two."""
    while numbers := queue.take(limit):
        yield numbers
        queue.done()
