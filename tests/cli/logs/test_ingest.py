"""treemem ingest of folders and archives, as a person sees it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treemem.importers import IMPORTERS
from treemem.store import messages
from treemem_cli.logs.file_reports import FILES_SHOWN, PROBLEMS_SHOWN, REASONS_SHOWN
from treemem_cli.main import cli


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def said(number: int) -> str:
    return json.dumps({"role": "user", "content": f"Pickup {number} is late."}) + "\n"


def test_of_many_files_each_format_has_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(FILES_SHOWN + 1):
        (folder / f"{number:03}.jsonl").write_text(said(number))
    (folder / "notes.md").write_text("# Farm 0417\n\nIt has two gates.\n")
    first, *lines = run("ingest", str(folder)).stdout.splitlines()
    assert first.split() == ["files", "format", "records", "added", "known", "skipped"]
    assert [line.split() for line in lines] == [
        [str(FILES_SHOWN + 1), "chat", str(FILES_SHOWN + 1), str(FILES_SHOWN + 1), "0", "0"],
        ["1", "markdown", "1", "1", "0", "0"],
    ]


def test_what_lies_beside_the_logs_is_told_by_its_kinds(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.jsonl").write_text(said(1))
    for name in ("a.png", "b.png", "c"):
        (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    result = run("ingest", str(folder))
    assert result.exit_code == 0
    assert result.stderr.strip() == (
        "Not read: 3 files (2 .png, 1 without a suffix) in an unknown format. Details: --json"
    )
    named = run("ingest", str(folder / "a.png"))
    assert named.exit_code == 1
    assert "binary data (PNG)" in named.stderr


def test_a_long_name_is_cut_and_a_strange_one_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem_cli.logs.file_reports.stderr_is_terminal", lambda: True)
    strange = tmp_path / "[" / "]x.jsonl"  # its path looks like markup that ends nothing
    strange.parent.mkdir()
    strange.write_text(said(1))
    long = tmp_path / f"[bold]{'x' * 150}.jsonl"
    long.write_text(said(2))
    result = run("ingest", str(strange), str(long))
    assert result.exit_code == 0, result.output
    _, first, second = result.stdout.splitlines()[:3]
    assert first.split()[0] == "]x.jsonl"
    assert second.startswith("[bold]xxx")
    assert "… " in second


def test_members_of_an_archive_are_shown_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("2026/may.jsonl", said(1))
    shown = run("ingest", str(path)).stdout.splitlines()[1]
    assert shown.split()[:2] == ["may.jsonl", "chat"]


def test_of_many_reasons_the_most_frequent_are_told(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    kinds = [f"kind-{number}" for number in range(REASONS_SHOWN + 2)]
    records = [
        {"type": kind, "sessionId": "s", "parentUuid": None, "isSidechain": False}
        for kind in [*kinds, kinds[3], kinds[3]]
    ]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    (line,) = (text for text in run("ingest", str(log)).stdout.splitlines() if "Skipped" in text)
    assert line.startswith("Skipped: 3 no message: kind-3, 1 no message: kind-0, ")
    assert line.endswith(", 2 for 2 more reasons (all: --json)")


def test_a_message_over_the_limit_is_told_and_costs_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "TEXT_BYTES_MAX", 50)
    log = tmp_path / "log.jsonl"
    log.write_text(said(1) + json.dumps({"role": "user", "content": "long " * 20}) + "\n" + said(2))
    report = json.loads(run("ingest", str(log), "--json").stdout)
    assert (report["records"], report["added"]) == (3, 2)
    assert report["skipped"] == {"message over the size limit": 1}
    (problem,) = report["files"][0]["problems"]
    assert problem.endswith("message over the size limit (100 characters, 50 are allowed)")


def test_formats_lists_what_is_read() -> None:
    listed = json.loads(run("formats", "--json").stdout)
    assert [each["name"] for each in listed] == [each.name for each in IMPORTERS]
    assert all(each["kept"] and each["dropped"] for each in listed)
    shown = run("formats").stdout
    assert all(each.name in shown for each in IMPORTERS)


def test_of_many_problems_the_first_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(PROBLEMS_SHOWN + 5):
        (folder / f"{number:02}.jsonl").write_text(said(number) + "{damaged\n" + said(number))
    *lines, last = run("ingest", str(folder)).stderr.splitlines()
    assert len(lines) == PROBLEMS_SHOWN
    assert all(line.startswith("Problem: ") for line in lines)
    assert last == "… and 5 more problems, in 25 files altogether. More of them: --json"


def test_nothing_is_stored_where_one_of_the_paths_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(said(1))
    result = run("ingest", str(tmp_path / "log.jsonl"), str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert "nowhere does not exist" in result.stderr
    assert json.loads(run("source", "list", "--json").stdout) == []


def test_a_file_that_was_named_and_not_read_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(said(1))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert run("ingest", str(tmp_path / "log.jsonl"), str(tmp_path / "a.png")).exit_code == 1
    assert run("ingest", str(tmp_path)).exit_code == 0


def test_the_tree_over_everything_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(said(1))
    (tmp_path / "two.jsonl").write_text(said(2))
    run("ingest", str(tmp_path / "one.jsonl"))
    assert "not included yet" not in run("tree").stderr
    run("ingest", str(tmp_path / "two.jsonl"))
    assert "not included yet" in run("tree").stderr
    assert "not included yet" not in run("tree", "two").stderr
    assert "not included yet" in run("topic", "list").stderr


def test_where_there_is_little_room_only_the_days_of_a_source_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"role": "user", "content": "Hi.", "ts": "2026-11-03T10:00:00Z"}))
    run("ingest", str(log))
    assert "2026-11-03 10:00" in run("source", "list").stdout
    monkeypatch.setattr("treemem_cli.content.source.NARROW", 200)
    assert "2026-11-03" in run("source", "list").stdout
    assert "10:00" not in run("source", "list").stdout


def test_a_tree_that_was_not_made_yet_is_not_told_as_nothing_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jsonl").write_text(said(1))
    with monkeypatch.context() as patched:  # as after Ctrl-C, before the trees above the sources
        patched.setattr("treemem.memory.Memory.work", lambda *_, **__: None)
        run("ingest", str(tmp_path / "one.jsonl"))
    assert "The tree of everything has not been built yet" in run("tree").stderr
    run("work")
    assert "Pickup 1" in run("tree").stdout


def test_a_stop_by_ctrl_c_says_that_what_was_read_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "one.jsonl").write_text(said(1))
    monkeypatch.setattr("treemem.memory.Memory.work", interrupted)  # after the last file
    result = run("ingest", str(tmp_path / "one.jsonl"))
    assert result.exit_code == 130
    assert "What was read so far is stored" in result.stderr
    assert len(json.loads(run("source", "list", "--json").stdout)) == 1
