"""Tests that docs/reference/formats.md agrees with the registry."""

from __future__ import annotations

import re
from pathlib import Path

from treemem.importers import IMPORTERS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "formats.md").read_text(
    "utf-8"
)
HEADINGS = re.findall(r"^##+ (.*)$", PAGE, re.MULTILINE)


def rows_of(table: str) -> list[tuple[str, ...]]:
    """The rows of the table under a heading of its own or after a header line."""
    behind = PAGE.split(table, 1)[1]
    lines = behind.split("\n\n")[0].strip().splitlines()
    cells = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]
    return [row for row in cells if row[0].startswith("`")]


def test_the_page_lists_what_each_importer_keeps_and_drops() -> None:
    rows = rows_of("| format | kept | dropped |\n")
    assert rows == [
        (f"`{importer.name}`", importer.kept, importer.dropped) for importer in IMPORTERS
    ]


def test_the_page_lists_how_each_format_is_recognized_in_registry_order() -> None:
    rows = rows_of("| `--format` | recognized by | one source is | a message is |\n")
    assert [row[0] for row in rows] == [f"`{importer.name}`" for importer in IMPORTERS]
    assert all(len(row) == 4 and all(row) for row in rows)


def test_every_format_has_a_section() -> None:
    for importer in IMPORTERS:
        assert any(importer.name in re.findall(r"[\w-]+", heading) for heading in HEADINGS)
