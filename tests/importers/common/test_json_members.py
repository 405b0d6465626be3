"""Tests that large JSON documents are cut where their outermost members end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped
from treemem.importers.common import json_members
from treemem.importers.common.json_members import JsonMember, read_members, read_nested, read_value
from treemem.importers.common.records import DAMAGED, TOO_DEEP
from treemem.importers.common.sniffing import HEAD_BYTES, head_value
from treemem.reports import CUT_AT_END

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
_DOCUMENTS = st.lists(_VALUES) | st.dictionaries(st.text(), _VALUES)


def members(data: bytes, **limits: int) -> list[JsonMember | Skipped]:
    return list(read_members(LogFile("export.json", data=data), **limits))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_members, "_CHUNK_BYTES", 7)


@given(_DOCUMENTS, st.sampled_from([None, 1]))
@settings(deadline=None)
def test_a_streamed_document_has_the_same_members_as_a_parsed_one(
    document: Any, indent: int | None
) -> None:
    chunk_bytes = json_members._CHUNK_BYTES
    data = json.dumps(document, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        json_members._CHUNK_BYTES = 7
        assert members(data, whole_bytes_max=0) == members(data)
    finally:
        json_members._CHUNK_BYTES = chunk_bytes


def values_at(document: Any, depth: int, path: tuple[str, ...] = ()) -> list[Any]:
    """The values that read_nested yields for a document entered down to a depth."""
    if depth == 0 or not isinstance(document, list | dict):
        return [(path, document)]
    expected: list[Any] = [(path, type(document)())]
    pairs = document.items() if isinstance(document, dict) else (("[]", v) for v in document)
    for key, inner in pairs:
        expected += values_at(inner, depth - 1, (*path, key))
    return expected


@given(_DOCUMENTS, st.integers(0, 4))
@settings(deadline=None)
def test_a_nested_document_is_yielded_down_to_the_entered_depth(document: Any, depth: int) -> None:
    chunk_bytes = json_members._CHUNK_BYTES
    data = json.dumps(document, indent=1).encode()
    try:
        json_members._CHUNK_BYTES = 7
        file = LogFile("export.json", data=data)
        result = list(read_nested(file, lambda path: len(path) < depth))
    finally:
        json_members._CHUNK_BYTES = chunk_bytes
    assert result == values_at(document, depth)


def test_damage_in_a_nested_document_costs_the_value_around_it() -> None:
    data = b'{"a": {"list": [1, oh, {"b": 2} }, 3]}, "c": 4}'
    result = list(read_nested(LogFile("x", data=data), lambda path: path[:1] in ((), ("a",))))
    assert [item.value for item in result if not isinstance(item, Skipped)] == [
        {}, {}, [], 1, {}, 2, 3, 4,
    ]  # fmt: skip
    assert [item.reason for item in result if isinstance(item, Skipped)] == [DAMAGED, DAMAGED]


def test_elements_carry_the_key_of_their_list() -> None:
    result = members(b'{"name": "team", "messages": [{"id": 1}, {"id": 2}], "count": 2}')
    assert result == [
        ("name", "team", False), ("messages", {"id": 1}, True), ("messages", {"id": 2}, True),
        ("count", 2, False),
    ]  # fmt: skip


@pytest.mark.usefixtures("small_chunks")
def test_damage_costs_one_element() -> None:
    result = members(b'[{"id": 1}, {"id" 2}, {"id": "]}"}]')
    assert [item.reason if isinstance(item, Skipped) else item.value for item in result] == [
        {"id": 1}, DAMAGED, {"id": "]}"},
    ]  # fmt: skip


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "cut", [b'[{"id": 1}, {"id": "a b', b'[{"id": 1}, {"id": 2\\', b'[{"id": 1},']
)
def test_a_truncated_end_is_reported_and_the_rest_is_read(cut: bytes) -> None:
    first, *rest = members(cut)
    assert first == (None, {"id": 1}, True)
    assert {item.reason for item in rest if isinstance(item, Skipped)} == {CUT_AT_END}
    assert all(isinstance(item, Skipped) for item in rest)


def test_an_element_over_the_limit_is_skipped_without_being_held() -> None:
    data = b'[{"id": 1}, {"big": "' + b"x" * 5_000 + b'"}, {"id": 2}]'
    result = members(data, whole_bytes_max=0, member_bytes_max=1_000)
    assert [item.value for item in result if isinstance(item, JsonMember)] == [{"id": 1}, {"id": 2}]
    (skipped,) = (item for item in result if isinstance(item, Skipped))
    assert skipped.problem
    assert skipped.detail == "5,011 bytes, where 1,000 are allowed"


def test_a_nesting_bomb_is_an_element_that_is_too_deep() -> None:
    result = members(b'[{"id": 1}, ' + b"[" * 200_000 + b"]" * 200_000 + b', {"id": 2}]')
    assert [item.reason if isinstance(item, Skipped) else item.value for item in result] == [
        {"id": 1}, TOO_DEEP, {"id": 2},
    ]  # fmt: skip


@given(st.text('[]{}:,"\\1 \n\x0c\x00\xa0t', max_size=40), st.sampled_from(["", "[", '{"a":[']))
@settings(max_examples=300, deadline=None)
def test_any_text_terminates(text: str, start: str) -> None:
    data = (start + text).encode()
    result = members(data, whole_bytes_max=0)
    assert len(result) <= len(data) + 2


def test_read_value_names_the_damage() -> None:
    with pytest.raises(ImportFileError, match=r"11 bytes.*5 are allowed: split it"):
        read_value(LogFile("a.json", data=b'{"a": "b" }'), bytes_max=5)
    with pytest.raises(ImportFileError, match=r"a\.json is damaged JSON"):
        read_value(LogFile("a.json", data=b'{"a": '))
    with pytest.raises(ImportFileError, match="nested too deeply"):
        read_value(LogFile("a.json", data=b"[" * 200_000 + b"]" * 200_000))


@given(_DOCUMENTS.filter(bool))
@settings(deadline=None)
def test_the_head_of_a_large_document_is_its_beginning(document: Any) -> None:
    whole = [document] * 3 + ["x" * HEAD_BYTES]
    data = json.dumps(whole).encode()
    result = head_value(data[:HEAD_BYTES])
    if len(data) - HEAD_BYTES < len(json.dumps(whole[-1])):
        assert result == whole[:3]


def test_the_head_of_several_values_is_none() -> None:
    line = b'{"id": 1}\n'
    assert head_value(line * 2) is None
    assert head_value(line * HEAD_BYTES) is None
    assert head_value(b"Hello, " * HEAD_BYTES) is None


@pytest.mark.parametrize("blank", [b"\x0b", b"\x0c", b"\x85", b"\x1c", b":", b"\\"])
def test_blanks_that_json_does_not_know_are_damage(blank: bytes) -> None:
    result = members(b"[1, " + blank + b" , 2]", whole_bytes_max=0)
    assert [item.reason if isinstance(item, Skipped) else item.value for item in result] == [
        1, DAMAGED, 2
    ]  # fmt: skip
