"""Tests `treemem search` with several memory files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

WORDS = {"home": "The dentist moved the appointment to Thursday.",
         "work": "The importer drops rows without a number."}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Two memory files; returns their paths by name."""
    paths = {}
    for name, text in WORDS.items():
        paths[name] = str(tmp_path / f"{name}.sqlite3")
        with Memory.open(paths[name]) as memory:
            memory.append("chat/1", [Message(text=text, sent_at="2026-01-05T09:00:00+00:00")])
            memory.work(max_calls=0)
    return paths


def dbs(*paths: str) -> list[str]:
    return [word for path in paths for word in ("--db", path)]


def test_each_passage_says_its_file_and_opens_there(files: dict[str, str]) -> None:
    both = dbs(*files.values())
    result = run("search", *both, "dentist appointment, importer rows")
    assert result.exit_code == 0, result.output
    for name, path in files.items():
        assert f" {name} 2026-01-05" in result.stdout
        assert f"in {path}" in result.stdout
        assert f"{name} 1" in result.stderr
    first = "home" if result.stdout.index(WORDS["home"]) < result.stdout.index("work") else "work"
    second = "work" if first == "home" else "home"
    wrong = run("open", "1", "--db", files[second], "--json")
    assert wrong.exit_code == 1
    assert f"--db {files[first]}" in wrong.stderr
    location = run_json("open", "1", "--db", files[first])
    assert run("message", "show", location["message_id"], "--db", files[first]).exit_code == 0


def test_json_and_plain_rows_have_the_file(files: dict[str, str]) -> None:
    both = dbs(*files.values())
    answer = run_json("search", *both, "dentist")
    assert [passage["file"] for passage in answer["passages"]] == [files["home"]]
    assert [(one["name"], one["passages"], one["error"]) for one in answer["files"]] == [
        ("home", 1, None), ("work", 0, None)
    ]  # fmt: skip
    row = run("search", *both, "dentist", "--plain").stdout.rstrip("\n").split("\t")
    assert row[-1] == files["home"]
    alone = run_json("search", "--db", files["home"], "dentist")
    assert [passage["file"] for passage in alone["passages"]] == [None]


def test_a_missing_file_is_named_and_the_others_answer(files: dict[str, str]) -> None:
    result = run("search", *dbs("none.sqlite3", files["home"]), "dentist")
    assert result.exit_code == 1
    assert WORDS["home"] in result.stdout
    assert "none.sqlite3 does not exist" in result.stderr
    assert not Path("none.sqlite3").exists()
    nothing = run("search", *dbs(*files.values()), "xylophone")
    assert nothing.exit_code == 1
    assert "Nothing was found." in nothing.stderr


@pytest.mark.parametrize("command", ["tree", "ingest x", "topic list", "status", "config", ""])
def test_other_commands_refuse_two_files(files: dict[str, str], command: str) -> None:
    words = command.split()
    for line in ([*dbs(*files.values()), *words], [*words, *dbs(*files.values())]):
        result = run(*line)
        if words:
            assert result.exit_code == 2, result.output
            assert f"{command.removesuffix(' x')} works on one memory file" in result.stderr
    same = files["home"]
    assert run("status", *dbs(same, same)).exit_code == 0


def test_the_variable_is_one_path_whatever_it_contains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a:b c.sqlite3"
    monkeypatch.setenv("TREEMEM_DB", str(path))
    assert run("ingest", "-", stdin="The pump runs at night.").exit_code == 0
    assert path.exists()
