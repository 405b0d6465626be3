"""Keeps the model of the last query open, so that the next query need not load it.

Tested in tests/models/test_embedders.py and tests/models/test_rerankers.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


Model = TypeVar("Model", bound=_Closable)
Answer = TypeVar("Answer")


class Kept(Generic[Model]):
    """The model of the last call. Calls from different threads are serialized.

    opened: opens the model that a setting names, at its first call.
    """

    def __init__(self, opened: Callable[[str], Model]) -> None:
        self._open = opened
        self._lock = threading.Lock()
        self._setting: str | None = None
        self._model: Model | None = None

    def ask(self, setting: str, request: Callable[[Model], Answer]) -> Answer:
        """The answer of the model that the setting names. Raises ModelError."""
        with self._lock:
            if self._model is None or self._setting != setting:
                self._close()
                self._model, self._setting = self._open(setting), setting
            return request(self._model)

    def close(self) -> None:
        """Closes the model. A later call opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None
