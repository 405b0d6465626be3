"""--as-of shows what was known at a past time, and says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A memory with a decision that a later one replaces."""
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("chat/1", [
            Message(role="user", text="We decided to use paper forms for the count.",
                    sent_at="2026-03-02T10:00:00Z"),
            Message(role="user", text="We no longer use paper forms, we decided to use tablets.",
                    sent_at="2026-03-09T10:00:00Z"),
        ])  # fmt: skip
        memory.work(max_calls=0)
    return path


def test_the_ledger_of_a_past_date_has_what_held_then(path: Path) -> None:
    then = run("--db", str(path), "ledger", "decisions", "--as-of", "2026-03-05", "--utc")
    assert "paper forms for the count" in then.stdout
    assert "tablets" not in then.stdout
    assert then.stderr.strip() == "As of 2026-03-05 23:59."
    now = run("--db", str(path), "ledger", "decisions")
    assert "tablets" in now.stdout


def test_a_search_of_a_past_date_finds_what_had_been_said(path: Path) -> None:
    assert "tablets" in run("--db", str(path), "search", "tablets").stdout
    then = run("--db", str(path), "search", "tablets", "--as-of", "2026-03-05", "--utc")
    assert then.exit_code == 1
    assert "As of 2026-03-05 23:59.\nNothing was found." in then.stderr


def test_the_tree_of_a_past_date_has_what_had_been_said(path: Path) -> None:
    for words in (["latest"], []):
        then = run("--db", str(path), "tree", *words, "--as-of", "2026-03-05 12:00", "--utc")
        assert "1 message" in then.stdout
        assert "As of 2026-03-05 12:00." in then.stderr


def test_json_has_the_time_and_the_result(path: Path) -> None:
    at = ("--as-of", "2026-03-05", "--utc")
    (entry,) = run_json("--db", str(path), "ledger", "decisions", *at)["result"]
    shown = run_json("--db", str(path), "ledger", "show", entry["id"], *at)
    assert shown["as_of"] == "2026-03-05T23:59:59.999000+00:00"
    assert shown["result"]["text"] == entry["text"]
    found = run_json("--db", str(path), "search", "paper", *at)["result"]
    assert len(found["passages"]) == 1
    (tree,) = run_json("--db", str(path), "tree", *at)["result"]
    assert tree["root_id"]


def test_before_the_first_message_it_says_when_the_memory_begins(path: Path) -> None:
    for words in (["tree", "latest"], ["tree"], ["ledger", "open"], ["search", "paper"]):
        then = run("--db", str(path), *words, "--as-of", "2020-01-01", "--utc")
        assert "this memory begins at 2026-03-02 10:00." in then.stderr
        assert then.stdout == ""


@pytest.mark.parametrize(
    ("words", "problem"),
    [(["--as-of", "2999-01-01"], "is in the future"), (["--as-of", "soon"], "past time is a date"),
     (["--as-of", "2026-03-05", "--db", "a", "--db", "b"], "give --db once")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(path: Path, words: list[str], problem: str) -> None:
    result = run("--db", str(path), "search", "paper", *words)
    assert result.exit_code in (1, 2)
    assert problem in result.stderr


def test_an_empty_memory_says_that_nothing_is_stored(tmp_path: Path) -> None:
    empty = tmp_path / "empty.sqlite3"
    Memory.open(empty).close()
    then = run("--db", str(empty), "tree", "--as-of", "2026-03-05")
    assert "Nothing is stored yet." in then.stderr
