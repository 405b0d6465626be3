"""Tests `treemem forget`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json, stored
from tests.helpers.logs import ClaudeSession, prose

SECRET = "The wedding is in Zanzibarrossa."


@pytest.fixture
def session(tmp_path: Path) -> ClaudeSession:
    log = ClaudeSession("one")
    log.say(*(prose(number, 12) for number in range(4)), SECRET)
    run("ingest", str(log.write(tmp_path)))
    return log


def test_a_dry_run_shows_what_would_go(session: ClaudeSession) -> None:
    planned = run("forget", "--text", "zanzibarrossa", "--dry-run")
    assert "Would forget: 1 message of 1 source." in planned.output
    assert session.source_id in planned.output
    assert "leaf" in planned.output
    assert SECRET in stored()


def test_it_forgets_lists_and_undoes(session: ClaudeSession, tmp_path: Path) -> None:
    done = run("forget", "--text", "zanzibarrossa", "--yes")
    assert "Forgotten: 1 message of 1 source." in done.output
    assert "treemem forget --undo 1" in done.stderr
    assert "Zanzibarrossa" not in stored()
    assert run("forget", "--text", "zanzibarrossa", "--yes").output == "No message fits.\n"
    (listed,) = run_json("forget", "--list")
    assert (listed["id"], listed["chosen_by"], listed["messages"]) == (1, ["text"], 1)
    assert "kept out" in run("forget", "--list").output
    again = run_json("ingest", str(session.write(tmp_path)))
    assert (again["added"], again["skipped"]) == (0, {"forgotten, see treemem forget --list": 1})
    assert "undone" in run("forget", "--undo", "1").output
    assert run_json("ingest", str(session.write(tmp_path)))["added"] == 1
    assert run("doctor").exit_code == 0


def test_it_names_sources_that_have_the_words_in_their_names(session: ClaudeSession) -> None:
    for words in ("claude-code", "Zanzibarrossa"):
        planned = run("forget", "--text", words, "--dry-run")
        assert (session.source_id in planned.stderr) == (words == "claude-code")
    assert "treemem forget --source ID" in run("forget", "--text", "claude-code", "--yes").stderr


def test_it_asks_first(session: ClaudeSession) -> None:
    refused = run("forget", "--source", session.source_id)
    assert refused.exit_code != 0
    assert "add --yes" in refused.stderr
    assert SECRET in stored()


def test_it_needs_a_choice(session: ClaudeSession) -> None:
    assert run("forget", "--yes").exit_code == 1
    assert "Say what to forget" in run("forget", "--yes").stderr
    assert run("forget", "--list", "--text", "boat").exit_code == 2
    assert run("forget", "--undo", "9").exit_code == 1


def test_its_report_is_json(session: ClaudeSession) -> None:
    report = run_json("forget", "--source", session.source_id, "--yes")
    assert report["messages"] == 5
    assert report["sources"] == [
        {"id": session.source_id, "title": None, "messages": 5, "is_whole": True}
    ]
    assert run_json("source", "list") == []
