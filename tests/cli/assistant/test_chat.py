"""Tests `treemem chat`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from tests.helpers.fake_server import FakeServer, chunks
from tests.helpers.terminal import on_terminal
from treemem import Memory, Message

TIMEOUT_SECONDS = 120


def turns(name: str = "latest") -> list[tuple[str, str]]:
    with Memory.open() as memory:
        session = memory.session(memory.find_session(name).source_id)
        return [(one["role"], one["content"]) for one in session.messages()]


def test_each_line_is_a_turn_and_the_answer_is_printed_as_it_comes() -> None:
    with FakeServer() as server:
        server.replies.extend([chunks("Hel", "lo."), chunks("Fine.")])
        result = run("chat", "--model", server.url, stdin="Hi\nHow are you?\n")
    assert result.exit_code == 0, result.output
    assert result.stdout == "Hello.\nFine.\n"
    assert "tiny, conversation chat/" in result.stderr
    assert turns() == [("user", "Hi"), ("assistant", "Hello."),
                       ("user", "How are you?"), ("assistant", "Fine.")]  # fmt: skip


def test_it_goes_on_where_it_was() -> None:
    with FakeServer() as server:
        run("chat", "--model", server.url, "--session", "pots", stdin="I am Ana.\n")
        result = run("chat", "--model", server.url, "--resume", stdin="Who am I?\n")
        sent = [one["content"] for one in server.bodies[-1]["messages"]]
    assert "I am Ana." in sent
    assert "chat/pots, 2 turns so far" in result.stderr


def test_why_shows_what_the_model_was_sent_with_ids_pins_and_rules() -> None:
    with Memory.open() as memory:
        memory.append("notes/1", [
            Message("user", "The kiln in Ghent burns at 1,240 degrees. Never use lead."),
        ])  # fmt: skip
    lines = ["/why", "/pin Keep it short.", "How hot does the kiln in Ghent burn?", "/why",
             "/why all", "/recall kiln Ghent", "/recall b0", "/unpin short"]  # fmt: skip
    with FakeServer() as server:
        result = run("chat", "--model", server.url, stdin="\n".join(lines))
        assert "Keep it short." in str(server.bodies[-1]["messages"])
    assert "The model was sent nothing yet." in result.stderr
    why = result.stdout.partition("Sent: ")[2]
    assert "tokens (system" in why
    assert "Keep it short." in why.partition("Pins and rules:")[2].partition("Found")[0]
    message_id = why.partition("treemem message show ID)\n  ")[2].split()[0]
    assert "1,240 degrees" in run("message", "show", message_id).stdout
    assert result.stdout.count("1,240 degrees") >= 3
    assert result.stdout.rstrip().endswith("No pins.")


def test_a_command_without_its_words_lists_what_there_is_or_says_what_is_missing() -> None:
    lines = ["/recall", "/pin One.", "/pin Two.", "/pin", "/unpin", "/ask", "/unpin two", "/unpin"]
    with FakeServer() as server:
        result = run("chat", "--model", server.url, stdin="\n".join(lines))
    assert result.stdout.startswith("No turns yet.\nPinned: One.\n")
    assert result.stdout.count("Pinned: One.\nPinned: Two.\n") == 3
    assert result.stdout.endswith("Pinned: One.\nNo pins.\n")
    assert "Which one?" in result.stderr
    assert "Ask what?" in result.stderr


def test_an_answer_cannot_control_the_terminal() -> None:
    with FakeServer() as server:
        server.replies.append(chunks("a\x1b", "[2Jb\u202e"))
        result = run("chat", "--model", server.url, stdin="Hi\n")
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert "a␛[2Jb" in result.stdout, result.output


def test_an_error_of_the_model_is_said_and_the_chat_goes_on() -> None:
    with FakeServer() as server:
        server.replies.extend([chunks("Half", end=""), chunks("Whole.")])
        result = run("chat", "--model", server.url, stdin="One\nTwo\n/nonsense\n/quit\nno\n")
    assert "! The model server" in result.stderr
    assert "Whole.\n" in result.stdout
    assert "/recall WORDS" in result.stdout
    assert [text for role, text in turns() if role == "user"] == ["One", "Two"]


def test_without_a_model_it_says_how_to_get_one() -> None:
    result = run("chat", stdin="Hi\n")
    assert result.exit_code == 1
    assert "treemem model use chat" in result.stderr
    assert run("chat", "--resume", stdin="").exit_code == 1
    assert run("chat", "--resume", "--session", "x").exit_code == 2


def test_on_a_terminal_ctrl_c_clears_the_line_and_ctrl_d_ends(tmp_path: Path) -> None:
    del tmp_path
    with FakeServer() as server:
        server.replies.append(chunks("Yes."))
        shown = on_terminal(80, "chat", "--model", server.url, notes=True,
                            typed="Are you there?\n/quit\n")  # fmt: skip
    assert "> " in shown
    assert "Yes." in shown
    assert "To go on: treemem chat --session chat/" in shown


@pytest.mark.usefixtures("models_folder")
def test_ctrl_c_interrupts_an_answer_and_what_was_said_is_kept() -> None:
    command = [sys.executable, "-m", "treemem_cli.main", "chat", "--model", "smollm2-135m"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(os.environ),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Write a very long story about a kiln, with many chapters.\n")
        process.stdin.flush()
        begun = os.read(process.stdout.fileno(), 1)
        process.send_signal(signal.SIGINT)
        rest, notes = process.communicate(b"/quit\n", timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, notes.decode()
    assert "Interrupted; what was said is kept." in notes.decode()
    ((_, asked), (role, said)) = turns()
    assert asked.startswith("Write a very long story")
    assert role == "assistant"
    assert (begun + rest).decode() == f"{said}\n"
