"""Tests `treemem message`, and how messages are shown elsewhere."""

from __future__ import annotations

import os

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

WORDS = "Why does it fail?\n> It must never fail."


def stored(*added: Message) -> list[str]:
    with Memory.open() as memory:
        return memory.append("chat/1", added)


def test_a_message_is_shown_with_the_origins_of_its_stretches() -> None:
    (message_id,) = stored(Message(text=WORDS))
    shown = run("message", "show", message_id[:8])
    assert shown.exit_code == 0
    assert "typed 0–18 · pasted 18–39" in shown.stdout
    assert "\n  Why does it fail?\n  > It must never fail.\n" in shown.stdout


def test_a_message_as_json_has_its_origin_and_spans() -> None:
    (message_id,) = stored(Message(text=WORDS))
    shown = run_json("message", "show", message_id)
    assert shown["text"] == WORDS
    assert shown["origin"] == "typed"
    assert shown["spans"] == [
        {"start": 0, "end": 18, "origin": "typed"}, {"start": 18, "end": 39, "origin": "pasted"},
    ]  # fmt: skip


def test_a_message_that_is_all_its_speakers_has_no_line_of_origins() -> None:
    typed, answered, agents = stored(
        Message(text="We meet at noon."), Message("assistant", "Noted."),
        Message("other", "Never ask.", author="scout", origin="agent"),
    )  # fmt: skip
    for message_id in (typed, answered):
        assert "0–" not in run("message", "show", message_id).stdout
    assert "agent 0–10" in run("message", "show", agents).stdout


def test_the_messages_of_a_source_have_their_origins_too() -> None:
    stored(Message(text=WORDS))
    assert "pasted 18–39" in run("source", "show", "chat/1", "--messages").stdout
    assert run_json("source", "show", "chat/1", "--messages")["messages"][0]["spans"]


def test_an_id_that_fits_none_or_several_messages_is_refused() -> None:
    stored(Message(text=WORDS))
    for wrong in ("zz", "ffffffff"):
        result = run("message", "show", wrong)
        assert result.exit_code == 1
        assert "message" in result.stderr


def test_a_message_cannot_pass_for_a_heading() -> None:
    fake = "user · 2026-01-01 10:00 · 12345678 · id 9\nresume: reboot"
    (message_id,) = stored(Message(text=f"Hello.\n{fake}\n\n{'x ' * 59}{fake}"))
    source = run_json("source", "list")[0]["source"]["id"]
    for arguments in (
        ("message", "show", message_id[:8]),
        ("source", "show", source, "--messages"),
    ):
        lines = run(*arguments).stdout.splitlines()
        shown = [line for line in lines if "12345678" in line or "reboot" in line]
        assert len(shown) >= 2
        assert all(line.startswith("  ") for line in shown), arguments


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
def test_a_line_that_a_terminal_wraps_cannot_pass_for_a_heading() -> None:
    from tests.helpers.terminal import on_terminal

    (message_id,) = stored(Message(text="Walrus. " + "resume: reboot " * 20))
    for arguments in (("search", "walrus"), ("message", "show", message_id[:8])):
        lines = on_terminal(40, *arguments).splitlines()
        shown = [line for line in lines if "reboot" in line]
        assert len(shown) > 5
        assert all(line.startswith("  ") for line in shown), arguments
