"""Runs parts of the torture in children, kills them, and lets a disk fail under them.

A step of a child is a SQL statement or an access to the file system, as Python tells of them; with
disk.c, which needs a C compiler, it is also each change of a file that the system is asked for.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import kill_driver
from treemem.store.access import drivers

SOURCE = Path(__file__).with_name("disk.c")
PRELOADED = "TREEMEM_TORTURE_DISK"
CHILD_SECONDS_MAX = 60.0
EVENTS = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod",
          "os.truncate", "sqlite3.connect", "shutil.copyfile"}  # fmt: skip
NO_CODE = (".py", ".pyc", ".so")
_numbers = itertools.count()


class ChildFailedError(Exception):
    """A child ended by an exception, whose traceback this has."""


# -- the library that watches the disk -------------------------------------------------


def preload() -> str:
    """Starts this process again with disk.c in it. Returns why it cannot; "" if it has it."""
    if os.environ.get(PRELOADED):
        return ""
    library, problem = _compiled()
    if not problem:
        os.environ |= {"LD_PRELOAD": library, PRELOADED: library}
        os.execv(sys.executable, [sys.executable, "-m", "tests.faults.torture", *sys.argv[1:]])
    return problem


def _compiled() -> tuple[str, str]:
    """The path of disk.c as a library, or why there is none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        return "", "It needs Linux and a C compiler to record what a disk is told."
    library = Path(tempfile.mkdtemp(prefix="torture-")) / "disk.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run([*command, "-lpthread"], capture_output=True, text=True, check=False)
    if done.returncode:
        return "", f"The C compiler could not make disk.so of disk.c: {done.stderr[-200:]}"
    return str(library), ""


def disk() -> Any:
    return ctypes.CDLL(os.environ[PRELOADED])


@dataclass(frozen=True, slots=True)
class Harm:
    """What befalls a child. how: "statement" or "change", the sort of step at which it dies;
    "moment", at which its parent kills it; "stall", at which it stops until `meanwhile` has run;
    "" for nothing. at: the step, or the seconds.
    record: a file for a recording. fail: steps of the disk that fail, from and until, and errno.
    weak: whether it commits without waiting for the disk."""

    how: str = ""
    at: float = 0
    record: str = ""
    fail: tuple[int, int, int] = (0, 0, 0)
    weak: bool = False


# -- children --------------------------------------------------------------------------


def child(
    action: Callable[[], object],
    folder: Path,
    harm: Harm = Harm(),
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[Any, dict[str, int]] | None:
    """Runs the action in a child and returns its result, which JSON can tell, and its steps.

    None if it was killed. meanwhile: what is done while it is stalled. Raises ChildFailedError.
    """
    answer = folder.parent / f"{folder.name}-{next(_numbers)}.answer"
    pid = os.fork()
    if pid == 0:
        _run(action, folder, harm, answer)
    if harm.how == "moment":
        time.sleep(harm.at)
        os.kill(pid, signal.SIGKILL)
    try:
        status = _waited_for(pid, meanwhile)
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGKILL)
        raise
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    told = json.loads(answer.read_text()) if answer.exists() else {"error": f"status {status}"}
    answer.unlink(missing_ok=True)
    if "error" in told:
        raise ChildFailedError(told["error"])
    return told["result"], told["steps"]


def _waited_for(pid: int, meanwhile: Callable[[], None]) -> int:
    deadline = time.monotonic() + CHILD_SECONDS_MAX
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done and os.WIFSTOPPED(status):
            meanwhile()
            os.kill(pid, signal.SIGCONT)
            deadline = time.monotonic() + CHILD_SECONDS_MAX
        elif done:
            return status
        time.sleep(0.001)
    os.kill(pid, signal.SIGABRT)
    os.waitpid(pid, 0)
    raise ChildFailedError(f"A child hung for {CHILD_SECONDS_MAX:.0f} s.")


def _run(action: Callable[[], object], folder: Path, harm: Harm, answer: Path) -> None:
    try:
        at = int(harm.at)
        steps = kill_driver.Steps(at if harm.how == "statement" else 0, "", None)
        if harm.how == "stall":
            steps = _Stall(at)
        if harm.weak:
            commit_weakly()
        else:
            kill_driver.watch_every_statement(steps)
        sys.addaudithook(lambda event, arguments: _heard(steps, event, arguments))
        counts = watch_disk(folder, harm)
        steps.count = 0
        result = action()
        told: dict[str, Any] = {"result": result, "steps": {"statement": steps.count} | counts()}
    except BaseException:
        told = {"error": traceback.format_exc()}
    answer.write_text(json.dumps(told))
    os._exit(0)


class _Stall(kill_driver.Steps):
    """Stops this process at a step, or at the first one after it at which it has no transaction:
    with one, another process could do nothing but wait."""

    def __init__(self, at: int) -> None:
        super().__init__(0, "", None)
        self._left = at

    def take(self, what: str, *, in_transaction: bool = False) -> None:
        super().take(what, in_transaction=in_transaction)
        self._left -= 1
        if self._left <= 0 and not in_transaction:
            self._left = sys.maxsize
            os.kill(os.getpid(), signal.SIGSTOP)


def _heard(steps: kill_driver.Steps, event: str, arguments: tuple[object, ...]) -> None:
    if event in EVENTS and not str(arguments[0]).endswith(NO_CODE):
        steps.take(event)


def watch_disk(folder: Path, harm: Harm) -> Callable[[], dict[str, int]]:
    """Tells disk.c of the harm, if there is one. Returns what counts its steps."""
    if not os.environ.get(PRELOADED):
        return dict
    library = disk()
    kill_at = int(harm.at) if harm.how == "change" else 0
    first, last, error = harm.fail
    library.watch(os.fsencode(folder), os.fsencode(harm.record), ctypes.c_long(kill_at),
                  ctypes.c_long(first), ctypes.c_long(last), error)  # fmt: skip
    return lambda: {"change": library.watched_steps()}


def commit_weakly() -> None:
    """Makes commits as SQLite does in NORMAL mode, which a power cut may undo."""

    class Weak(drivers.plain.Connection):  # type: ignore[misc]
        def execute(self, sql: str, *rest: Any) -> Any:
            return super().execute(sql.replace("synchronous = FULL", "synchronous = NORMAL"), *rest)

    kill_driver.connect_with(Weak)
