"""Makes the views and profiles of leaves in further processes, while this one reads and stores.

Python runs on one core, and views are most of the time of an ingest. A process gets the rows of a
few leaves and returns their results; it opens no file and only lives as long as its pool. This
process takes leaves itself whenever the next result in order is not there yet, so that nothing
waits, and does all of it if a process cannot be started or dies.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Self

from treemem.packages import child_environment, was_replaced
from treemem.store.database import Database
from treemem.worker import leaf_results
from treemem.worker.leaf_results import LeafResult

# Leaves that go to a process together.
LEAVES_AT_ONCE = 4
# Parcels that wait in a process.
PARCELS_WAITING_MIN = 2
PARCELS_WAITING_MAX = 32
# Parcels whose results are kept until those before them are stored.
PARCELS_AHEAD = 32
# A pool of more processes would only wait for the one that stores.
PROCESSES_MAX = 3
# Leaves after which processes are worth their start, which takes as long as about thirty leaves.
START_AFTER_LEAVES = 48
_SIZE_BYTES = 8
# What the answer of a process with other code leads to.
_OTHER_CODE = (LookupError, TypeError, ValueError, AttributeError, ImportError, pickle.PickleError)
_REPLACED = (
    "treemem was upgraded while this process runs the earlier version. It goes on, more slowly: "
    "end it, and start it again."
)
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

    def begin(
        self, database: Database, leaf_seqs: Sequence[int], *, is_early: bool = False
    ) -> LeafRun:
        """Lets the processes begin with these leaves, after those of earlier runs. is_early: this
        process has other things to do first, so they may take all."""
        self._asked += len(leaf_seqs)
        if self._processes is None and self._wanted and self._asked >= START_AFTER_LEAVES:
            if was_replaced():
                self._wanted = 0
                database.add_notices([_REPLACED])
            self._processes = [_Process() for _ in range(self._wanted)]
        run = LeafRun(database, leaf_seqs, self._processes or [])
        if is_early:
            run.hand_out_all()
        return run


@dataclass(eq=False, slots=True)
class _Parcel:
    """Leaves that are made together. results: None until they are there. is_taken: somebody makes
    them, or has."""

    leaf_seqs: Sequence[int]
    results: list[LeafResult] | None = None
    is_taken: bool = False

    def make(self, database: Database) -> None:
        """Makes the results in this process."""
        self.results = [leaf_results.make(database, seq) for seq in self.leaf_seqs]
        self.is_taken = True


class LeafRun:
    """Some leaves that the processes of a pool work on."""

    def __init__(
        self, database: Database, leaf_seqs: Sequence[int], processes: Sequence[_Process]
    ) -> None:
        self._database = database
        starts = range(0, len(leaf_seqs), LEAVES_AT_ONCE)
        self._parcels = [_Parcel(leaf_seqs[at : at + LEAVES_AT_ONCE]) for at in starts]
        self._processes = processes

    def hand_out_all(self) -> None:
        """Gives the processes what they may have waiting at most."""
        self._hand_out(self._parcels, PARCELS_WAITING_MAX)

    def results(self) -> Iterator[tuple[int, LeafResult]]:
        """Yields each leaf with its result, in order."""
        for at, parcel in enumerate(self._parcels):
            while parcel.results is None:
                self._go_on(parcel, self._parcels[at : at + PARCELS_AHEAD])
            results, parcel.results = parcel.results, None
            yield from zip(parcel.leaf_seqs, results, strict=True)

    def _go_on(self, wanted: _Parcel, near: Sequence[_Parcel]) -> None:
        """Hands out and makes parcels near the one that is wanted, or waits for it."""
        # So many that a process has enough while this one stores, and so few that this one need not
        # wait for it in the end.
        free_parcels = sum(not parcel.is_taken for parcel in near)
        waiting = max(PARCELS_WAITING_MIN, free_parcels // (1 + 2 * len(self._processes)))
        self._hand_out(near, waiting)
        free = next((parcel for parcel in near if not parcel.is_taken), None)
        if free is not None:
            free.make(self._database)
        for process in self._processes:
            process.collect(wait=free is None and process.holds(wanted))

    def _hand_out(self, parcels: Sequence[_Parcel], waiting: int) -> None:
        """Gives parcels to the processes, until each has this many waiting."""
        for parcel in parcels:
            if parcel.is_taken:
                continue
            process = min(self._processes, key=_Process.load, default=None)
            if process is None or process.load() >= waiting:
                return
            rows = [leaf_results.rows_of(self._database, seq) for seq in parcel.leaf_seqs]
            if any(one is None for one in rows):
                parcel.make(self._database)
            else:
                process.send(parcel, rows)


class _Process:
    """One further process. It answers parcels in the order in which it got them."""

    def __init__(self) -> None:
        self._held: deque[_Parcel] = deque()
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

    def load(self) -> float:
        """How many parcels wait here; infinity for a process that does not run."""
        return math.inf if self._process is None else len(self._held)

    def holds(self, parcel: _Parcel) -> bool:
        return parcel in self._held

    def send(self, parcel: _Parcel, rows: Sequence[Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        parcel.is_taken = True
        self._held.append(parcel)
        with contextlib.suppress(OSError):  # it has died, as its answers will say
            write_parcel(self._process.stdin, rows)

    def collect(self, *, wait: bool) -> None:
        """Takes the results that are there. wait: until some are. If the process has died, what it
        held is free again."""
        while self._held:
            try:
                answer = self._answers.get(block=wait)
            except queue.Empty:
                return
            wait = False
            if answer is None:
                self.close()
                return
            try:
                plain = pickle.loads(answer)  # noqa: S301 - from this program
                results = [*map(leaf_results.result_from, plain)]
            except _OTHER_CODE:
                self.close()
                return
            self._held.popleft().results = results

    def close(self) -> None:
        for parcel in self._held:
            parcel.is_taken = False
        self._held.clear()
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
