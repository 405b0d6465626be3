"""Tests what a shell completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.quickness import patience, processor_seconds
from treemem import Memory, Message
from treemem.importers import IMPORTERS

# A completion may take this long in seconds beyond a bare interpreter, on a machine that is quiet.
SECONDS_MAX = 0.2
_PROGRAM = "import sys; sys.argv[0] = 'treemem'; from treemem_cli.main import main; main()"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "a.sqlite3"
    with Memory.open(path) as memory:
        for name in ("chat/42", "chat/43", "mail/x y", "mail/$(touch pwned)"):
            memory.append(name, [Message(text="We ship on Friday.")], title="A\x1b[31m title\n")
        memory.work(max_calls=0)
    monkeypatch.setenv("TREEMEM_DB", str(path))
    return path


def completed(*words: str, shell: str = "bash") -> list[str]:
    """What the command prints for a shell that completes the last word."""
    line = " ".join(["treemem", *words[:-1], words[-1] or ""])
    number = words[-1] if shell == "fish" else str(len(words))
    environment = {
        **os.environ, "_TREEMEM_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line, "COMP_CWORD": number,
    }  # fmt: skip
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines() if done.stdout != "\n" else []


def test_commands_and_their_options_are_completed(db: Path) -> None:
    assert completed("sea") == ["plain,search"]
    assert completed("topic", "re") == ["plain,rebuild", "plain,rename"]
    assert completed("search", "x", "--sin") == ["plain,--since"]


def test_sources_are_completed_by_their_beginning_or_a_part_of_one(db: Path) -> None:
    assert completed("source", "show", "ch") == ["plain,chat/43", "plain,chat/42"]
    assert completed("tree", "42") == ["plain,chat/42"]
    # Bash would replace the word by "chat/4", which has not got what was typed.
    assert completed("tree", "at/4") == []
    assert completed("search", "x", "--source", "chat/42") == ["plain,chat/42"]


def test_a_part_of_a_session_with_sub_agents_is_completed_to_the_session(db: Path) -> None:
    with Memory.open(db) as memory:
        for name in ("claude-code/5c1d", "claude-code/5c1d/agent-1", "claude-code/5c1d/agent-2"):
            memory.append(name, [Message(text="We ship on Friday.")])
    assert completed("source", "show", "5c") == ["plain,claude-code/5c1d"]


def test_an_id_that_a_shell_would_run_or_split_is_not_offered(db: Path) -> None:
    assert completed("source", "show", "mail") == []


def test_what_an_id_is_about_is_shown_without_control_characters(db: Path) -> None:
    assert completed("tree", "chat/42", shell="fish") == ["plain,chat/42\tA␛[31m title"]
    assert completed("tree", "chat/42", shell="zsh") == ["plain", "chat/42", "A␛[31m title"]


def test_what_an_id_is_about_is_short(db: Path) -> None:
    with Memory.open(db) as memory:
        memory.append("long/1", [Message(text="And then?")], title="barley " * 40)
    (line,) = completed("tree", "long/1", shell="fish")
    assert line.endswith("…")
    assert len(line.partition("\t")[2]) <= 60


def test_live_sessions_and_checkpoints_are_completed(db: Path) -> None:
    with Memory.open(db) as memory:
        made = memory.session("mill/today")
        checkpoint = made.checkpoint().id
    assert completed("session", "show", "mi") == ["plain,mill/today"]
    assert completed("session", "show", "today") == ["plain,mill/today"]
    assert completed("session", "show", "chat/4") == []
    assert completed("session", "resume", "c") == [f"plain,{checkpoint}"]


@pytest.mark.parametrize("command", [["node", "show"], ["message", "show"], ["job", "show"]])
def test_other_ids_are_completed(db: Path, command: list[str]) -> None:
    with Memory.open(db) as memory:
        memory.append("chat/44", [Message(text="And then?")])  # a job waits
    words = completed(*command, "")
    assert words
    assert all(word.startswith("plain,") for word in words)


def test_formats_and_models_are_completed(db: Path) -> None:
    assert completed("ingest", "--format", "clau") == ["plain,claude-code", "plain,claude-ai"]
    assert completed("model", "use", "embedder", "minil") == ["plain,minilm"]
    assert completed("model", "pull", "./my") == ["file,./my"]


@pytest.mark.parametrize("command", ["ingest", "plan", "watch"])
def test_paths_are_left_to_the_shell(db: Path, command: str) -> None:
    assert completed(command, "~/Down") == ["file,~/Down"]


def test_help_completes_commands(db: Path) -> None:
    assert completed("help", "sea") == ["plain,search"]


def test_the_completed_formats_are_all(db: Path) -> None:
    names = [f"plain,{importer.name}" for importer in IMPORTERS]
    assert completed("ingest", "--format", "")[: len(names)] == names


def test_without_a_memory_nothing_is_completed_and_none_is_made(tmp_path: Path) -> None:
    assert completed("--db", str(tmp_path / "none"), "tree", "") == []
    assert list(tmp_path.iterdir()) == []


def test_bash_completes_by_the_documented_line(db: Path, tmp_path: Path) -> None:
    program = tmp_path / "treemem"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{_PROGRAM}" "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_TREEMEM_COMPLETE=bash_source treemem)"; COMP_WORDS=(treemem tree 43); '
        'COMP_CWORD=2; _treemem_completion treemem; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "chat/43\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell: str) -> None:
    environment = {**os.environ, "_TREEMEM_COMPLETE": f"{shell}_source"}
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"_TREEMEM_COMPLETE={shell}_complete" in done.stdout


def test_a_completion_is_quick(db: Path) -> None:
    environment = {
        **os.environ, "_TREEMEM_COMPLETE": "bash_complete", "COMP_WORDS": "treemem tree c",
        "COMP_CWORD": "2",
    }  # fmt: skip
    taken = processor_seconds("-c", _PROGRAM, environment=environment)
    assert taken < SECONDS_MAX * patience()
