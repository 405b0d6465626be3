"""Starts the command `treemem`, so that Ctrl-C ends it in the same way at any moment.

Loading the command line takes some 0.2 s, in which Python would answer Ctrl-C with a traceback,
and click with exit code 1. Nothing is open then, so the process ends at once.

Tested in tests/cli/test_start.py.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

# The exit code of a process that SIGINT ended, by the convention of shells.
INTERRUPTED = 130


def main() -> None:
    """Loads and runs the command line."""
    # Subtle: in the background, a shell has SIGINT ignored, which stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    from treemem_cli.main import main as run

    run()


@contextmanager
def interrupts() -> Iterator[None]:
    """Within the block, Ctrl-C raises KeyboardInterrupt, also in a process that main started."""
    if signal.getsignal(signal.SIGINT) is not _stop:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _stop)


def _stop(*_: object) -> None:
    # Subtle: an exception could be lost in the import of a module. On a terminal, the cursor is
    # behind "^C".
    os.write(2, b"\nStopped.\n" if os.isatty(2) else b"Stopped.\n")
    os._exit(INTERRUPTED)
