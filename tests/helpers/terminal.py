"""Runs the command line on a terminal of its own, as wide as a test asks.

on_terminal() does so in a process of its own, in_terminal() in this one, which takes a tenth of the
time: for what only asks how wide the terminal is, and which styles it takes."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import struct
import sys
import termios
import threading

import pytest

from treemem_cli.main import cli

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
    pieces: list[bytes] = []
    _read_all(terminal, pieces)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    text = b"".join(pieces).decode().replace("\r\n", "\n")
    assert os.waitstatus_to_exitcode(status) == 0, text
    return text


def in_terminal(columns: int, *arguments: str, notes: bool = False, **environment: str) -> str:
    """Like on_terminal, without keys, for a command that ends by itself."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    pieces: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(ours, pieces))
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        for name in ("COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm-256color", "PAGER": "cat", **environment}.items():
            patch.setenv(name, value)
        for number, name in enumerate(("stdin", "stdout", "stderr")[: 3 if notes else 2]):
            stack.callback(_restore, number, os.dup(number))
            os.dup2(theirs, number)
            stream = stack.enter_context(os.fdopen(os.dup(theirs), "w" if number else "r"))
            patch.setattr(sys, name, stream)
        os.close(theirs)
        reader.start()
        if not notes:
            patch.setattr(sys, "stderr", io.StringIO())
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments), prog_name="treemem")
    reader.join()
    os.close(ours)
    text = b"".join(pieces).decode().replace("\r\n", "\n")
    assert not ended.value.code, text
    return text


def _restore(number: int, before: int) -> None:
    os.dup2(before, number)
    os.close(before)


def _read_all(terminal: int, pieces: list[bytes]) -> None:
    """Reads until nobody has the other end."""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while piece := os.read(terminal, 65_536):
            pieces.append(piece)
