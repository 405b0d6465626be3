"""Everyday output has everyday words; -v shows what is behind them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

DEMO = str(Path(__file__).parent.parent.parent / "treemem" / "demo" / "session.jsonl")
INSIDE = re.compile(r"\b(leaf|leaves|roots?|groups?|level \d|extractive|open tails?|provisional)\b")


@pytest.fixture
def demo(demo_at_home: None) -> str:
    root: str = run_json("tree")[0]["root_id"]
    return root


def test_everyday_output_does_not_speak_of_leaves_roots_and_producers(
    demo: str, tmp_path: Path
) -> None:
    for command in (("ingest", DEMO), ("status",), ("tree", "--depth", "0"), ("source", "list"),
                    ("topic", "list"), ("node", "list", "--limit", "3"), ("work",)):  # fmt: skip
        result = run(*command)
        output = result.output.replace(str(tmp_path), "")
        assert not INSIDE.search(output), (command, INSIDE.search(output))
    head = run("node", "show", demo).stdout.splitlines()[:2]
    assert head[0] == demo
    assert head[1].startswith("247 messages  2025-11-04")


@pytest.mark.parametrize("command", ["status", "tree", "node"])
def test_v_shows_what_is_inside_before_or_after_the_command(demo: str, command: str) -> None:
    words = {"status": ["status"], "tree": ["tree"], "node": ["node", "show", demo]}[command]
    after = run(*words, "-v").stdout
    assert INSIDE.search(after)
    assert run("-v", *words).stdout == after


def test_that_there_is_no_embedder_is_said_where_nothing_was_found(demo: str) -> None:
    sentence = "no embedder is in use"
    assert sentence not in run("search", "October settlement").stderr
    assert sentence in run("search", "xyzzyplugh").stderr
    assert any(sentence in one for one in run_json("search", "October settlement")["missing"])


def test_a_report_counts_messages(tmp_path: Path) -> None:
    result = run("ingest", DEMO)
    assert "247 messages added." in result.stdout.splitlines()
    assert "fragment" not in result.output
    assert re.search(r"^[\d,]+ records? more, not messages", result.stdout, re.MULTILINE)
    assert "0 messages added, 247 known." in run("ingest", DEMO).stdout.splitlines()


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_a_long_text_goes_through_the_pager_of_a_terminal_only(tmp_path: Path) -> None:
    from tests.helpers.terminal import on_terminal

    with Memory.open() as memory:
        memory.append("chat/1", [Message(text=f"Line {number}.") for number in range(60)])
        memory.work(max_calls=0)
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho THE PAGER\ncat\n")
    pager.chmod(0o700)
    words = ("source", "show", "chat/1", "--messages")
    shown = on_terminal(80, *words, PAGER=str(pager))
    assert "THE PAGER" in shown
    assert "Line 59." in shown
    assert "THE PAGER" not in on_terminal(80, *words, "--no-pager", PAGER=str(pager))
    assert "THE PAGER" not in on_terminal(80, *words, rows=900, PAGER=str(pager))
    assert "THE PAGER" not in on_terminal(80, *words, PAGER=str(pager), TERM="dumb")
    assert "THE PAGER" not in run(*words).stdout


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
@pytest.mark.parametrize(
    ("program", "options", "is_styled"),
    [("", "", True), ("less", "", True), ("less", "-FX", True), ("less -S", "i", True),
     ("", "-PsMINE", True), ("", "-+R", False)],
)  # fmt: skip
def test_less_shows_styles_unless_the_user_does_not_want_them(
    program: str, options: str, is_styled: bool
) -> None:
    from tests.helpers.terminal import on_terminal

    with Memory.open() as memory:
        memory.append("chat/1", [Message(text=f"Line {number}.") for number in range(60)])
        memory.work(max_calls=0)
    words = ("source", "show", "chat/1", "--messages")
    shown = on_terminal(80, *words, typed="q", PAGER=program, LESS=options)
    assert "Line 1." in shown
    assert "Line 59." not in shown, "it was not shown by less"
    assert ("\x1b[1m" in shown, "ESC" in shown) == (is_styled, not is_styled)
    assert ("MINE" in shown) == (options == "-PsMINE"), "the user's prompt"
