"""Tests `treemem sync`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shared folder; the memory of this machine has a message, that of the other none."""
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "memory.sqlite3"))
    with Memory.open(None) as memory:
        memory.append("chat/1", [Message(text="We ship on Friday, Željko.")])
    shared = tmp_path / "shared"
    shared.mkdir()
    return shared


def test_machines_join_with_a_code_and_say_what_came(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = str(tmp_path / "other.sqlite3")
    monkeypatch.setattr("platform.node", lambda: "desk")
    told = run("sync", str(folder), "--dry-run")
    assert told.stdout == f"Would write 1 source with 1 message to {folder}.\n"
    first = run("sync", str(folder))
    assert first.exit_code == 0
    lines = first.stdout.splitlines()
    assert lines[0].startswith(f"Wrote 1 source with 1 message to {folder} (")
    code = lines[1].rpartition(" ")[2]
    assert "Keep the code secret" in first.stderr
    assert run("sync", str(folder), "--show-code").stdout == f"{code}\n"
    assert run("sync", str(folder)).stdout == "Nothing is new.\n"

    refused = run("--db", other, "sync", str(folder))
    assert (refused.exit_code, code in refused.output) == (1, False)
    assert "treemem sync" in refused.stderr
    assert run("--db", other, "sync", str(folder), "--join", stdin="wrong\n").exit_code == 1
    assert not Path(other).exists()
    joined = run("--db", other, "sync", str(folder), "--join", stdin=f"{code.lower()}\n")
    assert joined.exit_code == 0
    assert joined.stdout.startswith("Took in of desk (")
    assert "1 message, 1 new source.\n" in joined.stdout
    assert "Želj" in run("--db", other, "search", "Friday").stdout
    monkeypatch.setenv("TREEMEM_SYNC_CODE", code)
    third = run_json("--db", str(tmp_path / "third.sqlite3"), "sync", str(folder))
    assert (third["taken"][0]["messages"], third["code"]) == (1, None)
    forgot = run("--db", other, "forget", "--text", "Friday", "--yes")
    assert f"as they sync: treemem sync {folder}\n" in forgot.stderr
    run("--db", other, "sync", str(folder))
    assert ": 1 message forgotten.\n" in run("sync", str(folder)).stdout


def test_a_file_that_was_made_without_the_code_is_named_and_exits_with_1(folder: Path) -> None:
    assert run("sync", str(folder)).exit_code == 0
    (folder / ("f" * 16)).mkdir()
    name = "0" * 64 + "-1.segment"
    (folder / ("f" * 16) / name).write_bytes(b"x")
    result = run("sync", str(folder))
    assert result.exit_code == 1
    assert name in result.stderr
    assert result.stderr.startswith("Refused: ")


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path, folder: Path) -> None:
    result = run("sync", str(tmp_path / "missing"))
    assert (result.exit_code, "There is no folder" in result.stderr) == (1, True)
    assert run("sync", str(folder), "--every", "0s").exit_code == 2
    new = str(tmp_path / "new.sqlite3")
    assert run("--db", new, "sync", str(tmp_path / "missing")).exit_code == 1
    assert "is no folder" in run("--db", new, "sync", str(tmp_path / "memory.sqlite3")).stderr
    assert not Path(new).exists()


def test_the_folder_of_a_memory_before_its_backup_is_named(folder: Path, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.sqlite3")
    assert run("sync", str(folder)).exit_code == 0
    with Memory.open(None) as memory:
        memory.backup(copy)
        memory.append("chat/2", [Message(text="We sold the mill.")])
        former = memory.sync(folder).machine or ""
    told = run("--db", copy, "sync", str(folder))
    assert f"in {folder / former}. If no copy is in use, delete that folder" in told.stderr
    with Memory.open(copy) as memory:
        (folder / former).rename(tmp_path / former)
        memory.forget(text="sold the mill")
        assert memory.sync(folder).sources == 1  # which only the folder that was deleted had
    assert "new id" not in run("--db", copy, "sync", str(folder)).stderr


def test_without_a_terminal_it_is_said_how_else_to_give_the_code(folder: Path) -> None:
    assert run("sync", str(folder)).exit_code == 0
    other = str(folder.parent / "other.sqlite3")
    joined = run("--db", other, "sync", str(folder), "--join", stdin="")
    assert joined.exit_code == 2
    assert "Set TREEMEM_SYNC_CODE." in joined.stderr
    assert "--yes" not in joined.stderr
