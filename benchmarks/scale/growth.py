"""Measures what one more session costs in memories of 10, 1,000 and 5,000 sessions.

    python -m benchmarks.scale.growth [--sizes 10,1000,5000] [--rounds 7] [--keep FOLDER]

A memory is filled with small sessions on as many subjects as sessions have in life: a session is
about the subject of an earlier one, or about a new one. From a copy at each size, sessions of the
same size are added, as a log file and by append, the sizes taking turns. The clock is 40 minutes
later each time, so that topics and the tree over everything are due, which is the worst case. Times
are of the CPU; the seconds that a person waits stand beside them. --keep FOLDER keeps the memories,
and uses those that are in it.
"""

from __future__ import annotations

import itertools
import random
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.data.logs import Writer
from benchmarks.harness import Aim, shown
from treemem import Memory, Message, TreeShape

SESSION_BYTES = 5_000
SHAPE = TreeShape(leaf_tokens_max=400)
# The share of sessions about a subject that no session before them had.
NEW_SHARE = 0.2
SUBJECT_WORDS = 9
# Words of the subject in a sentence.
SUBJECT_WORDS_SAID = 2
RATIO_MAX = 1.5
_BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_BETWEEN = timedelta(minutes=20)
_SYLLABLES = [a + b for a, b in itertools.product("bdfgklmnprstvz", "aeiou")]
WAYS = ("ingest", "append")


class Sessions:
    """The sessions of a seed, by their numbers."""

    def __init__(self, seed: int, count: int) -> None:
        self._seed = seed
        self._writer = _AboutSubject(seed)
        rng = random.Random(seed)
        self._subject: list[int] = []
        subjects = 0
        for number in range(count):
            if number == 0 or rng.random() < NEW_SHARE:
                self._subject.append(subjects)
                subjects += 1
            else:
                self._subject.append(self._subject[rng.randrange(number)])

    def writer(self, number: int) -> Writer:
        """Writes a session of this number."""
        subject = random.Random(f"{self._seed}/subject/{self._subject[number]}")
        nouns = ["".join(subject.choices(_SYLLABLES, k=3)) for _ in range(SUBJECT_WORDS)]
        folder = f"/home/user/project-{self._subject[number]}"
        writer = self._writer.another(number, _BEGAN + number * _BETWEEN, folder)
        writer.nouns = nouns
        return writer

    def log(self, number: int, folder: Path) -> Path:
        """The log file of a session."""
        writer = self.writer(number)
        path = folder / f"{writer.session}.jsonl"
        writer.append_to(path, SESSION_BYTES)
        return path

    def messages(self, number: int) -> list[Message]:
        """The messages of a session of the same size."""
        writer = self.writer(number)
        sent = _BEGAN + number * _BETWEEN
        found: list[Message] = []
        while sum(len(one.text) for one in found) < SESSION_BYTES * 0.7:
            found.append(
                Message(
                    role=("user", "assistant")[len(found) % 2], text=writer.prose(),
                    sent_at=(sent + timedelta(seconds=20 * len(found))).isoformat(),
                )
            )  # fmt: skip
        return found


class _AboutSubject(Writer):
    """A session in which some nouns come back."""

    nouns: Sequence[str] = ()

    def sentence(self) -> str:
        words = super().sentence().split(" ")
        for noun in self._rng.sample(self.nouns, SUBJECT_WORDS_SAID):
            words.insert(self._rng.randrange(1, len(words) + 1), f"the {noun}")
        return " ".join(words)


