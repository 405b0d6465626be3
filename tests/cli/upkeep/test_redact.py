"""Tests `treemem redact`, and the options of `treemem ingest` for secrets."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.command_line import run, run_json


def test_ingest_says_what_it_redacted(log: str) -> None:
    result = run("ingest", log)
    assert "Redacted: 1 github-token, 1 password (treemem redact --help)" in result.output
    assert "Redacted" not in run("ingest", log).output


def test_ingest_counts_redacted_secrets_in_json(log: str) -> None:
    report = run_json("ingest", log)
    assert report["redacted"] == {"github-token": 1, "password": 1}
    assert report["files"][0]["redacted"] == report["redacted"]


def test_a_note_says_that_pii_does_not_change_stored_messages(log: str) -> None:
    assert "treemem scrub --redact pii" not in run("ingest", log, "--redact", "pii").output
    assert "treemem scrub --redact pii" in run("ingest", log, "--redact", "pii").stderr


def test_the_options_apply_to_one_call(log: str, tmp_path: Path) -> None:
    plain = run_json("ingest", log, "--no-redact")
    assert plain["redacted"] == {}
    other = tmp_path / "other.txt"
    other.write_text("Mail bob@example.org.\n")
    report = run_json("ingest", str(other), "--redact", "pii")
    assert report["redacted"] == {"email": 1}
    assert run_json("redact", "show") == {"pii": False, "allow": []}


def test_the_options_exclude_each_other(log: str) -> None:
    result = run("ingest", log, "--no-redact", "--redact", "pii")
    assert result.exit_code == 2
    assert "exclude each other" in result.output


def test_a_dry_run_reports_as_ingest_would(log: str) -> None:
    plan = run_json("ingest", log, "--dry-run", "--redact", "pii")
    assert plan["files"][0]["redacted"] == {"github-token": 1, "password": 1, "email": 1}


def test_allowed_values_are_stored_in_the_file(log: str) -> None:
    assert "allowed        tr0ub4*" in run("redact", "allow", "tr0ub4*").output
    report = run_json("ingest", log)
    assert report["redacted"] == {"github-token": 1}
    assert run_json("redact", "allow", "tr0ub4*", "--remove") == {"pii": False, "allow": []}
    refused = run("redact", "allow", "tr0ub4*", "--remove")
    assert refused.exit_code == 1
    assert "treemem redact show" in refused.output


def test_redaction_of_personal_data_can_be_turned_on() -> None:
    assert run_json("redact", "pii", "on") == {"pii": True, "allow": []}
    assert "personal data  redacted" in run("redact", "show").output
    assert "personal data  not redacted" in run("redact", "pii", "off").output
