"""treemem open and treemem resume lead from a printed passage to the log and to its tool."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.terminal import on_terminal
from treemem import Memory, Message
from treemem_cli.content import editor

SESSION = "69cb1603-6279-4281-ab6f-b4eac46a4057"


@pytest.fixture(autouse=True)
def _no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("VISUAL", "EDITOR", "PAGER"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A stored log with one hit for each of two words."""
    path = tmp_path / "farm notes.md"
    filling = "The road is dry.\n" * 400
    path.write_text(f"The walrus swims.\n{filling}The heron stands.\n{filling}")
    with Memory.open() as memory:
        memory.ingest([path])
    return path


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the editor in use writes its arguments."""
    arguments = tmp_path / "arguments.json"
    program = tmp_path / "my editors" / "vim"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(arguments)!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("EDITOR", f"{shlex.quote(str(program))} -R")
    return arguments


# -- open ----------------------------------------------------------------------------------


def test_a_passage_is_opened_at_its_line(log: Path, recorder: Path) -> None:
    assert run("search", "heron").exit_code == 0
    result = run("open", "1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert json.loads(recorder.read_text()) == ["-R", "+402", str(log)]


def test_of_a_part_of_several_lines_the_one_with_the_words_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    rows = [f"Line {number} is about nothing but hay and straw." for number in range(1, 9)]
    rows[4] = "An aardvark eats."
    path.write_text("\n".join(rows))
    run("ingest", str(path))
    assert f"{path}:5" in run("search", "aardvark").stdout
    assert run("open", "1", "--print").stdout == f"{path}:5\n"


def test_print_writes_the_file_and_the_line_and_nothing_else(log: Path, recorder: Path) -> None:
    run("search", "heron")
    assert run("open", "1", "--print").stdout == f"{log}:402\n"
    source = run_json("source", "list")[0]["source"]["id"]
    assert run("open", source, "--print").stdout == f"{log}\n"
    assert not recorder.exists()


def test_without_a_terminal_and_an_editor_the_place_is_printed(log: Path) -> None:
    run("search", "heron")
    assert run("open", "1").stdout == f"{log}:402\n"


@pytest.mark.parametrize(
    "name",
    ["farm notes.md", "a'b\\.md", "red \x1b[31m 'x'\\n.md", "two\nlines.md", "\u202e\x9b予算.md"],
)
def test_a_terminal_gets_the_name_as_a_shell_takes_it_and_a_pipe_as_it_is(
    log: Path, name: str
) -> None:
    path = log.rename(log.with_name(name))
    with Memory.open() as memory:
        memory.ingest([path])
    run("search", "heron")
    assert run("open", "1", "--print").stdout == f"{path}:402\n"
    shown = on_terminal(40, "open", "1", "--print").removesuffix("\n")
    assert shown.isprintable()
    script = f"printf %s {shown}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == f"{path}:402"


def test_the_passages_of_the_last_printed_search_count(log: Path, tmp_path: Path) -> None:
    result = run("open", "1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No search has been made yet" in result.stderr
    run("search", "walrus")
    run_json("search", "heron")  # not printed with numbers
    assert run("open", "1", "--print").stdout == f"{log}:1\n"
    for number in ("0", "2", "999"):
        message = f"The last search had 1 passage; there is no passage {number}."
        assert message in run("open", number).stderr
    run("search", "zebra")
    assert "The last search had 0 passages" in run("open", "1").stderr
    kept = tmp_path / "default.sqlite3-last-search"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*last-search.*"))


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[["a"]]', '"ab"', "\udcff"])
def test_a_damaged_memory_of_the_last_search_is_none(log: Path, content: str) -> None:
    kept = log.with_name("default.sqlite3-last-search")
    kept.touch(0o600)
    kept.write_bytes(content.encode("utf-8", "surrogateescape"))
    result = run("open", "1")
    assert result.exit_code == 1
    assert "No search has been made yet" in result.stderr
    assert run("search", "heron").exit_code == 0
    assert run("open", "1", "--print").stdout == f"{log}:402\n"


def test_what_was_searched_is_not_kept(log: Path) -> None:
    run("search", "heron")
    kept = json.loads(log.with_name("default.sqlite3-last-search").read_text())
    location = run_json("open", "1")
    ((*ids, start, end),) = kept
    assert ids == [location["message_id"], location["source_id"]]
    assert 0 <= start < end


def test_a_log_that_is_gone_leads_to_what_is_stored(log: Path, recorder: Path) -> None:
    run("search", "heron")
    log.unlink()
    result = run("open", "1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{log} does not exist any more. The message is stored: treemem message" in result.stderr
    words = shlex.split(result.stderr.partition("stored: ")[2])
    assert "The heron stands." in run(*words[1:]).stdout
    assert not recorder.exists()


def test_a_log_that_has_changed_is_opened_with_a_note(log: Path, recorder: Path) -> None:
    run("search", "heron")
    log.write_text("Nothing is left.")
    result = run("open", "1")
    assert result.exit_code == 0
    assert f"is not found for sure in {log}, which may have changed." in result.stderr
    assert json.loads(recorder.read_text()) == ["-R", str(log)]


def test_what_has_no_log_says_so() -> None:
    with Memory.open() as memory:
        memory.append("chat/a b", [Message(text="The walrus swims.")])
    run("search", "walrus")
    assert "chat/a b has no log file that is known" in run("open", "1").stderr
    assert "treemem source show 'chat/a b' --messages" in run("open", "chat/a b").stderr


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("EDITOR", "'", '$EDITOR is "\'": No closing quotation'),
        ("VISUAL", "/no/such/editor", "/no/such/editor cannot be started: No such file"),
        ("VISUAL", "false", "false ended with exit code 1"),
    ],
)
def test_an_editor_that_fails_is_an_error(
    log: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    run("search", "heron")
    monkeypatch.setenv(variable, value)
    result = run("open", "1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("nvim", ["nvim", "+7", "/a b"]),
        ("/usr/bin/emacs -nw", ["/usr/bin/emacs", "-nw", "+7", "/a b"]),
        ("less", ["less", "+7", "/a b"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b:7"]),
        ("code.cmd", ["code.cmd", "--goto", "/a b:7"]),
        ("hx", ["hx", "/a b:7"]),
        ("subl -w", ["subl", "-w", "/a b:7"]),
        ("pycharm", ["pycharm", "--line", "7", "/a b"]),
        ("unknown", ["unknown", "/a b"]),
    ],
)
def test_an_editor_gets_the_line_in_its_own_way(program: str, expected: list[str]) -> None:
    assert editor.command(shlex.split(program), Path("/a b"), 7) == expected
    alone = editor.command(shlex.split(program), Path("/a b"), None)
    assert alone == [*shlex.split(program), "/a b"]


def test_no_path_is_taken_for_an_option_or_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-c quit", "+quit", "$(reboot)", "{line}", "a\nb"):
        assert editor.command(["vim"], Path(name), 7) == ["vim", "+7", str(tmp_path / name)]


# -- resume --------------------------------------------------------------------------------


def test_resume_prints_the_command_of_the_session(demo_at_home: None) -> None:
    run("search", "outbox renumbered", "--budget", "300")
    expected = f"cd /home/neza/src/milkround && claude --resume {SESSION}\n"
    for name in ("1", SESSION[:8]):
        assert run("resume", name).stdout == expected
    assert run_json("resume", "1")["place"]["resume"] == expected.strip()


def test_what_cannot_be_continued_gives_the_reason(log: Path) -> None:
    result = run("resume", "farm")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is from markdown, which has no command to continue a session." in result.stderr
    rollout = log.with_name("rollout.jsonl")
    record = {"type": "response_item", "timestamp": "2026-01-01T10:00:00Z", "payload": {
        "type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "Feed the walrus."}]}}  # fmt: skip
    rollout.write_text(json.dumps(record) + "\n")
    run("ingest", str(rollout))
    result = run("resume", "codex/")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not one that codex takes" in result.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_a_log_whose_name_is_not_utf_8_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    log = folder / os.fsdecode(b"ol\xe9!.md")
    log.write_text("# Plan\n\nWe ship the boat on Friday.\n")
    assert run("ingest", str(log)).exit_code == 0
    assert run("search", "boat").exit_code == 0
    for name in ("1", "latest", log.name):
        printed = run("open", "--print", name).stdout_bytes.removesuffix(b"\n").removesuffix(b":3")
        assert printed == os.fsencode(log), name
    assert ":3" in run("open", "--print", "1").stdout
    assert run("source", "show", os.fsdecode(b"ol\xe9")).exit_code == 0
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c 'import sys; open(sys.argv[-1])'")
    assert run("open", "latest").exit_code == 0
    log.with_name(os.fsdecode(b"ol\xe8!.md")).write_text("Another file that is stored so.")
    assert "does not exist any more" in run("open", "latest").stderr
