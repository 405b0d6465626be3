"""Tests `treemem recover`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture
def hurt(tmp_path: Path) -> Path:
    """A memory of which a page with messages is destroyed."""
    path = tmp_path / "hurt.sqlite3"
    with Memory.open(path) as memory:
        for number in range(3):
            texts = [f"Goat {number}.{n} " + "eats hay. " * 40 for n in range(12)]
            memory.append(f"chat/{number}", [Message(text=text) for text in texts])
    data = path.read_bytes()
    at = data.index(b"Goat 1.5") // 4096 * 4096
    path.write_bytes(data[:at] + b"\xff" * 4096 + data[at + 4096 :])
    return path


def test_the_error_about_a_damaged_file_names_the_command_that_recovers_it(hurt: Path) -> None:
    refused = run("--db", str(hurt), "source", "show", "chat/1", "--messages")
    new = hurt.with_name("recovered.sqlite3")
    assert refused.exit_code == 1
    assert f"`treemem recover {hurt} {new}`" in refused.stderr
    done = run("recover", str(hurt), str(new))
    first, lost, *places = done.stdout.splitlines()
    assert first.endswith(f" messages of 3 sources in {new}.")
    assert lost.startswith("Lost: ")
    assert lost.endswith(" messages.")
    assert all(line.startswith("  chat/") for line in places)
    assert places
    assert f"treemem --db {new} ingest LOG" in done.stderr
    assert run("--db", str(new), "doctor").exit_code == 0


def test_json_says_where_messages_are_lost(hurt: Path, tmp_path: Path) -> None:
    report = run_json("recover", str(hurt), str(tmp_path / "new.sqlite3"))
    assert report["messages"] + report["lost"] == 36
    lost = sum(place["messages"] for place in report["lost_places"])
    assert lost == report["lost"] > 0
    assert report["lost_places"][0]["positions"][0].keys() == {"first", "last"}
    refused = run("recover", str(hurt), str(tmp_path / "new.sqlite3"))
    assert refused.exit_code == 1
    assert "exists already. Choose another name" in refused.stderr


def test_doctor_names_the_command_if_a_word_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "a b.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="We chose the red paint.")])
    path.write_bytes(path.read_bytes().replace(b"chose the red paint", b"chose the mud paint"))
    found = run("--db", str(path), "doctor")
    assert found.exit_code == 1
    assert f"treemem recover '{path}' recovered.sqlite3" in found.stderr
    done = run("recover", str(path), str(tmp_path / "new.sqlite3"))
    assert done.exit_code == 1
    assert "No message can be read" in done.stderr
