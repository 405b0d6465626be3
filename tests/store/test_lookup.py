"""Errors for names that nothing has name what is like them."""

from __future__ import annotations

import pytest

from treemem.store import lookup


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        ("Chat/Gardn", ["chat/garden", "mail/roof"], "chat/garden"),
        ("gardn", ["chat/garden", "mail/roof"], "chat/garden"),
        ("/w/shpo", ["/w/shop/", "/w/mill"], "/w/shop/"),
    ],
)
def test_a_similar_name_is_offered(name: str, known: list[str], similar: str) -> None:
    message = str(lookup.not_found("thing", name, "treemem thing list", known))
    assert message == f"There is no thing {name!r}. Similar: {similar}. See: treemem thing list"


def test_names_that_are_not_alike_are_left_out() -> None:
    message = str(lookup.not_found("thing", "zzz", "treemem thing list", ["garden", "roof"]))
    assert message == "There is no thing 'zzz'. See: treemem thing list"


def test_few_similar_names_are_offered_each_once() -> None:
    known = [f"chat/garden{number}" for number in range(9)]
    message = str(lookup.not_found("thing", "chat/garden", "list", known))
    assert message.count("chat/garden") == 1 + lookup.SIMILAR_MAX
