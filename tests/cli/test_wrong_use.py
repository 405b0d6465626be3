"""What a person types wrongly is answered by what to type instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from treemem import Memory
from treemem_cli.main import COMMANDS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("ingets", "ingest"), ("serach", "search"), ("statsu", "status"), ("stats", "status"),
     ("sarch", "search"), ("docter", "doctor"), ("treee", "tree"), ("discovr", "discover"),
     ("hlep", "help")],
)  # fmt: skip
def test_a_misspelled_command_names_the_one_that_is_meant(typed: str, meant: str) -> None:
    result = run(typed)
    assert result.exit_code == 2
    assert f"No such command '{typed}'." in result.stderr
    assert "Did you mean" in result.stderr
    assert f"'{meant}'" in result.stderr


def test_what_is_like_no_command_names_none() -> None:
    assert "Did you mean" not in run("xyzzyplugh").stderr


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("source", "list"), ("source", "show", "nobody"), ("search", "pump"),
     ("job", "list"), ("work", "--max-calls", "0"), ("model", "list")],
    ids=" ".join,
)  # fmt: skip
def test_options_of_treemem_may_stand_before_or_after_the_command(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    Memory.open(tmp_path / "other.sqlite3").close()
    shared = ("--db", str(tmp_path / "other.sqlite3"), "--utc")
    before, after = run(*shared, *arguments), run(*arguments, *shared)
    for name in ("exit_code", "stderr"):
        assert getattr(before, name) == getattr(after, name)
    assert before.exit_code != 2, before.output


def test_an_option_after_the_command_overrides_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory.open(tmp_path / "other.sqlite3").close()
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "missing.sqlite3"))
    assert run("status").exit_code == 1
    assert "other.sqlite3" in run("status", "--db", str(tmp_path / "other.sqlite3")).stdout
    result = run("status", "--db", "")
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr


def test_a_machine_without_a_memory_says_what_to_do_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREEMEM_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in ("status", "doctor"):
        result = run(command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Nothing is stored yet: " in result.stderr
        assert "treemem discover --ingest" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_that_behind_the_command(name: str) -> None:
    assert run("help", name).stdout == run(name, "--help").stdout


def test_help_takes_commands_of_commands_and_none() -> None:
    assert run("help", "node", "show").stdout == run("node", "show", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    assert run("help", "serach").exit_code == 2
    assert "has no commands" in run("help", "status", "show").stderr


def test_the_version_has_a_short_option() -> None:
    assert run("-V").stdout == run("--version").stdout != ""


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treemem", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("python -m treemem, version ")
