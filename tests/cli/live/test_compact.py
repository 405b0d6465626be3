"""Tests `treemem compact`."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from tests.helpers.command_line import run, run_json
from tests.helpers.logs import ClaudeSession, prose
from treemem import default_database_path
from treemem.forms.schemas import schema_of
from treemem_cli import schemas


@pytest.fixture
def log(tmp_path: Path) -> Path:
    session = ClaudeSession("mill")
    session.say(*(prose(number, 10) for number in range(60)))
    return session.write(tmp_path)


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_pipe_gets_the_log_and_standard_error_the_report(log: Path) -> None:
    result = run("compact", str(log), "--window", "4000")
    assert result.exit_code == 0, result.output
    found = rows(result.stdout)
    assert found[0]["isCompactSummary"] is True
    assert found[-1] == rows(log.read_text())[-1]
    assert "From " in result.stderr
    assert "Of 60 messages, " in result.stderr


def test_nothing_is_stored(log: Path) -> None:
    run("compact", str(log), "--window", "4000")
    assert not default_database_path().exists()


def test_the_report_says_what_went_where_and_writes_nothing(log: Path) -> None:
    before = sorted(log.parent.iterdir())
    printed = run("compact", str(log), "--window", "4000", "--report").stdout
    assert "  digest: a digest stands for " in printed
    assert "The summary:\n  This session is being continued" in printed
    assert sorted(log.parent.iterdir()) == before
    report = run_json("compact", str(log), "--window", "4000")
    jsonschema.validate(report, schema_of(schemas.outputs()["compact"]))
    assert report["verbatim"] + report["trimmed"] + report["summarized"] == report["messages"] == 60
    assert report["rungs"][-1]["tokens"] == report["tokens_after"]
    assert report["file"] is None


def test_a_file_is_written_whole_and_never_over_the_log(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "small.jsonl"
    out.parent.mkdir()
    before = log.read_bytes()
    assert run("compact", str(log), "--window", "4000", "-o", str(out)).exit_code == 0
    first = out.read_bytes()
    assert len(first) < len(before)
    assert list(out.parent.iterdir()) == [out]
    again = run("compact", str(log), "--window", "2000", "-o", str(out))
    assert (again.exit_code, out.read_bytes()) == (2, first)
    assert "--yes" in again.stderr
    assert run("compact", str(log), "--window", "2000", "-o", str(out), "--yes").exit_code == 0
    assert out.read_bytes() != first
    onto = run("compact", str(log), "--window", "4000", "-o", str(log), "--yes")
    assert (onto.exit_code, log.read_bytes()) == (2, before)
    assert "--in-place" in onto.stderr


def test_in_place_asks_and_keeps_a_copy(log: Path) -> None:
    before = log.read_bytes()
    log.chmod(0o600)
    refused = run("compact", str(log), "--window", "4000", "--in-place")
    assert (refused.exit_code, log.read_bytes()) == (2, before)
    for number in ("", "2"):
        result = run("compact", str(log), "--window", "4000", "--in-place", "--yes")
        assert result.exit_code == 0, result.output
        if not number:
            assert log.with_name(f"{log.name}.bak").read_bytes() == before
            assert log.stat().st_mode & 0o777 == 0o600
            log.write_bytes(before)
    assert log.with_name(f"{log.name}.bak2").exists()


def test_a_pipe_is_written_and_not_replaced(log: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        result = run("compact", str(log), "--window", "4000", "-o", str(pipe))
        assert result.exit_code == 0, result.output
        assert read.result(60).startswith(b'{"')
    assert pipe.is_fifo()
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([log.name, "pipe"])


def test_a_link_is_followed_and_not_replaced(log: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, real = tmp_path / "near.jsonl", tmp_path / "far" / "small.jsonl"
    link.symlink_to(real)
    assert run("compact", str(log), "--window", "4000", "-o", str(link)).exit_code == 0
    assert link.is_symlink()
    assert rows(real.read_text())[0]["isCompactSummary"] is True


def test_a_compressed_log_is_read_and_never_replaced(log: Path) -> None:
    packed = log.with_name(f"{log.name}.gz")
    packed.write_bytes(gzip.compress(log.read_bytes()))
    result = run("compact", str(packed), "--window", "4000", "--in-place", "--yes")
    assert (result.exit_code, "is compressed" in result.stderr) == (2, True)
    assert rows(run("compact", str(packed), "--window", "4000").stdout)[0]["isCompactSummary"]


def test_in_place_leaves_a_log_that_fits(log: Path) -> None:
    result = run("compact", str(log), "--window", "200000", "--in-place")
    assert result.exit_code == 0
    assert "The log fits" in result.stderr
    assert os.listdir(log.parent) == [log.name]  # noqa: PTH208


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("none.jsonl", "--window", "4000"), 1, "is no file"),
        (("LOG", "--window", "10"), 2, "--window"),
        (("LOG",), 2, "--window"),
        (("LOG", "--window", "4000", "--in-place", "-o", "x"), 2, "exclude each other"),
        (("LOG", "--window", "4000", "--in-place", "--as", "openai", "--yes"), 2, "-o with --as"),
        (("LOG", "--window", "4000", "--source", "other"), 1, "--source NAME"),
        (("NOTES", "--window", "4000"), 1, "--as openai"),
    ],
)
def test_an_error_names_the_way_out(
    arguments: tuple[str, ...], code: int, words: str, log: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("\n\n".join(f"## {number}\n\n{prose(number, 12)}" for number in range(40)))
    names = {"LOG": str(log), "NOTES": str(notes)}
    result = run("compact", *(names.get(one, one) for one in arguments))
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_any_format_gives_messages_of_openais_shape(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("\n\n".join(f"## {number}\n\n{prose(number, 12)}" for number in range(40)))
    result = run("compact", str(notes), "--window", "4000", "--as", "openai")
    assert {row["role"] for row in rows(result.stdout)} <= {"user", "assistant", "system"}
