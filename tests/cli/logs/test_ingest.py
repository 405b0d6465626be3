"""Tests `treemem ingest` with files, folders, archives and standard input."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem.importers.streams import compressed
from treemem.packages import extra_command
from treemem.store import messages
from treemem_cli.logs.file_reports import (
    FILES_SHOWN,
    PROBLEMS_SHOWN,
    REASONS_SHOWN,
    UNKNOWN_SHOWN,
)

DEMO = Path(__file__).parents[3] / "treemem" / "demo"


def line(number: int) -> str:
    return json.dumps({"role": "user", "content": f"Pickup {number} is late."}) + "\n"


def test_many_files_are_summed_up_by_format(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(FILES_SHOWN + 1):
        (folder / f"{number:03}.jsonl").write_text(line(number))
    (folder / "notes.md").write_text("# Farm 0417\n\nIt has two gates.\n")
    first, *lines = run("ingest", str(folder)).stdout.splitlines()
    assert first.split() == ["files", "format", "added", "known"]
    assert [line.split() for line in lines[:2]] == [
        [str(FILES_SHOWN + 1), "chat", str(FILES_SHOWN + 1), "0"],
        ["1", "markdown", "1", "0"],
    ]
    assert lines[2:] == [f"{FILES_SHOWN + 2} messages added."]
    again = run("ingest", str(folder), "-v").stdout.splitlines()
    assert again[0].split() == ["files", "format", "added", "known", "records", "skipped"]
    assert again[3] == f"0 messages added, {FILES_SHOWN + 2} known."


def test_files_that_need_a_package_are_counted_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ())
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.jsonl").write_text(line(1))
    for name in ("a.jsonl.zst", "b.jsonl.zst"):
        (folder / name).write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    result = run("ingest", str(folder))
    assert result.exit_code == 0
    assert (
        "2 files compressed with Zstandard are passed over. Reading them needs a package: "
        + extra_command("zstd")
    ) in result.stderr
    named = run("ingest", str(folder / "a.jsonl.zst"))
    assert named.exit_code == 1
    assert extra_command("zstd") in named.stderr


def test_files_of_a_folder_in_an_unknown_format_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.jsonl").write_text(line(1))
    for name in ("a.png", "b\x1b[31m.png", "c\nError: x"):
        (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    result = run("ingest", str(folder))
    assert result.exit_code == 0
    expected = "Not read: 3 files in an unknown format: a.png, b␛[31m.png, c␊Error: x\n"
    assert result.stderr == expected
    for number in range(UNKNOWN_SHOWN):
        (folder / f"d{number}").write_bytes(b"\x89PNG\r\n\x1a\n")
    end = "d0, d1 and 3 more (all: -v)\n"
    assert run("ingest", str(folder)).stderr == expected.strip().replace("3", "8", 1) + ", " + end
    assert run("ingest", str(folder), "-v").stderr.endswith("x, d0, d1, d2, d3, d4\n")
    named = run("ingest", str(folder / "a.png"))
    assert named.exit_code == 1
    assert "binary data (PNG)" in named.stderr


def test_a_long_name_is_whole_in_a_pipe_and_markup_in_a_name_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem_cli.logs.file_reports.stderr_is_terminal", lambda: True)
    strange = tmp_path / "[" / "]x.jsonl"  # its path looks like markup that ends nothing
    strange.parent.mkdir()
    strange.write_text(line(1))
    long = tmp_path / f"[bold]{'x' * 150}.jsonl"
    long.write_text(line(2))
    result = run("ingest", str(strange), str(long))
    assert result.exit_code == 0, result.output
    _, first, second = result.stdout.splitlines()[:3]
    assert first.split()[0] == "]x.jsonl"
    assert second.startswith("[bold]xxx")
    assert long.name in second


def test_members_of_an_archive_are_shown_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("2026/may.jsonl", line(1))
    shown = run("ingest", str(path)).stdout.splitlines()[1]
    assert shown.split()[:2] == ["may.jsonl", "chat"]


def test_the_most_frequent_reasons_are_listed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    kinds = [f"kind-{number}" for number in range(REASONS_SHOWN + 2)]
    records = [
        {"type": kind, "sessionId": "s", "parentUuid": None, "isSidechain": False}
        for kind in [*kinds, kinds[3], kinds[3]]
    ]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    (line,) = (
        text for text in run("ingest", str(log), "-v").stdout.splitlines() if "Skipped" in text
    )
    assert line.startswith("Skipped: 3 no message: kind-3, 1 no message: kind-0, ")
    assert line.endswith(", 2 for 2 more reasons (all: --json)")


def test_a_message_over_the_size_limit_is_reported_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "TEXT_CHARS_MAX", 50)
    log = tmp_path / "log.jsonl"
    log.write_text(line(1) + json.dumps({"role": "user", "content": "long " * 20}) + "\n" + line(2))
    report = run_json("ingest", str(log))
    assert (report["records"], report["added"]) == (3, 2)
    assert report["skipped"] == {"message over the size limit": 1}
    (problem,) = report["files"][0]["problems"]
    assert problem.endswith("message over the size limit (100 characters, 50 are allowed)")


def test_the_first_of_many_problems_are_listed(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(PROBLEMS_SHOWN + 5):
        (folder / f"{number:02}.jsonl").write_text(line(number) + "{damaged\n" + line(number))
    *lines, last = run("ingest", str(folder)).stderr.splitlines()
    assert len(lines) == PROBLEMS_SHOWN
    assert all(line.startswith("Problem: ") for line in lines)
    assert last == "… and 5 more problems, in 25 files altogether. More of them: --json"


def test_nothing_is_stored_if_one_of_the_paths_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(line(1))
    result = run("ingest", str(tmp_path / "log.jsonl"), str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert "nowhere does not exist" in result.stderr
    assert run_json("source", "list") == []


def test_a_named_file_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(line(1))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert run("ingest", str(tmp_path / "log.jsonl"), str(tmp_path / "a.png")).exit_code == 1
    assert run("ingest", str(tmp_path)).exit_code == 0


def test_ctrl_c_says_that_what_was_read_is_stored_and_exits_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "one.jsonl").write_text(line(1))
    monkeypatch.setattr("treemem.memory.Memory.work", interrupted)  # after the last file
    result = run("ingest", str(tmp_path / "one.jsonl"))
    assert result.exit_code == 130
    assert "What was read so far is stored" in result.stderr
    assert len(run_json("source", "list")) == 1


@pytest.fixture
def demo() -> str:
    """Ingests the demo log into the default memory; returns the id of its source."""
    result = run("ingest", str(DEMO / "session.jsonl"), "--json")
    assert result.exit_code == 0, result.output
    source: str = json.loads(result.stdout)["files"][0]["sources"][0]
    return source


def test_ingest_accounts_for_every_record(demo: str) -> None:
    report = run_json("ingest", str(DEMO / "session.jsonl"))
    assert report["records"] == report["known"] + sum(report["skipped"].values())
    assert report["added"] == 0


def test_a_dash_reads_standard_input() -> None:
    line = json.dumps({"role": "user", "content": "We ship on Friday."})
    result = run("ingest", "-", "--json", stdin=line + "\n")
    assert json.loads(result.stdout)["added"] == 1


def test_an_error_names_the_content_that_was_found(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    result = run("ingest", str(picture))
    assert result.exit_code == 1
    assert str(picture) in result.stderr
    assert "PNG" in result.stderr
    assert "treemem formats" in result.stderr
    assert result.stdout == ""


def test_a_bad_file_does_not_affect_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01\x02" * 100)
    (tmp_path / "b.md").write_text("# Notes\n\nWe ship on Friday.\n")
    result = run("ingest", str(tmp_path), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["added"] >= 1


def test_a_name_with_an_exclamation_mark_is_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "Hello! World!.md").write_text("# Plan\n\nWe ship on Friday.\n")
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("Stop!.md", "# Plan\n\nWe stop on Monday.\n")
    shown = run("ingest", str(tmp_path / "Hello! World!.md"), str(tmp_path / "logs.zip")).stdout
    names = [line.partition("  ")[0] for line in shown.splitlines()[1:3]]
    assert names == ["Hello! World!.md", "logs.zip!Stop!.md"]


def test_files_of_the_same_name_have_their_folder_and_empty_ones_their_reason(
    tmp_path: Path,
) -> None:
    for folder in ("hens", "geese"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.md").write_text(f"The {folder} sleep.")
    task = tmp_path / "1760000000000"
    task.mkdir()
    said = {"role": "user", "ts": 1760000000200, "content": [{"type": "text", "text": "Hello."}]}
    window = {"ts": 1760000000200, "type": "say", "say": "text", "text": "Hello."}
    (task / "api_conversation_history.json").write_text(json.dumps([said]))
    (task / "ui_messages.json").write_text(json.dumps([window]))
    shown = run("ingest", str(tmp_path)).stdout
    assert "hens/notes.md" in shown
    assert "geese/notes.md" in shown
    assert "/ui_messages.json" not in shown
    (row,) = (line for line in shown.splitlines() if line.startswith("ui_messages.json"))
    assert row.endswith("(no messages: told by the model's history)")
