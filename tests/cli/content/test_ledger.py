"""Tests the command `treemem ledger`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from treemem import Memory, Message
from treemem_cli.main import cli

RULE = "Always answer me in German."
OPEN = "I still need to order the filter for the pump."
DONE = "The filter for the pump is ordered, it comes on Monday."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "m.db"
    with Memory.open(file) as memory:
        memory.append("chat/1", [
            Message(text=f"{RULE} {OPEN}", sent_at="2026-01-05T09:00:00Z"),
            Message(text="\x1b[31mWe decided to paint the gate \x07blue.",
                    sent_at="2026-01-06T09:00:00Z"),
        ])  # fmt: skip
        memory.work(max_calls=0)
    return file


def run(path: Path, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["--db", str(path), "ledger", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_entries_are_listed_by_kind(path: Path) -> None:
    assert RULE in run(path, "rules")
    assert OPEN in run(path, "open")
    assert OPEN not in run(path, "rules")
    assert "There are no errors here." in run(path, "errors")


def test_control_characters_of_a_log_are_shown_as_symbols(path: Path) -> None:
    output = run(path, "decisions")
    assert "\x1b" not in output
    assert "\x07" not in output


def test_json_has_the_whole_entry(path: Path) -> None:
    (entry,) = json.loads(run(path, "rules", "--json"))
    assert entry["text"] == RULE
    assert (entry["kind"], entry["state"], entry["mentions"]) == ("constraint", "holds", 1)
    shown = json.loads(run(path, "show", entry["id"], "--json"))
    assert [message["role"] for message in shown["messages"]] == ["user"]
    assert dict(shown["explanation"])


def test_an_entry_is_shown_with_its_reasons_and_its_messages(path: Path) -> None:
    (entry,) = json.loads(run(path, "open", "--json"))
    output = run(path, "show", entry["id"][:6])
    assert "salience" in output
    assert "still open" in output
    assert RULE in output  # the whole message


def test_a_point_is_closed_by_what_is_said_later_or_by_the_user(path: Path) -> None:
    (entry,) = json.loads(run(path, "open", "--json"))
    run(path, "close", entry["id"])
    assert OPEN not in run(path, "open")
    assert OPEN in run(path, "open", "--all")
    run(path, "reopen", entry["id"])
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text=DONE, sent_at="2026-01-07T09:00:00Z")])
        memory.work(max_calls=0)
    # The user has reopened it, which counts more than what is said.
    assert OPEN in run(path, "open")


def test_a_later_sentence_that_closes_a_point_is_shown(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text=DONE, sent_at="2026-01-07T09:00:00Z")])
        memory.work(max_calls=0)
    output = run(path, "open", "--all")
    assert "closed or replaced by" in output
    assert "comes on Monday" in output


def test_entries_are_limited_by_scope_and_time(path: Path) -> None:
    assert RULE in run(path, "rules", "--source", "chat/1", "--since", "2026-01-01")
    assert "There are none in this time." in run(path, "rules", "--since", "2026-06-01")
    run(path, "rules", "--source", "nothing", code=1)
    assert "no topic 'b'" in run(path, "rules", "--source", "chat", "--topic", "b", code=1)


def test_a_rule_cannot_be_closed(path: Path) -> None:
    (entry,) = json.loads(run(path, "rules", "--json"))
    assert "treemem ledger drop" in run(path, "close", entry["id"], code=1)
    run(path, "drop", entry["id"])
    assert RULE not in run(path, "rules")
