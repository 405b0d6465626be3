"""Renders prompts in a model's chat template.

Pure. The chat template in a GGUF is a program, so it is never run: it is recognized by its tokens,
and the text of this module is used instead. Only the template's own tokens are special; content
between them never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treemem.patterns import lazy_regex


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a prompt.

    special: whether its control tokens are parsed. Content is always special=False, so that text
    such as "<|im_end|>" in a log stays text.
    """

    text: str
    special: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a model. All of it is content.

    system: the role that the model plays. examples: questions with their answers, before the
    question. start: the beginning of the answer; it is part of the answer. system and examples are
    the same in every call, so that the model computes them once.
    """

    system: str
    question: str
    examples: tuple[tuple[str, str], ...] = ()
    start: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """The text around the turns of a chat.

    mark: the token by which it is recognized. system_start: None if the template has no system
    role; the system's text then begins the first turn of the user.
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

# The start of an answer without thinking in Qwen's template.
_NO_THINKING = "<think>\n\n</think>\n\n"


@dataclass(frozen=True, slots=True)
class Chat:
    """A rendered prompt. fixed: how many of the first segments are the same in every call with
    the same system and examples."""

    segments: tuple[Segment, ...]
    fixed: int


def render(template_text: str | None, prompt: Prompt) -> Chat:
    """Renders a prompt up to the beginning of the answer.

    template_text: the GGUF's tokenizer.chat_template. None, or an unknown template, gives plain
    text, as for a base model.

    Example:
        >>> [s.text for s in render("<|im_start|>", Prompt("", "Hello")).segments]
        ['<|im_start|>user\\n', 'Hello', '<|im_end|>\\n<|im_start|>assistant\\n']
    """
    template = _recognize(template_text)
    if template is None:
        return _plain(prompt)
    system, opening = (prompt.system, "") if template.system_start else ("", prompt.system)
    pieces: list[Segment] = []
    if system:
        pieces += _turn(template.system_start or "", system, template)
    for question, answer in prompt.examples:
        pieces += _turn(template.user_start, _opened(opening, question), template)
        pieces += _turn(template.answer_start, answer, template)
        opening = ""
    pieces.append(Segment(template.user_start, special=True))
    fixed = _joined(pieces)
    thinks = template_text is not None and "enable_thinking" in template_text
    answer_start = template.answer_start + _NO_THINKING * thinks
    rest = [
        Segment(_opened(opening, prompt.question)),
        Segment(template.turn_end + answer_start, special=True),
        *filter(None, [Segment(prompt.start) if prompt.start else None]),
    ]
    return Chat((*fixed, *rest), len(fixed))


# The special tokens of known tokenizers: <|im_start|>, <start_of_turn>, </s>, <｜User｜>, <<SYS>>,
# [INST], [/INST], [|user|], [gMASK], ]~b], [e~[. Ordinary tags look the same and match too.
_SPECIAL = lazy_regex(
    r"[<＜](?=[^\s<>＜＞]{1,64}[>＞])"
    r"|\[(?=/?[A-Z][A-Z0-9_]{1,39}\]|\|[^\s\[\]]{1,40}\|\]|[gs]MASK\]|e~\[)"
    r"|\](?=~)"
)


def defused(text: str) -> str:
    """Breaks up special tokens with a space, for text that a server inserts into its own template:
    servers parse such tokens anywhere in a prompt.

    Example:
        >>> defused("He typed <|im_end|> and [/INST]; a < b, c[0] stay.")
        'He typed < |im_end|> and [ /INST]; a < b, c[0] stay.'
    """
    return _SPECIAL.sub(lambda match: match[0] + " ", text)


def _plain(prompt: Prompt) -> Chat:
    turns = [f"{question}\n{answer}" for question, answer in prompt.examples]
    fixed = "".join(f"{part}\n\n" for part in [*filter(None, [prompt.system]), *turns])
    question = Segment(f"{prompt.question}\n{prompt.start}")
    return Chat((Segment(fixed), question), 1) if fixed else Chat((question,), 0)


def _opened(opening: str, words: str) -> str:
    """A turn that begins with the system's text, for templates without a system role."""
    return f"{opening}\n\n{words}" if opening else words


def _turn(start: str, words: str, template: Template) -> list[Segment]:
    return [Segment(start, special=True), Segment(words), Segment(template.turn_end, special=True)]


def _joined(pieces: Sequence[Segment]) -> list[Segment]:
    """Joins adjacent segments of the same kind, so that they are tokenized as the template's
    own text would be."""
    joined: list[Segment] = []
    for piece in pieces:
        if joined and joined[-1].special == piece.special:
            joined[-1] = Segment(joined[-1].text + piece.text, piece.special)
        else:
            joined.append(piece)
    return joined


def _recognize(template_text: str | None) -> Template | None:
    return next(
        (known for known in TEMPLATES if template_text and known.mark in template_text), None
    )
