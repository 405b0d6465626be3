"""treemem mcp install shows, asks and writes; what it writes starts a server that answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from treemem import Memory, Message
from treemem_cli.main import cli

pytest.importorskip("mcp", reason="needs the extra mcp")
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.helpers.mcp_client import ROOT, called


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return home


def output_of(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["mcp", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def server_in(path: Path) -> dict[str, Any]:
    server: dict[str, Any] = json.loads(path.read_text())["mcpServers"]["treemem"]
    return server


def test_install_shows_what_changes_and_uninstall_undoes_it(home: Path) -> None:
    path = home / ".claude.json"
    before = json.dumps({"mcpServers": {"other": {"env": {"KEY": "secret-of-mine"}}}}, indent=2)
    path.write_text(before)
    output = output_of("install", "claude-code", "--yes")
    assert '+    "treemem": {' in output
    assert "secret-of-mine" not in output
    assert "Restart Claude Code" in output
    assert server_in(path)["args"][-1] == "mcp"
    assert "already" in output_of("install", "claude-code", "--yes")
    assert "Written." in output_of("uninstall", "claude-code", "--yes")
    assert path.read_text() == before
    assert "Nothing was changed" in output_of("uninstall", "claude-code", "--yes")
    assert len(list(home.glob(".claude.json.before-treemem-*"))) == 2


def test_without_a_yes_nothing_is_written(home: Path) -> None:
    output_of("install", "cursor", code=2)
    assert list(home.iterdir()) == []


def test_print_changes_nothing(home: Path) -> None:
    printed = json.loads(output_of("install", "vscode", "--print"))
    assert printed["servers"]["treemem"]["type"] == "stdio"
    assert list(home.iterdir()) == []


def test_a_program_that_is_not_known_is_answered_by_those_that_are(home: Path) -> None:
    assert "claude-desktop" in output_of("install", "emacs", code=2)


def test_options_before_the_sub_command_are_refused(home: Path) -> None:
    assert "after the name" in output_of("--write", "install", "cursor", code=2)


def test_what_is_written_starts_a_server_that_answers(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "elsewhere.sqlite3"
    with Memory.open(database) as memory:
        memory.append("log/1", [Message("user", "We key tickets by the meter of the truck.")])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREEMEM_DB", "elsewhere.sqlite3")
    output_of("install", "cursor", "--yes", "--agent", "cursor")
    server = server_in(home / ".cursor" / "mcp.json")
    assert server["command"] == sys.executable
    assert "--write" not in server["args"]
    monkeypatch.chdir("/")
    environment = {"PATH": "/nowhere", "HOME": str(home), **server["env"],
                   "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "cli")))}  # fmt: skip
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env=environment
    )
    text, is_error = called(stdio_client(parameters), "search", query="how are tickets keyed?")
    assert not is_error
    assert "meter of the truck" in text
