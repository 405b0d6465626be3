"""Tests `treemem formats`."""

from __future__ import annotations

from tests.helpers.command_line import run, run_json
from treemem.importers import IMPORTERS


def test_formats_lists_every_importer() -> None:
    listed = run_json("formats")
    assert [row["name"] for row in listed] == [importer.name for importer in IMPORTERS]
    assert all(row["kept"] and row["dropped"] for row in listed)
    shown = run("formats").stdout
    assert all(importer.name in shown for importer in IMPORTERS)
