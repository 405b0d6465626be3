"""Logs are found where their tools keep them, by names and sizes alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.helpers.logs import ClaudeSession
from treemem import Memory
from treemem.importers import IMPORTERS, Importer, by_name
from treemem.importers.claude_code.importer import ClaudeCode
from treemem.importers.streams import compressed
from treemem.ingest import discovery
from treemem.ingest.discovery import BYTES_PER_TOKEN, Place, companion_places, discover, places
from treemem.packages import extra_command
from treemem.store.usage import UsageRow
from treemem_cli.main import cli


class Other(ClaudeCode):
    """An importer with places of every kind."""

    name = "other"
    places = (".config/other/*.json", ".gemini/tmp/*/chats/*.json", "AppData/Roaming/o/**/*.log",
              "Library/Application Support/io.datasette.llm/logs.db")  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with two sessions of Claude Code."""
    folder = tmp_path / "home"
    logs = folder / ".claude" / "projects" / "p"
    logs.mkdir(parents=True)
    for name in ("one", "two"):
        session = ClaudeSession(name)
        session.say(f"We ship {name} on Friday.", "Noted.")
        session.write(logs)
    (logs / "notes.txt").write_text("not a log")
    monkeypatch.setenv("HOME", str(folder))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return folder


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def test_logs_are_counted_without_being_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    discover(places({}, home, [ClaudeCode()]))  # reads once which packages bring importers
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    (logs,) = discover(places({}, home, [ClaudeCode()]))
    sizes = [path.stat().st_size for path in home.glob(".claude/projects/p/*.jsonl")]
    assert (logs.format, logs.files, logs.size_bytes) == ("claude-code", 2, sum(sizes))
    assert logs.tokens == sum(sizes) // BYTES_PER_TOKEN
    assert logs.leaves() == 1
    assert logs.folders == (home / ".claude" / "projects",)
    assert logs.newest.endswith("+00:00")


def test_the_newest_file_gives_the_date(home: Path) -> None:
    for number, path in enumerate(sorted(home.glob(".claude/projects/p/*.jsonl"))):
        os.utime(path, (1_764_000_000 + number, 1_764_000_000 + number))
    (logs,) = discover(places({}, home, [ClaudeCode()]))
    assert logs.newest == "2025-11-24T16:00:01+00:00"


@pytest.mark.parametrize(
    ("environ", "folders"),
    [
        ({}, {"/h/.config/other", "/h/.gemini/tmp", "/h/AppData/Roaming/o",
              "/h/Library/Application Support/io.datasette.llm"}),
        ({"XDG_CONFIG_HOME": "/x", "GEMINI_CLI_HOME": "/g", "APPDATA": "/r",
          "LLM_USER_PATH": "/l"}, {"/x/other", "/g/.gemini/tmp", "/r/o", "/l"}),
        ({"XDG_CONFIG_HOME": ""}, {"/h/.config/other", "/h/.gemini/tmp", "/h/AppData/Roaming/o",
                                   "/h/Library/Application Support/io.datasette.llm"}),
    ],
)  # fmt: skip
def test_an_environment_variable_names_another_folder(
    environ: dict[str, str], folders: set[str]
) -> None:
    other_places = places(environ, Path("/h"), [Other()])
    assert {place.folder.as_posix() for place in other_places} == folders


def test_claude_codes_folder_may_be_elsewhere(home: Path, tmp_path: Path) -> None:
    (home / ".claude").rename(tmp_path / "moved")
    (logs,) = discover(places({"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}, home,
                               [ClaudeCode()]))  # fmt: skip
    assert logs.files == 2
    assert discover(places({}, home, [ClaudeCode()])) == []


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.jsonl", "/f/a.jsonl", True),
        ("*.jsonl", "/f/b/a.jsonl", False),
        ("*/*.jsonl", "/f/b/a.jsonl", True),
        ("**/*.jsonl", "/f/a.jsonl", True),
        ("**/*.jsonl", "/f/b/c/a.jsonl", True),
        ("**/*.jsonl", "/f/b/c/a.json", False),
        ("*.jsonl", "/g/a.jsonl", False),
    ],
)
def test_a_place_knows_its_files_by_their_paths(pattern: str, path: str, fits: bool) -> None:
    assert Place("x", Path("/f"), pattern).matches(Path(path)) is fits


@pytest.mark.parametrize(
    "below",
    ["subagents", "subagents/workflows/nightly", "subagents/agent-a/subagents/workflows/b/c"],
)
def test_the_agents_of_a_session_are_found_at_every_depth(home: Path, below: str) -> None:
    path = home / ".claude/projects/-farm/0c0ffee0" / below / "agent-a77c.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    claude = [place for place in places({}, home) if place.format == "claude-code"]
    assert path in [found for place in claude for found in place.files()]
    assert any(place.matches(path) for place in claude)


def test_compressed_logs_are_found_and_those_without_their_package_counted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / ".codex/sessions/2026/03/01"
    folder.mkdir(parents=True)
    for name in ("rollout-a.jsonl", "rollout-b.jsonl.zst", "rollout-c.jsonl.gz", "rollout-d.txt"):
        (folder / name).write_bytes(b"x" * 80)
    (logs,) = discover([place for place in places({}, home) if place.format == "codex"], [])
    assert (logs.files, logs.tokens) == (3, 80 * (1 + 5 + 5) // BYTES_PER_TOKEN)
    assert logs.passed_over == ()
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ())
    result = run("discover", "codex")
    text = (
        "1 file compressed with Zstandard is passed over. Reading it needs a package: "
        + extra_command("zstd")
    )
    assert text in result.stderr
    shown = json.loads(run("discover", "codex", "--json").stdout)
    assert shown[0]["passed_over"] == [text]


