"""Lets in the user's browser by a token in the address once, and by a cookie from then on.

Browsers send cookies to a host whatever its port, and count all ports of a host as one site. So
the cookie is not enough: a request that another page caused is told by Sec-Fetch-Site, and one
that changes something also by its Origin, which every browser sends with it.

Tested in tests/web/test_access.py.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treemem.serving.guard import TOKEN_BYTES, Guard

# Bytes of a request's body.
BODY_BYTES = 4 * 1024 * 1024
# The parameter of an address that has the token.
PARAMETER = "token"
# Below it clients speak OpenAI's API, which has a shape of its own for errors.
V1 = "/v1/"
_SAFE = ("GET", "HEAD")
_OWN_SITES = (b"", b"same-origin", b"none")
_CHUNKED, _TOO_LONG = "Send the length of the body.", f"A body has at most {BODY_BYTES:,} bytes."
_HEADERS = {
    # Nothing that a log contains can run, load or send anything, whatever a page makes of it.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Subtle: with "no-referrer" browsers send "Origin: null" with the forms of a page.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_DEFAULT_HEADERS = {"cache-control": "no-store"}
_OPEN_AGAIN = (
    "This page is only for who has its address.\n\n"
    "Open the address that was printed when the server started: treemem serve prints one each "
    "time."
)


class Access(Guard):
    """Answers the user's browser and clients that have the token, and refuses all others with 403.

    app, names, token: as of Guard. cookie: the name of the cookie, which has to differ between the
    servers of a host.
    """

    def __init__(self, app: ASGIApp, names: set[str], token: str, cookie: str) -> None:
        super().__init__(app, names, token)
        self._cookie = cookie
        # Subtle: not the token, so that a cookie that leaks is no token for other clients.
        self._value = hmac.digest(token.encode(), b"cookie", hashlib.sha256).hex()
        self._codes: set[str] = set()

    def code(self) -> str:
        """What lets one browser in, once, in place of the token: for an address that other users
        can see, as all can in the command that opens a browser."""
        code = secrets.token_urlsafe(TOKEN_BYTES)
        self._codes.add(code)
        return code

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        if (refusal := super()._refusal(scope)) is not None:
            return refusal if scope["path"].startswith(V1) else (403, refusal[1])
        given = dict(scope["headers"])
        is_change = scope["method"] not in _SAFE
        if b"authorization" not in given and self._token_in(scope) is None:
            if given.get(b"sec-fetch-site", b"").lower() not in _OWN_SITES:
                return 403, "Requests from other pages are refused."
            is_own = b"origin" in given or given.get(b"sec-fetch-site") == b"same-origin"
            if is_change and not is_own:
                return 403, "Requests that do not say which page they are from are refused."
        if is_change and b"transfer-encoding" in given:
            return 411, _CHUNKED
        length = given.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > BODY_BYTES:
            return 413, _TOO_LONG
        return None

    def _has_token(self, scope: Scope, authorization: bytes = b"") -> bool:
        if authorization:
            return super()._has_token(scope, authorization)
        if (token := self._token_in(scope)) in self._codes:
            self._codes.remove(token)
            return True
        if token is not None:
            return hmac.compare_digest(token.encode(), self._token)
        return any(hmac.compare_digest(value.encode(), self._value.encode())
                   for value in self._cookies(scope))  # fmt: skip

    def _token_in(self, scope: Scope) -> str | None:
        """The token in the address of a request that only reads."""
        if scope["method"] not in _SAFE:
            return None
        return dict(_query(scope)).get(PARAMETER)

    def _cookies(self, scope: Scope) -> list[str]:
        """The values of the cookie that a request has."""
        values = []
        for name, header in scope["headers"]:
            if name == b"cookie":
                try:
                    morsel = SimpleCookie(header.decode("latin-1")).get(self._cookie)
                except CookieError:
                    continue
                values += [morsel.value] if morsel else []
        return values

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._token_in(scope) is None:
            await self._app(scope, receive, _with_headers(send))
            return
        rest = urlencode([pair for pair in _query(scope) if pair[0] != PARAMETER])
        # Subtle: "//host" would be the address of another server.
        path = "/" + quote(scope["path"].lstrip("/\\"))
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        response.set_cookie(self._cookie, self._value, httponly=True, samesite="strict")
        await response(scope, receive, _with_headers(send))

    async def _refuse(self, scope: Scope, send: Send, status: int, reason: str) -> None:
        accepted = dict(scope["headers"]).get(b"accept", b"")
        response: Response
        if b"text/html" in accepted:
            response = PlainTextResponse(f"{reason}\n\n{_OPEN_AGAIN}\n", status)
        elif scope["path"].startswith(V1):
            error = {"message": reason, "type": "invalid_request_error", "param": None,
                     "code": "invalid_api_key" if status == 401 else None}  # fmt: skip
            response = JSONResponse({"error": error}, status)
        else:
            response = JSONResponse({"error": reason}, status)
        response.headers["connection"] = "close"
        await response(scope, _nothing, _with_headers(send))


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _with_headers(send: Send) -> Send:
    """Sends a response with the headers of every one, and with the default ones if it has none of
    its own."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            message["headers"] = [*message.get("headers", [])] + [
                (name.encode(), value.encode())
                for name, value in {**_DEFAULT_HEADERS, **_HEADERS}.items()
                if name in _HEADERS or name.encode() not in own
            ]
        await send(message)

    return sending
