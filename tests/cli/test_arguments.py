"""No argument, however odd, makes a traceback, hangs, or creates a file by mistake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

HUGE = "99999999999999999999"
READING = [
    ("search", "pump"),
    ("tree",),
    ("node", "show", "abcdef"),
    ("source", "list"),
    ("topic", "list"),
    ("rule", "list"),
    ("status",),
    ("usage",),
    ("job", "list"),
    ("doctor",),
    ("doctor", "--repair"),
    ("scrub", "--yes"),
    ("redact", "show"),
]


@pytest.fixture
def there() -> None:
    with Memory.open() as memory:
        memory.append("chat", [Message(text="The pump runs at night.")])
        memory.work(max_calls=0)


# -- the memory file -----------------------------------------------------------------------


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_command_that_reads_creates_no_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "typo" / "memory.sqlite3"
    result = run("--db", str(path), *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"File {path} does not exist; nothing is stored yet" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_stores_creates_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "memory.sqlite3"
    assert run("--db", str(path), "ingest", "-", stdin="The pump runs at night.").exit_code == 0
    assert run("--db", str(path), "source", "list").exit_code == 0


def test_a_plan_for_a_memory_that_does_not_exist_creates_none(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    result = run("--db", str(path), "plan", "-", stdin="The pump runs at night.")
    assert result.exit_code == 0, result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["status", "ingest"])
def test_an_empty_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--db", "", command, *(["-"] if command == "ingest" else []), stdin="text")
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX's")
@pytest.mark.parametrize("name", ["memory", "memory-open", "memory-wal", "memory-shm"])
def test_a_pipe_in_place_of_any_file_never_hangs(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    result = run("--db", str(tmp_path / "memory"), "ingest", "-", stdin="The pump runs.")
    assert result.exit_code == (0 if name == "memory-open" else 1)
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.usefixtures("there")
def test_a_memory_that_others_may_read_is_noted_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "default.sqlite3"
    path.chmod(0o644)
    for command in ("status", "doctor"):
        result = run(command)
        assert f"chmod 600 {path}" in result.stderr
        assert "chmod" not in result.stdout
    assert "chmod" not in run("source", "list").output


def test_a_folder_that_others_may_look_into_is_noted_when_the_file_is_created(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "own"
    folder.mkdir(0o755)
    folder.chmod(0o755)
    (tmp_path / "notes.txt").write_text("We ship on Friday.")
    new = ("--db", str(folder / "m.sqlite3"), "ingest", str(tmp_path / "notes.txt"))
    assert f"chmod 700 {folder}" in run(*new).stderr
    assert "chmod" not in run(*new).output


# -- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("job", "show", HUGE), 1, f"There is no job {HUGE}"),
        (("job", "retry", HUGE), 1, f"There is no job {HUGE}"),
        (("job", "cancel", HUGE), 1, f"There is no job {HUGE}"),
        (("job", "show", "--", f"-{HUGE}"), 1, f"There is no job -{HUGE}"),
        (("job", "show", "0"), 1, "There is no job 0"),
        (("job", "list", "--limit", HUGE), 0, ""),
        (("job", "list", "--all", "--limit", HUGE), 0, ""),
        (("tree", "--depth", HUGE), 0, ""),
        (("node", "upgrade", "--limit", HUGE), None, ""),
        (("search", "pump", "--budget", HUGE), 0, ""),
        (("topic", "show", HUGE), 1, "There is no topic"),
        (("topic", "pin", HUGE), 1, "There is no topic"),
        (("node", "show", HUGE), 1, "treemem tree"),
        (("node", "expand", "9" * 5_000), None, ""),
        (("work", "--max-calls", HUGE), 0, ""),
        (("work", "--max-tokens", HUGE), 0, ""),
        (("work", "--max-seconds", "inf"), 0, ""),
        (("work", "--max-seconds", "nan"), 2, "nan is not a number of seconds"),
        (("embed", "--max-seconds", "nan"), 2, "nan is not a number of seconds"),
        (("work", "--watch", "--every", f"{HUGE}h"), 2, "is longer than 3,650d"),
        (("work", "--watch", "--every", "9" * 400), 2, "is longer than 3,650d"),
        (("watch", "--idle", f"{HUGE}d"), 2, "is longer than 3,650d"),
    ],
)
@pytest.mark.usefixtures("there")
def test_a_number_of_any_size_is_an_answer_or_an_error(
    arguments: tuple[str, ...], code: int | None, words: str
) -> None:
    result = run(*arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert code is None or result.exit_code == code, result.output
    assert words in result.stderr


@pytest.mark.usefixtures("there")
def test_bytes_that_are_no_text_are_refused_with_a_reason() -> None:
    for arguments in (("search", "pump \udcff"), ("source", "show", "\udcff"),
                      ("topic", "show", "\udcff"), ("node", "show", "\udcff")):  # fmt: skip
        result = run(*arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), arguments


# -- doctor ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("there")
def test_doctor_says_what_it_could_not_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from treemem.store.database import Database

    configure = Database._configure

    def read_only(self: Database, *arguments: object, **options: bool) -> None:
        configure(self, *arguments, **options)  # type: ignore[arg-type]
        self._connection.execute("PRAGMA query_only = ON")

    monkeypatch.setattr(Database, "_configure", read_only)
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "-     full text against content" in result.stdout
    assert "not checked: " in result.stderr
    assert "damaged" not in result.stderr
    value = run_json("doctor")
    assert (value["healthy"], value["complete"]) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ledger", "rules", "--source", "chat/mlil"), "Similar: chat/mill."),
        (("ledger", "facts", "--session", "week-7"), "Similar: week-1."),
        (("ledger", "open", "--topic", "t12"), "no topic 't12'"),
        (("search", "sacks", "--source", "chat/mlil"), "Similar: chat/mill."),
        (("search", "sacks", "--session", "week-7"), "Similar: week-1."),
        (("search", "sacks", "--project", "mlil"), "There are: mill."),
        (("tree", "chat/mlil"), "Similar: chat/mill."),
        (("node", "list", "--source", "chat/mlil"), "Similar: chat/mill."),
        (("source", "show", "chat/mlil"), "Similar: chat/mill."),
        (("search", "sacks", "--since", "2026-03-02", "--until", "2026-03-01"), "is before since"),
        (("ledger", "open", "--since", "2026-03-02", "--until", "2026-03-01"), "is before since"),
        (("usage", "--since", "2026-03-02", "--until", "2026-03-01"), "is before since"),
    ],
)
def test_what_nothing_has_and_what_cannot_be_is_an_error(
    arguments: tuple[str, ...], words: str
) -> None:
    with Memory.open() as memory:
        memory.append("chat/mill", [Message(text="Count the sacks.", session="week-1")],
                      project="mill")  # fmt: skip
        memory.work(max_calls=0)
    for more in ((), ("--json",)):
        result = run(*arguments, *more)
        assert (result.exit_code, result.stdout) == (1, "")
        assert words in result.stderr
