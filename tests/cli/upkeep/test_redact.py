"""The commands that redact: what they store, say and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.helpers.secret_samples import ALNUM
from treemem_cli.main import cli

TOKEN = "ghp_" + ALNUM
TEXT = f"We push with {TOKEN}.\n\nThe password = 'tr0ub4dor-zz' is Ana's, ana@example.org.\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def told(*words: str) -> object:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "notes.txt"
    path.write_text(TEXT)
    return str(path)


def stored() -> str:
    (source,) = json.loads(run("source", "list", "--json").stdout)
    return run("source", "show", source["source"]["id"], "--messages").output


def test_ingest_says_what_it_redacted(log: str) -> None:
    result = run("ingest", log)
    assert "Redacted: 1 github-token, 1 password (treemem redact --help)" in result.output
    assert "Redacted" not in run("ingest", log).output


def test_ingest_tells_scripts_what_it_redacted(log: str) -> None:
    report = told("ingest", log)
    assert isinstance(report, dict)
    assert report["redacted"] == {"github-token": 1, "password": 1}
    assert report["files"][0]["redacted"] == report["redacted"]


def test_that_pii_leaves_what_is_stored_already_is_told(log: str) -> None:
    assert "treemem scrub --redact pii" not in run("ingest", log, "--redact", "pii").output
    assert "treemem scrub --redact pii" in run("ingest", log, "--redact", "pii").stderr


def test_no_redact_and_pii_hold_for_one_call(log: str, tmp_path: Path) -> None:
    plain = told("ingest", log, "--no-redact")
    assert isinstance(plain, dict)
    assert plain["redacted"] == {}
    other = tmp_path / "other.txt"
    other.write_text("Mail bob@example.org.\n")
    report = told("ingest", str(other), "--redact", "pii")
    assert isinstance(report, dict)
    assert report["redacted"] == {"email": 1}
    assert told("redact", "show") == {"pii": False, "allow": []}


def test_both_at_once_are_refused(log: str) -> None:
    result = run("ingest", log, "--no-redact", "--redact", "pii")
    assert result.exit_code == 2
    assert "exclude each other" in result.output


def test_a_dry_run_reports_as_ingest_would(log: str) -> None:
    plan = told("ingest", log, "--dry-run", "--redact", "pii")
    assert isinstance(plan, dict)
    assert plan["files"][0]["redacted"] == {"github-token": 1, "password": 1, "email": 1}


def test_what_is_allowed_is_kept_in_the_file(log: str) -> None:
    assert "allowed        tr0ub4*" in run("redact", "allow", "tr0ub4*").output
    report = told("ingest", log)
    assert isinstance(report, dict)
    assert report["redacted"] == {"github-token": 1}
    assert told("redact", "allow", "tr0ub4*", "--remove") == {"pii": False, "allow": []}
    refused = run("redact", "allow", "tr0ub4*", "--remove")
    assert refused.exit_code == 1
    assert "treemem redact show" in refused.output


def test_personal_data_can_be_switched_on() -> None:
    assert told("redact", "pii", "on") == {"pii": True, "allow": []}
    assert "personal data  redacted" in run("redact", "show").output
    assert "personal data  kept" in run("redact", "pii", "off").output


def test_a_scrub_says_what_it_touched(log: str) -> None:
    run("ingest", log, "--no-redact")
    planned = run("scrub", "--dry-run")
    assert "Would redact: 1 github-token, 1 password" in planned.output
    assert "In 1 message of 1 source; 1 node would be rebuilt." in planned.output
    report = told("scrub")
    assert isinstance(report, dict)
    assert report["redacted"] == {"github-token": 1, "password": 1}
    assert report["messages"] >= 1
    assert run("scrub").output == "No secrets found.\n"
    done = run("scrub", "--redact", "pii")
    assert "Redacted: 1 email" in done.output
    assert TOKEN not in stored()
    assert run("doctor").exit_code == 0
