"""Serves over HTTP, to clients on this machine that have the token.

Tested in tests/mcp_server/test_http.py.
"""

from __future__ import annotations

import socket
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from treemem.serving.guard import Guard
from treemem.serving.listening import name_of, names_of

PATH = "/mcp"
# Bytes of a request, and clients at a time.
BODY_BYTES, SESSIONS_MAX = 4 * 1024 * 1024, 100


def url_of(listener: socket.socket) -> str:
    """The address that clients use."""
    return f"http://{name_of(listener)}{PATH}"


def guarded_app(server: MCPServer[Any], listener: socket.socket, token: str) -> ASGIApp:
    """The application that answers at a socket: the server's, behind the guard."""
    names = names_of(listener)
    app = server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=BODY_BYTES, max_sessions=SESSIONS_MAX,
        transport_security=TransportSecuritySettings(
            allowed_hosts=sorted(names), allowed_origins=sorted(f"http://{one}" for one in names)
        ),
    )  # fmt: skip
    return Guard(app, names, token)
