"""systemd and launchd accept the units in docs/how-to/watch.md, and their commands exist."""

from __future__ import annotations

import configparser
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from treemem_cli.logs.watch import watch_command
from treemem_cli.main import cli

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "watch.md").read_text()


def fence(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert isinstance(block, str)
    return block


def assert_runs(words: list[str]) -> None:
    """The command line would be accepted."""
    assert Path(words[0]).name == "treemem"
    assert words[1] == "watch"
    watch_command.make_context("watch", words[2:])


def test_the_systemd_unit_runs_an_existing_command() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(fence("ini"))
    assert set(unit) >= {"Unit", "Service", "Install"}
    assert_runs(shlex.split(unit["Service"]["ExecStart"]))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    path = tmp_path / "treemem-watch.service"
    path.write_text(fence("ini").replace("%h/.local/bin/treemem", sys.executable))
    result = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False
    )
    about_it = [line for line in result.stderr.splitlines() if path.name in line]
    assert about_it == [], result.stderr


def test_the_launch_agent_runs_an_existing_command() -> None:
    agent = plistlib.loads(fence("xml").encode())
    assert_runs(agent["ProgramArguments"])
    assert agent["RunAtLoad"] is True
    assert PAGE.count(agent["Label"]) >= 4


def test_hours_without_work_are_refused() -> None:
    result = CliRunner().invoke(cli, ["watch", "--between", "22:00-07:00"])
    assert result.exit_code == 2
    assert "--work" in result.output
