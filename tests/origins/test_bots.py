"""Authors that are programs."""

from __future__ import annotations

import pytest

from treemem.origins.bots import is_bot


@pytest.mark.parametrize("author", ["B0AAAAAAAA", "renovate[bot]", "Release Bot", "slackbot"])
def test_programs_are_bots(author: str) -> None:
    assert is_bot(author)


@pytest.mark.parametrize("author", ["BARBARA", "Talbot", "bottle", "Ana", "", None, "BERNADETTE X"])
def test_people_are_not(author: str | None) -> None:
    assert not is_bot(author)
