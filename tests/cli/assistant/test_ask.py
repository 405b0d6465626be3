"""Tests `treemem ask`."""

from __future__ import annotations

import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.fake_server import FakeServer, completion
from treemem import Memory, Message


@pytest.fixture(autouse=True)
def _talk() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [
            Message("user", "The export runs at 06:20 each morning.", author="Ana",
                    sent_at="2026-01-01"),
            Message("user", "I was told \x1b[31mnothing\x1b[0m of the export.", author="Ben",
                    sent_at="2026-01-02"),
        ])  # fmt: skip
        memory.work(max_calls=0)


def test_an_answer_shows_the_words_and_the_ids_that_other_commands_take() -> None:
    result = run("ask", "when does the export run?")
    assert result.exit_code == 0, result.output
    assert "[1] Ana, 2026-01-01" in result.stdout
    assert "  The export runs at 06:20 each morning." in result.stdout
    assert "\x1b" not in result.output
    message_id = result.stdout.partition("message ")[2].split()[0]
    assert "06:20" in run("message", "show", message_id).stdout
    assert run_json("open", "1")["message_id"].startswith(message_id)


def test_what_is_not_known_is_said_and_is_exit_code_1() -> None:
    result = run("ask", "who feeds the camels in Zanzibar?")
    assert result.exit_code == 1
    assert result.stdout.startswith("Not known. ")
    reply = run_json("ask", "who feeds the camels in Zanzibar?", exit_code=1)
    assert reply["is_known"] is False
    assert "camels" in reply["reason"]


def test_json_has_sentences_grades_and_citations() -> None:
    reply = run_json("ask", "when does the export run?")
    assert reply["sentences"][0] == {
        "text": "The export runs at 06:20 each morning.", "grade": "verbatim", "citations": [1],
    }  # fmt: skip
    (first, *_) = reply["citations"]
    assert first["message"]["text"] is None
    assert run_json("ask", "export", "--full")["citations"][0]["message"]["text"]


def test_the_answer_of_a_model_is_printed_with_numbers_and_what_it_rests_on() -> None:
    with FakeServer() as server:
        assert run("model", "use", "chat", server.url).exit_code == 0
        assert "tiny" in run("status").stdout
        server.replies.append(
            completion("The export runs at 06:20 each morning [1]. It is run by Zorro in Lyon [1].")
        )
        result = run("ask", "when does the export run?", "--refused")
    assert result.stdout.startswith("The export runs at 06:20 each morning. [1]\n")
    assert "Zorro" not in result.stdout
    assert "Zorro" in result.stderr
    assert "by tiny, checked against these messages" in result.stderr


def test_limits_are_those_of_a_search() -> None:
    assert "] Ana, " not in run("ask", "export", "--person", "Ben").stdout
    assert run("ask", "export", "--since", "2027-01-01").exit_code == 1
