"""The rows of each table are found, whether a root leads to them or not."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.damages import Whole
from treemem.recovery import finding
from treemem.recovery.damaged_pages import DamagedPages
from treemem.recovery.finding import Found
from treemem.recovery.layouts import DISTINCT, LAYOUTS, row_of
from treemem.recovery.records import Records
from treemem.store.database import driver

HEX = "0123456789abcdef" * 2
INDEXES = ("source_message_once", "message_identity")
TABLES = [name for name in LAYOUTS if "_autoindex_" not in name and name not in (
    "message", *INDEXES)]  # fmt: skip


def found_in(path: Path) -> tuple[Found, int]:
    with closing(DamagedPages(path)) as pages:
        records = Records(pages)
        found = finding.find(records, pages.count)
        return found, sum(1 for _ in finding.messages(records, found.message_pages))


@pytest.mark.parametrize("table", TABLES)
def test_all_rows_of_a_table_are_found(whole: Whole, table: str) -> None:
    found, messages = found_in(whole.path)
    assert messages == len(whole.said)
    with closing(driver.connect(str(whole.path))) as connection:
        condition = " WHERE scope = 'source'" if table == "tree" else ""
        (count,) = connection.execute(f"SELECT count(*) FROM {table}{condition}").fetchone()
    assert len(found.rows(table)) == count


def test_a_page_to_which_nothing_leads_is_recognized_by_its_rows(whole: Whole, hurt: Path) -> None:
    hurt.write_bytes(bytes(whole.size) + whole.data[whole.size :])
    found, messages = found_in(hurt)
    before, _ = found_in(whole.path)
    assert messages == len(whole.said)
    for layout in DISTINCT:
        if layout.name not in ("message", "log_session"):
            assert found.rows(layout.name) == before.rows(layout.name), layout.name


def test_rows_of_a_table_are_told_from_those_of_others() -> None:
    member = LAYOUTS["source_message"]
    assert row_of(member, (1, 0, 5, "active", None), None) == (1, 0, 5, "active", None, None)
    former = row_of(member, (1, 0, 5, "session-1", "active", 0), None)
    assert former == (1, 0, 5, "active", 0, "session-1")
    assert row_of(member, (1, 0, 5, "activf", None), None) is None
    assert row_of(member, (1, 0, 5, "active", None), 7) is None
    topic = LAYOUTS["topic"]
    goats = row_of(topic, (None, "t0123abc", "Goats", 1, 0), 3)
    assert goats is not None
    assert goats[:5] == (3, "t0123abc", "Goats", 1, 0)
    assert row_of(topic, (None, "t0123abz", "Goats", 1, 0), 3) is None
    assert row_of(LAYOUTS["message_alias"], (HEX, 4), None) == (HEX, 4)
    for layout in DISTINCT:
        assert layout.row((None,) * len(layout.columns), None) is None
