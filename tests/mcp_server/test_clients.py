"""Files of other programs are changed in one place, kept as copies, and changed back."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from treemem import NotFoundError, UsageError
from treemem.assistants import config_files
from treemem.mcp_server import clients
from treemem.mcp_server.clients import CLIENTS, ClientName

COMMAND = ["/opt/a b/python", "-m", "treemem", "--db", '/data/"x".sqlite3', "mcp"]
NOW = datetime(2026, 11, 29, 12, 30)
HOME = Path("/home/ana")
APPDATA = {"APPDATA": "/home/ana/AppData/Roaming"}
PLACES = {
    ("claude-code", "linux"): ".claude.json",
    ("claude-code", "darwin"): ".claude.json",
    ("claude-code", "win32"): ".claude.json",
    ("claude-desktop", "linux"): ".config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "AppData/Roaming/Claude/claude_desktop_config.json",
    ("cursor", "linux"): ".cursor/mcp.json",
    ("cursor", "darwin"): ".cursor/mcp.json",
    ("cursor", "win32"): ".cursor/mcp.json",
    ("vscode", "linux"): ".config/Code/User/mcp.json",
    ("vscode", "darwin"): "Library/Application Support/Code/User/mcp.json",
    ("vscode", "win32"): "AppData/Roaming/Code/User/mcp.json",
    ("codex", "linux"): ".codex/config.toml",
    ("codex", "darwin"): ".codex/config.toml",
    ("codex", "win32"): ".codex/config.toml",
}
JSON_CLIENTS: list[ClientName] = [client for client in CLIENTS if client != "codex"]
KEYS = {"vscode": "servers", "codex": "mcp_servers"}
TOML = """\
model = "gpt"   # mine

[mcp_servers.docs]
command = "npx"
args = [
  "-y", "docs",
]

