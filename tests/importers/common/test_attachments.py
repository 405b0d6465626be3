"""Tests the markers of attachments, and the JSON of other values."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from treemem.importers.common.attachments import compact_json

TEXTS = st.text(st.characters(exclude_categories=()))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES)
@example({"long": 2**64, "small": -(2**63), "lone": "\ud800", "control": "\x1f\x7f\b\u2028"})
@example([{"deep": [{"float": 1e16}]}])
@example([1e-7, float("nan"), float("-inf"), -0.0])
def test_json_equals_the_standard_librarys(value: object) -> None:
    assert compact_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_json_of_any_depth_is_written() -> None:
    value: object = "end"
    for _ in range(600):
        value = [value]
    assert compact_json(value) == "[" * 600 + '"end"' + "]" * 600
