"""treemem status --space shows what the bytes of the file are used for."""

from __future__ import annotations

import json

import pytest

from tests.helpers.command_line import run
from treemem import Memory, Message


@pytest.fixture(autouse=True)
def messages() -> None:
    with Memory.open() as memory:
        memory.append("s", [Message(text=f"We ship part {n} on Friday.") for n in range(50)])


def test_space_is_a_table_of_tables_the_largest_first() -> None:
    shown = run("status", "--space")
    assert shown.exit_code == 0
    head, names, *rows = shown.stdout.splitlines()
    assert head.endswith("in free pages")
    assert names.split("  ")[0] == "table"
    assert any(row.startswith("message ") for row in rows)
    assert rows[-1].endswith("with -v they are shown")
    more = run("-v", "status", "--space").stdout.splitlines()
    assert len(more) > len(rows) + 10
    assert any(row.startswith("breaker ") for row in more)


def test_in_json_the_space_is_part_of_the_status() -> None:
    status = json.loads(run("status", "--space", "--json").stdout)
    space = status["space"]
    tables = space["tables"]
    assert space["size_bytes"] == space["free_bytes"] + sum(t["size_bytes"] for t in tables)
    assert {"name", "share", "per_text", "index_bytes", "full_text_bytes"} < tables[0].keys()
    assert json.loads(run("status", "--json").stdout)["space"] is None
