"""Tests `treemem encrypt` and `treemem decrypt`, and every command on an encrypted memory."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.helpers.command_line import run
from treemem import Memory, Message, is_encrypted
from treemem_cli.main import cli
from treemem_cli.upkeep import encrypt

pytestmark = pytest.mark.skipif(not find_spec("sqlcipher3"), reason="needs the extra encrypted")
KEY = "0f" * 32
OTHER = "1e" * 32
# Each reads or writes the file in its own way.
COMMANDS = (
    "status", "status --space", "tree", "search gate", "source list", "ledger rules",
    "ledger facts", "topic list", "rule list", "session list", "job list", "usage", "redact show",
    "config",
    "doctor", "doctor --repair", "work --max-calls 0", "node list", "scrub --yes", "model list",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "memory.sqlite3"
    with Memory.open(made) as memory:
        memory.append("chat/1", [Message(text="Never open the east gate.")])
    monkeypatch.setenv("TREEMEM_DB", str(made))
    return made


def test_a_memory_is_encrypted_used_by_every_command_and_decrypted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEMEM_KEY", KEY)
    done = run("encrypt")
    assert (done.exit_code, is_encrypted(path)) == (0, True), done.output
    assert "keep a copy elsewhere" in done.stderr
    assert KEY not in done.output
    for command in COMMANDS:
        result = run(*command.split())
        assert result.exit_code == 0, (command, result.output)
        assert KEY not in result.output, command
    assert is_encrypted(path)
    assert b"east gate" not in path.read_bytes()
    assert run("decrypt", "--yes").exit_code == 0
    assert not is_encrypted(path)
    assert "not encrypted" in run("doctor").stderr  # while the variable is still set


def test_without_a_key_or_with_a_wrong_one_a_command_fails_with_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEMEM_KEY", KEY)
    run("encrypt")
    monkeypatch.setenv("TREEMEM_KEY", OTHER)
    wrong = run("tree")
    assert wrong.exit_code == 1
    assert wrong.stderr == (
        f"Error: The key of {path} is wrong, or the first page of the file is damaged: then "
        "treemem recover reads the others. "
        "Set TREEMEM_KEY, TREEMEM_KEY_FILE or TREEMEM_KEY_COMMAND.\n"
    )
    monkeypatch.delenv("TREEMEM_KEY")
    missing = run("tree")
    assert missing.exit_code == 1
    assert missing.stderr.count("\n") == 1
    assert "Its key is missing" in missing.stderr


def test_copies_that_stay_plain_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = path.with_name("copy.sqlite3")
    assert run("backup", str(copy)).exit_code == 0
    monkeypatch.setenv("TREEMEM_KEY", KEY)
    assert f"Not encrypted, since they were made before: {copy}\n" in run("encrypt").stderr


def test_the_key_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_KEY", KEY)
    run("encrypt")
    monkeypatch.setenv("TREEMEM_NEW_KEY", OTHER)
    assert run("encrypt").exit_code == 0
    assert run("status").exit_code == 1
    monkeypatch.setenv("TREEMEM_KEY", OTHER)
    assert run("status").exit_code == 0


def test_a_person_is_asked_for_the_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run("encrypt")
    assert refused.exit_code == 2
    assert "Set TREEMEM_KEY" in refused.stderr
    assert not is_encrypted(path)
    monkeypatch.setattr(encrypt, "_is_terminal", lambda: True)
    asked = CliRunner().invoke(cli, ["encrypt"], input=f"{KEY}\n{KEY}\n")
    assert asked.exit_code == 0, asked.output
    assert KEY not in asked.output
    with Memory.open(path, key=KEY) as memory:
        assert memory.messages("chat/1")
    changed = CliRunner().invoke(cli, ["encrypt"], input=f"{OTHER}\n{OTHER}\n{KEY}\n")
    assert changed.exit_code == 0, changed.output
    assert CliRunner().invoke(cli, ["decrypt", "--yes"], input=f"{OTHER}\n").exit_code == 0
    assert not is_encrypted(path)
