"""Measures what a start of Python takes of a processor, which other work on the machine does not
change as it does the time by the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping


def processor_seconds(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """The median of five runs, less that of an interpreter that does nothing."""

    def one(command: tuple[str, ...]) -> float:
        began = os.times()
        subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)
        ended = os.times()
        return (ended.children_user + ended.children_system) - (
            began.children_user + began.children_system
        )

    empty = sorted(one(("-c", "pass")) for _ in range(5))[2]
    return sorted(one(arguments) for _ in range(5))[2] - empty


def patience() -> float:
    """By how much more time a busy machine, whose cores share their caches, may take."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
