"""Hooks are added to a settings file beside those of the user, and taken out without a trace."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from treemem import NotFoundError, UsageError
from treemem.assistants import config_files
from treemem.hooks import settings

COMMAND = ["/opt/a b/python", "-P", "-m", "treemem", "hooks", "run"]
GROUPS = settings.groups_of(COMMAND)
NOW = datetime(2026, 11, 29, 12, 30)
EVENTS = ["SessionStart", "SessionEnd", "PreCompact"]
# Hooks of a user: in one line, with a number and an escape that Python would write otherwise.
MINE = """\
{
  "model": "opus",
  "hooks": {
    "SessionStart": [ {"hooks": [{"type": "command", "command": "echo hi", "timeout": 1.0}]} ],
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "caf\\u00e9" } ] }
    ]
  },
  "permissions": { "allow": ["Bash(ls)", "Read"] }
}
"""


def write(path: Path) -> dict[str, Any]:
    config_files.apply(settings.added(path, GROUPS), NOW)
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def test_each_scope_has_the_file_that_the_documentation_names() -> None:
    home, project = Path("/home/ana"), Path("/w/shop")
    found = [settings.settings_path(scope, home, project, {}) for scope in settings.SCOPES]
    assert [str(path) for path in found] == [
        "/home/ana/.claude/settings.json", "/w/shop/.claude/settings.json",
        "/w/shop/.claude/settings.local.json",
    ]  # fmt: skip
    moved = settings.settings_path("user", home, project, {"CLAUDE_CONFIG_DIR": "/c"})
    assert moved == Path("/c/settings.json")
    with pytest.raises(UsageError, match="use user, project, local"):
        settings.settings_path("all", home, project, {})  # type: ignore[arg-type]


def test_a_new_file_has_the_hooks_alone(tmp_path: Path) -> None:
    data = write(tmp_path / ".claude" / "settings.json")
    assert list(data) == ["hooks"]
    assert list(data["hooks"]) == EVENTS
    assert data["hooks"]["SessionStart"][0]["matcher"] == "startup|clear|compact"
    handler = data["hooks"]["PreCompact"][0]["hooks"][0]
    assert handler == {
        "type": "command", "timeout": 10,
        "command": "'/opt/a b/python' -P -m treemem hooks run || exit 1",
    }  # fmt: skip


def test_hooks_of_the_user_stay_and_are_the_same_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(MINE)
    data = write(path)
    mine = json.loads(MINE)
    assert data["hooks"]["SessionStart"][0] == mine["hooks"]["SessionStart"][0]
    assert len(data["hooks"]["SessionStart"]) == 2
    assert data["hooks"]["PreToolUse"] == mine["hooks"]["PreToolUse"]
    for line in MINE.splitlines():
        assert line.removesuffix(" ],") in path.read_text()
    command = GROUPS["SessionEnd"]["hooks"][0]["command"]
    assert settings.state_of("user", path).commands == (command,)
    assert settings.added(path, GROUPS).after == path.read_text()
    config_files.apply(settings.removed(path), NOW)
    assert path.read_text() == MINE
    assert settings.state_of("user", path).commands == ()
    with pytest.raises(NotFoundError):
        settings.removed(path)


@pytest.mark.parametrize(
    "before", ["", "{}", "{}\n", '{"a":[1],"hooks":{}}', '{"hooks": {"Stop": []}}']
)
def test_any_layout_gets_them_and_gets_rid_of_them(before: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(before)
    assert set(EVENTS) <= set(write(path)["hooks"])
    config_files.apply(settings.removed(path), NOW)
    left = json.loads(path.read_text())
    assert left.get("hooks", {}) == json.loads(before or "{}").get("hooks", {})


def test_hooks_of_before_are_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    old = settings.groups_of(["/old/python", "-m", "treemem", "--db", "/x", "hooks", "run"])
    config_files.apply(settings.added(path, old), NOW)
    assert write(path) == {"hooks": {event: [group] for event, group in GROUPS.items()}}


def test_a_handler_that_the_user_put_into_a_group_of_theirs_goes_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    ours = GROUPS["SessionEnd"]["hooks"][0]
    theirs = {"type": "command", "command": "echo treemem hooks"}
    group = {"hooks": [theirs, ours]}
    path.write_text(json.dumps({"hooks": {"SessionEnd": [group], "Stop": [{"hooks": [ours]}]}}))
    config_files.apply(settings.removed(path), NOW)
    assert json.loads(path.read_text()) == {"hooks": {"SessionEnd": [{"hooks": [theirs]}]}}


@pytest.mark.parametrize(
    "text",
    ["[]", "{ // mine\n}", '{"hooks": []}', '{"hooks": {"SessionEnd": {}}}', '{"a": 1, "a": 2}'],
)
def test_a_file_of_another_form_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="by hand"):
        settings.added(path, GROUPS)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "group", [None, 3, {}, {"hooks": None}, {"hooks": [3]}, {"hooks": [{"command": "it's"}]}]
)
def test_groups_that_treemem_does_not_understand_stay(group: object, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"hooks": {"SessionEnd": [group]}}))
    assert write(path)["hooks"]["SessionEnd"][0] == group
    config_files.apply(settings.removed(path), NOW)
    assert json.loads(path.read_text()) == {"hooks": {"SessionEnd": [group]}}
