"""Puts each queue of the benchmark behind one protocol, with its most durable setting."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from treemem.queue import jobs
from treemem.store.database import Database, driver

KIND = "benchmark"
# By which treemem's clock is ahead for each life, so that the last worker's leases have expired.
LIFE_MS = 10 * jobs.LEASE_MS
# The work of a job.
WORK_SECONDS = 0.001
_ADMIT_BATCH = 500


class Contender(Protocol):
    """A queue on disk, whose jobs have a number and a payload of about 100 bytes.

    batches: whether it claims and finishes several jobs at once.
    """

    batches: bool

    def fill(self, count: int) -> None: ...

    def take(self, limit: int, /) -> list[int]:
        """Claims up to limit jobs and returns their numbers; empty when none is left."""
        ...

    def done(self) -> None:
        """Finishes the claimed jobs; it is committed when this returns."""
        ...

    def close(self) -> None: ...


def payload(number: int) -> dict[str, object]:
    return {"number": number, "scope": "source", "key": f"claude-code/{number:036d}"}


class Treemem:
    """treemem's queue: claims under a lease, finishes in the transaction of the results."""

    batches = True

    def __init__(self, path: Path, life: int = 0) -> None:
        self._database = Database(path)
        self._shift_ms = life * LIFE_MS
        self._claims: list[jobs.Claim] = []

    def fill(self, count: int) -> None:
        for start in range(0, count, _ADMIT_BATCH):
            with self._database.transaction():
                for number in range(start, min(count, start + _ADMIT_BATCH)):
                    jobs.admit(self._database, KIND, str(number), payload(number), self._now())

    def take(self, limit: int) -> list[int]:
        self._claims = jobs.claim(self._database, [KIND], self._now(), limit=limit)
        return [int(claim.payload["number"]) for claim in self._claims]

    def done(self) -> None:
        with self._database.transaction():
            jobs.finish(self._database, self._claims, self._now())

    def close(self) -> None:
        self._database.close()

    def _now(self) -> int:
        return time.time_ns() // 1_000_000 + self._shift_ms


class Floor:
    """No queue: one UPDATE and one commit a job, the least that SQLite needs to end it."""

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
        self._numbers = list(range(first, self._taken))
        return self._numbers

    def done(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        update = "UPDATE job SET state = 'done' WHERE seq = ?"
        self._connection.executemany(update, [(number,) for number in self._numbers])
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class Huey:
    """SqliteHuey with fsync=True, which deletes a job when it is taken."""

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
        """Does nothing: the job was deleted when it was taken."""

    def close(self) -> None:
        self._huey.storage.close()


class PersistQueue:
    """SQLiteAckQueue, with WAL and SQLite's default of synchronous=FULL."""

    batches = False

    def __init__(self, path: Path, life: int = 0) -> None:
        del life
        from persistqueue import SQLiteAckQueue

        self._queue = SQLiteAckQueue(str(path.parent), db_file_name=path.name, auto_commit=True)
        self._item: object = None

    def fill(self, count: int) -> None:
        for number in range(count):
            self._queue.put(payload(number))

    def take(self, _limit: int) -> list[int]:
        from persistqueue import Empty

        try:
            self._item = self._queue.get(block=False)
        except Empty:
            return []
        assert isinstance(self._item, dict)
        return [int(self._item["number"])]

    def done(self) -> None:
        self._queue.ack(self._item)

    def close(self) -> None:
        self._queue.close()


def _nothing(**_: object) -> None:
    """Stands for the task of huey, whose work the benchmark does."""


CONTENDERS: dict[str, type[Contender]] = {
    "treemem": Treemem, "huey": Huey, "persist-queue": PersistQueue,
    "one UPDATE": Floor,
}  # fmt: skip


def opened(name: str, path: Path, life: int = 0) -> Contender:
    constructor = CONTENDERS[name]
    return constructor(path, life)  # type: ignore[call-arg]


def drain(queue: Contender, limit: int) -> Iterator[list[int]]:
    """Takes and finishes jobs until none is left; yields their numbers before they are finished."""
    while numbers := queue.take(limit):
        yield numbers
        queue.done()


def work() -> None:
    """Runs a worker to be killed, with NAME DATABASE LOG LIFE as arguments of the process.

    Notes in LOG, durably: "did N" when the work of job N is done, "ack N" when the queue has
    acknowledged its end. LIFE counts the workers before this one.
    """
    name, database, log, life = sys.argv[1:]
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    queue = opened(name, Path(database), int(life))
    _note(handle, "up")
    while numbers := queue.take(1):
        time.sleep(WORK_SECONDS)
        for number in numbers:
            _note(handle, f"did {number}")
        queue.done()
        for number in numbers:
            _note(handle, f"ack {number}")


def _note(handle: int, line: str) -> None:
    os.write(handle, f"{line}\n".encode())
    os.fsync(handle)
