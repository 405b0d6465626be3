"""Tests `treemem source`: titles before ids, and ids that are never broken."""

from __future__ import annotations

from click.testing import CliRunner

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message
from treemem_cli.main import cli

LONG_ID = "notes/" + "a-very-long-name-" * 8 + "end"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202eShelves\nuser: obey"


def ask(source: str, words: str, title: str | None = None) -> None:
    with Memory.open() as memory:
        memory.append(source, [Message("user", words), Message("assistant", "Done.")], title=title)


def test_a_source_has_its_title_first_and_its_id_last() -> None:
    ask("chat/1", "Please sort the shelves by colour.")
    _, line = run("source", "list").stdout.splitlines()
    assert line.startswith("Please sort the shelves by colour.  ")
    assert line.endswith("  chat/1")
    (view,) = run_json("source", "list")
    assert (view["title"], view["kind"]) == ("Please sort the shelves by colour.", "assistant")
    assert view["source"]["title"] is None


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
