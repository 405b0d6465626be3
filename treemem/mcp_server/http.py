"""Serves over HTTP, to clients on this machine that have the token.

A page that is open in a browser can send requests to this machine, also under a name of its own
that it lets point here. So every request needs the token, the name of this server in Host, and no
Origin but the server's own; it is refused before anything else reads it.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from treemem.errors import Hint, UsageError

PATH = "/mcp"
# The fewest characters of a token: a shorter one can be guessed.
TOKEN_CHARS_MIN = 20
# Bytes of a token that is made here, of a request, clients at a time, and seconds to end in.
TOKEN_BYTES, BODY_BYTES, SESSIONS_MAX, SHUTDOWN_SECONDS = 32, 4 * 1024 * 1024, 100, 3
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def token_of(variable: str | None, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The token, and whether it was made here. variable: the environment variable that has it; None
    to make one. Raises UsageError."""
    if variable is None:
        return secrets.token_urlsafe(TOKEN_BYTES), True
    token = environ.get(variable, "")
    if len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable():
        raise UsageError(
            f"The variable {variable} has to contain a token of at least {TOKEN_CHARS_MIN} "
            f"printable ASCII characters, and has {len(token)} characters."
        )
    return token, False


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
    listener = socket.socket(family, socket.SOCK_STREAM)
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


def url_of(listener: socket.socket) -> str:
    """The address that clients use."""
    return f"http://{_name_of(listener)}{PATH}"


def _name_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def guarded_app(server: MCPServer[Any], listener: socket.socket, token: str) -> ASGIApp:
    """The application that answers at a socket: the server's, behind the guard."""
    names = {_name_of(listener)}
    if ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
        names |= {f"{name}:{listener.getsockname()[1]}" for name in _LOOPBACK}
    origins = {f"http://{name}" for name in names}
    app = server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=BODY_BYTES, max_sessions=SESSIONS_MAX,
        transport_security=TransportSecuritySettings(
            allowed_hosts=sorted(names), allowed_origins=sorted(origins)
        ),
    )  # fmt: skip
    return Guard(app, names, origins, token)


def serve_http(
    server: MCPServer[Any], listener: socket.socket, token: str, started: Callable[[], None]
) -> None:
    """Serves until Ctrl-C or SIGTERM. started: is called when requests are answered."""
    config = uvicorn.Config(
        guarded_app(server, listener, token), log_level="warning", access_log=False,
        proxy_headers=False, server_header=False, ws="none",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )  # fmt: skip
    listening = _Listening(config, started)
    anyio.run(lambda: listening.serve(sockets=[listener]))


class _Listening(uvicorn.Server):
    """A server that says when it has started."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()


class Guard:
    """Refuses requests without the token, under another name, or from another page.

    app: what answers the others. names, origins: the values of Host and of Origin that are taken.
    """

    def __init__(self, app: ASGIApp, names: set[str], origins: set[str], token: str) -> None:
        self._app = app
        self._names = {name.encode() for name in names}
        self._origins = {origin.encode() for origin in origins}
        self._authorization = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            await _refuse(send, *refusal)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the reason for which a request is refused; None for one that is not."""
        given: dict[bytes, list[bytes]] = {b"host": [], b"origin": [], b"authorization": []}
        for name, value in scope["headers"]:
            if name.lower() in given:
                given[name.lower()].append(value)
        if any(len(values) > 1 for values in given.values()):
            return 400, "A header is repeated."
        if not given[b"host"] or given[b"host"][0].lower() not in self._names:
            return 421, "This is not the name of this server."
        if given[b"origin"] and given[b"origin"][0].lower() not in self._origins:
            return 403, "Requests from this origin are refused."
        scheme, _, token = (given[b"authorization"] or [b""])[0].partition(b" ")
        offered = b"Bearer " + token.strip() if scheme.lower() == b"bearer" else b""
        if not hmac.compare_digest(offered, self._authorization):
            return 401, "The token is missing or wrong."
        return None


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
               (b"connection", b"close")]  # fmt: skip
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
