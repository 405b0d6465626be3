"""A provider's message is read, sent back as it came, converted, and changed in one place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.histories import PIXEL, histories
from treemem.errors import UsageError
from treemem.sessions.shapes import (
    Shape,
    Turn,
    parse,
    render,
    repaired,
    shape_of,
    split_system,
    to_message,
    tool_names,
    with_appended,
    with_text,
    without_thinking,
)
from treemem.sessions.shapes.conversion import safe_id, safe_name

SHAPES: tuple[Shape, ...] = ("openai", "anthropic")
shapes = st.sampled_from(SHAPES)
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}
THOUGHT = {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls é"}}
ANSWER = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Let me look."}, USE]}
RESULT = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True,
         "content": [{"type": "text", "text": "a.py"}, IMAGE],
         "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Only this folder."},
    ],
}  # fmt: skip
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function",
         "function": {"name": "bash", "arguments": '{"command": "ls é"}'}}
    ],
}  # fmt: skip


def unescaped(messages: list[dict[str, Any]]) -> str:
    """All strings in messages, so that words are found whatever holds them."""
    return json.dumps(messages, ensure_ascii=False)


def inside(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


# -- reading ---------------------------------------------------------------------------


def test_the_parts_of_an_anthropic_message_are_read() -> None:
    turn = parse(ANSWER, "anthropic")
    assert [(part.kind, part.text, part.name, part.use_id) for part in turn.parts] == [
        ("thinking", "I should look.", "", ""),
        ("text", "Let me look.", "", ""),
        ("tool_use", '{"command":"ls é"}', "bash", "toolu_1"),
    ]
    result = parse(RESULT, "anthropic")
    assert result.role == "user"
    assert result.parts[0].text == "a.py\n\n[image]"
    assert (result.parts[0].is_error, result.parts[0].media) == (True, 1)


def test_the_parts_of_an_openai_message_are_read() -> None:
    turn = parse({**CALL, "reasoning_content": "I should look.", "content": "Let me."}, "openai")
    assert [(part.kind, part.text) for part in turn.parts] == [
        ("thinking", "I should look."),
        ("text", "Let me."),
        ("tool_use", '{"command": "ls é"}'),
    ]
    url = f"data:image/png;base64,{PIXEL}"
    image = {"type": "image_url", "image_url": {"url": url}}
    asked = parse({"role": "user", "content": [image]}, "openai")
    assert [(part.kind, part.name, part.media) for part in asked.parts] == [
        ("image", "image/png", 1)
    ]


def test_a_message_of_results_alone_has_the_role_tool() -> None:
    blocks = RESULT["content"]
    assert isinstance(blocks, list)
    assert parse({"role": "user", "content": blocks[:1]}, "anthropic").role == "tool"
    assert parse({"role": "tool", "tool_call_id": "c", "content": "3"}, "openai").role == "tool"


def test_objects_of_a_providers_library_are_read() -> None:
    class Block:
        def model_dump(self, **_: object) -> dict[str, Any]:
            return dict(USE)

    turn = parse({"role": "assistant", "content": [Block()]}, "anthropic")
    assert turn.raw == {"role": "assistant", "content": [USE]}


def test_a_turn_does_not_change_when_the_callers_message_does() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
    turn = parse(message, "anthropic")
    message["content"][0]["text"] = "Bye."  # type: ignore[index]
    render([turn], "anthropic")[0]["content"][0]["text"] = "Bye."
    assert render([turn], "anthropic")[0]["content"][0]["text"] == "Hi."


@pytest.mark.parametrize(
    "message",
    [
        {"role": "wizard", "content": "Hi."},
        {"content": "Hi."},
        {"role": "user", "content": 3},
        {"role": "user", "content": ["Hi."]},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "assistant", "content": None, "tool_calls": ["f"]},
    ],
)
def test_what_is_no_message_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parse(message, "openai")


def test_a_system_message_is_none_of_anthropics() -> None:
    with pytest.raises(UsageError, match="user, assistant"):
        parse({"role": "system", "content": "Be brief."}, "anthropic")


def test_the_shape_is_known_by_its_signs() -> None:
    plain = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    assert shape_of(plain) is None
    assert shape_of([*plain, CALL]) == "openai"
    assert shape_of([*plain, ANSWER]) == "anthropic"
    with pytest.raises(UsageError, match="Message 2 has OpenAI's shape and message 3"):
        shape_of([*plain, CALL, ANSWER])


@given(st.data(), shapes)
def test_a_history_has_the_shape_in_which_it_was_made(data: st.DataObject, shape: Shape) -> None:
    assert shape_of(data.draw(histories(shape))) in (shape, None)


# -- sending ---------------------------------------------------------------------------


@given(st.data(), shapes)
def test_an_unchanged_turn_gives_its_own_message(data: st.DataObject, shape: Shape) -> None:
    messages = data.draw(histories(shape))
    sent = render([parse(message, shape) for message in messages], shape)
    assert json.dumps(sent) == json.dumps(messages)


@given(st.data(), shapes)
def test_conversion_keeps_the_words_of_each_part(data: st.DataObject, shape: Shape) -> None:
    messages = data.draw(histories(shape))
    turns = repaired([parse(message, shape) for message in messages])
    target = SHAPES[shape == "openai"]
    sent = render(turns, target)
    shown = unescaped(sent)
    for turn in turns:
        for part in turn.parts:
            if part.kind not in ("tool_use", "tool_result", "other"):
                assert inside(part.text.strip()) in shown
    again = [parse(message, target) for message in sent]
    assert _uses(again) == _uses(turns)
    for before, after in zip(_results(turns), _results(again), strict=True):
        assert after[0] == before[0]
        assert before[1].strip() in after[1]


def _uses(turns: list[Turn]) -> list[tuple[str, str, object]]:
    return [(part.use_id, part.name, json.loads(part.text)) for turn in turns for part in turn.uses]


def _results(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(part.use_id, part.text) for turn in turns for part in turn.results]


def test_an_image_goes_from_one_shape_to_the_other_and_back() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE]}
    converted = render([parse(asked, "anthropic")], "openai")
    assert converted[0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PIXEL}"},
    }
    assert render([parse(converted[0], "openai")], "anthropic") == [asked]


def test_results_of_anthropics_become_messages_and_their_images_the_users() -> None:
    sent = render([parse(ANSWER, "anthropic"), parse(RESULT, "anthropic")], "openai")
    assert [message["role"] for message in sent] == ["assistant", "tool", "user"]
    assert sent[0]["reasoning_content"] == "I should look."
    assert sent[1]["content"] == "[error] a.py\n\n[image]"
    assert [part["type"] for part in sent[2]["content"]] == ["text", "image_url", "text"]


def test_results_of_openais_in_a_row_become_one_message() -> None:
    tools = [{"role": "tool", "tool_call_id": one, "content": one} for one in ("a", "b")]
    sent = render([parse(tool, "openai") for tool in tools], "anthropic")
    assert [block["tool_use_id"] for block in sent[0]["content"]] == ["a", "b"]
    assert len(sent) == 1


def test_documents_are_sent_to_openai_as_files_or_text() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    notes = {"type": "text", "media_type": "text/plain", "data": "the notes"}
    asked = {"role": "user", "content": [{"type": "document", "source": pdf, "title": "a.pdf"},
                                         {"type": "document", "source": notes}]}  # fmt: skip
    sent = render([parse(asked, "anthropic")], "openai")[0]["content"]
    url = "data:application/pdf;base64,JVBERi0="
    assert sent[0] == {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    assert sent[1] == {"type": "text", "text": "the notes"}
    back = render([parse({"role": "user", "content": sent}, "openai")], "anthropic")
    assert back[0]["content"][0] == {"type": "document", "source": pdf}


def test_the_system_prompt_is_taken_out_or_said_by_the_user() -> None:
    turns = [parse({"role": "system", "content": "Be brief."}, "openai"),
             parse({"role": "user", "content": "Hi."}, "openai")]  # fmt: skip
    assert split_system(turns) == ("Be brief.", turns[1:])
    assert render(turns, "anthropic")[0] == {
        "role": "user",
        "content": "[system message]\n\nBe brief.",
    }


@given(st.text())
def test_ids_and_names_are_made_acceptable_and_stay_distinct(text: str) -> None:
    assert safe_id(safe_id(text)) == safe_id(text)
    assert safe_id(text + "!") != safe_id(text + "?")
    assert safe_name(text + "!", "openai") != safe_name(text + "?", "openai")
    assert len(safe_name("x" * 200, "anthropic")) == 128


# -- changing --------------------------------------------------------------------------


def test_a_result_is_trimmed_and_keeps_all_else() -> None:
    turn = with_text(parse(RESULT, "anthropic"), 0, "a…")
    blocks = RESULT["content"]
    assert isinstance(blocks, list)
    assert turn.raw["content"] == [{**blocks[0], "content": "a…"}, blocks[1]]
    tool = {"role": "tool", "tool_call_id": "c", "content": "long"}
    assert with_text(parse(tool, "openai"), 0, "l…").raw == {**tool, "content": "l…"}


def test_an_image_becomes_a_marker_in_its_place() -> None:
    asked = {"role": "user", "content": [IMAGE, {"type": "text", "text": "What is it?"}]}
    turn = with_text(parse(asked, "anthropic"), 0, "[image]")
    assert [part.text for part in turn.parts] == ["[image]", "What is it?"]


def test_the_words_of_a_text_and_of_arguments_are_replaced() -> None:
    assert with_text(parse({"role": "user", "content": "Hi."}, "openai"), 0, "Ho.").raw == {
        "role": "user",
        "content": "Ho.",
    }
    call = with_text(parse(CALL, "openai"), 0, '{"command": "…"}')
    assert call.raw["tool_calls"][0]["function"]["arguments"] == '{"command": "…"}'
    use = with_text(parse(ANSWER, "anthropic"), 2, "cut")
    assert use.raw["content"][2]["input"] == {"arguments": "cut"}


def test_signed_thinking_is_taken_out_whole_or_not_at_all() -> None:
    turn = parse(ANSWER, "anthropic")
    with pytest.raises(UsageError, match="signed"):
        with_text(turn, 0, "I think.")
    assert [part.kind for part in without_thinking(turn).parts] == ["text", "tool_use"]
    thought = parse({**CALL, "reasoning_content": "hm"}, "openai")
    assert without_thinking(thought).raw == CALL


def test_a_text_is_appended_after_all_results() -> None:
    turn = with_appended(parse(RESULT, "anthropic"), "Goal: ship.")
    assert turn.raw["content"][-1] == {"type": "text", "text": "Goal: ship."}
    plain = parse({"role": "user", "content": "Hi."}, "anthropic")
    assert [part.text for part in with_appended(plain, "Goal.").parts] == ["Hi.", "Goal."]
    tool = parse({"role": "tool", "tool_call_id": "c", "content": "3"}, "openai")
    assert with_appended(tool, "Goal.").raw["content"] == "3\n\nGoal."
    with pytest.raises(UsageError):
        with_appended(parse(ANSWER, "anthropic"), "Goal.")


# -- storing ---------------------------------------------------------------------------


def test_a_turn_is_stored_with_its_parts_and_tools() -> None:
    turns = [parse(ANSWER, "anthropic"), parse(RESULT, "anthropic")]
    names = tool_names(turns)
    answer, result = (to_message(turn, names) for turn in turns)
    assert answer is not None
    assert result is not None
    assert answer.text == 'I should look.\n\nLet me look.\n\n[tool use: bash] {"command":"ls é"}'
    assert [part.kind for part in answer.parts] == ["thinking", "tool_use"]
    assert (result.role, result.origin) == ("user", None)
    assert [(part.kind, part.name) for part in result.parts] == [
        ("tool_result", "bash"),
        ("marker", "image/png"),
    ]
    assert result.tool_result_ids == answer.tool_use_ids == ("toolu_1",)
    assert result.text.endswith("Only this folder.")


def test_refusals_and_custom_calls_are_stored_too() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I cannot."}
    stored = to_message(parse(refusal, "openai"))
    assert stored is not None
    assert stored.text == "I cannot."
    custom = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    called = to_message(parse({"role": "assistant", "tool_calls": [custom]}, "openai"))
    assert called is not None
    assert (called.text, called.tool_use_ids) == ("[tool use: patch] *** Begin", ("c",))


def test_a_message_without_text_is_not_stored() -> None:
    assert to_message(parse({"role": "user", "content": " "}, "openai")) is None


@given(st.data(), shapes)
def test_what_is_stored_has_all_words(data: st.DataObject, shape: Shape) -> None:
    turns = [parse(message, shape) for message in data.draw(histories(shape))]
    names = tool_names(turns)
    for turn in turns:
        stored = to_message(turn, names)
        said = [part.text for part in turn.parts if part.kind in ("text", "thinking", "tool_use")]
        text = stored.text if stored else ""
        assert all(words in text or not words.strip() for words in said)
        assert stored is None or stored.origin is None
        if stored is not None and turn.role == "tool":
            assert stored.role == "tool"
