"""Tests `treemem formats` and `treemem formats explain`."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.command_line import run, run_json
from treemem.importers import IMPORTERS


def test_formats_lists_every_importer() -> None:
    listed = run_json("formats")
    assert [row["name"] for row in listed] == [importer.name for importer in IMPORTERS]
    assert all(row["kept"] and row["dropped"] for row in listed)
    shown = run("formats").stdout
    assert all(importer.name in shown for importer in IMPORTERS)


def test_an_unknown_file_is_refused_with_the_command_that_explains_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"timestamp": "2026-01-05", "type": "turn", "said": "We ship on Friday."}\n' * 3
    )
    assert "treemem formats explain FILE" in run("ingest", str(log)).stderr
    shown = run("formats", "explain", str(log)).stdout
    assert "format: unknown" in shown
    assert "| said | 3 | string | 18 to 18 |  | string (18) |" in shown
    assert "nearest: codex does not know its records: has timestamp, type; lacks payload" in shown
    assert "Friday" not in shown
    explained = run_json("formats", "explain", str(log))
    assert explained["nearest"][0]["lacks"] == ["payload"]
    assert "Friday" not in str(explained)
