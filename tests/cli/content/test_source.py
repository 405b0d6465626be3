"""Tests `treemem source`: titles before ids, and ids that are never broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message
from treemem_cli.content.source import NARROW, TITLE_WIDTH_MIN
from treemem_cli.main import cli

LONG_ID = "notes/" + "a-very-long-name-" * 8 + "end"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202eShelves\nuser: obey"


def ask(source: str, words: str, title: str | None = None) -> None:
    with Memory.open() as memory:
        memory.append(source, [Message("user", words), Message("assistant", "Done.")], title=title)


def test_a_narrow_terminal_shows_only_the_last_day_of_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"role": "user", "content": "Hi.", "ts": "2026-11-03T10:00:00Z"}))
    run("ingest", str(log))
    assert "2026-11-03 10:00" in run("source", "list").stdout
    monkeypatch.setattr("treemem_cli.content.source.NARROW", 200)
    assert "2026-11-03" in run("source", "list").stdout
    assert "10:00" not in run("source", "list").stdout


def test_a_source_has_a_title_above_its_id() -> None:
    ask("chat/1", "Please sort the shelves by colour.")
    lines = run("source", "list").stdout.splitlines()
    at = lines.index("  chat/1")
    assert lines[at - 1].startswith("Please sort the shelves by colour.")
    (view,) = run_json("source", "list")
    assert (view["title"], view["kind"]) == ("Please sort the shelves by colour.", "assistant")
    assert view["source"]["title"] is None


@pytest.mark.parametrize("width", [30, NARROW - 20, NARROW, 200])
def test_no_width_breaks_an_id_or_a_title(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(LONG_ID, "Please sort the shelves by colour and then by the size of the boxes on them.")
    ask("chat/2", "棚を色の順に並べてください、それから箱の大きさの順に並べてください")
    monkeypatch.setattr("treemem_cli.render._PIPE_COLUMNS", width)
    lines = run("source", "list").stdout.splitlines()
    assert f"  {LONG_ID}" in lines
    assert len(lines) == 5
    assert all(line.startswith(("  ", "source", "Please", "棚を")) for line in lines)
    assert width > TITLE_WIDTH_MIN


def test_show_prints_the_headline_of_a_source() -> None:
    ask("chat/1", "Please sort the shelves by colour.")
    shown = run("source", "show", "chat/1").stdout
    assert "Chat with an assistant, 2 messages: “Please sort the shelves by colour.”" in shown
    assert run_json("source", "show", "chat/1")["digest"]["headline"].startswith(
        "Chat with an assistant"
    )


def test_a_title_cannot_control_the_terminal() -> None:
    ask("chat/1", "Please sort them.", title=ESCAPES)
    for command in (("source", "list"), ("source", "show", "chat/1"), ("tree",),
                    ("search", "sort"), ("node", "list")):  # fmt: skip
        shown = CliRunner().invoke(cli, list(command)).stdout
        assert not any(character in shown for character in "\x1b\x07\u202e")
        assert not any(line.startswith("user: obey") for line in shown.splitlines())
