"""Tests `treemem export` and `treemem import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "memory.sqlite3"))
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="We ship on Friday, Željko."), Message(text="Good.")])


def test_a_memory_is_exported_and_taken_in(tmp_path: Path) -> None:
    file, other = str(tmp_path / "memory.jsonl"), str(tmp_path / "other.sqlite3")
    said = run("export", file)
    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr.startswith("Wrote ")
    assert "Željko" in Path(file).read_text("utf-8")
    taken = run("--db", other, "import", file)
    assert taken.stdout == "Added 2 messages of 1 source.\n"
    assert run("--db", other, "import", file).stdout == (
        "Added 0 messages of 0 sources; 1 source known.\n"
    )
    assert "We ship" in run("--db", other, "search", "ship").stdout
    with Memory.open(other) as memory:
        memory.append("chat/1", [Message(text="One more.")])
    differing = run("--db", other, "import", file)
    assert "Left as it is, since it differs here: chat/1" in differing.stderr
    report = run_json("--db", other, "import", file)
    assert (report["sources"], report["messages"], report["differing"]) == (0, 0, ["chat/1"])


def test_an_export_goes_to_standard_output(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in run("export", "-").stdout.splitlines()]
    assert [line["type"] for line in lines[:1] + lines[-1:]] == ["header", "end"]
    names = {path.name for path in tmp_path.iterdir()}
    assert names <= {"memory.sqlite3", "servers.json"}


def test_what_is_no_export_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"role": "user", "content": "hello"}\n')
    result = run("import", str(log))
    assert result.exit_code == 1
    assert f"To store a log: treemem ingest {log}" in result.stderr
    again = run("export", str(log))
    assert again.exit_code == 1
    assert "exists already. It was not changed." in again.stderr