def test_files_read_together_with_a_log_count_with_its_bytes(tmp_path: Path) -> None:
    storage = tmp_path / ".local" / "share" / "opencode" / "storage"
    for name in ("session/p/s.json", "message/s/m.json", "part/m/a.json", "part/m/b.json"):
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_text("x" * 100)
    importers = [by_name("opencode"), ClaudeCode()]
    (logs,) = discover(places({}, tmp_path, importers), companion_places({}, tmp_path, importers))
    assert (logs.format, logs.files, logs.size_bytes) == ("opencode", 1, 400)
    assert logs.folders == (storage / "session",)
    (storage / "session" / "p" / "s.json").unlink()
    assert (
        discover(places({}, tmp_path, importers), companion_places({}, tmp_path, importers)) == []
    )


def test_every_file_that_a_place_lists_matches_it(home: Path) -> None:
    importers: list[Importer] = [importer for importer in IMPORTERS if importer.places]
    assert importers
    for place in places({}, home, importers):
        assert "*" not in str(place.folder)
        assert all(place.matches(path) for path in place.files())


def test_model_time_is_estimated_from_measured_calls() -> None:
    rows = [UsageRow("0", 30, 10, 0, 0, 50.0), UsageRow("1", 2, 2, 0, 0, 10.0)]
    assert discovery.seconds_per_leaf(rows) == 6.0
    assert discovery.seconds_per_leaf([]) is None


# -- the command -----------------------------------------------------------------------


def test_discover_lists_and_stores_nothing(home: Path, tmp_path: Path) -> None:
    result = run("discover")
    assert result.exit_code == 0, result.output
    assert "claude-code" in result.stdout
    assert not (tmp_path / "default.sqlite3").exists()
    (row,) = [row for row in json.loads(run("discover", "--json").stdout)
              if row["format"] == "claude-code"]  # fmt: skip
    assert (row["files"], row["model_seconds"]) == (2, None)
    assert not (tmp_path / "default.sqlite3").exists()


def test_nothing_is_read_without_a_yes(home: Path, tmp_path: Path) -> None:
    result = run("discover", "claude-code", "--ingest", stdin="n\n")
    assert "Nothing was stored." in result.stderr
    assert not (tmp_path / "default.sqlite3").exists()
    result = run("discover", "claude-code", "--ingest", stdin="y\n")
    assert result.exit_code == 0, result.output
    with Memory.open() as memory:
        assert len(memory.sources()) == 2


def test_the_option_yes_answers_the_question(home: Path) -> None:
    result = run("discover", "claude-code", "--ingest", "--yes", "--json")
    assert json.loads(result.stdout)["added"] == 4
    assert run("discover", "--yes").exit_code == 2
    assert run("discover", "--ingest", "--json").exit_code == 2
    assert run("discover", "carrier-pigeon").exit_code == 1


def test_a_machine_without_logs_is_reported_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = run("discover", "claude-code")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "No logs" in result.stderr
    assert "claude-code: ~/.claude/projects, ~/.config/claude/projects" in result.stderr
    assert "aider" not in result.stderr
    every = run("discover").stderr
    assert "aider: ~/.aider.chat.history.md, ~/*/.aider.chat.history.md" in every
    assert "treemem ingest PATH" in every
    full = run("discover", "-v").stderr
    assert full.count("\n  ") == len({place.format for place in places()})


def test_what_is_stored_already_is_not_offered_to_be_stored(home: Path) -> None:
    assert "To store them: treemem discover --ingest." in run("discover").stderr
    run("discover", "--ingest", "--yes")
    assert "All of them are stored. To follow them" in run("discover").stderr
    folder = home / ".claude" / "projects" / "p"
    with next(folder.glob("*.jsonl")).open("a") as log:
        log.write("{}\n" * 900)
    session = ClaudeSession("three")
    session.say("The third one.", "Noted.")
    session.write(folder)
    shown = run("discover").stderr
    assert "To store 1 new log and 1 log grown since: treemem discover --ingest." in shown


def test_the_table_shortens_the_home_folder_and_fits_a_narrow_terminal(home: Path) -> None:
    shown = run("discover", "claude-code")
    assert shown.stdout.splitlines()[1].split()[-1] == "~/.claude/projects"
    assert max(map(len, map(str.rstrip, shown.stdout.splitlines()))) <= 80
    assert "treemem discover --ingest" in shown.stderr
    question = run("discover", "claude-code", "--ingest", stdin="n\n").stderr
    assert "Store the 2 files of claude-code?" in question
    next(home.glob(".claude/projects/p/*.jsonl")).unlink()
    question = run("discover", "claude-code", "--ingest", stdin="n\n").stderr
    assert "Store the file of claude-code?" in question


def test_a_format_without_a_place_is_not_reported_as_missing(home: Path) -> None:
    result = run("discover", "chatgpt")
    assert result.exit_code == 1
    assert "No tool stores chatgpt logs in a known folder" in result.stderr


def test_without_logs_the_first_places_of_each_tool_are_named_and_all_with_v(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    short, full = run("discover").stderr, run("discover", "-v").stderr
    (line,) = [line for line in short.splitlines() if line.startswith("  vscode-copilot: ")]
    assert line.count(", ") == 2
    assert line.endswith(" more")
    assert "AppData" not in short or sys.platform == "win32"
    assert "emptyWindowChatSessions, ~/AppData" in full
    assert " more\n" not in full
