"""treemem plan, usage and work --between: what they print, and how they end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import ClaudeSession, prose
from treemem import Memory, Message
from treemem_cli.main import cli

if TYPE_CHECKING:
    from tests.conftest import FakeClock

pytest.importorskip("treemem.models.client")


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def loaded(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    assert result.stdout.isascii()
    return json.loads(result.stdout)


@pytest.fixture
def log(tmp_path: Path) -> str:
    said = ClaudeSession("one")
    said.say(*(prose(number, 8) for number in range(60)))
    return str(said.write(tmp_path))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """A model in use for the default memory."""
    client = FakeClient()
    with Memory.open() as memory:
        use(monkeypatch, memory, client)
    return client


# -- plan ------------------------------------------------------------------------------


def test_a_plan_prints_every_figure_and_what_to_run_where_no_speed_is_known(log: str) -> None:
    result = run("plan", log)
    assert result.exit_code == 0
    words = [line.split()[0] for line in result.stdout.splitlines()]
    assert words == ["sources", "messages", "tree", "model", "model", "tokens", "time"]
    assert "60 new" in result.stdout
    assert "not measured yet" in result.stdout
    assert "treemem work --max-calls 5" in result.stdout


def test_a_plan_as_json_has_the_figures_and_the_ratios(log: str, model: FakeClient) -> None:
    plan = loaded(run("plan", log, "--json"))
    assert (plan["messages_new"], plan["sources_new"], plan["model"]) == (60, 1, "fake")
    assert plan["jobs"] == plan["leaves"] + plan["groups"] + plan["roots"]
    assert plan["calls"] == plan["leaf_calls"] + plan["upper_calls"]
    assert plan["windows_per_leaf"] == plan["leaf_calls"] / plan["leaves"]
    assert plan["tokens_per_token"] == (plan["tokens_in"] + plan["tokens_out"]) / plan["tokens"]
    assert (plan["speed"], plan["seconds"]) == (None, None)
    assert model.questions == []


def test_after_some_work_a_plan_tells_the_time_that_the_rest_will_take(
    log: str, model: FakeClient, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Pickup\n\nWe ship on Friday.\n")
    assert run("ingest", str(note)).exit_code == 0
    assert run("work").exit_code == 0
    assert len(model.questions) == 1
    plan = loaded(run("plan", log, "--json"))
    assert plan["seconds"] == plan["calls"] * 0.25
    assert "on this machine with fake (0.2 s per call" in run("plan", log).stdout
    assert run("ingest", log).exit_code == 0
    again = run("plan", log)
    assert "0 new" in again.stdout
    assert "nothing new to summarize" in again.stdout


def test_a_dry_run_shows_what_ingest_would_report_and_stores_nothing(log: str) -> None:
    dry = run("ingest", "--dry-run", log)
    assert dry.exit_code == 0
    plan = loaded(run("ingest", "--dry-run", log, "--json"))
    with Memory.open() as memory:
        assert memory.status().messages == 0
    assert plan["files"] == loaded(run("ingest", log, "--json"))["files"]
    table, figures = dry.stdout.split("sources ", 1)
    assert table.splitlines()[0].split() == "file format records added known skipped".split()
    assert "sources " + figures == run_on_an_empty_file("plan", log).stdout


def run_on_an_empty_file(*arguments: str) -> Result:
    with Memory.open() as memory:
        empty = memory.path.with_name("empty.sqlite3")
    return run("--db", str(empty), *arguments)


def test_standard_input_is_planned_under_a_dash() -> None:
    line = json.dumps({"role": "user", "content": "We ship on Friday."})
    assert loaded(run("plan", "-", "--json", stdin=line + "\n"))["messages_new"] == 1


@pytest.mark.parametrize("command", [("plan",), ("ingest", "--dry-run")])
def test_a_plan_of_what_is_no_log_fails_and_names_it(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    picture = tmp_path / "picture\x1b[2J.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    result = run(*command, str(picture))
    assert result.exit_code == 1
    assert "picture␛[2J.png" in result.stderr
    assert run(*command, str(tmp_path / "nowhere")).exit_code == 1
    assert run(*command).exit_code == 2


# -- usage -----------------------------------------------------------------------------


def test_usage_is_a_table_with_a_total(log: str, model: FakeClient) -> None:
    assert run("ingest", log).exit_code == 0
    report = loaded(run("work", "--json"))
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
        found = loaded(run("usage", "--by", by, "--json"))
        assert (found["by"], found["total"]["calls"]) == (by, report["model_calls"])
        assert sum(row["calls"] for row in found["rows"]) == report["model_calls"]
    assert loaded(run("usage", "--json"))["by"] == "day"


def test_a_job_that_took_two_days_is_one_job_in_the_total(
    model: FakeClient, clock: FakeClock
) -> None:
    with Memory.open(clock=clock) as memory:
        memory.append("s", [Message(text=prose(number, 8)) for number in range(18)])
        while memory.work(max_calls=1).stopped_by != "empty":
            clock.advance(24 * 3600)
    usage = loaded(run("usage", "--json"))
    assert [row["jobs"] for row in usage["rows"]] == [1] * len(model.questions)
    assert (usage["total"]["jobs"], usage["total"]["calls"]) == (1, len(model.questions))


def test_without_any_call_usage_says_so_on_stderr() -> None:
    result = run("usage")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "treemem work" in result.stderr
    assert loaded(run("usage", "--json"))["rows"] == []


def test_what_cannot_be_asked_for_is_refused_with_the_way_out() -> None:
    assert run("usage", "--by", "colour").exit_code == 2
    result = run("usage", "--since", "soon")
    assert result.exit_code == 1
    assert "2026-11-27" in result.stderr


def test_a_file_from_elsewhere_cannot_steer_the_terminal_through_usage(model: FakeClient) -> None:
    with Memory.open() as memory:
        memory.append("chat/eve", [Message(text=prose(1, 8))])
        memory.work()
        memory._database.execute("UPDATE usage SET key = 'chat/\u202e\x1b[2Jeve'")
    assert "chat/\ufffd␛[2Jeve" in run("usage", "--by", "source").stdout


# -- hours -----------------------------------------------------------------------------


@pytest.mark.parametrize("hours", ["at night", "22-7", "24:00-07:00", "07:00-07:00"])
def test_hours_that_are_none_are_an_error_of_usage_that_says_how_to_write_them(hours: str) -> None:
    result = run("work", "--between", hours)
    assert result.exit_code == 2
    assert "such as 22:00-07:00" in result.stderr


@pytest.fixture
def evening(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> FakeClock:
    """For the command line it is a quarter past nine in the evening, local time."""
    clock.now_ms = int(datetime(2026, 1, 10, 21, 15).timestamp() * 1000)
    opened = Memory.open
    monkeypatch.setattr(Memory, "open", lambda path=None: opened(path, clock=clock))
    monkeypatch.setattr(time, "time", lambda: clock() / 1000)
    return clock


@pytest.mark.usefixtures("evening")
def test_outside_the_hours_a_note_tells_when_the_model_goes_on(model: FakeClient) -> None:
    with Memory.open() as memory:
        memory.append("s", [Message(text=prose(1, 8))])
    result = run("work", "--between", "22:00-07:00")
    assert result.exit_code == 0
    assert "Done: 1 seal, 1 extract" in result.stdout
    assert "model work continues at 2026-01-10 22:00 local time" in result.stderr
    report = loaded(run("work", "--between", "22:00-07:00", "--json"))
    assert (report["stopped_by"], report["model_calls"]) == ("hours", 0)
    goes_on = datetime.fromisoformat(report["goes_on_at"])
    assert goes_on.timestamp() == datetime(2026, 1, 10, 22).timestamp()
    assert model.questions == []


def test_watching_sleeps_until_the_hours_begin_and_goes_on(
    model: FakeClient, monkeypatch: pytest.MonkeyPatch, evening: FakeClock
) -> None:
    sleeps: list[tuple[float, int]] = []

    class Sleeper(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            sleeps.append((timeout, len(model.questions)))
            evening.advance(timeout)
            if len(sleeps) == 3:
                self.set()
            return self.is_set()

    @contextmanager
    def interruptible() -> Iterator[threading.Event]:
        yield Sleeper()

    monkeypatch.setattr("treemem_cli.models.work.interruptible", interruptible)
    with Memory.open() as memory:
        memory.append("s", [Message(text=prose(1, 8))])
    assert run("work", "--watch", "--every", "30m", "--between", "22:00-07:00").exit_code == 0
    assert sleeps == [(1_800, 0), (900, 0), (1_800, 1)]


def test_a_document_needs_no_model_where_sentences_are_retold(tmp_path: Path) -> None:
    """Nobody in person says what stands in a document."""
    (tmp_path / "note.md").write_text(f"# Pickup\n\n{prose(7, 8)}\n")
    planned = CliRunner().invoke(
        cli, ["--db", str(tmp_path / "m.sqlite3"), "plan", str(tmp_path / "note.md")]
    )
    assert "the new messages contain no speech for a model to summarize" in " ".join(
        planned.output.split()
    )
