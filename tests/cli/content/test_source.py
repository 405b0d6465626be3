"""Tests `treemem source`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import run


def test_a_narrow_terminal_shows_only_the_days_of_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"role": "user", "content": "Hi.", "ts": "2026-11-03T10:00:00Z"}))
    run("ingest", str(log))
    assert "2026-11-03 10:00" in run("source", "list").stdout
    monkeypatch.setattr("treemem_cli.content.source.NARROW", 200)
    assert "2026-11-03" in run("source", "list").stdout
    assert "10:00" not in run("source", "list").stdout
