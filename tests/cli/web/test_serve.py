"""treemem serve prints an address that opens the page, and Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
import httpx

from tests.helpers.command_line import run
from treemem import Memory, Message
from treemem.serving.listening import bound_socket

ROOT = Path(__file__).parents[3]
PATIENCE = 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "served.sqlite3"
    with Memory.open(path) as memory:
        memory.append("log/1", [Message("user", "We key tickets by the meter of the truck.")])
    return path


def started(path: Path, *options: str, **variables: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-u", "-m", "treemem_cli.main", "--db", str(path), "serve",
               "--port", "0", *options]  # fmt: skip
    python_path = os.pathsep.join((str(ROOT), str(ROOT / "cli")))
    environment = {**os.environ, "PYTHONPATH": python_path, **variables}
    return subprocess.Popen(
        program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_printed_address_opens_the_page_until_ctrl_c(path: Path) -> None:
    process = started(path)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        response = httpx.get(address, follow_redirects=True, timeout=PATIENCE)
        assert response.status_code == 200
        assert "1 source" in response.text
        assert response.url.query == b""
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode in (0, 130)
    assert "Traceback" not in rest
    assert "Ctrl-C stops" in rest


def test_the_command_of_the_browser_does_not_have_the_token(path: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    process = started(path, "--open", BROWSER=f"{browser} %s")
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        ends_at = time.monotonic() + PATIENCE
        while not seen.exists() and time.monotonic() < ends_at:
            time.sleep(0.05)
        opened = seen.read_text()
        assert opened.partition("=")[0] == address.partition("=")[0]
        assert opened != address
        assert [httpx.get(opened, timeout=PATIENCE).status_code for _ in range(2)] == [303, 403]
        assert httpx.get(address, timeout=PATIENCE).status_code == 303
    finally:
        process.kill()
        process.communicate()


def test_a_memory_that_does_not_exist_is_said_before_anything_listens(tmp_path: Path) -> None:
    result = run("--db", str(tmp_path / "no.sqlite3"), "serve", "--port", "0")
    assert result.exit_code == 1
    assert "no.sqlite3 does not exist" in result.stderr


def test_a_port_that_is_taken_is_said(path: Path) -> None:
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        result = run("--db", str(path), "serve", "--port", port)
    assert result.exit_code == 1
    assert "--port" in result.stderr


def test_pages_that_listen_do_not_keep_it_from_ending(path: Path) -> None:
    process = started(path)
    try:
        assert process.stdout is not None
        address = httpx.URL(process.stdout.readline().strip())
        with ExitStack() as streams:
            client = streams.enter_context(httpx.Client(timeout=PATIENCE, follow_redirects=True))
            client.get(address)
            for _ in range(5):
                stream = client.stream("GET", address.copy_with(path="/events", query=None))
                next(streams.enter_context(stream).iter_lines())
            process.send_signal(signal.SIGINT)
            process.wait(timeout=3)
        assert process.stderr is not None
        assert "Cancel" not in process.stderr.read(), "no stream had to be cut off"
    finally:
        process.kill()
        process.communicate()


def test_it_ends_by_itself_when_nobody_asks_any_more(path: Path) -> None:
    with started(path, "--idle", "0.1") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert httpx.get(address, timeout=PATIENCE).status_code == 303
        assert process.wait(timeout=PATIENCE) == 0
