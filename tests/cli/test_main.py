"""Tests exit codes, streams, JSON and errors of the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import click
import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message
from treemem.store.database import driver
from treemem_cli.main import cli

DEMO = Path(__file__).parent.parent.parent / "treemem" / "demo"
QUESTIONS = json.loads((DEMO / "questions.json").read_text())


@pytest.fixture
def demo(demo_at_home: None) -> str:
    """The id of the one source of the default memory."""
    with Memory.open() as memory:
        return memory.sources()[0].source.id


def test_most_planted_questions_find_their_evidence_within_1500_tokens(demo: str) -> None:
    found = 0
    with Memory.open() as memory:
        for question in QUESTIONS:
            result = memory.search(question["question"], budget_tokens=1_500)
            assert result.tokens <= 1_500
            external_ids = {
                message.external_id for passage in result.passages for message in passage.messages
            }
            found += bool(external_ids & set(question["evidence"]))
    assert found >= 0.85 * len(QUESTIONS), f"{found} of {len(QUESTIONS)}"


def test_every_command_prints_something(demo: str) -> None:
    root = run_json("tree")[0]["root_id"]
    for arguments in (
        ("tree",), ("tree", "--depth", "1"), ("source", "list"), ("source", "show", "claude"),
        ("source", "show", "claude", "--messages"), ("source", "show", "claude", "--by-model"),
        ("node", "show", root[:8], "--rejected"), ("node", "expand", root[:8]), ("status",),
        ("doctor",), ("doctor", "--repair"), ("job", "list", "--all"), ("job", "show", "1"),
        ("work", "--once"), ("search", "farm 0417", "--source", "claude"),
    ):  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 0, f"{arguments}: {result.output}"
        assert result.output.strip()


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("source", "list"), ("tree",), ("job", "list"), ("doctor",), ("search", "farm"),
     ("model", "list"), ("work", "--max-calls", "0")],
)  # fmt: skip
def test_json_is_one_ascii_value_on_stdout(demo: str, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.isascii()
    json.loads(result.stdout)


@pytest.mark.usefixtures("empty_memory")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest", "/does/not/exist"), 1, "does not exist"),
        (("ingest",), 2, "Missing argument"),
        (("ingest", "-", "--format", "nonsense"), 1, "claude-code"),
        (("node", "show", "zzzz"), 1, "is not the id of a node"),
        (("node", "show", "abcdef"), 1, "treemem tree"),
        (("tree", "nobody"), 1, "treemem source list"),
        (("search", "x", "--since", "soon"), 1, "2026-11-27"),
        (("search", "x", "--budget", "3"), 1, "too small"),
        (("tree", "a", "--topic", "b", "--tool", "c"), 2, "Give a source or --topic, not both."),
        (("work", "--watch", "--every", "soon"), 2, "15m"),
        (("job", "show", "99"), 1, "treemem job list"),
        (("job", "retry", "99"), 1, "treemem job list"),
        (("model", "use", "summarizer", "smollm2-135m"), 1, "treemem model pull smollm2-135m"),
        (("model", "path", "nobody"), 1, "treemem model"),
    ],
)
def test_errors_say_how_to_fix_them(arguments: tuple[str, ...], code: int, words: str) -> None:
    result = run(*arguments, stdin="")
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_text_from_a_log_cannot_control_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202edlrow olleh\x9b31m We ship on Friday."
    with Memory.open() as memory:
        memory.append("chat/\u00e9", [Message(text=hostile, author="\x1b[31mEve")])
        memory.work(max_calls=0)
    for arguments in (("search", "ship Friday"), ("tree",), ("source", "show", "chat"),
                      ("source", "show", "chat", "--messages")):  # fmt: skip
        output = run(*arguments).output
        assert "ship on Friday" in output
        assert not any(c in output for c in "\x1b\x07\x9b\u202e"), arguments


def test_short_ids_work_and_ambiguous_ones_are_listed(demo: str) -> None:
    root = run_json("tree")[0]["root_id"]
    assert root in run("node", "show", root[:6]).stdout
    with Memory.open() as memory:
        memory.append("chat/one", [Message(text="first")])
        memory.append("chat/two", [Message(text="second")])
    result = run("source", "show", "chat/")
    assert result.exit_code == 1
    assert "chat/one" in result.stderr
    assert "chat/two" in result.stderr


def test_everything_except_model_work_runs_without_the_extra(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from treemem_cli.main import cli\n"
        f"cli(['ingest', {str(DEMO / 'session.jsonl')!r}], standalone_mode=False)\n"
        "cli(['search', 'farm 0417'], standalone_mode=False)\n"
        "cli(['status'], standalone_mode=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "No summarizer is in use" in done.stdout


def test_ctrl_c_stops_work_with_watch(tmp_path: Path) -> None:
    environment = dict(os.environ, TREEMEM_DB=str(tmp_path / "watched.sqlite3"))
    worker = subprocess.Popen(
        [sys.executable, "-m", "treemem_cli.main", "work", "--watch", "--every", "60s"],
        env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stderr is not None
    assert "Press Ctrl-C to stop" in worker.stderr.readline()
    time.sleep(0.2)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(timeout=20) == 130
    worker.communicate()


def _groups() -> list[str]:
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [name for name, command in commands.items() if isinstance(command, click.Group)]


@pytest.mark.parametrize("group", _groups())
def test_no_line_of_a_help_is_cut(group: str) -> None:
    assert "..." not in run(group, "--help").stdout.partition("Commands:")[2]


@pytest.mark.usefixtures("empty_memory")
def test_ctrl_c_exits_with_130_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "status", interrupted)
    result = run("status")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Stopped.\n")


@pytest.mark.usefixtures("demo")
def test_doctor_names_changed_rows_and_exits_with_1() -> None:
    path = Path(os.environ["TREEMEM_DB"])
    with closing(driver.connect(str(path), isolation_level=None)) as connection:
        connection.execute("UPDATE source SET title = 'another'")
    result = run("doctor", "--json")
    assert result.exit_code == 1
    value = json.loads(result.stdout)
    assert (value["healthy"], value["complete"]) == (False, True)
    assert [check["name"] for check in value["checks"] if check["findings"]] == [
        "rows as they were written"
    ]
