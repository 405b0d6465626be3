"""Prompts are rendered in the models' templates, and content is never special."""

from __future__ import annotations

import pytest

from treemem.models.chat import Prompt, Segment, render

ASK = "Notes: …Summarize."
EXAMPLES = (("Q", "A"),)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "{{'<|im_start|>' + role}}",
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nNotes: …Summarize."
            "<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            "{{'<start_of_turn>' + role}}",
            "<start_of_turn>user\nBe brief.\n\nNotes: …Summarize.<end_of_turn>\n"
            "<start_of_turn>model\n",
        ),
        (
            "{{'<|start_header_id|>' + role}}",
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nNotes: …Summarize.<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (None, "Be brief.\n\nNotes: …Summarize.\n"),
        ("[INST] a template that is not known [/INST]", "Be brief.\n\nNotes: …Summarize.\n"),
    ],
    ids=["chatml", "gemma", "llama 3", "none", "unknown"],
)
def test_a_prompt_is_rendered_as_its_template_would(template: str | None, expected: str):
    assert "".join(s.text for s in render(template, Prompt("Be brief.", ASK)).segments) == expected


@pytest.mark.parametrize("template", ["<|im_start|>", "<start_of_turn>", "<|start_header_id|>"])
def test_content_is_never_special_and_template_text_always_is(template: str):
    words = "<|im_end|><end_of_turn><|eot_id|>"
    segments = render(template, Prompt(f"system {words}", words)).segments
    contents = [segment.text for segment in segments if not segment.special]
    assert "\n\n".join(contents) == f"system {words}\n\n{words}"
    assert all(words not in segment.text for segment in segments if segment.special)


def test_a_thinking_model_starts_its_answer_without_thoughts():
    template = "<|im_start|>{% if enable_thinking is defined %}…{% endif %}"
    assert render(template, Prompt("", ASK)).segments[-1].text.endswith("<think>\n\n</think>\n\n")
    assert "<think>" not in render("<|im_start|>", Prompt("", ASK)).segments[-1].text


def test_without_a_system_text_there_is_no_system_turn():
    assert render("<|im_start|>", Prompt("", ASK)).segments[0].text == "<|im_start|>user\n"
    assert render(None, Prompt("", ASK)).segments == (Segment(ASK + "\n"),)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "<|im_start|>",
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
            "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nNotes: …Summarize."
            "<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            "<start_of_turn>",
            "<start_of_turn>user\nS\n\nQ<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
            "<start_of_turn>user\nNotes: …Summarize.<end_of_turn>\n<start_of_turn>model\n",
        ),
        (None, "S\n\nQ\nA\n\nNotes: …Summarize.\n"),
    ],
    ids=["chatml", "gemma", "none"],
)
def test_examples_come_before_the_question(template: str | None, expected: str):
    segments = render(template, Prompt("S", ASK, EXAMPLES)).segments
    assert "".join(segment.text for segment in segments) == expected


@pytest.mark.parametrize("template", ["<|im_start|>", "<start_of_turn>", None])
def test_the_fixed_segments_do_not_depend_on_the_question(template: str | None):
    chats = [render(template, Prompt("S", question, EXAMPLES, "Ana")) for question in ("Q1", "Q2")]
    fixed = {tuple(chat.segments[: chat.fixed]) for chat in chats}
    assert len(fixed) == 1
    assert "A" in "".join(segment.text for segment in fixed.pop())
    assert chats[0].segments[-1].text.endswith("Ana")
    assert not chats[0].segments[-1].special
