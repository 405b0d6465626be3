"""Tests that arguments are read by their types, and that a wrong one says the way out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem import UsageError
from treemem.web.api.calls import ENDPOINTS
from treemem.web.api.endpoints import LIMIT_MAX, Endpoint


def _call(
    memory: object,
    word: Annotated[str, "A word."],
    kind: Annotated[list[Literal["open", "error"]] | None, "Kinds."] = None,
    is_new: Annotated[bool, "New."] = False,
    limit: Annotated[int, "Most."] = 5,
) -> str:
    """Says a word."""
    return f"{word} {kind} {is_new} {limit}"


GET, POST = Endpoint("GET", "/words", _call), Endpoint("POST", "/words/{word}", _call)


def _read(query: list[tuple[str, str]]) -> dict[str, Any]:
    return GET.read({}, query, {})


def test_arguments_of_a_query_have_their_types() -> None:
    query = [("word", "7"), ("kind", "open"), ("kind", "error"), ("is_new", "TRUE"), ("limit", "3")]
    assert _read(query) == {"word": "7", "kind": ["open", "error"], "is_new": True, "limit": 3}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ([], "GET /words needs word."),
        ([("wrd", "a")], "has no argument 'wrd'. Similar: word."),
        ([("word", "a"), ("zzzzz", "a")], "It has: word, kind, is_new, limit."),
        ([("word", "a"), ("word", "b")], "word is given twice."),
        ([("word", "a"), ("kind", "opne")], "not 'opne'. Similar: open."),
        ([("word", "a"), ("is_new", "maybe")], "is_new is true or false, not 'maybe'."),
        ([("word", "a"), ("limit", "ten")], "limit is a whole number, not 'ten'."),
        ([("word", "a"), ("limit", "0")], f"limit is a number from 1 to {LIMIT_MAX}, not 0."),
        ([("word", "a"), ("limit", str(LIMIT_MAX + 1))], f"to {LIMIT_MAX}, not {LIMIT_MAX + 1}."),
    ],
)  # fmt: skip
def test_a_wrong_argument_of_a_query_is_refused(query: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        _read(query)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"is_new": "yes"}, "is_new is true or false, not 'yes'."),
        ({"limit": True}, "limit is a whole number, not True."),
        ({"kind": "open"}, "kind is a list"),
        ({"word": "b"}, "POST /words/{word} has no argument 'word'."),
    ],
)
def test_a_wrong_argument_of_a_body_is_refused(body: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        POST.read({"word": "a"}, [], body)
    assert words in str(refused.value)


def test_null_is_as_if_it_were_left_out() -> None:
    assert POST.read({"word": "a"}, [], {"is_new": None}) == {"word": "a"}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_every_call_and_every_argument_is_described(endpoint: Endpoint) -> None:
    assert endpoint.about.endswith(".")
    assert all(one.about for one in endpoint.arguments)
    in_path = {one.name for one in endpoint.arguments if one.where == "path"}
    assert all(f"{{{name}}}" in endpoint.path for name in in_path)
    assert endpoint.path.count("{") == len(in_path)


def test_the_names_of_calls_differ() -> None:
    names = [one.name for one in ENDPOINTS]
    assert len(set(names)) == len(names)
