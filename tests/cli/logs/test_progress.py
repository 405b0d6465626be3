"""A long reading says how far it is, and what is stored if it is stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from tests.helpers.terminal import on_terminal
from treemem import FileReport, LogFile
from treemem.ingest.files import FileIngest
from treemem_cli.logs import progress as shown_progress
from treemem_cli.logs.progress import ReadingProgress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(tmp_path: Path) -> list[LogFile]:
    paths = [tmp_path / f"{number}.jsonl" for number in range(4)]
    for path in paths:
        path.write_bytes(b"x" * 2_000_000)
    return [LogFile(str(path), path, found=True) for path in paths]


def take(progress: ReadingProgress, clock: Clock, file: LogFile, **report: int) -> None:
    progress.take(FileReport(file.label, **report))  # type: ignore[arg-type]
    clock.now += 10


def test_it_counts_files_bytes_speed_and_time(files: list[LogFile], clock: Clock) -> None:
    progress = ReadingProgress(files, clock)
    assert progress.lines(80) == ["0 of 4 files · 0 B of 8.0 MB"]
    for file in files[:3]:
        take(progress, clock, file, added=7)
    assert progress.counts() == ["2 of 4 files", "4.0 MB of 8.0 MB", "133 kB/s", "30 s left"]
    assert progress.lines(30) == [
        "2 of 4 files", "4.0 MB of 8.0 MB · 133 kB/s", "30 s left", "2.jsonl: 7 added",
    ]  # fmt: skip
    take(progress, clock, files[3])
    assert progress.counts()[0] == "the last of 4 files, then the topics"


def test_a_large_file_shows_how_far_it_is(files: list[LogFile], clock: Clock) -> None:
    progress = ReadingProgress(files[:2], clock)
    log = replace(files[0], opened=progress.opened(files[0]))
    with log.open() as hashed:  # the file is read as a whole first
        hashed.seek(500_000)
        assert progress.lines(80) == ["0 of 2 files · 0 B of 4.0 MB", "0.jsonl: looked through 25%"]
    with log.open() as stored:
        stored.seek(1_000_000)
        clock.now += 10
        report = FileReport(log.label, added=1_000)
        progress.take(report)
        assert progress.lines(80) == [
            "0 of 2 files · 1.0 MB of 4.0 MB · 100 kB/s · 30 s left", "0.jsonl: 1,000 added",
        ]  # fmt: skip
        with log.open() as again:  # such as for what is missing in it
            again.seek(1_900_000)
            assert progress.bytes_done == 1_000_000
    assert progress.bytes_done == 1_000_000
    with replace(files[1], opened=progress.opened(files[1])).open() as following:
        following.seek(1_500_000)
        assert progress.bytes_done == 2_000_000
        assert progress.lines(80)[1] == "1.jsonl: looked through 75%"
        progress.take(FileReport(files[1].label))
        assert progress.bytes_done == 3_500_000
    assert progress.files_done == 1


def test_the_position_in_a_file_is_asked_for_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    take = ReadingProgress.take

    def noted(self: ReadingProgress, report: FileReport) -> FileReport | None:
        done = take(self, report)
        seen.append(self.bytes_done)
        return done

    monkeypatch.setattr(ReadingProgress, "take", noted)
    monkeypatch.setattr("treemem.ingest.files.BATCH_MESSAGES_MAX", 500)
    log = folder / "chat.jsonl"
    log.write_text("".join(map(line, range(2_000))))
    run("ingest", str(log))
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[1] <= log.stat().st_size


def test_speed_is_that_of_the_last_minute(files: list[LogFile], clock: Clock) -> None:
    progress = ReadingProgress(files, clock)
    for file in files[:2]:
        take(progress, clock, file)  # 2 MB in 10 s
    clock.now += 1_000
    take(progress, clock, files[2])
    clock.now += 10
    take(progress, clock, files[3])
    assert progress.counts()[2] == "67 kB/s"  # not that of the thousand seconds before


def test_members_of_an_archive_are_one_file(files: list[LogFile], clock: Clock) -> None:
    progress = ReadingProgress(files, clock)
    for member in ("a.json", "b.json"):
        progress.take(FileReport(f"{files[0].label}!{member}"))
    assert progress.files_done == 0
    take(progress, clock, files[1])
    assert progress.files_done == 1


def test_a_strange_name_cannot_move_the_cursor(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "[red]\x1b[2J\nx.jsonl"
    progress = ReadingProgress([LogFile(str(path), path)], clock)
    progress.take(FileReport(str(path), added=1))
    assert progress.lines(60)[-1] == "[red]␛[2J x.jsonl: 1 added"


def line(number: int) -> str:
    return json.dumps({"role": "user", "content": f"Pickup {number} is late."}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        (folder / f"chat{number}a.jsonl").write_text(line(number))
    (folder / "damaged.jsonl").write_text(line(9) + "{broken\n" + line(10))
    return folder


def test_a_terminal_shows_the_counts_and_problems_as_they_come(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = on_terminal(80, "ingest", str(folder), notes=True)
    assert "of 4 files" in out
    monkeypatch.setattr(shown_progress, "PROBLEMS_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(shown_progress, "stderr_is_terminal", lambda: True)
    (folder / "damaged.jsonl").write_text("{broken again\n" + line(11))
    stderr = run("ingest", str(folder)).stderr
    assert stderr.count("broken again") <= 2


def test_without_a_terminal_a_long_run_prints_a_line_now_and_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "files" not in run("ingest", str(folder)).stderr
    monkeypatch.setattr(shown_progress, "LINE_SECONDS", 0.0)
    (folder / "new.jsonl").write_text(line(20))
    result = run("ingest", str(folder), "--json")
    assert "of 5 files · " in result.stderr
    json.loads(result.stdout)


def test_ctrl_c_says_what_is_stored_and_the_same_command_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = FileIngest.run
    calls: list[str] = []

    def interrupted(self: FileIngest) -> FileReport:
        calls.append(self.report.path)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return read(self)

    monkeypatch.setattr(FileIngest, "run", interrupted)
    result = run("ingest", str(folder))
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("Stopped after 1 of 4 files; ")
    assert result.stderr.endswith("Run the same command to continue.\n")
    assert "messages added, " in run("ingest", str(folder)).stdout


def test_ctrl_c_before_the_first_file_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_files: object) -> list[LogFile]:
        raise KeyboardInterrupt

    monkeypatch.setattr("treemem.newest_first", interrupted)
    result = run("ingest", str(folder))
    assert (result.exit_code, result.stderr) == (130, "Stopped before anything was read.\n")
