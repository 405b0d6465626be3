"""Tests `treemem scrub`."""

from __future__ import annotations

from tests.helpers.command_line import run, run_json, stored
from tests.helpers.secret_samples import ALNUM


def test_a_scrub_reports_what_it_changed(log: str) -> None:
    run("ingest", log, "--no-redact")
    planned = run("scrub", "--dry-run")
    assert "Would redact: 1 github-token, 1 password" in planned.output
    assert "In 1 message of 1 source; 1 node would be rebuilt." in planned.output
    report = run_json("scrub", "--yes")
    assert report["redacted"] == {"github-token": 1, "password": 1}
    assert report["messages"] >= 1
    assert run("scrub", "--yes").output == "No secrets found.\n"
    done = run("scrub", "--redact", "pii", "--yes")
    assert "Redacted: 1 email" in done.output
    assert "ghp_" + ALNUM not in stored()
    assert run("doctor").exit_code == 0
