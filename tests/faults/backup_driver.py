"""Runs one backup, restore or import and kills itself at one of its steps.

Usage: backup_driver.py STEP KIND MEMORY TARGET. STEP: the number of the access to the file system
at which SIGKILL comes; 0 lets it end and prints how many there were.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from treemem import Memory, restore

_EVENTS = ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod",
           "os.truncate", "sqlite3.connect", "shutil.copyfile")  # fmt: skip


def main() -> None:
    step, kind, memory_path, target = int(sys.argv[1]), *sys.argv[2:5]
    count = 0
    armed = False

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if not armed or event not in _EVENTS or str(arguments[0]).endswith((".py", ".pyc", ".so")):
            return
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    if kind == "restore":
        armed = True
        restore(memory_path, target, overwrite=Path(target).exists())
    elif kind == "import":
        with Memory.open(target) as memory:
            armed = True
            memory.import_from(memory_path)
    else:
        with Memory.open(memory_path, must_exist=True) as memory:
            armed = True
            memory.backup(target, keep="last=2")
    armed = False
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    main()
