"""Reads what a page shows of a memory, and no more, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from treemem.memory import Memory
from treemem.store.database import Database
from treemem.store.live.private import Private

Result = TypeVar("Result")


def read(memory: Memory, question: Callable[[Database, Private], Result]) -> Result:
    """What a function returns for the file of a memory, in one transaction. It also gets what is
    private to other agents than the memory's, which it must leave out."""
    with memory._database.reading():
        return question(memory._database, memory._private())
