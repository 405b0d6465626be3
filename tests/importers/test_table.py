"""Tests that the table of formats fits the importers, and that it is read without them."""

from __future__ import annotations

import subprocess
import sys

from treemem.formats.table import BY_NAME, FORMATS
from treemem.importers import IMPORTERS

_PROGRAM = """
import sys
import treemem.digest.source_kinds, treemem.diagnostics.overview, treemem.places.files
import treemem_cli.completion
from treemem.formats import places, table
print(*(name for name in sys.modules if name.startswith("treemem.importers")))
"""


def test_each_row_has_the_importer_of_its_name() -> None:
    assert [importer.name for importer in IMPORTERS] == [row.name for row in FORMATS]
    assert len(BY_NAME) == len(FORMATS)
    assert len({row.importer for row in FORMATS}) == len(FORMATS)


def test_importers_have_the_places_of_their_rows() -> None:
    assert {importer.name: importer.places for importer in IMPORTERS} == {
        row.name: row.places for row in FORMATS
    }


def test_no_folder_is_moved_by_two_variables() -> None:
    folders = [folder for row in FORMATS for folder, _, _ in row.variables]
    assert len(set(folders)) == len(folders)
    assert all(folder.endswith("/") for folder in folders)


def test_the_table_is_read_without_importers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
