"""Opens the memory file of a server when it is first asked, and again if the file was replaced.

An assistant starts its servers long before it asks one, so starting must be quick, and a file that
does not exist yet is no reason to fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from treemem.errors import DatabaseReplacedError
from treemem.memory import Memory

Result = TypeVar("Result")


class OpenMemory:
    """A memory that is opened by its first use.

    open_memory: opens it; it raises a TreememError if that is not possible, at each use anew.
    """

    def __init__(self, open_memory: Callable[[], Memory]) -> None:
        self._open = open_memory
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    def use(self, ask: Callable[[Memory], Result]) -> Result:
        """What a function returns for the memory. Raises the errors of both."""
        memory = self._opened()
        try:
            return ask(memory)
        except DatabaseReplacedError:
            self._forget(memory)
            raise

    def close(self) -> None:
        """Closes the memory if it is open."""
        with self._lock:
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _opened(self) -> Memory:
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def _forget(self, memory: Memory) -> None:
        """Lets the next use open the file that is at the path now."""
        with self._lock:
            if self._memory is memory:
                self._memory = None
