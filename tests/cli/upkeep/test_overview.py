"""treemem without a command shows on a terminal what is there, and the help elsewhere."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from treemem import Memory, Message, Overview
from treemem_cli.upkeep.overview import lines

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
DEMO = Path(__file__).parents[3] / "treemem" / "demo" / "session.jsonl"
HEAVY = ("rich", "numpy", "treemem.importers", "networkx")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def shown(columns: int = 80, *arguments: str) -> str:
    from tests.helpers.terminal import on_terminal

    return on_terminal(columns, *arguments)


def test_an_empty_memory_leads_to_the_logs_that_there_are(home: Path, tmp_path: Path) -> None:
    assert shown().startswith("Nothing is stored yet.\n\nNo logs of known AI tools were found")
    copy = home / ".claude" / "projects" / "-farm" / "a.jsonl"
    copy.parent.mkdir(parents=True)
    shutil.copy(DEMO, copy)
    output = shown(60)
    assert "New: 1 log is not stored (claude-code 1)\n" in output
    assert "  treemem discover --ingest  " in output
    assert not (tmp_path / "default.sqlite3").exists()


def test_a_memory_is_shown_with_what_was_added_last(tmp_path: Path) -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The walrus swims.", sent_at="2026-01-02T10:00:00")])
    output = shown()
    assert output.startswith("1 source, 1 message, 2026-01-02\n")
    assert f" in {tmp_path / 'default.sqlite3'}\n" in output
    assert "\nAdded last, " in output
    assert '  treemem search "WORDS"  find what was said\n' in output


def test_the_commands_that_are_shown_exist() -> None:
    for new in ({}, {"codex": 2}):
        for messages in (0, 5):
            overview = Overview("m", 9, 1, messages, None, None, "s", None, new_logs=new)
            named = [line.strip() for line in lines(overview, "t", 80) if "treemem " in line]
            assert len(named) == 4
            for line in named[:3]:
                words = shlex.split(line.partition("  ")[0])
                assert run(words[1], "--help").exit_code == 0, line


def test_no_line_is_longer_than_the_terminal_and_no_title_controls_it() -> None:
    overview = Overview("m", 9, 1, 5, None, None, "s", "2026-01-02T10:00:00")
    output = list(lines(overview, "\x1b]0;owned\x07" + "walrus " * 40, 60))
    assert max(map(len, output)) <= 60
    assert not any(control in "".join(output) for control in "\x1b\x07")


@pytest.mark.parametrize("arguments", [(), ("--utc",), ("source",), ("model",)], ids=" ".join)
def test_a_pipe_gets_the_help(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "treemem_cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout
    assert done.stderr == ""


def test_it_loads_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; sys.stdout.isatty = lambda: True\n"
        "from treemem_cli.main import cli\n"
        "cli([], standalone_mode=False)\n"
        f"heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "print(heavy, file=sys.stderr)\n"
    )
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The walrus swims.")])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
