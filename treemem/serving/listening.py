"""Listens at an address of this machine and serves an application there.

Tested in tests/mcp_server/test_http.py and tests/serving/test_listening.py.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable

import anyio
import uvicorn
from starlette.types import ASGIApp

from treemem.errors import Hint, UsageError

# Seconds that requests get to end in.
SHUTDOWN_SECONDS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that is bound to an address of this machine. Raises UsageError for an address that
    is not one, for all addresses at once, and for a port that is taken."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise UsageError(f"A host is an IP address such as 127.0.0.1, not {host!r}.") from None
    if address.is_unspecified:
        raise UsageError(
            f"{host} means every address of this machine, so no request could be told from a "
            "forged one. Name one address."
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # Subtle: of a socket that does not name TCP, asyncio lets answers wait 40 ms for more to send.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((str(address), port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Nothing can listen at {host} port {port}: {error.strerror}.",
            hint=Hint("Choose another port.", "Choose another with --port; 0 takes any."),
        ) from error
    return listener


def name_of(listener: socket.socket) -> str:
    """The host and port of a socket, as in an address: "127.0.0.1:8642"."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def names_of(listener: socket.socket) -> set[str]:
    """All values of Host by which clients may ask a socket."""
    names = {name_of(listener)}
    if is_loopback(listener):
        names |= {f"{name}:{listener.getsockname()[1]}" for name in _LOOPBACK}
    return names


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine reaches a socket."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def serve(
    app: ASGIApp, listener: socket.socket, started: Callable[[], None],
    stopping: Callable[[], None] = lambda: None, idle_seconds: float | None = None,
) -> None:  # fmt: skip
    """Serves until Ctrl-C or SIGTERM. started: is called when requests are answered. stopping: is
    called before the server waits for the last answers, to end those that have no end.
    idle_seconds: how long without a request until it ends by itself; None for ever."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, proxy_headers=False, server_header=False,
        ws="none", timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )  # fmt: skip
    listening = Listening(config, started, stopping, idle_seconds)
    anyio.run(lambda: listening.serve(sockets=[listener]))


class Listening(uvicorn.Server):
    """A server that says when it has started and when it is about to stop, and that ends when
    nobody asks it any more."""

    def __init__(
        self, config: uvicorn.Config, tell: Callable[[], None], stopping: Callable[[], None],
        idle_seconds: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config)
        self._tell, self._stopping, self._idle_seconds = tell, stopping, idle_seconds
        self._asked, self._asked_at = 0, time.monotonic()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._asked_at = time.monotonic()
        self._tell()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._is_idle()

    def _is_idle(self) -> bool:
        state, now = self.server_state, time.monotonic()
        if state.tasks or state.total_requests != self._asked:
            self._asked, self._asked_at = state.total_requests, now
        return self._idle_seconds is not None and now - self._asked_at > self._idle_seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets)
