"""Each promise of the page of threats names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "explanation" / "threats.md").read_text("utf-8")
ROWS = re.findall(r"^\| (?!promise|-)(.+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_every_attacker_of_the_page_has_promises() -> None:
    assert len(ROWS) > 30
    for section in PAGE.split("\n## ")[2:-1]:
        assert "| shown by |" in section, section.splitlines()[0]


@pytest.mark.parametrize(("promise", "shown_by"), ROWS, ids=[row[1][1:-1] for row in ROWS])
def test_a_promise_is_shown_by_a_test_that_exists(promise: str, shown_by: str) -> None:
    named = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", shown_by)
    assert named is not None, promise
    assert f"\ndef {named[2]}(" in (TESTS / named[1]).read_text("utf-8"), promise
