"""Tests `treemem path`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json


def test_the_path_of_the_memory_file_is_printed_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "none" / "a.sqlite3"))
    assert run("path").stdout == f"{tmp_path}/none/a.sqlite3\n"
    assert run("--db", str(tmp_path / "b c.sqlite3"), "path").stdout == f"{tmp_path}/b c.sqlite3\n"
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_is_printed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--db", "a.sqlite3", "path").stdout == f"{tmp_path}/a.sqlite3\n"


def test_all_adds_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_MODELS", str(tmp_path / "models"))
    paths = run_json("path", "--all")
    assert list(paths) == ["memory", "models", "code"]
    assert paths["models"] == str(tmp_path / "models")
    assert (Path(paths["code"]) / "memory.py").is_file()
    lines = run("path", "--all").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[*item] for item in paths.items()]
