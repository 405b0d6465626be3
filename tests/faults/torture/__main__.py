"""Kills treemem, sets its clock, stalls it, cuts its power and fails its disk in the middle of each
of its operations.

After each harm: nothing acknowledged is lost, nothing is there twice, doctor has no findings, the
interrupted operation goes on when it is run again, and the memory then equals that of a twin which
was left alone. Nothing that was forgotten is back.

    python -m tests.faults.torture --kills 2000 --stalls 500 --images 5000 --errors 500 --seed 1

Tested in test_torture.py.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.faults import kill_driver
from tests.faults.fault_pictures import Picture
from tests.faults.torture import operations, recording
from tests.faults.torture.operations import OPERATIONS, START_MS, JumpingClock, Now
from tests.faults.torture.steps import PRELOADED, ChildFailedError, Harm, child, preload
from treemem import TreememError
from treemem.times import Clock

HOUR_MS = 3_600_000
# How far a clock is set, before a run and during it.
JUMPS_MS = (0, 0, -24 * HOUR_MS, 365 * 24 * HOUR_MS)
READS_MAX = 40
CHAIN = (1, 1, 2, 3)
IMAGES_A_RECORDING = 250
SHOWN = 400


@dataclass
class Twin:
    """An operation, what is there before it, and what it ends with when nothing happens.

    steps: of the run, by sort. seconds: that it took."""

    name: str
    before: Path
    picture: str
    facts: str
    steps: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Torture:
    """problems: by what happened, how often, and where first. counts: of harms, by sort."""

    folder: Path
    draw: random.Random
    weak: bool = False
    problems: dict[str, str] = field(default_factory=dict)
    often: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def twin(self, name: str) -> Twin:
        operation = OPERATIONS[name]
        before = self.folder / f"{name}-before"
        before.mkdir(mode=0o700)
        operation.prepare(before)
        # Here, and not in a child, so that no child has to import and compile what it uses.
        place = self.copy(before)
        run(name, place, START_MS)
        finish(name, place)
        place = self.copy(before)
        began = time.monotonic()
        done = child(lambda: run(name, place, START_MS), place, Harm())
        seconds = time.monotonic() - began
        assert done is not None
        ended = child(lambda: finish(name, place), place)
        assert ended is not None
        picture, facts, findings = ended[0]
        assert not findings, findings
        shutil.rmtree(place)
        return Twin(name, before, picture, facts, done[1], seconds)

    def copy(self, before: Path) -> Path:
        # Always the same path, on which the ids of some sources depend.
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(before, place)
        return place

    # -- what happens ------------------------------------------------------------------

    def kill(self, twin: Twin, length: int) -> None:
        """Kills an operation some times on the same files, and looks at what is left."""
        place = self.copy(twin.before)
        told = []
        for number in range(length):
            how = self.draw.choice([*twin.steps, "moment"])
            last = twin.seconds if how == "moment" else twin.steps[how]
            at = self.draw.uniform(0, last) if how == "moment" else self.draw.randint(1, int(last))
            clock, jumps = self.clock(START_MS + number * HOUR_MS)
            told.append(f"{how} {at:.3g}{jumps}")
            try:
                done = child(lambda now=clock: run(twin.name, place, now), place, Harm(how, at))
            except ChildFailedError as error:
                self.note(twin, f"run after a kill: {error}", " ".join(told))
                break
            if done is None:
                self.counts["kills"] += 1
                self.counts[f"kills {twin.name}"] += 1
        self.verify(twin, place, acknowledged(place), ", ".join(told))

    def clock(self, now: int) -> tuple[Clock, str]:
        """A clock that may be wrong from the start, or be set while it is used."""
        first, then = self.draw.choice(JUMPS_MS), self.draw.choice(JUMPS_MS)
        reads = self.draw.randint(0, READS_MAX)
        self.counts["clocks that were set"] += bool(first or then)
        by = f" with a clock set by {first} ms, and {then} ms at {reads}" if first or then else ""
        return JumpingClock(now + first, reads, then), by

    def stall(self, twin: Twin) -> None:
        """Stops an operation at a step, lets another process do it an hour later, and then lets the
        first one go on. Either may say that it is not possible now."""
        place = self.copy(twin.before)
        at = self.draw.randint(1, twin.steps["statement"])
        where = f"a stall at {at}"

        def attempt(now: int) -> str:
            return try_to_run(twin.name, place, now, TreememError)

        def meanwhile() -> None:
            self.counts["stalls"] += 1
            try:
                child(lambda: attempt(START_MS + HOUR_MS), place)
            except ChildFailedError as error:
                self.note(twin, f"beside a stalled one: {error}", where)

        try:
            child(lambda: attempt(START_MS), place, Harm("stall", at), meanwhile)
        except ChildFailedError as error:
            self.note(twin, f"after a stall: {error}", where)
        self.verify(twin, place, acknowledged(place), where)

    def fail(self, twin: Twin, at: int, until: int, error: int) -> None:
        """Lets the disk fail at a step. The operation may raise an error that says so."""
        place = self.copy(twin.before)
        name = errno.errorcode[error]
        harm = Harm(fail=(at, until, error))
        where = f"{name} at {at}"
        try:
            allowed = (TreememError, OSError)
            done = child(lambda: try_to_run(twin.name, place, START_MS, *allowed), place, harm)
            self.counts["errors"] += 1
            self.counts[f"errors {twin.name}"] += 1
            self.counts["errors told"] += bool(done and done[0])
        except ChildFailedError as problem:
            self.note(twin, f"a failing disk: {problem}", where)
        self.verify(twin, place, acknowledged(place), where)

    def cut_power(self, twin: Twin, images: int) -> None:
        """Records an operation, and looks at what a power cut would leave at many moments."""
        place = self.copy(twin.before)
        log = self.folder / "recording"
        log.unlink(missing_ok=True)
        child(lambda: run(twin.name, place, START_MS), place, Harm(record=str(log), weak=self.weak))
        changes = list(recording.read(log, place))
        self.compare_with(place, twin, changes)
        for strict in (False, True):
            disk = recording.Disk(files_in(twin.before), strict=strict)
            done = 0
            for cut in sorted(self.cuts(changes, images // 2 + (images % 2) * strict)):
                for change in changes[done:cut]:
                    disk.change(change)
                done = cut
                mode = self.draw.choice(recording.MODES)
                told = [text for number, text in recording.acknowledged(changes) if number <= cut]
                image = self.written(disk.after_power_cut(mode, self.draw))
                self.counts["images"] += 1
                self.counts[f"images {twin.name}"] += 1
                where = f"change {cut} of {len(changes)}, {mode}, {'strict' if strict else 'ext4'}"
                self.verify(twin, image, told, where)

    def cuts(self, changes: list[recording.Change], number: int) -> Iterator[int]:
        """Half of the moments are just after an acknowledgement, when most could be lost."""
        told = [at for at, _ in recording.acknowledged(changes)]
        for _ in range(number):
            just_told = told and self.draw.random() < 0.5
            yield self.draw.choice(told) if just_told else self.draw.randint(0, len(changes))

    def written(self, files: dict[str, bytes]) -> Path:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700)
        for name, content in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.write_bytes(content)
        return place

    def compare_with(self, place: Path, twin: Twin, changes: list[recording.Change]) -> None:
        """A recording that misses a change would test nothing."""
        disk = recording.Disk(files_in(twin.before), strict=True)
        for change in changes:
            disk.change(change)
        found = files_in(place)
        recorded = disk.after_power_cut("all", self.draw)
        shared = [name for name in found.keys() | recorded.keys() if not name.endswith("-shm")]
        wrong = [name for name in shared if found.get(name) != recorded.get(name)]
        assert not wrong, f"The recording misses changes of {wrong}."

    # -- what must hold ----------------------------------------------------------------

    def verify(self, twin: Twin, place: Path, told: list[str], where: str) -> None:
        try:
            done = child(lambda: problems_in(twin, place, told), place)
        except ChildFailedError as error:
            self.note(twin, f"FAILED: {error}", where)
            return
        assert done is not None
        for problem in done[0]:
            self.note(twin, problem, where)

    def note(self, twin: Twin, problem: str, where: str) -> None:
        key = f"{twin.name}: {problem[-SHOWN:]}"
        self.problems.setdefault(key, where)
        self.often[key] += 1


# -- in a child ------------------------------------------------------------------------


def run(name: str, place: Path, now: Now) -> None:
    file = os.open(place / recording.ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    OPERATIONS[name].run(place, lambda text: _tell(file, text), now)
    os.close(file)


def _tell(file: int, text: str) -> None:
    # Where the disk fails, nobody was told.
    os.write(file, f"{text}\n".encode())


def try_to_run(name: str, place: Path, now: Now, *allowed: type[Exception]) -> str:
    """The error that says what failed; "" if nothing did."""
    try:
        run(name, place, now)
    except allowed as error:
        return str(error)
    return ""


def problems_in(twin: Twin, place: Path, told: list[str]) -> list[str]:
    operation = OPERATIONS[twin.name]
    path = place / operation.ends_with
    problems = operation.check(place, told)
    if path.exists():
        problems += [f"at once, {one}" for one in findings_of(path)]
    picture, facts, findings = finish(twin.name, place)
    problems += [f"in the end, {one}" for one in findings]
    if picture != twin.picture:
        problems += differences(json.loads(twin.picture), json.loads(picture))
    if facts != twin.facts:
        problems.append(f"facts differ: {facts[:150]} instead of {twin.facts[:150]}")
    return problems


def findings_of(path: Path) -> list[str]:
    with operations.opened(path, START_MS + 9 * HOUR_MS) as memory:
        lost = [one for one in memory.notices if "lost" in one or "missing" in one]
        checks = memory.diagnose().checks
    return lost + [f"doctor: {finding}" for check in checks for finding in check.findings]


def finish(name: str, place: Path) -> tuple[str, str, list[str]]:
    """Runs the operation again as a user would, and all work. Returns the picture, facts, and
    findings of doctor."""
    operation = OPERATIONS[name]
    path = place / operation.ends_with
    later = START_MS + 10 * HOUR_MS
    operation.run(place, lambda text: None, later)
    with operations.opened(path, later + HOUR_MS) as memory:
        memory.work()
    picture = Picture.of(path)
    parts = {part.name: getattr(picture, part.name) for part in fields(picture)}
    # No model summarizes here, and the topics' nodes depend on when topics were made.
    parts["left_over"] = [row for row in picture.left_over if "the model has" not in row[0]]
    facts = json.dumps(operation.facts(place), default=str)
    return json.dumps(parts, default=str), facts, findings_of(path)


def differences(expected: dict[str, list[Any]], found: dict[str, list[Any]]) -> list[str]:
    def first(rows: list[Any]) -> str:
        return f"{rows[0]!r:.120}" if rows else ""

    problems = []
    for name, rows in expected.items():
        lost = [row for row in rows if row not in found[name]]
        new = [row for row in found[name] if row not in rows]
        if lost or new or len(rows) != len(found[name]):
            problems.append(f"{name} differ: -{len(lost)} {first(lost)} +{len(new)} {first(new)}")
    return problems


def acknowledged(place: Path) -> list[str]:
    file = place / recording.ACKNOWLEDGED
    # A line that a kill cut off is no acknowledgement.
    text = file.read_text() if file.exists() else ""
    return [line.strip() for line in text.splitlines(keepends=True) if line.endswith("\n")]


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# -- all of it -------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--stalls", type=int, default=0)
    parser.add_argument("--images", type=int, default=0)
    parser.add_argument("--errors", type=int, default=0, help="a large number: each change in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(OPERATIONS), action="append")
    parser.add_argument("--weak", action="store_true", help="commit as in NORMAL mode")
    given = parser.parse_args()
    without = preload()
    if without:
        sys.stdout.write(f"No power is cut and no disk fails: {without}\n")
        given.images = given.errors = 0
    else:
        # The library is loaded by now.
        shutil.rmtree(Path(os.environ[PRELOADED]).parent)
    kill_driver.take_small_steps()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        torture = Torture(Path(folder), random.Random(given.seed), given.weak)
        try:
            torment(torture, given)
        except KeyboardInterrupt:
            sys.stdout.write("Stopped before its end.\n")
    seconds = time.monotonic() - began
    for name, count in sorted(torture.counts.items()):
        sys.stdout.write(f"{count:6} {name}\n")
    for problem, where in torture.problems.items():
        sys.stdout.write(f"{torture.often[problem]:6} times {problem}\n       first at {where}\n")
    sys.stdout.write(f"{sum(torture.often.values())} problems, {seconds:.0f} s\n")
    return 1 if torture.problems else 0


def torment(torture: Torture, given: argparse.Namespace) -> None:
    names = given.only or list(OPERATIONS)
    twins = [torture.twin(name) for name in names]
    chains = cycle(CHAIN)
    for twin in cycle(twins):
        if torture.counts["kills"] >= given.kills:
            break
        torture.kill(twin, min(next(chains), given.kills - torture.counts["kills"]))
    for number in range(given.stalls):
        torture.stall(twins[number % len(twins)])
    for number, twin in enumerate(twins):
        images = given.images // len(twins) + (number < given.images % len(twins))
        while images > 0:
            torture.cut_power(twin, min(images, IMAGES_A_RECORDING))
            images -= IMAGES_A_RECORDING
    for number, twin in enumerate(twins):
        errors = given.errors // len(twins) + (number < given.errors % len(twins))
        for at, error in failures(torture.draw, twin, errors):
            # A disk is full until somebody makes room, and fails once.
            torture.fail(twin, at, 10**9 if error == errno.ENOSPC else at, error)


def failures(draw: random.Random, twin: Twin, number: int) -> list[tuple[int, int]]:
    """So many changes of a file at which the disk fails, each with the error; all, if there are
    fewer."""
    steps = twin.steps.get("change", 0)
    every = [(at, error) for at in range(1, steps + 1) for error in (errno.ENOSPC, errno.EIO)]
    return every if number >= len(every) else draw.sample(every, number)


if __name__ == "__main__":
    sys.exit(main())
