"""Every history becomes one that the provider takes, wherever it is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.histories import histories
from treemem.sessions.shapes import (
    Shape,
    Turn,
    groups,
    open_calls,
    parse,
    problems,
    render,
    repaired,
    with_appended,
    with_text,
)
from treemem.sessions.shapes.repairs import NO_BEGINNING, NO_RESULT

SHAPES: tuple[Shape, ...] = ("openai", "anthropic")
shapes = st.sampled_from(SHAPES)
QUESTION: dict[str, Any] = {"role": "user", "content": "What does it do?"}


def turns_of(messages: list[dict[str, Any]], shape: Shape) -> list[Turn]:
    return [parse(message, shape) for message in messages]


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": one, "name": "bash", "input": {}} for one in ids]
    return {"role": "assistant", "content": blocks}


def result(*ids: str, text: str = "done") -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": text} for one in ids]
    return {"role": "user", "content": blocks}


def calls(*ids: str) -> dict[str, Any]:
    made = [{"id": one, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            for one in ids]  # fmt: skip
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(use_id: str, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": use_id, "content": text}


def assert_accepted(turns: list[Turn], shape: Shape, **options: bool) -> None:
    """All that may be wrong is that calls at the end still run, or that nothing is left."""
    messages = render(turns, shape)
    if waiting := open_calls(turns):
        assert len(problems(messages, shape)) == len(waiting)
        turns = repaired([*turns, parse(QUESTION, shape)])
        messages = render(turns, shape)
    if messages:
        assert problems(messages, shape, **options) == []


@given(st.data(), shapes, shapes)
def test_a_mended_history_is_accepted_by_both_providers(
    data: st.DataObject, shape: Shape, target: Shape
) -> None:
    turns = turns_of(data.draw(histories(shape)), shape)
    assert_accepted(repaired(turns), target)


@given(st.data(), shapes, shapes)
def test_a_history_of_both_shapes_is_accepted(
    data: st.DataObject, first: Shape, target: Shape
) -> None:
    turns = [turn for shape in (first, SHAPES[first == "openai"])
             for turn in turns_of(data.draw(histories(shape, exchanges_max=2)), shape)]  # fmt: skip
    assert_accepted(repaired(turns), target)


@given(st.data(), shapes)
def test_a_tidy_history_comes_back_unchanged(data: st.DataObject, shape: Shape) -> None:
    messages = data.draw(histories(shape, tidy=True))
    mended = render(repaired(turns_of(messages, shape)), shape)
    assert mended == messages
    assert [list(message) for message in mended] == [list(message) for message in messages]
    assert problems(messages, shape) == []


@given(st.data(), shapes)
def test_mending_twice_changes_nothing_more(data: st.DataObject, shape: Shape) -> None:
    once = repaired(turns_of(data.draw(histories(shape)), shape))
    assert repaired(once) == once


@given(st.data(), shapes, shapes)
def test_a_history_cut_between_units_is_accepted(
    data: st.DataObject, shape: Shape, target: Shape
) -> None:
    turns = turns_of(data.draw(histories(shape)), shape)
    units = groups(turns)
    begin = data.draw(st.integers(0, len(units)))
    end = data.draw(st.integers(begin, len(units)))
    kept = [turns[at] for unit in units[begin:end] for at in unit]
    assert_accepted(repaired(kept), target)


@given(st.data())
def test_with_thinking_enabled_a_cut_leaves_the_running_loop_its_thinking(
    data: st.DataObject,
) -> None:
    messages = data.draw(histories("anthropic", tidy=True, thinking=True))
    turns = turns_of(messages, "anthropic")
    assert problems(messages, "anthropic", thinking=True) == []
    for unit in groups(turns, thinking=True):
        assert_accepted(repaired(turns[unit.start :]), "anthropic", thinking=True)


@given(st.data(), shapes)
def test_units_are_all_turns_in_order_and_hold_calls_with_their_results(
    data: st.DataObject, shape: Shape
) -> None:
    turns = turns_of(data.draw(histories(shape, tidy=True)), shape)
    units = groups(turns)
    assert [at for unit in units for at in unit] == list(range(len(turns)))
    for unit in units:
        used = {part.use_id for at in unit for part in turns[at].uses}
        assert used == {part.use_id for at in unit for part in turns[at].results}


@given(st.data(), shapes, shapes)
def test_trimmed_and_appended_turns_stay_accepted(
    data: st.DataObject, shape: Shape, target: Shape
) -> None:
    turns = repaired(turns_of(data.draw(histories(shape)), shape))
    is_waiting = bool(open_calls(turns))
    for at, turn in enumerate(turns):
        for place, part in enumerate(turn.parts):
            if part.kind in ("tool_result", "image", "document", "tool_use"):
                turns[at] = with_text(turns[at], place, "[trimmed]")
                assert turns[at].parts[place].text in ("[trimmed]", '{"arguments":"[trimmed]"}')
        if turn.role != "assistant" and not is_waiting:
            turns[at] = with_appended(turns[at], "Now: the parser.")
    assert_accepted(turns, target)


# -- each fault ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_without_result_gets_one_as_soon_as_something_follows(shape: Shape) -> None:
    call = use("a") if shape == "anthropic" else calls("a")
    waiting = repaired(turns_of([QUESTION, call], shape))
    assert open_calls(waiting) == ["a"]
    assert len(waiting) == 2
    closed = repaired(turns_of([QUESTION, call, QUESTION], shape))
    assert open_calls(closed) == []
    assert [part.text for part in closed[2].results] == [NO_RESULT]


def test_one_of_two_calls_still_runs() -> None:
    waiting = repaired(turns_of([QUESTION, calls("a", "b"), tool("a")], "openai"))
    assert open_calls(waiting) == ["b"]
    assert len(waiting) == 3


def test_what_the_user_types_while_a_tool_runs_stands_after_its_result() -> None:
    typed = {"role": "user", "content": "Stop."}
    messages = [QUESTION, calls("a"), typed, tool("a")]
    mended = render(repaired(turns_of(messages, "openai")), "openai")
    assert mended == [QUESTION, calls("a"), tool("a"), typed]


def test_results_in_several_messages_become_one_in_anthropics_shape() -> None:
    messages = [QUESTION, use("a", "b"), result("a"), result("b")]
    mended = render(repaired(turns_of(messages, "anthropic")), "anthropic")
    assert mended == [QUESTION, use("a", "b"), result("a", "b")]


def test_a_result_without_its_call_becomes_a_text() -> None:
    mended = render(repaired(turns_of([tool("a", "42 files"), QUESTION], "openai")), "openai")
    assert mended[0] == {
        "role": "user",
        "content": "[result of a tool call that is no longer shown: 42 files]",
    }


def test_a_second_result_of_a_call_becomes_a_text() -> None:
    messages = [QUESTION, calls("a"), tool("a", "first"), tool("a", "second")]
    mended = render(repaired(turns_of(messages, "openai")), "openai")
    assert mended[:3] == messages[:3]
    assert mended[3]["role"] == "user"
    assert "second" in mended[3]["content"]


def test_an_id_that_is_used_again_is_changed_in_call_and_result() -> None:
    messages = [QUESTION, use("a"), result("a"), use("a"), result("a")]
    mended = render(repaired(turns_of(messages, "anthropic")), "anthropic")
    assert mended == [QUESTION, use("a"), result("a"), use("a_2"), result("a_2")]


def test_calls_without_ids_get_some_and_their_results_in_order() -> None:
    messages = [QUESTION, calls("", ""), tool("", "one"), tool("", "two")]
    mended = repaired(turns_of(messages, "openai"))
    ids = [part.use_id for part in mended[1].uses]
    assert len(set(ids)) == 2
    assert [(turn.results[0].use_id, turn.results[0].text) for turn in mended[2:]] == [
        (ids[0], "one"),
        (ids[1], "two"),
    ]


def test_a_history_that_begins_with_an_answer_gets_a_beginning() -> None:
    system = {"role": "system", "content": "Be brief."}
    mended = render(repaired(turns_of([system, calls("a"), tool("a")], "openai")), "openai")
    assert mended[:2] == [system, {"role": "user", "content": NO_BEGINNING}]


def test_thinking_that_came_by_itself_joins_the_call_after_it() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    alone = {"role": "assistant", "content": [thought]}
    mended = repaired(turns_of([QUESTION, alone, use("a"), result("a")], "anthropic"))
    assert mended[1].raw["content"] == [thought, *use("a")["content"]]
    assert [turn.raw for turn in repaired(turns_of([QUESTION, alone], "anthropic"))] == [QUESTION]


def test_an_answer_that_ended_in_its_thinking_ends_before_it() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "4."}, thought]}
    mended = repaired(turns_of([QUESTION, answer, QUESTION], "anthropic"))
    assert [part.text for part in mended[1].parts] == ["4."]


def test_unsigned_thinking_becomes_a_text_for_anthropic() -> None:
    answer = {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}
    mended = render(repaired(turns_of([QUESTION, answer], "openai")), "anthropic")
    assert mended[1]["content"] == [
        {"type": "text", "text": "<thinking>\n2 and 2\n</thinking>"},
        {"type": "text", "text": "4"},
    ]


def test_too_many_cache_marks_are_all_taken_off() -> None:
    block = {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}
    few = [{"role": "user", "content": [block]}] * 4
    assert render(repaired(turns_of(few, "anthropic")), "anthropic") == few
    mended = repaired(turns_of([*few, few[0]], "anthropic"))
    assert not any("cache_control" in turn.raw["content"][0] for turn in mended)


def test_a_refusal_without_content_is_sent_as_a_part() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I cannot."}
    mended = render(repaired(turns_of([QUESTION, refusal], "openai")), "openai")
    assert mended[1]["content"] == [{"type": "refusal", "refusal": "I cannot."}]


def test_the_fields_of_a_response_are_not_sent_back_to_anthropic() -> None:
    response = {"id": "msg_1", "role": "assistant", "content": "Hi.", "usage": {"output_tokens": 3}}
    mended = render(repaired(turns_of([QUESTION, response], "anthropic")), "anthropic")
    assert mended[1] == {"role": "assistant", "content": "Hi."}


def test_space_at_the_end_of_the_last_answer_is_taken_off() -> None:
    for content in ("Done.\n", [{"type": "text", "text": "Done. "}]):
        messages = [QUESTION, {"role": "assistant", "content": content}]
        mended = repaired(turns_of(messages, "anthropic"))
        assert [part.text for part in mended[1].parts] == ["Done."]
        assert problems(render(mended, "anthropic"), "anthropic") == []


def test_what_came_with_a_result_in_the_other_shape_is_kept() -> None:
    answer = result("a")
    answer["content"].append({"type": "text", "text": "Only this folder."})
    turns = [parse(QUESTION, "openai"), parse(calls("a"), "openai"), parse(answer, "anthropic")]
    mended = render(repaired(turns), "openai")
    assert mended[2:] == [tool("a"), {"role": "user", "content": "Only this folder."}]


def test_results_stand_before_the_text_of_their_message() -> None:
    answer = {"role": "user", "content": [{"type": "text", "text": "So."}, *result("a")["content"]]}
    mended = render(repaired(turns_of([QUESTION, use("a"), answer], "anthropic")), "anthropic")
    assert [block["type"] for block in mended[2]["content"]] == ["tool_result", "text"]


def test_calls_without_thinking_stay_with_those_whose_loop_they_go_on_with() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    opening = {"role": "assistant", "content": [thought, *use("a")["content"]]}
    messages = [QUESTION, opening, result("a"), use("b"), result("b"), QUESTION, use("c")]
    turns = turns_of(messages, "anthropic")
    assert groups(turns) == [range(1), range(1, 3), range(3, 5), range(5, 6), range(6, 7)]
    assert groups(turns, thinking=True) == [range(1), range(1, 5), range(5, 6), range(6, 7)]
