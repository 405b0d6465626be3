"""Reads and checks a memory, and runs a program in a new process that finds the same treemem."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import treemem
from treemem import Memory


def texts(memory: Memory, source: str) -> list[str]:
    return [message.text for message in memory.messages(source)]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def run_child(
    code: str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The outcome of a Python program in a new process. environment: added to this process's."""
    root = Path(treemem.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
