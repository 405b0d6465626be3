"""A change of a JSON text changes one place, and leaves all other characters as they are."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.assistants import json_edits

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])
ODD = """\
{
\t"theme" : "d\\u00e4rk",   "n": 1.0,
\t"hooks": {"Stop": [ {"command": "say \\"}] hi\\""} ], "Empty": [ ]},
\t"big": 1E400, "list": [
\t\t1,
\t\t2
\t]
}
"""


def at(data: Any, path: list[Any]) -> Any:
    for step in path:
        data = data[step]
    return data


@given(data=st.dictionaries(st.text(), VALUES, max_size=5), value=VALUES, indent=INDENTS)
def test_a_value_that_was_put_is_there_and_nothing_else_has_changed(
    data: dict[str, Any], value: Any, indent: int | str | None
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    after = json_edits.put(text, ["a new key", "b"], [value])
    wanted = {**data, "a new key": {"b": [value]}}
    assert json.loads(after) == wanted
    assert list(json.loads(after)) == list(wanted)
    assert json_edits.without(after, ["a new key"]) == text or not data


OBJECTS = st.dictionaries(st.text(), VALUES, min_size=1, max_size=5)


@given(data=OBJECTS, indent=INDENTS, pick=st.data())
def test_a_value_that_was_taken_out_is_gone_and_nothing_else(
    data: dict[str, Any], indent: int | str | None, pick: st.DataObject
) -> None:
    path: list[Any] = [pick.draw(st.sampled_from(list(data)))]
    inner = at(data, path)
    if inner and isinstance(inner, list | dict):
        steps = range(len(inner)) if isinstance(inner, list) else list(inner)
        path.append(pick.draw(st.sampled_from(steps)))
    wanted = copy.deepcopy(data)
    del at(wanted, path[:-1])[path[-1]]
    after = json_edits.without(json.dumps(data, indent=indent), path)
    assert json.loads(after) == wanted


@pytest.mark.parametrize("text", [ODD, ODD.replace("\n", "\r\n")])
@pytest.mark.parametrize(
    "path",
    [["x"], ["hooks", "Stop", 1], ["hooks", "End"], ["list", 2], ["theme"], ["hooks", "Stop", 0]],
)
def test_an_odd_layout_is_left_alone(text: str, path: list[Any]) -> None:
    after = json_edits.put(text, path, {"a": [1, "ü"]})
    assert at(json.loads(after), path) == {"a": [1, "ü"]}
    kept = ['"theme" :', "d\\u00e4rk", '"n": 1.0', '"Empty": [ ]', "1E400"]
    for piece in kept[2:] if path == ["theme"] else kept:
        assert piece in after
    assert ("\r\n" in after) == ("\r\n" in text)
    assert after.replace("\r\n", "").count("\r") == 0


@pytest.mark.parametrize("text", [ODD, '{"a":[1,2],"b":{"c":3}}', '{"a": [1, 2]}'])
def test_what_is_added_at_the_end_goes_without_a_trace(text: str) -> None:
    for path in (["new"], ["a" if '"a"' in text else "list", 2]):
        after = json_edits.put(text, path, {"k": 1})
        assert json_edits.without(after, path) == text


def test_a_new_value_has_the_layout_of_its_place() -> None:
    assert json_edits.put('{"a":1}', ["b"], {"c": [1, 2]}) == '{"a":1,"b":{"c":[1,2]}}'
    assert json_edits.put("{}", ["a"], 1) == '{"a": 1}'
    indented = '{\n    "a": {}\n}'
    assert json_edits.put(indented, ["a", "b"], [1]) == (
        '{\n    "a": {\n        "b": [\n            1\n        ]\n    }\n}'
    )
