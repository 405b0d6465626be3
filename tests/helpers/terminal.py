"""Runs the command line on a terminal of its own, as wide as a test asks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios

ROWS = 40


def on_terminal(
    columns: int,
    *arguments: str,
    notes: bool = False,
    rows: int = ROWS,
    typed: str = "",
    **environment: str,
) -> str:
    """What `treemem` with these arguments shows on a terminal, with its escape sequences.

    notes: with what it writes to stderr. typed: keys that are pressed before it reads any.
    environment: variables that are set for it.
    """
    child, terminal = pty.fork()
    if child == 0:
        # Subtle: readline, which pytest imports, sets COLUMNS and LINES of the process behind the
        # back of os.environ, so the variables are passed on by name, without these.
        variables = {**os.environ, "TERM": "xterm-256color", "PAGER": "cat", **environment}
        variables = {name: variables[name] for name in variables.keys() - {"COLUMNS", "LINES"}}
        if not notes:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        command = [sys.executable, "-m", "treemem_cli.main", *arguments]
        os.execve(sys.executable, command, variables)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.write(terminal, typed.encode())
    pieces = []
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while piece := os.read(terminal, 65_536):
            pieces.append(piece)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    text = b"".join(pieces).decode().replace("\r\n", "\n")
    assert os.waitstatus_to_exitcode(status) == 0, text
    return text
