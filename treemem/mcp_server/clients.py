"""Writes the server into the configuration of an assistant's program, and takes it out again.

Tested in tests/mcp_server/test_clients.py.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from treemem.assistants import json_edits
from treemem.assistants.config_files import Change, by_hand, parsed_json, read
from treemem.errors import NotFoundError, UsageError
from treemem.patterns import lazy_regex

NAME = "treemem"
ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]
CLIENTS: tuple[ClientName, ...] = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")
TITLES: dict[ClientName, str] = {
    "claude-code": "Claude Code", "claude-desktop": "Claude Desktop", "cursor": "Cursor",
    "vscode": "VS Code", "codex": "Codex",
}  # fmt: skip
# The key of the servers in each file, and the programs that want to be told the kind of server.
_KEYS: dict[ClientName, str] = {"vscode": "servers", "codex": "mcp_servers"}
_TYPED: tuple[ClientName, ...] = ("claude-code", "vscode")
# The head of a table in TOML, and that of this server's or of one below it.
_HEAD = lazy_regex(r"[ \t]*\[")
_OWN_HEAD = lazy_regex(
    r"[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:treemem|\"treemem\"|'treemem')[ \t]*[.\]]"
)


def config_path(
    client: ClientName, home: Path, environ: Mapping[str, str], platform: str = sys.platform
) -> Path:
    """Where the configuration of a program is, for all projects of its user.

    platform: as sys.platform. Raises UsageError for a program that is not known.
    """
    if client == "claude-code":
        folder = environ.get("CLAUDE_CONFIG_DIR", "").strip()
        return (Path(folder) if folder else home) / ".claude.json"
    if client == "cursor":
        return home / ".cursor" / "mcp.json"
    if client == "codex":
        folder = environ.get("CODEX_HOME", "").strip()
        return (Path(folder) if folder else home / ".codex") / "config.toml"
    if client == "claude-desktop":
        return _data_folder(home, environ, platform) / "Claude" / "claude_desktop_config.json"
    if client == "vscode":
        return _data_folder(home, environ, platform) / "Code" / "User" / "mcp.json"
    raise UsageError(f"{client!r} is not known; use {', '.join(CLIENTS)}.")


def _data_folder(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    """Where programs with windows keep their settings."""
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    if platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def entry_of(
    client: ClientName, command: Sequence[str], environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the configuration of a program says about the server. command: the program to start,
    and its arguments. environ: variables that it needs."""
    entry: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if client in _TYPED:
        entry = {"type": "stdio", **entry}
    return {**entry, "env": dict(environ)} if environ else entry


def snippet(client: ClientName, entry: Mapping[str, Any]) -> str:
    """The part of the configuration that has the server, to be pasted by hand."""
    if client == "codex":
        return _table(entry)
    return json.dumps({_key(client): {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


def added(client: ClientName, path: Path, entry: Mapping[str, Any]) -> Change:
    """The change that adds the server to a configuration, or brings it up to date. Raises
    UsageError for a file that cannot be changed safely."""
    before = read(path)
    data = _parsed(client, path, before or "")
    servers = _servers(client, path, data)
    if servers.get(NAME) == entry:
        return Change(path, before, before or "")
    wanted = {**data, _key(client): {**servers, NAME: dict(entry)}}
    if client == "codex":
        kept = _without_tables(before or "") if NAME in servers else before or ""
        gap = "\n" if kept.strip() else ""
        after = kept.rstrip("\n") + "\n" * bool(kept.strip()) + gap + _table(entry)
    else:
        after = _put(client, before, entry)
    return _checked(client, Change(path, before, after), wanted)


def removed(client: ClientName, path: Path) -> Change:
    """The change that takes the server out of a configuration. Raises NotFoundError if it is not
    in it, and UsageError for a file that cannot be changed safely."""
    before = read(path)
    data = _parsed(client, path, before or "")
    servers = _servers(client, path, data)
    if before is None or NAME not in servers:
        raise NotFoundError(f"{path} has no server of the name {NAME}.")
    others = {name: server for name, server in servers.items() if name != NAME}
    wanted = {**data, _key(client): others}
    if not others:
        del wanted[_key(client)]
    if client == "codex":
        after = _without_tables(before)
        if others != _servers(client, path, _parsed(client, path, after)):
            raise by_hand(path, "it has the server in a form that treemem does not write")
    else:
        after = json_edits.without(before, [_key(client), NAME] if others else [_key(client)])
    return _checked(client, Change(path, before, after), wanted)


# -- parts -----------------------------------------------------------------------------


def _key(client: ClientName) -> str:
    return _KEYS.get(client, "mcpServers")


def _parsed(client: ClientName, path: Path, text: str) -> dict[str, Any]:
    if client != "codex":
        return parsed_json(path, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise by_hand(path, f"it is not valid TOML ({error})") from None


def _servers(client: ClientName, path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    servers = data.get(_key(client), {})
    if not isinstance(servers, dict):
        raise by_hand(path, f"its {_key(client)} is not an object")
    return servers


def _put(client: ClientName, before: str | None, entry: Mapping[str, Any]) -> str:
    if before is None or not before.strip():
        return snippet(client, entry)
    return json_edits.put(before, [_key(client), NAME], dict(entry))


def _table(entry: Mapping[str, Any]) -> str:
    """The table of the server in TOML, whose texts are written as in JSON."""
    lines = [f"[mcp_servers.{NAME}]"]
    for name, value in entry.items():
        if name == "env":
            pairs = ", ".join(f"{key} = {_toml(text)}" for key, text in value.items())
            lines.append(f"env = {{ {pairs} }}")
        elif isinstance(value, list):
            lines.append(f"{name} = [{', '.join(map(_toml, value))}]")
        else:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _without_tables(text: str) -> str:
    """A TOML text without the table of the server, and those below it."""
    kept: list[str] = []
    is_own = False
    for line in text.splitlines(keepends=True):
        if _HEAD.match(line):
            is_own = _OWN_HEAD.match(line) is not None
        if not is_own:
            kept.append(line)
    rest = "".join(kept)
    return rest.rstrip("\n") + "\n" if rest.strip() else ""


def _checked(client: ClientName, change: Change, wanted: Mapping[str, Any]) -> Change:
    """The change, if the file has then what is wanted and nothing else. Raises UsageError."""
    got = _parsed(client, change.path, change.after)
    if _without_empty(client, got) != _without_empty(client, wanted):
        raise by_hand(change.path, "nothing but the server would have stayed as it is")
    return change


def _without_empty(client: ClientName, data: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without the key of the servers, if there are none."""
    return {key: value for key, value in data.items() if value or key != _key(client)}
