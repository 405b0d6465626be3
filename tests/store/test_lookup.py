"""Errors for names that nothing has name what is like them."""

from __future__ import annotations

import pytest

from treemem.errors import Hint
from treemem.store import lookup

SEE = Hint.see("things()", "treemem thing list")


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        ("Chat/Gardn", ["chat/garden", "mail/roof"], "chat/garden"),
        ("gardn", ["chat/garden", "mail/roof"], "chat/garden"),
        ("/w/shpo", ["/w/shop/", "/w/mill"], "/w/shop/"),
    ],
)
def test_a_similar_name_is_offered(name: str, known: list[str], similar: str) -> None:
    message = str(lookup.not_found("thing", name, SEE, known))
    assert message == f"There is no thing {name!r}. Similar: {similar}. See: things()"


def test_names_that_are_not_alike_are_left_out() -> None:
    message = str(lookup.not_found("thing", "zzz", SEE, ["garden", "roof"]))
    assert message == "There is no thing 'zzz'. See: things()"


def test_few_similar_names_are_offered_each_once() -> None:
    known = [f"chat/garden{number}" for number in range(9)]
    message = str(lookup.not_found("thing", "chat/garden", SEE, known))
    assert message.count("chat/garden") == 1 + lookup.SIMILAR_MAX
