"""Tests `treemem plan` and `treemem ingest --dry-run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import prose
from treemem import Memory


def test_a_plan_prints_every_figure_and_how_to_measure_the_time(log: str) -> None:
    result = run("plan", log)
    assert result.exit_code == 0
    words = [line.split()[0] for line in result.stdout.splitlines()]
    assert words == ["sources", "messages", "model", "tokens", "time"]
    inside = [line.split()[0] for line in run("plan", log, "-v").stdout.splitlines()]
    assert inside == ["sources", "messages", "tree", "model", "model", "tokens", "time"]
    assert "60 new" in result.stdout
    assert "not measured yet" in result.stdout
    assert "treemem work --max-calls 5" in result.stdout


def test_a_plan_as_json_has_the_figures_and_the_ratios(log: str, model: FakeClient) -> None:
    plan = run_json("plan", log)
    assert (plan["messages_new"], plan["sources_new"], plan["model"]) == (60, 1, "fake")
    assert plan["jobs"] == plan["leaves"] + plan["groups"] + plan["roots"]
    assert plan["calls"] == plan["leaf_calls"] + plan["upper_calls"]
    assert plan["windows_per_leaf"] == plan["leaf_calls"] / plan["leaves"]
    assert plan["tokens_per_token"] == (plan["tokens_in"] + plan["tokens_out"]) / plan["tokens"]
    assert (plan["speed"], plan["seconds"]) == (None, None)
    assert model.questions == []


def test_after_some_work_a_plan_estimates_the_time_of_the_rest(
    log: str, model: FakeClient, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Pickup\n\nWe ship on Friday.\n")
    assert run("ingest", str(note)).exit_code == 0
    assert run("work").exit_code == 0
    assert len(model.questions) == 1
    plan = run_json("plan", log)
    assert plan["seconds"] == plan["calls"] * 0.25
    assert "on this machine with fake (0.2 s per call" in run("plan", log).stdout
    assert run("ingest", log).exit_code == 0
    again = run("plan", log)
    assert "0 new" in again.stdout
    assert "nothing new to summarize" in again.stdout


def test_a_dry_run_reports_as_ingest_does_and_stores_nothing(log: str, tmp_path: Path) -> None:
    dry = run("ingest", "--dry-run", log)
    assert dry.exit_code == 0
    plan = run_json("ingest", "--dry-run", log)
    with Memory.open() as memory:
        assert memory.status().messages == 0
    assert plan["files"] == run_json("ingest", log)["files"]
    table, figures = dry.stdout.split("sources ", 1)
    assert table.splitlines()[0].split() == "file format added known".split()
    empty = str(tmp_path / "empty.sqlite3")
    assert "sources " + figures == run("--db", empty, "plan", log).stdout


def test_a_dash_plans_standard_input() -> None:
    line = json.dumps({"role": "user", "content": "We ship on Friday."})
    assert run_json("plan", "-", stdin=line + "\n")["messages_new"] == 1


@pytest.mark.parametrize("command", [("plan",), ("ingest", "--dry-run")])
def test_a_plan_for_a_file_that_is_not_a_log_fails_and_names_it(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    picture = tmp_path / "picture\x1b[2J.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    result = run(*command, str(picture))
    assert result.exit_code == 1
    assert "picture␛[2J.png" in result.stderr
    assert run(*command, str(tmp_path / "nowhere")).exit_code == 1
    assert run(*command).exit_code == 2


def test_a_document_without_speech_needs_no_model_that_retells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open() as memory:
        use(monkeypatch, memory, FakeClient(), mode="retell")
    (tmp_path / "note.md").write_text(f"# Pickup\n\n{prose(7, 8)}\n")
    plan = run("plan", str(tmp_path / "note.md"))
    assert "the new messages contain no speech for a model to summarize" in plan.stdout


def test_the_plan_in_the_documentation_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "how-to" / "cost.md").read_text()
    shown = page.partition("```\nsources ")[2].partition("\n```")[0]
    printed = run("plan", "-v", str(root / "treemem" / "demo" / "session.jsonl")).stdout
    *rows, time = f"sources {shown}".splitlines()
    assert rows == printed.splitlines()[:-1]
    assert printed.splitlines()[-1].startswith(time.removesuffix(" …"))
    with Memory.open() as memory:
        use(monkeypatch, memory, FakeClient(), mode="retell")
    plan = run_json("plan", str(root / "treemem" / "demo" / "session.jsonl"))
    assert f"{plan['calls']} calls with {plan['tokens_in']:,} tokens in for this log" in page
