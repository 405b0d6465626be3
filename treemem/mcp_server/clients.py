"""Writes the server into the configuration of an assistant's program, and takes it out again.

A file of another program is changed in one place only: everything else has the same values after
it, which is checked before anything is written. The file before is kept as a copy beside it.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

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
_INDENT = lazy_regex(r"\n([ \t]+)\"")
# The head of a table in TOML, and that of this server's or of one below it.
_HEAD = lazy_regex(r"[ \t]*\[")
_OWN_HEAD = lazy_regex(
    r"[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:treemem|\"treemem\"|'treemem')[ \t]*[.\]]"
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file that is not made yet. path: of the file. before: its text; None if there
    is none. after: the text that it gets."""

    path: Path
    before: str | None
    after: str


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
    before = _read(path)
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
        after = _dumped(wanted, before)
    return _checked(client, Change(path, before, after), wanted)


def removed(client: ClientName, path: Path) -> Change:
    """The change that takes the server out of a configuration. Raises NotFoundError if it is not
    in it, and UsageError for a file that cannot be changed safely."""
    before = _read(path)
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
            raise _by_hand(path, "it has the server in a form that treemem does not write")
    else:
        after = _dumped(wanted, before)
    return _checked(client, Change(path, before, after), wanted)


def difference(change: Change) -> list[str]:
    """The lines that a change adds and takes away, with "+" and "-" before them. Lines beside them
    are not shown, since they may have secrets; so JSON is compared with a line for each value."""
    before, after = (_in_lines(change.path, text or "") for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def _in_lines(path: Path, text: str) -> list[str]:
    if path.suffix == ".json" and text.strip():
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text.splitlines()


def apply(change: Change, now: datetime) -> Path | None:
    """Writes the file, and returns the copy of the one before; None if there was none. Raises
    UsageError if somebody else has changed the file meanwhile."""
    path = Path(os.path.realpath(change.path))  # a link to a file of settings stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    if _read(path) != change.before:
        raise UsageError(f"{path} was changed just now; close the program, and try again.")
    copy = None
    if change.before is not None:
        copy = _copy_of(path, now)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after.encode())
            file.flush()
            os.fsync(file.fileno())
        if copy is not None:
            shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return copy


# -- parts -----------------------------------------------------------------------------


def _key(client: ClientName) -> str:
    return _KEYS.get(client, "mcpServers")


def _read(path: Path) -> str | None:
    """The text of a file, with its line breaks; None if there is none. Raises UsageError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise _by_hand(path, "it is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def _parsed(client: ClientName, path: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        if client == "codex":
            return tomllib.loads(text)
        data = json.loads(text, object_pairs_hook=_unique)
    except tomllib.TOMLDecodeError as error:
        raise _by_hand(path, f"it is not valid TOML ({error})") from None
    except (ValueError, RecursionError) as error:
        reason = f"it is not plain JSON: it may have comments ({error})"
        raise _by_hand(path, reason) from None
    if not isinstance(data, dict):
        raise _by_hand(path, "it is not an object")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _servers(client: ClientName, path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    servers = data.get(_key(client), {})
    if not isinstance(servers, dict):
        raise _by_hand(path, f"its {_key(client)} is not an object")
    return servers


def _dumped(data: Mapping[str, Any], before: str | None) -> str:
    """The text of a JSON file, indented as it was before."""
    indent: str | int | None = 2
    if before is not None and before.strip():
        found = _INDENT.search(before)
        indent = found[1] if found else (None if "\n" not in before.strip() else 2)
    separators = (",", ":") if indent is None and ": " not in (before or "") else None
    text = json.dumps(data, indent=indent, separators=separators, ensure_ascii=False)
    if not _is_text(text):  # half of a pair of surrogates, which only an escape can write
        text = json.dumps(data, indent=indent, separators=separators)
    text += "" if before and not before.endswith("\n") else "\n"
    return text.replace("\n", "\r\n") if before and "\r\n" in before else text


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        raise _by_hand(change.path, "nothing but the server would have stayed as it is")
    return change


def _without_empty(client: ClientName, data: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without the key of the servers, if there are none."""
    return {key: value for key, value in data.items() if value or key != _key(client)}


def _copy_of(path: Path, now: datetime) -> Path:
    """A new copy of a file beside it."""
    copy = path.with_name(f"{path.name}.before-treemem-{now:%Y%m%d-%H%M%S}")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.name}.before-treemem-{now:%Y%m%d-%H%M%S}-{number}")
    shutil.copy2(path, copy)
    return copy


def _by_hand(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} is left as it is: {reason}. Change it by hand; --print shows what belongs there."
    )
