"""Tests that lines of JSON are read in any state."""

from __future__ import annotations

import io
import json

from hypothesis import example, given
from hypothesis import strategies as st

from treemem.importers import Skipped
from treemem.importers.common import records as module
from treemem.importers.common.records import Record, read_records
from treemem.reports import CUT_AT_END


def read(data: bytes, line_bytes_max: int = 1_000_000) -> list[Record | Skipped]:
    return list(read_records(io.BytesIO(data), line_bytes_max=line_bytes_max))


def values(data: bytes) -> list[object]:
    return [item.value for item in read(data) if isinstance(item, Record)]


def problems(data: bytes) -> list[tuple[int | None, str]]:
    return [(item.line, item.reason) for item in read(data) if isinstance(item, Skipped)]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON_VALUES, max_size=5), st.booleans(), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_whole_lines_are_read_back_unchanged(
    written: list[object], ascii_only: bool, end: bytes
) -> None:
    lines = [json.dumps(value, ensure_ascii=ascii_only) for value in written]
    data = b"".join(line.encode("utf-8", "surrogatepass") + end for line in lines)
    assert values(data) == written


@given(st.lists(st.binary(max_size=60) | st.just(b'{"a":1}'), max_size=6))
@example([b'{"a": "cut{"a": 2}'])
def test_any_bytes_are_read_without_an_exception(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    filled = sum(bool(module.strip_padding(line)) for line in data.split(b"\n"))
    assert len(read(data)) >= filled


def test_a_bom_and_runs_of_nul_are_ignored() -> None:
    assert values(b'\xef\xbb\xbf{"a":1}\n\0\0\0\n\0\0{"a":2}\0\0\n') == [{"a": 1}, {"a": 2}]


def test_bytes_that_are_not_utf_8_can_be_restored() -> None:
    (value,) = values(b'{"text":"caf\xe9"}\n')
    assert isinstance(value, dict)
    assert value["text"].encode("utf-8", "surrogateescape") == b"caf\xe9"


def test_json_that_only_the_standard_library_accepts_is_read() -> None:
    assert values(b'"\\ud800"\n[123456789012345678901234]\n') == [
        "\ud800",
        [123456789012345678901234],
    ]
    ((number,),) = values(b"[NaN]\n")  # type: ignore[misc]
    assert number != number


@given(st.integers(0, 12), st.integers(19, 22), st.sampled_from(["", "-"]))
def test_a_long_integer_is_exact_at_any_position(before: int, digits: int, sign: str) -> None:
    number = sign + "7" * digits
    assert values(b"%s[%s]\n" % (b" " * before, number.encode())) == [[int(number)]]


def test_a_line_may_end_at_the_end_of_a_piece() -> None:
    for more in (-1, 0, 1):
        text = "x" * (module._PIECE_BYTES - len(b'""\n') + more)
        items = read(f'"{text}"\n[2]\n'.encode(), line_bytes_max=2_000_000)
        assert items == [Record(1, text), Record(2, [2])]


def test_a_nesting_bomb_is_one_problem_and_the_rest_is_read() -> None:
    bomb = b"[" * 200_000
    assert problems(bomb + b'\n{"a":1}\n') == [(1, module.TOO_DEEP)]
    assert values(bomb + b'\n{"a":1}\n') == [{"a": 1}]


def test_a_line_over_the_limit_is_skipped_with_its_size() -> None:
    long = b'{"a":"' + b"x" * 3_000_000 + b'"}'
    items = read(b'{"a":1}\n' + long + b'\n{"a":2}\n')
    skipped = items[1]
    assert isinstance(skipped, Skipped)
    assert (skipped.line, skipped.problem) == (2, True)
    assert skipped.detail == "3,000,009 bytes, where 1,000,000 are allowed"
    assert [item.line for item in items] == [1, 2, 3]
    assert len(read(long, line_bytes_max=4_000_000)) == 1


def test_a_record_truncated_at_the_end_is_distinguished_from_damage() -> None:
    assert problems(b'{"a":1}\n{"a":') == [(2, CUT_AT_END)]
    assert problems(b'{"a":\n{"a":1}\n') == [(1, module.DAMAGED)]


def test_two_whole_records_on_one_line_are_two_records() -> None:
    assert values(b'{"a":1}{"a":2} {"a":3}\n') == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert problems(b'{"a":1}{"a":2}\n') == []


def test_a_record_after_a_truncated_one_is_recovered() -> None:
    line = b'{"a":{"b":1},"text":"half a sen{"a":{"b":2},"text":"whole"}\n'
    assert values(line) == [{"a": {"b": 2}, "text": "whole"}]
    assert problems(line) == [(1, module.CUT_BY_ANOTHER)]


def test_the_end_of_a_truncated_record_is_no_record() -> None:
    cut = b'{"type":"user","message":{"role":"user","content":"hi"}\n'
    assert values(cut) == []
    assert problems(cut) == [(1, module.DAMAGED)]


def test_a_record_after_a_colon_is_recognized_by_its_first_key() -> None:
    assert values(b'{"id":1,"x":2}\n{"id":3,"x":{"id":4,"x":5}\n') == [
        {"id": 1, "x": 2},
        {"id": 4, "x": 5},
    ]


def test_the_search_for_a_recoverable_record_is_bounded() -> None:
    hopeless = b'{"a' * (module.RECOVERY_TRIES_MAX + 5) + b'{"a":1}\n'
    assert values(hopeless) == []
