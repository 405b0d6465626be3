"""Tests `treemem usage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.fake_model import FakeClient
from tests.helpers.logs import prose
from treemem import Memory, Message
from treemem.store.database import Database

if TYPE_CHECKING:
    from tests.conftest import FakeClock


def test_usage_is_a_table_with_a_total(log: str, model: FakeClient) -> None:
    assert run("ingest", log).exit_code == 0
    report = run_json("work")
    result = run("usage", "--by", "level")
    head, *rows, total = (line.split() for line in result.stdout.splitlines())
    assert head == ["level", "calls", "jobs", "tokens", "in", "tokens", "out", "seconds"]
    assert [row[0] for row in rows] == ["0", "1"]
    assert total == [
        "total", str(report["model_calls"]), str(report["done"]["summarize"]),
        f"{report['tokens_in']:,}", f"{report['tokens_out']:,}",
        f"{report['model_calls'] * 0.25:,.1f}",
    ]  # fmt: skip
    for by in ("day", "source", "level", "model"):
        report_by = run_json("usage", "--by", by)
        assert (report_by["by"], report_by["total"]["calls"]) == (by, report["model_calls"])
        assert sum(row["calls"] for row in report_by["rows"]) == report["model_calls"]
    assert run_json("usage")["by"] == "day"


def test_a_job_of_two_days_counts_once_in_the_total(model: FakeClient, clock: FakeClock) -> None:
    with Memory.open(clock=clock) as memory:
        memory.append("s", [Message(text=prose(number, 8)) for number in range(18)])
        while memory.work(max_calls=1).stopped_by != "empty":
            clock.advance(24 * 3600)
    usage = run_json("usage")
    assert [row["jobs"] for row in usage["rows"]] == [1] * len(model.questions)
    assert (usage["total"]["jobs"], usage["total"]["calls"]) == (1, len(model.questions))


@pytest.mark.usefixtures("empty_memory")
def test_usage_without_calls_says_so_on_stderr() -> None:
    result = run("usage")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "treemem work" in result.stderr
    assert run_json("usage")["rows"] == []


@pytest.mark.usefixtures("empty_memory")
def test_invalid_options_are_refused_with_a_valid_example() -> None:
    assert run("usage", "--by", "colour").exit_code == 2
    result = run("usage", "--since", "soon")
    assert result.exit_code == 1
    assert "2026-11-27" in result.stderr


def test_keys_from_a_foreign_file_cannot_control_the_terminal(model: FakeClient) -> None:
    with Memory.open() as memory:
        memory.append("chat/eve", [Message(text=prose(1, 8))])
        memory.work()
    database = Database(memory.path)
    database.execute("UPDATE usage SET key = 'chat/\u202e\x1b[2Jeve'")
    database.close()
    assert "chat/\ufffd␛[2Jeve" in run("usage", "--by", "source").stdout