def main() -> None:
    smoke = {"sizes": "3,12", "rounds": 1}
    options = harness.arguments(__doc__, smoke, sizes="10,1000,5000", rounds=7, seed=1, keep=Path)
    sizes = sorted(map(int, options.sizes.split(",")))
    sessions = Sessions(options.seed, sizes[-1] + 2 * options.rounds + 2)
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        kept = options.keep or folder
        fill(kept, sizes, sessions)
        runs = _measured(kept, folder, sizes, options.rounds, sessions)
    rows = [
        [f"{way}, {figure}", *(shown(_median(runs, way, size, key)) for size in sizes)]
        for way in WAYS for figure, key in (("CPU ms", "cpu_ms"), ("ms", "ms"))
    ]  # fmt: skip
    harness.show_table("one more session in a memory of", ("", *(f"{n:,}" for n in sizes)), rows)
    aims = [
        Aim(f"{way}, CPU at {sizes[-1]:,} over that at {sizes[0]:,}", RATIO_MAX,
            _median(runs, way, sizes[-1], "cpu_ms") / _median(runs, way, sizes[0], "cpu_ms"),
            at_most=True)
        for way in WAYS
    ]  # fmt: skip
    harness.show_aims(aims)
    harness.write(options, machine, {"runs": runs}, aims)


def path_of(folder: Path, size: int) -> Path:
    """The memory of this many sessions."""
    return folder / f"growth-{size}.sqlite3"


def fill(folder: Path, sizes: list[int], sessions: Sessions) -> None:
    """Makes the memories of these sizes, as far as they are missing: the larger from the smaller
    ones, of which each has its topics."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = 0
    for size in sizes:
        path = path_of(folder, size)
        if not path.exists():
            made = path.with_suffix(".part")
            if stored:
                shutil.copy(path_of(folder, stored), made)
            logs = folder / f"logs-{size}"
            logs.mkdir()
            for number in range(stored, size):
                sessions.log(number, logs)
            clock = _Clock(size)
            with Memory.open(made, clock=clock, shape=SHAPE) as memory:
                memory.ingest(logs)
                clock.go_on()
                memory.work(max_calls=0)
            shutil.rmtree(logs)
            made.rename(path)
        stored = size


class _Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, sessions: int) -> None:
        self._now = _BEGAN + sessions * _BETWEEN

    def __call__(self) -> int:
        return int(self._now.timestamp() * 1_000)

    def go_on(self, times: int = 1) -> None:
        self._now += times * _BETWEEN


def _measured(
    kept: Path, folder: Path, sizes: list[int], rounds: int, sessions: Sessions
) -> list[dict[str, Any]]:
    """Adds a session in each way to a copy of each memory, in turns; the first round warms up."""
    memories, clocks = {}, {}
    for size in sizes:
        path = folder / f"copy-{size}.sqlite3"
        shutil.copy(path_of(kept, size), path)
        clocks[size] = _Clock(size)
        clocks[size].go_on()
        memories[size] = Memory.open(path, clock=clocks[size], shape=SHAPE)
    runs = []
    for turn in range(rounds + 1):
        for size, (at, way) in itertools.product(sizes, enumerate(WAYS)):
            clocks[size].go_on(2)
            number = sizes[-1] + 2 * turn + at
            run = _timed(_step(memories[size], way, number, folder, sessions))
            if turn:
                runs.append({"way": way, "size": size, "turn": turn, **run})
    for memory in memories.values():
        memory.close()
    return runs


def _step(
    memory: Memory, way: str, number: int, folder: Path, sessions: Sessions
) -> Callable[[], object]:
    """What is measured: storing one more session."""
    if way == "ingest":
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        path = logs / f"{sessions.writer(number).session}.jsonl"
        if not path.exists():
            sessions.log(number, logs)
        return lambda: memory.ingest(path)
    messages = sessions.messages(number)

    def append() -> None:
        memory.append(f"chat/{number}", messages)
        memory.work(max_calls=0)

    return append


def _timed(step: Callable[[], object]) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    step()
    return {
        "cpu_ms": 1_000 * (time.process_time() - cpu),
        "ms": 1_000 * (time.perf_counter() - began),
    }


def _median(runs: list[dict[str, Any]], way: str, size: int, key: str) -> float:
    return statistics.median(run[key] for run in runs if run["way"] == way and run["size"] == size)


if __name__ == "__main__":
    main()
