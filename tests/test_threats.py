"""Each promise of the pages of threats and of reliability names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGES = {
    name: (TESTS.parent / "docs" / "explanation" / f"{name}.md").read_text("utf-8")
    for name in ("threats", "reliability")
}
ROW = re.compile(r"^\| (?!promise|-)(.+?) \| ([^|]+) \|(?:.+\|)?$", re.MULTILINE)
ROWS = [row for page in PAGES.values() for row in ROW.findall(page)]


@pytest.mark.parametrize(("name", "rows_min"), [("threats", 30), ("reliability", 20)])
def test_every_section_of_the_page_has_promises(name: str, rows_min: int) -> None:
    assert len(ROW.findall(PAGES[name])) > rows_min
    first = 2 if name == "threats" else 1
    for section in PAGES[name].split("\n## ")[first:-1]:
        assert "| shown by |" in section, section.splitlines()[0]


@pytest.mark.parametrize(("promise", "shown_by"), ROWS, ids=[row[1][1:-1] for row in ROWS])
def test_a_promise_is_shown_by_a_test_that_exists(promise: str, shown_by: str) -> None:
    named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", shown_by)
    assert named is not None, promise
    assert f"\ndef {named[2]}(" in (TESTS / named[1]).read_text("utf-8"), promise
