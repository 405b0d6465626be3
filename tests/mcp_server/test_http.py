"""Over HTTP only clients on this machine that have the token are answered."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message, UsageError

pytest.importorskip("mcp", reason="needs the extra mcp")
import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.helpers.mcp_client import PATIENCE, ROOT, asking, called
from treemem.mcp_server import http
from treemem.serving import guard, listening

TOKEN = "correct-horse-battery-staple"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = "application/json, text/event-stream"


class Serving:
    """A server in a process of its own. lines: what it printed when it started."""

    def __init__(self, path: Path, *options: str) -> None:
        program = [sys.executable, "-u", "-m", "treemem_cli.main", "--db", str(path), "mcp",
                   "--http", "--port", "0", *options]  # fmt: skip
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "cli"))),
            "TREEMEM_TOKEN": TOKEN,
        }  # fmt: skip
        self.process = subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.lines = [self.process.stderr.readline()]
        found = re.search(r"(http://127\.0\.0\.1:(\d+)/mcp)", self.lines[0])
        assert found is not None, self.lines
        self.url, self.port = found[1], int(found[2])

    def stop(self) -> tuple[int, str]:
        """Ends it as Ctrl-C does; returns its exit code and what it printed since."""
        self.process.send_signal(signal.SIGINT)
        try:
            _, rest = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, rest


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("http") / "served.sqlite3"
    with Memory.open(path) as memory:
        memory.append("log/1", [Message("user", "We key tickets by the meter of the truck.")])
        memory.work(max_calls=0)
    return path


@pytest.fixture(scope="module")
def serving(path: Path) -> Iterator[Serving]:
    serving = Serving(path, "--token-env", "TREEMEM_TOKEN")
    yield serving
    code, rest = serving.stop()
    assert code in (0, 130), rest
    assert "Traceback" not in rest


def asked(serving: Serving, tool: str, token: str, **arguments: str) -> tuple[str, bool]:
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
    transport = streamable_http_client(serving.url, http_client=client)
    return called(transport, tool, client, **arguments)


def test_a_client_with_the_token_is_answered(serving: Serving) -> None:
    text, is_error = asked(serving, "search", TOKEN, query="how are tickets keyed?")
    assert not is_error
    assert "meter of the truck" in text


def test_an_error_is_a_sentence_here_too(serving: Serving) -> None:
    text, is_error = asked(serving, "search", TOKEN, query="x", bad="y")
    assert is_error
    assert text == "search: there is no argument 'bad'."


def test_many_calls_at_a_time_are_all_answered(serving: Serving) -> None:
    async def ask(client: Client) -> list[str]:
        answers: list[str] = []

        async def search() -> None:
            result = await client.call_tool("search", {"query": "how are tickets keyed?"})
            answers.append(result.content[0].text)  # type: ignore[union-attr]

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(search)
        return answers

    headers = {"Authorization": f"Bearer {TOKEN}"}
    http_client = httpx2.AsyncClient(headers=headers, timeout=PATIENCE)
    transport = streamable_http_client(serving.url, http_client=http_client)
    answers = asking(transport, ask, http_client)
    assert len(answers) == 12
    assert all("meter of the truck" in answer for answer in answers)


def status_of(serving: Serving, headers: list[tuple[str, str]], **request: object) -> int:
    """The status of a request with these headers, of which those with a value None are left out."""
    given = {"Host": f"127.0.0.1:{serving.port}", "Authorization": f"Bearer {TOKEN}",
             "Accept": ACCEPT}  # fmt: skip
    names = {name for name, _ in headers}
    sent = [*((name, value) for name, value in given.items() if name not in names),
            *((name, value) for name, value in headers if value)]  # fmt: skip
    url = f"http://127.0.0.1:{serving.port}{request.pop('path', '/mcp')}"
    method = str(request.pop("method", "POST"))
    content = {"json": CALL} if not request and method == "POST" else request
    with httpx2.Client(timeout=PATIENCE) as client:
        return int(client.request(method, url, headers=sent, **content).status_code)  # type: ignore[arg-type]


def test_a_request_of_the_client_itself_would_be_taken(serving: Serving) -> None:
    assert status_of(serving, [("Origin", f"http://localhost:{serving.port}")]) < 401


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}",
     f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN} {TOKEN}"],
)  # fmt: skip
def test_without_the_token_nothing_is_answered(serving: Serving, authorization: str) -> None:
    assert status_of(serving, [("Authorization", authorization)]) == 401


@pytest.mark.parametrize(
    "place", ["/", "/mcp/", "/mcp/x", "/docs", "/.well-known/x", "/%2e%2e/mcp"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT", "TRACE"])
def test_no_path_and_no_method_goes_without_the_token(
    serving: Serving, place: str, method: str
) -> None:
    assert status_of(serving, [("Authorization", "")], method=method, path=place) == 401


def test_the_token_in_the_address_does_not_count(serving: Serving) -> None:
    assert status_of(serving, [("Authorization", "")], path=f"/mcp?access_token={TOKEN}") == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost",
     "127.0.0.1:{port}.evil.example", "localhost:{port}@evil.example", "0.0.0.0:{port}",
     "127.1:{port}", "localhost.:{port}"],
)  # fmt: skip
def test_another_name_of_this_machine_is_refused(serving: Serving, host: str) -> None:
    assert status_of(serving, [("Host", host.format(port=serving.port))]) == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://evil.example", "null", "http://127.0.0.1:1",
     "http://127.0.0.1", "https://127.0.0.1:{port}", "http://127.0.0.1:{port}.evil.example",
     "http://localhost:{port}@evil.example", "file://", "chrome-extension://abc"],
)  # fmt: skip
def test_a_page_of_another_origin_is_refused_even_with_the_token(
    serving: Serving, origin: str
) -> None:
    assert status_of(serving, [("Origin", origin.format(port=serving.port))]) == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "127.0.0.1:{port}"), ("Origin", "http://127.0.0.1:{port}"),
     ("Authorization", f"Bearer {TOKEN}")],
)  # fmt: skip
def test_a_header_that_is_repeated_is_refused(serving: Serving, name: str, value: str) -> None:
    shown = value.format(port=serving.port)
    request = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{serving.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\n{name}: {shown}\r\n{name}: {shown}\r\n"
        "Content-Length: 2\r\n\r\n{}"
    )
    with socket.create_connection(("127.0.0.1", serving.port), timeout=PATIENCE) as client:
        client.sendall(request.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_page_is_not_told_that_it_may_ask(serving: Serving) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    with httpx2.Client(timeout=PATIENCE) as client:
        answer = client.options(serving.url, headers=headers)
    assert answer.status_code == 403
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


def test_a_form_of_a_page_is_refused(serving: Serving) -> None:
    assert status_of(serving, [], data={"method": "tools/list"}) == 400


def test_a_request_that_is_too_large_is_refused(serving: Serving) -> None:
    large = b" " * (http.BODY_BYTES + 1)
    headers = [("Content-Type", "application/json")]
    assert status_of(serving, headers, content=large) == 413


def test_a_token_that_is_made_is_printed_once_and_opens(path: Path) -> None:
    serving = Serving(path)
    assert serving.process.stderr is not None
    line = serving.process.stderr.readline()
    token = line.strip().rpartition(" ")[2]
    assert len(token) >= 40
    text, is_error = asked(serving, "search", token, query="tickets")
    code, rest = serving.stop()
    assert not is_error
    assert "meter" in text
    assert token not in rest
    assert code in (0, 130), rest


@pytest.mark.parametrize("value", ["", "short", "é" * 30, "with\nline breaks in it, long"])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="variable SECRET has to contain"):
        guard.token_of("SECRET", {"SECRET": value})


@pytest.mark.parametrize(
    ("host", "said"),
    [("0.0.0.0", "every address"), ("::", "every address"), ("example.com", "IP address"),
     ("203.0.113.9", "Nothing can listen")],
)  # fmt: skip
def test_a_host_that_is_not_one_address_of_this_machine_is_refused(host: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        listening.bound_socket(host, 0)


def test_a_port_that_is_taken_is_named(serving: Serving) -> None:
    with pytest.raises(UsageError, match=f"port {serving.port}") as caught:
        listening.bound_socket("127.0.0.1", serving.port)
    assert "--port" in caught.value.for_shell()


def test_an_address_of_six_groups_is_written_in_brackets() -> None:
    try:
        listener = listening.bound_socket("::1", 0)
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with listener:
        assert http.url_of(listener).startswith("http://[::1]:")
