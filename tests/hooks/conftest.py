"""Gives the tests of hooks a home of their own, and a project with a session in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.logs import ClaudeSession

WriteLog = Callable[..., Path]
RULE = "Always run make lint before you commit."
OPEN = "We still need to test the upload of large files."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "shop").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home / "shop")
    return home


@pytest.fixture
def write_log(home: Path) -> WriteLog:
    """Writes the log of a session in a project, as Claude Code does."""

    def write(name: str, *texts: str, project: Path | None = None) -> Path:
        session = ClaudeSession(name)
        session.say(*texts)
        folder = home / ".claude" / "projects" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session.id}.jsonl"
        place = str(project or home / "shop")
        rows = [json.dumps({**json.loads(line), "cwd": place}) for line in session.lines()]
        path.write_text("".join(f"{row}\n" for row in rows))
        return path

    return write
