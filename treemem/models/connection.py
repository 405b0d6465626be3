"""Cuts the connection to a model server at a deadline.

A server that sends a byte now and then, in its headers or its body, or reads as slowly, is within
every time-out of a single read or write.

Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any


class Connection:
    """The connection that httpx opened last, for a client that is used by one thread.

    was_cut: whether the last call was cut.
    """

    def __init__(self) -> None:
        self.was_cut = False
        self._stream: Any = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Receives the events of a request, by httpx's extension "trace"."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]

    @contextlib.contextmanager
    def cut_after(self, seconds: float) -> Iterator[None]:
        """Ends whatever is read or written in this context when the time is up."""
        self.was_cut = False
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        self.was_cut = True
        opened = self._stream.get_extra_info("socket") if self._stream is not None else None
        if isinstance(opened, socket.socket):
            with contextlib.suppress(OSError):
                # Not the method of an SSL socket, which another thread is reading from.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)
