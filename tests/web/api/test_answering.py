"""Tests pages, ETags, statuses of errors, and that no form of another page passes for a call."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
import anyio

from tests.helpers.web_server import TOKEN
from treemem import Memory, Message
from treemem.web.app import make_app

if TYPE_CHECKING:
    import httpx

    from tests.helpers.web_server import Served


def test_a_client_that_leaves_before_its_body_has_come_is_no_error(
    filled: Path, own_loop: None
) -> None:
    app = make_app(partial(Memory.open, filled), {"testserver"}, TOKEN)
    headers = {"host": "testserver", "authorization": f"Bearer {TOKEN}", "content-length": "9",
               "content-type": "application/json"}  # fmt: skip
    for path in ("/api/v1/messages", "/v1/chat/completions", "/rules"):
        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "path": path, "scheme": "http",
            "root_path": "", "query_string": b"", "app": None, "server": ("testserver", 80),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        anyio.run(app, scope, _left, _ignored)


async def _left() -> Any:
    return {"type": "http.disconnect"}


async def _ignored(_: Any) -> None:
    pass


def test_the_next_pages_lead_through_the_whole_list(api: httpx.Client) -> None:
    path: str | None = "/api/v1/ledger?kind=open&kind=decision&limit=4"
    seen: list[str] = []
    while path is not None:
        answer = api.get(str(api.base_url.copy_with(raw_path=path.encode())))
        assert len(answer.json()) <= 4
        seen += [entry["id"] for entry in answer.json()]
        path = answer.links.get("next", {}).get("url")
    whole = api.get("/ledger?kind=open&kind=decision&limit=500").json()
    assert len(whole) > 8
    assert seen == [entry["id"] for entry in whole]


def test_an_answer_that_a_client_has_is_not_made_again(
    own_api: httpx.Client, served: Served
) -> None:
    first = own_api.get("/sources")
    known = {"If-None-Match": f'"other", W/{first.headers["etag"]}'}
    again = own_api.get("/sources", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert own_api.get("/topics", headers=known).status_code == 200
    assert own_api.get("/sources?limit=1", headers=known).status_code == 200
    with served.memory() as other:
        other.append("chat", [Message(text="Something new.")])
    assert own_api.get("/sources", headers=known).json() != first.json()
    changed = own_api.get("/sources").headers["etag"]
    own_api.post("/messages", json={"source": "n", "messages": [{"role": "other", "text": "x"}]})
    answer = own_api.get("/sources", headers={"If-None-Match": changed})
    assert answer.status_code == 200


def test_what_changes_as_time_passes_has_no_etag(api: httpx.Client) -> None:
    for path in ("/status", "/sources?since=2025-01-01", "/search?q=settlement"):
        answer = api.get(path)
        assert answer.status_code == 200
        assert "etag" not in answer.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nodes/zzzz", 404), ("/messages/0000", 404), ("/ledger/ffffffffff", 404),
        ("/nothing", 404), ("/nodes/", 404), ("/source?name=nobody", 404), ("/sources?limt=3", 400),
        ("/sources?since=whenever", 400), ("/search", 400),
        ("/digest?source=a&topic=b", 404), ("/usage?by=colour", 400),
    ],
)  # fmt: skip
def test_errors_are_json_with_their_status(api: httpx.Client, path: str, status: int) -> None:
    answer = api.get(path)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert "memory." not in answer.json()["error"]


def test_another_method_is_answered_with_those_that_there_are(api: httpx.Client) -> None:
    answer = api.put("/messages", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"
    assert "There is no call PUT" in answer.json()["error"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_that_a_form_can_send_is_no_call(own_api: httpx.Client, kind: str) -> None:
    body = b'{"source": "n", "messages": [{"role": "user", "text": "x"}]}'
    answer = own_api.post("/messages", content=body, headers={"content-type": kind})
    assert answer.status_code == 415
    assert answer.json() == {
        "error": "Send the header Content-Type: application/json, also without a body."
    }


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(own_api: httpx.Client, body: bytes) -> None:
    answer = own_api.post("/messages", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("The body is")


def test_a_call_of_another_page_is_refused(served: Served) -> None:
    import httpx

    with httpx.Client(base_url=served.url) as client:
        for path in ("/api", "/api/v1/sources", "/api/v1/openapi.json"):
            assert client.get(path).status_code == 403
    with served.client() as client:
        answer = client.post("/api/v1/messages", json={}, headers={"Origin": "http://evil.example"})
        assert answer.status_code == 403


def test_a_lone_surrogate_of_a_log_is_an_escape(own_api: httpx.Client, served: Served) -> None:
    with served.memory() as memory:
        (message_id,) = memory.append("odd", [Message(text="half \ud83d of it")])
    answer = own_api.get(f"/messages/{message_id}")
    assert answer.status_code == 200
    assert b"half \\ud83d of it" in answer.content
