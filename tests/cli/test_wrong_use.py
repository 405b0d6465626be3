"""What a person types wrongly is answered by what to type instead."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.helpers import themes
from tests.helpers.command_line import run, run_json
from tests.helpers.logs import ClaudeSession
from treemem import Memory, Message, UsageError
from treemem_cli.main import COMMANDS, cli
from treemem_cli.other_words import MEANINGS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("ingets", "ingest"), ("serach", "search"), ("statsu", "status"), ("stats", "status"),
     ("sarch", "search"), ("docter", "doctor"), ("treee", "tree"), ("discovr", "discover"),
     ("hlep", "help")],
)  # fmt: skip
def test_a_misspelled_command_names_the_one_that_is_meant(typed: str, meant: str) -> None:
    result = run(typed)
    assert result.exit_code == 2
    assert f"No such command '{typed}'." in result.stderr
    assert "Did you mean" in result.stderr
    assert f"'{meant}'" in result.stderr


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("rm", "Did you mean 'forget'?"), ("remove", "Did you mean 'forget'?"),
     ("source delete", "treemem forget"), ("message rm", "treemem scrub"),
     ("topic delete", "treemem forget --topic"), ("rule delete", "Did you mean 'drop'?"),
     ("ledger forget", "Did you mean 'drop'?"), ("job remove", "Did you mean 'cancel'?"),
     ("model delete", "treemem model path NAME"), ("find", "Did you mean 'search'?"),
     ("shrink", "Did you mean 'compact'?"),
     ("ls", "treemem source list"),
     ("source ls", "Did you mean 'list'?"),
     ("dump", "Did you mean 'export'?"), ("help erase", "forget")],
)  # fmt: skip
def test_a_command_of_another_name_is_answered_by_what_it_does(typed: str, answer: str) -> None:
    result = run(*typed.split())
    assert result.exit_code == 2
    assert answer in result.stderr
    assert result.stderr.count("Did you mean") <= 1
    assert "formats" not in result.stderr
    assert "'resume'" not in result.stderr


def test_every_command_that_another_name_is_answered_by_exists() -> None:
    answers = " ".join(text for _, sentences in MEANINGS for text in sentences.values())
    commands = re.findall(r"treemem ([a-z]+(?: [a-z]+)?)", answers)
    assert len(commands) > 10
    for command in commands:
        first, *rest = command.split()
        assert run(first, "--help").exit_code == 0, command
        group = cli.get_command(click.Context(cli), first)
        if isinstance(group, click.Group):
            assert rest[0] in group.commands, command


def test_what_is_like_no_command_names_none() -> None:
    assert "Did you mean" not in run("xyzzyplugh").stderr


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("source", "list"), ("source", "show", "nobody"), ("search", "pump"),
     ("job", "list"), ("work", "--max-calls", "0"), ("model", "list")],
    ids=" ".join,
)  # fmt: skip
def test_options_of_treemem_may_stand_before_or_after_the_command(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    Memory.open(tmp_path / "other.sqlite3").close()
    shared = ("--db", str(tmp_path / "other.sqlite3"), "--utc")
    before, after = run(*shared, *arguments), run(*arguments, *shared)
    for name in ("exit_code", "stderr"):
        assert getattr(before, name) == getattr(after, name)
    assert before.exit_code != 2, before.output


def test_an_option_after_the_command_overrides_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory.open(tmp_path / "other.sqlite3").close()
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "missing.sqlite3"))
    assert run("status").exit_code == 1
    assert "other.sqlite3" in run("status", "--db", str(tmp_path / "other.sqlite3")).stdout
    result = run("status", "--db", "")
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr


def test_a_machine_without_a_memory_says_what_to_do_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREEMEM_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in ("status", "doctor"):
        result = run(command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Nothing is stored yet." in result.stderr
        assert "treemem discover --ingest" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_that_behind_the_command(name: str) -> None:
    assert run("help", name).stdout == run(name, "--help").stdout


def test_help_takes_commands_of_commands_and_none() -> None:
    assert run("help", "node", "show").stdout == run("node", "show", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    assert run("help", "serach").exit_code == 2
    assert "has no commands" in run("help", "status", "show").stderr


def test_the_version_has_a_short_option() -> None:
    assert run("-V").stdout == run("--version").stdout != ""


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treemem", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("python -m treemem, version ")


# -- what is read ------------------------------------------------------------------------


@pytest.fixture
def claude_log(tmp_path: Path) -> str:
    session = ClaudeSession("one")
    session.say("Please sort the shelves.", "They are sorted.")
    return str(session.write(tmp_path))


def test_a_wrong_format_is_refused_with_the_right_one(claude_log: str) -> None:
    for again in range(2):
        result = run("ingest", "--format", "codex", claude_log)
        assert result.exit_code == 1, again
        assert "has no messages in the format codex; it looks like claude-code" in result.stderr
    assert run("ingest", "--format", "claude-code", claude_log).exit_code == 0
    assert run("ingest", "--format", "claude-code", claude_log).exit_code == 0


@pytest.mark.parametrize("format_name", ["slack", "codex", "claude-code", "whatsapp"])
def test_a_text_is_not_read_as_the_log_of_a_tool(tmp_path: Path, format_name: str) -> None:
    (tmp_path / "notes.txt").write_text("The shelves are sorted by colour.")
    result = run("ingest", "--format", format_name, str(tmp_path / "notes.txt"))
    assert result.exit_code == 1
    assert "it looks like plain-text" in result.stderr


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_of_any_format(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    assert run("ingest", "--format", "codex", str(tmp_path / "log.jsonl")).exit_code == 0


def test_an_empty_folder_has_no_logs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for command in ("ingest", "plan"):
        result = run(command, str(tmp_path / "logs"))
        assert result.exit_code == 1
        assert "There are no logs" in result.stderr


def test_a_name_is_for_standard_input_only(claude_log: str) -> None:
    for command in ("ingest", "plan"):
        result = run(command, claude_log, "--name", "x")
        assert result.exit_code == 2
        assert "--name is for standard input" in result.stderr
    assert run("ingest", "-", "--name", "x", stdin="The shelves.").exit_code == 0
    assert "doc/x" in run("source", "list").stdout


# -- times -------------------------------------------------------------------------------


@pytest.mark.parametrize("sent_at", ["nonsense", "yesterday", "1764000000", "2026-13-01"])
def test_a_time_of_a_program_is_a_time(memory: Memory, sent_at: str) -> None:
    with pytest.raises(UsageError, match="sent_at is a datetime or ISO 8601 text"):
        memory.append("chat/1", [Message(text="Hi.", sent_at=sent_at)])
    assert memory.sources() == []


@pytest.mark.parametrize("text", ["", " ", "\n\t\u2003"])
def test_a_blank_message_of_a_program_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError, match=r"blank.*leave the message out"):
        memory.append("chat/1", [Message(text="Hi."), Message(text=text)])
    assert memory.sources() == []


@pytest.mark.parametrize("sent_at", [None, "", "2026-11-27", "2026-11-27T09:30:00.123456789Z"])
def test_a_time_may_be_a_day_precise_or_unknown(memory: Memory, sent_at: str | None) -> None:
    assert memory.append("chat/1", [Message(text="Hi.", sent_at=sent_at)])


@pytest.mark.usefixtures("empty_memory")
@pytest.mark.parametrize(
    "command", [("usage",), ("search", "pump"), ("ledger", "open")], ids=" ".join
)
@pytest.mark.parametrize("time", ["last week", "yesterday", "2026-11-27", "3 days ago"])
def test_times_are_written_alike_everywhere(command: tuple[str, ...], time: str) -> None:
    for option in ("--since", "--until"):
        result = run(*command, option, time)
        assert "Error" not in result.stderr
        refused = run(*command, option, "someday")
        assert refused.exit_code == 1
        assert "is a date or time such as" in refused.stderr


# -- questions ---------------------------------------------------------------------------


@pytest.mark.usefixtures("empty_memory")
def test_what_cannot_be_undone_is_asked_where_there_is_somebody() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="Write to ana@example.com about the shelves.")])
        memory.work(max_calls=0)
    for options in ((), ("--redact", "pii")):
        result = run("scrub", *options)
        assert result.exit_code == 2
        assert "This cannot be undone. There is no terminal to answer at; add --yes" in (
            result.stderr
        )
    assert run("scrub", "--redact", "pii", "--dry-run").exit_code == 0
    assert "ana@example.com" in run("search", "shelves").stdout
    assert run("scrub", "--redact", "pii", "--yes").exit_code == 0
    assert "ana@example.com" not in run("search", "shelves").stdout


def test_a_question_that_nobody_answers_is_an_error(
    claude_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "claude" / "projects" / "shelves"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(Path(claude_log).read_bytes())
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    result = run("discover", "claude-code", "--ingest", stdin="")
    assert result.exit_code == 1
    assert "Nobody answered; add --yes." in result.stderr
    assert "Abort" not in result.output


@pytest.mark.usefixtures("empty_memory")
@pytest.mark.parametrize("command", ["ingest", "plan"])
def test_an_empty_path_is_not_the_current_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "diary.txt").write_text("We ship on Friday.")
    monkeypatch.chdir(tmp_path)
    result = run(command, "")
    assert result.exit_code == 1
    assert "A path is empty" in result.stderr


@pytest.mark.usefixtures("empty_memory")
@pytest.mark.parametrize("words", ["", "?!", " … "])
def test_a_search_without_a_word_is_wrong_use(words: str) -> None:
    result = run("search", words)
    assert result.exit_code == 2
    assert "no word to search for" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("arguments", [("formats",), ("formats", "--json"), ("--help",)])
def test_output_that_cannot_be_written_is_one_line(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "treemem_cli.main", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "Error: The output cannot be written: No space left on device.\n"


def test_a_command_that_is_shown_can_be_pasted_into_a_shell() -> None:
    hostile = "chat/a; touch pwned"
    with Memory.open() as memory:
        texts = [f"Miller paid {n + 100} euros for roof {n} in Leeds." for n in range(20)]
        memory.append(hostile, [Message(text=text) for text in texts])
        memory.work(max_calls=0)
    shown = run("source", "show", "latest").stdout
    assert "--source 'chat/a; touch pwned'" in shown
    assert "--source chat/a" not in shown


def test_nothing_that_fits_is_an_exit_code() -> None:
    with Memory.open() as memory:
        memory.append("chat/a", [Message(text="We ship on Friday.")])
    assert run("source", "list", "--since", "2099-01-01").exit_code == 1


def test_a_pipe_gets_every_entry() -> None:
    texts = [f"Miller paid {n + 100} euros for roof {n} in Leeds." for n in range(70)]
    with Memory.open() as memory:
        memory.append("chat/a", [Message(text=text) for text in texts])
        memory.work(max_calls=0)
        stored = len(memory.ledger(kinds=["fact"]))
    assert len(run_json("ledger", "facts")) == stored > 50
    assert len(run_json("ledger", "facts", "--limit", "3")) == 3


def test_a_new_memory_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("We ship on Friday.")
    path = tmp_path / "typo" / "dir" / "x.sqlite3"
    for is_new in (True, False):
        result = run("--db", str(path), "ingest", str(tmp_path / "diary.txt"))
        assert result.exit_code == 0
        assert (f"New memory file: {path}\n" in result.stderr) == is_new


def test_a_text_named_as_the_memory_file_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# A farm\n")
    result = run("--db", str(path), "status")
    assert result.exit_code == 1
    assert f"{path} is no memory file but a text." in result.stderr
    assert "--db" in result.stderr
    assert path.read_text() == "# A farm\n"


@pytest.mark.usefixtures("empty_memory")
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("ledger", "list"), "treemem ledger rules, decisions, open, errors or facts"),
        (("version",), "treemem --version"),
        (("settings",), "Did you mean 'config'?"),
        (("web",), "Did you mean 'serve'?"),
        (("cost",), "Did you mean 'usage'?"),
        (("completion",), "_TREEMEM_COMPLETE=bash_source"),
        (("ingest", "--format", "whatsap", "README.md"), "Did you mean 'whatsapp'?"),
    ],
)
def test_what_was_meant_is_named(typed: tuple[str, ...], words: str) -> None:
    result = run(*typed)
    assert result.exit_code != 0
    assert words in result.stderr


def test_the_case_of_a_format_does_not_matter(claude_log: str) -> None:
    assert run("ingest", "--format", "Claude-Code", claude_log).exit_code == 0


def test_a_person_is_found_without_accents() -> None:
    with Memory.open() as memory:
        memory.append("chat/a", [Message(text="The walrus sleeps.", author="Zo\u00eb Brown"),
                                 Message(text="The walrus eats.", author="Zoran")])  # fmt: skip
    for name in ("zoe", "ZOE brown", "zo\u00eb", "Zoe\u0308"):
        found = run("search", "walrus", "--person", name)
        assert "sleeps" in found.stdout, name
        assert "eats" not in found.stdout


def test_merging_a_topic_with_itself_is_refused_before_anything_is_asked() -> None:
    with Memory.open() as memory:
        themes.store(memory)
        first, second, *_ = (topic.id for topic in memory.topics.list())
    result = run("topic", "merge", first, first)
    assert result.exit_code == 1
    assert "cannot be merged with itself" in result.stderr
    unasked = run("topic", "merge", first, second)
    assert unasked.exit_code == 2
    assert "add --yes" in unasked.stderr
    assert "Usage" not in unasked.stderr


def test_a_project_that_does_not_exist_names_those_like_it() -> None:
    with Memory.open() as memory:
        for number in range(20):
            memory.ingest([_in_project(Path(str(memory.path)).parent, f"shop{number:02}")])
    result = run("search", "walrus", "--project", "shp07")
    assert result.exit_code == 1
    assert "shop07" in result.stderr


def _in_project(folder: Path, name: str) -> Path:
    session = ClaudeSession(name)
    session.say("The walrus sleeps.", "I see.")
    path = session.write(folder)
    path.write_text(path.read_text().replace('{"', f'{{"cwd": "/home/ana/{name}", "', 1))
    return path


@pytest.mark.usefixtures("empty_memory")
def test_a_long_row_of_status_is_wrapped_below_its_value() -> None:
    from tests.helpers.terminal import on_terminal

    shown = on_terminal(60, "status").splitlines()
    assert max(map(len, (line for line in shown if ".sqlite3" not in line))) <= 60
    at = next(number for number, line in enumerate(shown) if line.startswith("missing"))
    assert shown[at + 1].startswith(" " * 13)


def test_nothing_is_asked_about_logs_that_are_stored(
    claude_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "claude" / "projects" / "shelves"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(Path(claude_log).read_bytes())
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    first = run("discover", "claude-code", "--ingest", stdin="y\n")
    assert "Store the file of claude-code?" in first.stderr
    again = run("discover", "claude-code", "--ingest", stdin="")
    assert (again.exit_code, "Store the" in again.stderr) == (0, False)
    assert "All of them are stored." in again.stderr
    once = run("watch", "--once")
    assert "watched" not in once.stderr
    assert "Watching" not in once.stderr


def test_an_option_before_its_command_is_told_where_it_goes() -> None:
    result = run("--tool", "codex", "search", "walrus")
    assert result.exit_code == 2
    assert "it goes after the name: treemem search --tool …" in result.stderr
    assert "goes after" not in run("--xyzzy", "search", "walrus").stderr
    assert "goes after" not in run("--tool", "codex").stderr
