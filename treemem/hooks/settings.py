"""Puts the hooks into a settings file of Claude Code, and takes them out again.

A file has, for each event, groups of a matcher and handlers. treemem adds a group of its own to
each event that it wants, and touches no other.

Tested in tests/hooks/test_settings.py.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treemem.assistants import json_edits
from treemem.assistants.config_files import Change, by_hand, parsed_json, read
from treemem.errors import NotFoundError, UsageError
from treemem.hooks.contract import NEW_WINDOWS, PRE_COMPACT, SESSION_END, SESSION_START

HookScope = Literal["user", "project", "local"]
SCOPES: tuple[HookScope, ...] = ("user", "project", "local")
# In seconds. The hooks take a fraction of one; a disk that is asleep must not hold a session up.
TIMEOUT = 10
# What a command of these hooks has.
ARGUMENTS = ("hooks", "run")
_KEY = "hooks"
# The events, and the matcher of each; None for all of its occurrences.
_MATCHERS = {SESSION_START: "|".join(NEW_WINDOWS), SESSION_END: None, PRE_COMPACT: None}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file. scope: "user", "project" or "local". commands: of the hooks of treemem in
    it; none if they are not installed there. turned_off: whether it turns all hooks off. error: why
    it cannot be read; None if it can, or if there is none."""

    scope: HookScope
    path: str
    commands: tuple[str, ...] = ()
    turned_off: bool = False
    error: str | None = None


class _Place(NamedTuple):
    """Where a handler is in a file, and what it runs."""

    event: str
    group: int
    handler: int
    command: str


def settings_path(
    scope: HookScope, home: Path, project: Path, environ: Mapping[str, str]
) -> Path:  # fmt: skip
    """The settings file of a scope: of all projects of the user, of one for all who work on it, or
    of one on this machine alone. Raises UsageError for another scope."""
    if scope == "user":
        folder = environ.get("CLAUDE_CONFIG_DIR", "").strip()
        return (Path(folder) if folder else home / ".claude") / "settings.json"
    if scope in SCOPES:
        name = "settings.json" if scope == "project" else "settings.local.json"
        return project / ".claude" / name
    raise UsageError(f"{scope!r} is no scope; use {', '.join(SCOPES)}.")


def groups_of(command: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The group of each event. command: what starts treemem, with its arguments."""
    # Exit code 2, as for a wrong option, would block a compaction; another code blocks nothing.
    line = f"{shlex.join(command)} || exit 1"
    handler = {"type": "command", "command": line, "timeout": TIMEOUT}
    return {
        event: ({} if matcher is None else {"matcher": matcher}) | {"hooks": [handler]}
        for event, matcher in _MATCHERS.items()
    }


def snippet(groups: Mapping[str, Any]) -> str:
    """The part of the settings that has the hooks, to be pasted by hand."""
    return json.dumps(_alone(groups), indent=2, ensure_ascii=False) + "\n"


def added(path: Path, groups: Mapping[str, Any]) -> Change:
    """The change that adds the hooks, or brings them up to date. Raises UsageError for a file that
    cannot be changed safely."""
    before = read(path)
    text, data = before or "", parsed_json(path, before or "")
    if _own_groups(path, data) == {event: [group] for event, group in groups.items()}:
        return Change(path, before, text)
    if not data:
        return Change(path, before, snippet(groups))
    text, data = _without_own(path, text, data)
    for event, group in groups.items():
        beside = data.get(_KEY, {}).get(event, [])
        text = json_edits.put(text, [_KEY, event, len(beside)], group)
        data = {**data, _KEY: {**data.get(_KEY, {}), event: [*beside, group]}}
    return _checked(Change(path, before, text), data)


def removed(path: Path) -> Change:
    """The change that takes the hooks out. Raises NotFoundError if there are none, and UsageError
    for a file that cannot be changed safely."""
    before = read(path)
    data = parsed_json(path, before or "")
    if before is None or not list(_own(path, data)):
        raise NotFoundError(f"{path} has no hooks of treemem.")
    text, data = _without_own(path, before, data)
    return _checked(Change(path, before, text), data)


def state_of(scope: HookScope, path: Path) -> SettingsFile:
    """What the settings file of a scope has of the hooks."""
    try:
        data = parsed_json(path, read(path) or "")
        commands = dict.fromkeys(place.command for place in _own(path, data))
    except UsageError as error:
        return SettingsFile(scope, str(path), error=error.message)
    return SettingsFile(scope, str(path), tuple(commands), data.get("disableAllHooks") is True)


# -- parts -----------------------------------------------------------------------------


def _alone(groups: Mapping[str, Any]) -> dict[str, Any]:
    return {_KEY: {event: [group] for event, group in groups.items()}}


def _is_own(command: object) -> bool:
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return "treemem" in words and ARGUMENTS in pairwise(words)


def _own(path: Path, data: Mapping[str, Any]) -> Iterator[_Place]:
    """Where the hooks of treemem are, the last first, so that each can be taken out by its place.
    Raises UsageError."""
    hooks = data.get(_KEY, {})
    if not isinstance(hooks, dict):
        raise by_hand(path, f"its {_KEY} is not an object")
    for event, groups in reversed(hooks.items()):
        if not isinstance(groups, list):
            raise by_hand(path, f"its {event} is not an array")
        for number, group in reversed(list(enumerate(groups))):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for place, handler in reversed(list(enumerate(handlers or []))):
                command = handler.get("command") if isinstance(handler, dict) else None
                if _is_own(command):
                    yield _Place(event, number, place, str(command))


def _own_groups(path: Path, data: Mapping[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for place in _own(path, data):
        found.setdefault(place.event, []).append(data[_KEY][place.event][place.group])
    return found


def _without_own(path: Path, text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text and the data of a file without the hooks of treemem, and without the groups and
    events that had nothing else."""
    data = json.loads(json.dumps(data))
    for place in list(_own(path, data)):
        steps: list[Any] = [_KEY, place.event, place.group, "hooks", place.handler]
        while len(steps) > 1 and _length(data, steps[:-1]) == 1:
            # What has nothing else goes as a whole: the handlers with their group.
            del steps[3 if len(steps) > 3 else -1 :]
        text = json_edits.without(text, steps)
        _delete(data, steps)
    return text, data


def _length(data: Any, steps: Sequence[Any]) -> int:
    for step in steps:
        data = data[step]
    return len(data)


def _delete(data: Any, steps: Sequence[Any]) -> None:
    for step in steps[:-1]:
        data = data[step]
    del data[steps[-1]]


def _checked(change: Change, wanted: Mapping[str, Any]) -> Change:
    """The change, if the file has then what is wanted and nothing else. Raises UsageError."""
    if parsed_json(change.path, change.after) != wanted:
        raise by_hand(change.path, "nothing but the hooks would have stayed as it is")
    return change
