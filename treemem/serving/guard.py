"""Refuses requests that do not come from a client of this server.

A page that is open in a browser can send requests to this machine, also under a name of its own
that it lets point here. So every request needs the token, the name of this server in Host, and no
Origin but the server's own; it is refused before anything else reads it.

Tested in tests/mcp_server/test_http.py and tests/web/test_access.py.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from treemem.errors import UsageError

# The fewest characters of a token: a shorter one can be guessed.
TOKEN_CHARS_MIN = 20
TOKEN_BYTES = 32


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


class Guard:
    """Refuses requests without the token, under another name, or from another page.

    app: what answers the others. names: the values of Host that are taken; those of Origin are
    these after "http://".
    """

    def __init__(self, app: ASGIApp, names: set[str], token: str) -> None:
        self._app = app
        self._names = {name.encode() for name in names}
        self._origins = {b"http://" + name for name in self._names}
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            await self._refuse(scope, send, *refusal)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request that is not refused."""
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
        if not self._has_token(scope, *given[b"authorization"]):
            return 401, "The token is missing or wrong."
        return None

    def _has_token(self, scope: Scope, authorization: bytes = b"") -> bool:  # noqa: ARG002
        """Whether a request has the token. authorization: the value of its header."""
        scheme, _, token = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)

    async def _refuse(self, scope: Scope, send: Send, status: int, reason: str) -> None:  # noqa: ARG002
        """Answers a request that is refused."""
        body = json.dumps({"error": reason}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
                   (b"connection", b"close")]  # fmt: skip
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
