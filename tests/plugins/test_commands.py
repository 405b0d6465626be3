"""treemem plugins lists what packages add, says what cannot be used, and tries it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from tests.plugins.conftest import Install


@pytest.mark.usefixtures("sample")
def test_plugins_are_listed_with_their_packages() -> None:
    rows = run("plugins", "--plain").stdout.splitlines()
    assert [row.split("\t") for row in rows] == [
        ["jrnl", "importer", "treemem-sample 1.0", "ready"],
        ["openings", "summarizer", "treemem-sample 1.0", "ready"],
        ["chargrams", "embedder", "treemem-sample 1.0", "ready"],
        ["overlap", "checker", "treemem-sample 1.0", "ready"],
        ["proximity", "reranker", "treemem-sample 1.0", "ready"],
    ]


@pytest.mark.usefixtures("sample")
def test_they_are_tried(tmp_path: Path) -> None:
    log = tmp_path / "work.txt"
    log.write_text("[2026-03-02 09:30] Mended.\n")
    assert [row["problem"] for row in run_json("plugins", "--try", "--log", str(log))] == [None] * 5
    log.write_text("Nothing of it.\n")
    failed = run("plugins", "--try", "--log", str(log))
    assert failed.exit_code == 1
    assert "It reads no message" in " ".join(failed.stdout.split())


def test_one_that_cannot_be_used_is_named_and_the_others_are_ready(install: Install) -> None:
    install("plugin-a", {"treemem.importers": {"codex": ".:x"}, "treemem.embedders": {"a": ".:x"}})
    install(
        "plugin-b", {"treemem.rerankers": {"b": ".:rate"}}, "def rate(q, t): return [1] * len(t)"
    )
    rows = run_json("plugins", exit_code=1)
    assert [(row["name"], row["problem"]) for row in rows] == [
        ("codex", "'codex' is a name of treemem's own"),
        ("a", "AttributeError: module 'plugin_a' has no attribute 'x'"), ("b", None),
    ]  # fmt: skip


def test_without_plugins_it_says_where_to_begin() -> None:
    result = run("plugins")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "docs/how-to/plugins.md" in result.stderr
    assert run_json("plugins") == []
    assert run("plugins", "--log", __file__).exit_code == 2
