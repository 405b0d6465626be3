"""Runs a program that says what it has stored, and kills it in the middle."""

from __future__ import annotations

import subprocess
import sys


def acknowledged_before_kill(script: str, *arguments: str, lines: int) -> list[str]:
    """The lines that a program printed before it was killed, which is after so many lines.

    Each line says what is stored: it may have stored more, but nothing less.
    """
    command = [sys.executable, "-c", script, *arguments]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.strip())
            if len(said) == lines:
                process.kill()
    assert len(said) >= lines, "the program ended by itself"
    return said


def output_of(script: str, *arguments: str) -> str:
    """What a program prints in a process of its own."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