[mcp_servers.docs.env]
KEY = "secret"
"""


@pytest.mark.parametrize(("client", "platform"), PLACES)
def test_each_program_has_its_place_on_each_platform(client: ClientName, platform: str) -> None:
    environ = APPDATA if platform == "win32" else {}
    path = clients.config_path(client, HOME, environ, platform)
    assert path == HOME / PLACES[client, platform]


def test_variables_move_the_places() -> None:
    assert clients.config_path("codex", HOME, {"CODEX_HOME": "/c"}) == Path("/c/config.toml")
    moved = clients.config_path("claude-code", HOME, {"CLAUDE_CONFIG_DIR": "/d"})
    assert moved == Path("/d/.claude.json")
    xdg = clients.config_path("vscode", HOME, {"XDG_CONFIG_HOME": "/x"}, "linux")
    assert xdg == Path("/x/Code/User/mcp.json")
    with pytest.raises(UsageError, match="use claude-code"):
        clients.config_path("emacs", HOME, {})  # type: ignore[arg-type]


def parsed(client: ClientName, text: str) -> dict[str, Any]:
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("environ", [None, {"TREEMEM_MODELS": "/models"}])
def test_a_snippet_is_what_is_written_into_a_new_file(
    client: ClientName, environ: dict[str, str] | None, tmp_path: Path
) -> None:
    entry = clients.entry_of(client, COMMAND, environ)
    change = clients.added(client, tmp_path / "config", entry)
    assert change.before is None
    assert change.after == clients.snippet(client, entry)
    server = parsed(client, change.after)[KEYS.get(client, "mcpServers")]["treemem"]
    assert [server["command"], *server["args"]] == COMMAND
    assert server.get("env") == environ


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_added_can_be_taken_out_again(client: ClientName, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config"
    path.parent.mkdir()
    other = {"other": {"command": "x", "args": [], "env": {"KEY": "ü"}}}
    before = TOML if client == "codex" else json.dumps(
        {"theme": "dark", KEYS.get(client, "mcpServers"): other, "n": 1.5}, indent=4,
        ensure_ascii=False,
    )  # fmt: skip
    path.write_text(before)
    path.chmod(0o600)
    entry = clients.entry_of(client, COMMAND)
    copy = config_files.apply(clients.added(client, path, entry), NOW)
    assert copy is not None
    assert copy.name == "config.before-treemem-20261129-123000"
    assert copy.read_text() == before
    assert "treemem" in parsed(client, path.read_text())[KEYS.get(client, "mcpServers")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = clients.added(client, path, entry)
    assert again.after == again.before
    config_files.apply(clients.removed(client, path), NOW)
    assert path.read_text() == before
    with pytest.raises(NotFoundError):
        clients.removed(client, path)
    assert sorted(one.name for one in path.parent.iterdir()) == [
        "config", "config.before-treemem-20261129-123000",
        "config.before-treemem-20261129-123000-2",
    ]  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_of_before_is_brought_up_to_date(client: ClientName, tmp_path: Path) -> None:
    path = tmp_path / "config"
    config_files.apply(clients.added(client, path, clients.entry_of(client, ["/old/python"])), NOW)
    config_files.apply(clients.added(client, path, clients.entry_of(client, COMMAND)), NOW)
    assert path.read_text() == clients.snippet(client, clients.entry_of(client, COMMAND))


@pytest.mark.parametrize("client", CLIENTS)
def test_the_last_server_leaves_nothing_behind(client: ClientName, tmp_path: Path) -> None:
    path = tmp_path / "config"
    config_files.apply(clients.added(client, path, clients.entry_of(client, COMMAND)), NOW)
    config_files.apply(clients.removed(client, path), NOW)
    assert parsed(client, path.read_text()) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {} // mine\n}', "comments"),
        ('{"a": 1, "a": 2}', "repeated"),
        ("[]", "not an object"),
        ('{"mcpServers": [], "servers": []}', "is not an object"),
        ("[" * 100_000, "plain JSON"),
        ("\ufeff{}", "plain JSON"),
    ],
)
@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_a_json_file_that_could_lose_something_is_left_as_it_is(
    client: ClientName, text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        clients.added(client, path, clients.entry_of(client, COMMAND))
    assert "by hand" in str(caught.value)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        "model = ", "mcp_servers = 3", 'mcp_servers = { treemem = { command = "x" } }\n',
        'mcp_servers.treemem.command = "x"\n',
        'note = """\n[mcp_servers.treemem]\n"""\n[mcp_servers]\ntreemem.command = "x"\n',
    ],
)  # fmt: skip
def test_a_toml_file_of_another_form_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="by hand"):
        clients.added("codex", path, clients.entry_of("codex", COMMAND))
    with pytest.raises((UsageError, NotFoundError)):
        clients.removed("codex", path)
    assert path.read_text() == text


def test_bytes_that_are_no_text_are_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        clients.added("cursor", path, clients.entry_of("cursor", COMMAND))


def test_line_breaks_and_halves_of_characters_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b'{\r\n  "a": "\\ud83d"\r\n}\r\n')
    config_files.apply(clients.added("cursor", path, clients.entry_of("cursor", COMMAND)), NOW)
    config_files.apply(clients.removed("cursor", path), NOW)
    assert path.read_bytes() == b'{\r\n  "a": "\\ud83d"\r\n}\r\n'


def test_what_changes_is_shown_without_what_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"mcpServers": {"a": {"env": {"KEY": "secret"}}}, "z": "secret"}')
    change = clients.added("cursor", path, clients.entry_of("cursor", ["/x/python", "mcp"]))
    lines = config_files.difference(change)
    assert '+    "treemem": {' in lines
    assert '+      "command": "/x/python",' in lines
    assert not any("secret" in line for line in lines)
    assert "secret" in change.after


def test_a_file_that_changes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("{}")
    change = clients.added("cursor", path, clients.entry_of("cursor", COMMAND))
    path.write_text('{"a": 1}')
    with pytest.raises(UsageError, match="changed just now"):
        config_files.apply(change, NOW)
    assert path.read_text() == '{"a": 1}'
    assert [one.name for one in tmp_path.iterdir()] == ["config"]


def test_a_link_to_a_file_of_settings_stays_a_link(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles.json", tmp_path / "config"
    real.write_text("{}")
    path.symlink_to(real)
    config_files.apply(clients.added("cursor", path, clients.entry_of("cursor", COMMAND)), NOW)
    assert path.is_symlink()
    assert "treemem" in real.read_text()


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    config_files.apply(clients.added("cursor", path, clients.entry_of("cursor", COMMAND)), NOW)
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
