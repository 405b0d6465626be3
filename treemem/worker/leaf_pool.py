"""Makes the views and profiles of leaves in further processes, while this one reads and stores.

Python runs on one core, and views are most of the time of an ingest. A process gets the rows of a
few leaves and returns their results; it opens no file and only lives as long as its pool. This
process takes leaves itself whenever the next result in order is not there yet, so that nothing
waits, and does all of it if a process cannot be started or dies.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Any, Self

from treemem.packages import child_environment
from treemem.store.database import Database
from treemem.worker import leaf_results
from treemem.worker.leaf_results import LeafResult

# Leaves that go to a process together.
LEAVES_AT_ONCE = 4
# Parcels that wait in a process, so that it has the next one at once; more of them while this
# process does something else.
PARCELS_WAITING = 3
PARCELS_BEGUN = 6
# Parcels whose results are kept until those before them are stored.
PARCELS_AHEAD = 32
# A pool of more processes would only wait for the one that stores.
PROCESSES_MAX = 3
# Leaves after which processes are worth their start, which takes as long as about thirty leaves.
START_AFTER_LEAVES = 48
_SIZE_BYTES = 8
_END_SECONDS = 5.0


def processes_wanted() -> int:
    """The number of further processes that this machine has cores for."""
    if not sys.executable:
        return 0
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(PROCESSES_MAX, cores - 1)


class LeafPool:
    """Processes that make results of leaves. They start once enough leaves have come."""

    def __init__(self, processes: int | None = None) -> None:
        """processes: how many, besides this one; None for as many as there are cores."""
        self._wanted = processes_wanted() if processes is None else processes
        self._asked = 0
        self._processes: list[_Process] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Ends the processes. A pool that is used again starts others."""
        for process in self._processes or ():
            process.close()
        self._processes = None

    @property
    def is_alone(self) -> bool:
        """Whether all is made in this process."""
        return not self._wanted

    def begin(self, database: Database, leaf_seqs: Sequence[int]) -> LeafRun:
        """Lets the processes begin with these leaves. A pool has one run at a time."""
        self._asked += len(leaf_seqs)
        if self._processes is None and self._wanted and self._asked >= START_AFTER_LEAVES:
            self._processes = [_Process() for _ in range(self._wanted)]
        return LeafRun(self, database, leaf_seqs, self._processes or [])

    def results(
        self, database: Database, leaf_seqs: Sequence[int]
    ) -> Iterator[tuple[int, LeafResult]]:
        """Yields each leaf with its result, in order."""
        return self.begin(database, leaf_seqs).results()


class LeafRun:
    """Some leaves that the processes of a pool work on."""

    def __init__(
        self, pool: LeafPool, database: Database, leaf_seqs: Sequence[int],
        processes: Sequence[_Process],
    ) -> None:  # fmt: skip
        self._pool = pool
        self._database = database
        starts = range(0, len(leaf_seqs), LEAVES_AT_ONCE)
        self._parcels = [leaf_seqs[start : start + LEAVES_AT_ONCE] for start in starts]
        self._processes = processes
        self._next = 0  # the first parcel that nobody has taken
        self._results: dict[int, list[LeafResult]] = {}
        self._hand_out(len(self._parcels), PARCELS_BEGUN)

    def results(self) -> Iterator[tuple[int, LeafResult]]:
        """Yields each leaf with its result, in order."""
        is_done = False
        try:
            for at, parcel in enumerate(self._parcels):
                while at not in self._results:
                    self._go_on(at)
                yield from zip(parcel, self._results.pop(at), strict=True)
            is_done = True
        finally:
            if not is_done:  # answers that nobody takes would be taken for those of the next run
                self._pool.close()

    def _go_on(self, at: int) -> None:
        """Hands out and makes parcels, but none that is far behind the one that is wanted."""
        limit = min(len(self._parcels), at + PARCELS_AHEAD)
        self._hand_out(limit, PARCELS_WAITING)
        if self._next < limit:
            self._make(self._next)
        for process in self._processes:
            for number, results in process.finished(wait=self._next >= limit and process.has(at)):
                if results is None:  # it has died
                    self._make(number)
                else:
                    self._results[number] = [*map(leaf_results.result_from, results)]

    def _hand_out(self, limit: int, waiting: int) -> None:
        """Gives parcels up to a limit to the processes, until each has this many waiting."""
        for process in self._processes:
            while self._next < limit and process.is_ready(waiting):
                rows = [
                    leaf_results.rows_of(self._database, one) for one in self._parcels[self._next]
                ]
                if any(one is None for one in rows):
                    self._make(self._next)
                else:
                    process.send(self._next, rows)
                    self._next += 1

    def _make(self, number: int) -> None:
        """Makes the results of a parcel here."""
        self._results[number] = [
            leaf_results.make(self._database, seq) for seq in self._parcels[number]
        ]
        self._next = max(self._next, number + 1)


class _Process:
    """One further process. It answers parcels in the order in which it got them."""

    def __init__(self) -> None:
        self._held: deque[int] = deque()
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # then this process does the work
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "treemem.worker.leaf_process"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=child_environment(),
                start_new_session=True,  # the terminal's Ctrl-C must not reach it
            )  # fmt: skip
            assert self._process.stdout is not None
            target = (self._process.stdout, self._answers)
            threading.Thread(target=read_parcels, args=target, daemon=True).start()

    def is_ready(self, waiting: int) -> bool:
        """Whether it takes another parcel, if this many may wait."""
        return self._process is not None and len(self._held) < waiting

    def has(self, number: int) -> bool:
        return number in self._held

    def send(self, number: int, rows: Sequence[Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._held.append(number)
        with contextlib.suppress(OSError):  # it has died, as its answers will say
            write_parcel(self._process.stdin, rows)

    def finished(self, *, wait: bool) -> Iterator[tuple[int, list[Any] | None]]:
        """Yields the parcels that it has answered, each with its results: None for all that it held
        when it died. wait: until one is there."""
        while self._held:
            try:
                answer = self._answers.get(block=wait)
            except queue.Empty:
                return
            wait = False
            if answer is None:
                self.close()
                held, self._held = self._held, deque()
                yield from ((number, None) for number in held)
            else:
                yield self._held.popleft(), pickle.loads(answer)  # noqa: S301 - from this program

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(_END_SECONDS)
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()


def write_parcel(pipe: IO[bytes], values: object) -> None:
    """Writes values to a pipe, with their size before them."""
    data = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(data).to_bytes(_SIZE_BYTES, "big") + data)
    pipe.flush()


def read_parcels(pipe: IO[bytes], parcels: queue.SimpleQueue[bytes | None]) -> None:
    """Reads what write_parcel wrote until the pipe ends, and closes it; then puts None."""
    with pipe, contextlib.suppress(OSError, ValueError):
        while len(size := pipe.read(_SIZE_BYTES)) == _SIZE_BYTES:
            data = pipe.read(count := int.from_bytes(size, "big"))
            if len(data) < count:
                break
            parcels.put(data)
    parcels.put(None)
