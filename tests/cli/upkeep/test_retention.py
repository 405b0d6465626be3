"""Tests `treemem retention`."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.command_line import run, run_json
from tests.helpers.logs import ClaudeSession, prose


def test_rules_are_set_shown_applied_and_removed(tmp_path: Path) -> None:
    log = ClaudeSession("one")
    log.say(*(prose(number, 12) for number in range(3)))
    run("ingest", str(log.write(tmp_path)))
    assert run("retention", "list").output == "Everything is kept.\n"
    shown = run("retention", "set", "--tool", "claude-code", "--days", "1")
    assert "tool claude-code" in shown.output
    assert "treemem retention preview" in shown.stderr
    preview = run("retention", "preview").output
    assert preview == "1  1 day, tool claude-code: 3 messages of 1 source\n"
    ((rule),) = run_json("retention", "list")
    assert (rule["days"], rule["tool"]) == (1, "claude-code")
    assert run_json("retention", "preview")[0]["report"]["messages"] == 3
    assert "Forgotten: 3 messages" in run("work", "--max-calls", "0").output
    assert run_json("source", "list") == []
    assert run("retention", "remove", "1").output == "Everything is kept.\n"
    assert run("retention", "remove", "1").exit_code == 1
    assert run("retention", "set", "--days", "0").exit_code == 1
