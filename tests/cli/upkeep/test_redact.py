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
    assert run_json("redact", "show") == {"pii": False, "allow": [], "deny": []}


def test_secrets_that_were_replaced_are_not_brought_back_unasked(log: str) -> None:
    run("ingest", log)
    refused = run("ingest", log, "--no-redact")
    assert refused.exit_code != 0
    assert "bring them back" in refused.stderr
    assert "add --yes" in refused.stderr
    assert run("ingest", log, "--no-redact", "--yes").exit_code == 0


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
    assert run_json("redact", "allow", "tr0ub4*", "--remove") == {
        "pii": False,
        "allow": [],
        "deny": [],
    }
    refused = run("redact", "allow", "tr0ub4*", "--remove")
    assert refused.exit_code == 1
    assert "treemem redact show" in refused.output


def test_redaction_of_personal_data_can_be_turned_on() -> None:
    assert run_json("redact", "pii", "on") == {"pii": True, "allow": [], "deny": []}
    assert "personal data  redacted" in run("redact", "show").output
    assert "personal data  not redacted" in run("redact", "pii", "off").output


def test_a_denied_value_is_redacted_from_then_on_and_shown_by_its_marker(
    log: str, tmp_path: Path
) -> None:
    policy = run_json("redact", "deny", "Ana's")
    assert policy["deny"][0].startswith("value:5:")
    fingerprint = "#" + policy["deny"][0].rpartition(":")[2][:4]
    assert run_json("ingest", log)["redacted"]["denied"] == 1
    shown = run("redact", "show").output
    assert f"denied         a value of 5 characters, {fingerprint}" in shown
    assert "Ana" not in shown
    assert run_json("redact", "deny", fingerprint, "--remove")["deny"] == []
    refused = run("redact", "deny", "Ana's", "--remove")
    assert refused.exit_code == 1
    assert "treemem redact show" in refused.output


def test_a_denied_expression_is_redacted_from_then_on(log: str) -> None:
    assert run_json("redact", "deny", r"ana@\w+\.org")["deny"] == [r"ana@\w+\.org"]
    assert run_json("ingest", log)["redacted"]["denied"] == 1
    assert run_json("redact", "deny", r"ana@\w+\.org", "--remove")["deny"] == []


def test_an_expression_is_refused_that_is_invalid_or_slow_or_too_wide() -> None:
    for pattern, reason in (("(un", "3"), ("[un", "3"), ("(unclosed", "--value"),
                            ("(a+)+$", "ways"), (r"\w{4,}", "ordinary")):  # fmt: skip
        refused = run("redact", "deny", pattern)
        assert refused.exit_code == 1
        assert reason in refused.output
    assert run_json("redact", "show")["deny"] == []


def test_an_option_tells_a_value_from_an_expression() -> None:
    assert run_json("redact", "deny", "--value", "(unclosed")["deny"][0].startswith("value:9:")
    assert run_json("redact", "deny", "--regex", "CORP-7")["deny"][1] == "CORP-7"


def test_what_is_stored_already_may_still_contain_what_is_denied(log: str) -> None:
    changes = (("deny", "harbour master"), ("pii", "on"))
    for change in changes:
        assert "treemem scrub" not in run("redact", *change).output
    assert run("redact", "deny", "harbour master", "--remove").exit_code == 0
    run("ingest", log)
    for change in changes:
        assert "may still contain it; to remove it from there: treemem scrub" in (
            run("redact", *change).stderr
        )
    for back in (("deny", "harbour master", "--remove"), ("pii", "off"), ("allow", "harbour")):
        assert "treemem scrub" not in run("redact", *back).output
