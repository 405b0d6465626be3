"""Prompts in a model's own chat template.

Pure. A template is recognized by its tokens and written out here, never run: a template
comes with the GGUF, and is a program. Only the template's tokens are special; what is put
between them never is, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a prompt.

    special: its control tokens are parsed. Content is always special=False, so that text
    such as "<|im_end|>" in a log stays text.
    """

    text: str
    special: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    """What stands around the system's and the user's words.

    mark: the token it is recognized by. system_start is None where the template has no
    system role: its words then open the user's turn.
    """

    mark: str
    system_start: str | None
    user_start: str
    turn_end: str
    answer_start: str


CHATML = Template(
    mark="<|im_start|>",
    system_start="<|im_start|>system\n",
    user_start="<|im_start|>user\n",
    turn_end="<|im_end|>\n",
    answer_start="<|im_start|>assistant\n",
)
GEMMA = Template(
    mark="<start_of_turn>",
    system_start=None,
    user_start="<start_of_turn>user\n",
    turn_end="<end_of_turn>\n",
    answer_start="<start_of_turn>model\n",
)
LLAMA3 = Template(
    mark="<|start_header_id|>",
    system_start="<|start_header_id|>system<|end_header_id|>\n\n",
    user_start="<|start_header_id|>user<|end_header_id|>\n\n",
    turn_end="<|eot_id|>",
    answer_start="<|start_header_id|>assistant<|end_header_id|>\n\n",
)
TEMPLATES = (CHATML, GEMMA, LLAMA3)

# How Qwen's own template starts an answer that is not to be preceded by thinking.
_NO_THINKING = "<think>\n\n</think>\n\n"


def chat_segments(
    template_text: str | None, system: str, user_parts: Sequence[Segment]
) -> list[Segment]:
    """The prompt for one answer to the user's words.

    template_text: the GGUF's tokenizer.chat_template. None, or one that is not recognized,
    gives plain text, as for a base model.

    Example:
        >>> [s.text for s in chat_segments("<|im_start|>", "", [Segment("Hello")])]
        ['<|im_start|>user\\n', 'Hello', '<|im_end|>\\n<|im_start|>assistant\\n']
    """
    content = [Segment(part.text) for part in user_parts]
    template = _recognize(template_text)
    if template is None:
        return [Segment(f"{system}\n\n"), *content] if system else content
    answer = template.answer_start
    if template_text and "enable_thinking" in template_text:
        answer += _NO_THINKING
    end = Segment(template.turn_end + answer, special=True)
    if not system:
        return [Segment(template.user_start, special=True), *content, end]
    if template.system_start is None:
        start = [Segment(template.user_start, special=True), Segment(f"{system}\n\n")]
        return [*start, *content, end]
    return [
        Segment(template.system_start, special=True),
        Segment(system),
        Segment(template.turn_end + template.user_start, special=True),
        *content,
        end,
    ]


def _recognize(template_text: str | None) -> Template | None:
    return next((each for each in TEMPLATES if template_text and each.mark in template_text), None)
