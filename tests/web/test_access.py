"""Who is answered: the user's browser and clients with the token; all forged requests get 403."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.helpers.web_server import PATIENCE, TOKEN, Served
from treemem import Memory

Headers = dict[str, str]


def asked(
    served: Served, method: str = "GET", path: str = "/", cookie: str | None = None, **headers: str
) -> httpx.Response:
    """The response to a request of these headers, whose names have _ for -."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if cookie is not None:
        given["cookie"] = f"treemem-{served.port}={cookie}"
    return httpx.request(method, served.url + path, headers=given, timeout=PATIENCE)


@pytest.fixture(scope="module")
def cookie(shared: Served) -> str:
    with shared.client() as client:
        return client.cookies[f"treemem-{shared.port}"]


def test_the_token_in_an_address_is_changed_for_a_cookie_and_leaves_the_address(
    shared: Served,
) -> None:
    response = asked(shared, path=f"/search?q=milk&token={TOKEN}")
    assert response.status_code == 303
    assert response.headers["location"] == "/search?q=milk"
    given = response.headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert TOKEN not in given


def test_the_way_in_leads_to_no_other_server(shared: Served) -> None:
    for path in ("//evil.example", "/\\evil.example", "/%2Fevil.example", "/%5Cevil.example"):
        location = asked(shared, path=f"{path}?token={TOKEN}").headers["location"]
        assert location[0] == "/"
        assert location[1:2] not in ("/", "\\"), location


def test_a_code_lets_one_browser_in_once(filled: Path) -> None:
    from starlette.testclient import TestClient

    from treemem.web.app import make_app

    app = make_app(partial(Memory.open, filled), {"testserver"}, TOKEN)
    with TestClient(app, follow_redirects=False) as client:
        code = app.code()
        assert client.post(f"/?token={code}").status_code == 403
        assert client.get("/", headers={"authorization": f"Bearer {code}"}).status_code == 403
        assert client.get(f"/?token={code}").status_code == 303
        assert client.get("/").status_code == 200, "by the cookie"
        client.cookies.clear()
        assert client.get(f"/?token={code}").status_code == 403


def test_a_client_with_the_token_or_the_cookie_is_answered(shared: Served, cookie: str) -> None:
    assert asked(shared, authorization=f"Bearer {TOKEN}").status_code == 200
    assert asked(shared, cookie=cookie).status_code == 200
    assert asked(shared, cookie=cookie, sec_fetch_site="none").status_code == 200
    assert asked(shared, cookie=cookie, sec_fetch_site="same-origin").status_code == 200


FORGED: list[tuple[str, str, Headers, bool]] = [
    ("GET", "/", {}, False),
    ("GET", "/", {"authorization": "Bearer wrong"}, False),
    ("GET", "/", {"authorization": f"Basic {TOKEN}"}, False),
    ("GET", "/", {"authorization": f"Bearer {TOKEN}x"}, True),
    ("GET", f"/?token={TOKEN}x", {}, True),
    ("GET", "/?token=", {}, True),
    ("GET", "/static/style.css", {}, False),
    ("GET", "/search?q=milk", {}, False),
    ("POST", "/rules", {}, False),
    ("POST", f"/rules?token={TOKEN}", {}, False),
    ("GET", "/", {"host": "evil.example"}, True),
    ("GET", "/", {"host": "evil.example:{port}"}, True),
    ("GET", "/", {"host": "127.0.0.1"}, True),
    ("GET", "/", {"host": "127.0.0.1:1"}, True),
    ("GET", "/", {"origin": "http://evil.example"}, True),
    ("GET", "/", {"origin": "null"}, True),
    ("POST", "/rules", {"origin": "null"}, True),
    ("POST", "/rules", {"origin": "http://127.0.0.1:1"}, True),
    ("POST", "/rules", {"origin": "https://127.0.0.1:{port}"}, True),
    ("POST", "/rules", {"origin": "http://evil.example:{port}"}, True),
    ("POST", "/rules", {}, True),
    ("POST", "/rules", {"sec-fetch-site": "none"}, True),
    ("GET", "/", {"sec-fetch-site": "cross-site"}, True),
    ("GET", "/", {"sec-fetch-site": "same-site"}, True),
    ("GET", "/search?q=milk", {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, True),
    ("POST", "/rules", {"origin": "http://127.0.0.1:{port}", "sec-fetch-site": "cross-site"}, True),
    ("DELETE", "/rules", {}, True),
    ("OPTIONS", "/", {"origin": "http://evil.example"}, True),
]


@pytest.mark.parametrize(("method", "path", "headers", "has_cookie"), FORGED)
def test_a_forged_request_is_refused(
    shared: Served, cookie: str, method: str, path: str, headers: Headers, has_cookie: bool
) -> None:
    given = {name: value.format(port=shared.port) for name, value in headers.items()}
    if has_cookie:
        given["cookie"] = f"treemem-{shared.port}={cookie}"
    response = httpx.request(method, shared.url + path, headers=given, timeout=PATIENCE)
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


def test_the_cookie_of_another_server_lets_nobody_in(shared: Served, cookie: str) -> None:
    assert asked(shared, cookie=TOKEN).status_code == 403
    assert asked(shared, cookie=cookie[:-1]).status_code == 403
    response = httpx.get(shared.url, headers={"cookie": f"treemem-1={cookie}"}, timeout=PATIENCE)
    assert response.status_code == 403


@pytest.mark.parametrize("path", ["/", "/static/keys.js", "/nowhere", "/?token=wrong"])
def test_every_response_has_the_headers_that_keep_a_page_to_itself(
    shared: Served, cookie: str, path: str
) -> None:
    headers = asked(shared, path=path, cookie=cookie).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers.get_list("content-security-policy") == [policy]


def test_a_body_is_limited(shared: Served, cookie: str) -> None:
    url, headers = f"{shared.url}/rules", {"origin": shared.url}
    cookies = {f"treemem-{shared.port}": cookie}
    with httpx.Client(cookies=cookies, headers=headers, timeout=PATIENCE) as client:
        assert client.post(url, content=b"x" * (4 * 1024 * 1024 + 1)).status_code == 413
        assert client.post(url, content=iter([b"x"])).status_code == 411
