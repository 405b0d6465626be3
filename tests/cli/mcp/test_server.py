"""treemem mcp: what it says to a person, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from treemem_cli.main import cli


def output_of(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["mcp", *arguments])
    return result.exit_code, result.output


def test_without_the_package_the_command_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str, *_: Any) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    code, output = output_of()
    assert code == 1
    assert "needs the package mcp" in output
    assert "[mcp]" in output


@pytest.mark.parametrize(
    "arguments", [["--port", "1"], ["--host", "::1"], ["--token-env", "TOKEN"]]
)
def test_options_of_http_need_http(arguments: list[str]) -> None:
    code, output = output_of(*arguments)
    assert code == 2
    assert f"{arguments[0]} needs --http." in output


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_input(number: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    program = [sys.executable, "-m", "treemem_cli.main", "--db", str(tmp_path / "m"), "mcp"]
    first = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}},
    }  # fmt: skip
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(first).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "treemem"
        process.send_signal(number)
        try:
            assert process.wait(timeout=60) == -number
        finally:
            process.kill()
