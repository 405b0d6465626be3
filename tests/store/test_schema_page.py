"""The schema page describes the tables and columns that a new file has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treemem.store import schema_page
from treemem.store.database import Database
from treemem.store.schema import spine

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "schema.md"


def test_the_page_is_made_from_the_ddl() -> None:
    if not PAGE.exists():
        pytest.skip("an installed package has no docs")
    command = "python -m treemem.store.schema_page > docs/reference/schema.md"
    assert PAGE.read_text("utf-8") == schema_page.markdown(), f"Run: {command}"


def test_the_page_lists_every_table_and_column_in_order(database: Database) -> None:
    database.execute(spine.VECTORS.format(table="vector_N"))
    sections = schema_page.markdown().split("\n## ")[1:]
    listed = {
        section.split("\n")[0]: re.findall(r"^\| `(\w+)` ", section, re.MULTILINE)
        for section in sections
    }
    tables = [
        name for (name,) in database.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' "
            "AND name NOT LIKE '%\\_fts%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "AND name NOT LIKE '\\_sqlite%' ESCAPE '\\'"
        )
    ]  # fmt: skip
    assert listed == {
        table: [row[1] for row in database.rows(f"PRAGMA table_info({table})")] for table in tables
    }
