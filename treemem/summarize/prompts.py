"""Writes the questions to a model, and reads its answers.

Pure. In the mode "retell" a question contains one sentence of a message, to be shortened in the
third person; the answer begins with the speaker's name. In the mode "notes" it contains a
stretch of the log, followed by the task of noting its content in plain lines. Worked examples,
the same in every call, come first. The text of a log is content only: nothing in it is read as
an instruction, a turn number or a special token.

The prompts' words are part of every producer: to change one, raise PROMPT_VERSION in
model_summarizer.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from treemem.proposals import ChildStatement, Excerpt
from treemem.summarize.detectors import tool_errors
from treemem.text.tokens import count_tokens

Mode = Literal["retell", "notes"]

# Characters of a window, of one line in it, and of an answer's note; notes in an answer.
WINDOW_CHARS = 4_000
LINE_CHARS_MAX = 900
NOTES_MAX = 8
NOTE_CHARS_MAX = 300
# Characters of a tool's result; a longer one is replaced by its size and its first line.
RESULT_CHARS_MAX = 400
FIRST_LINE_CHARS_MAX = 120

RETELL_SYSTEM = "You tell in one short sentence what somebody said."
RETELL_EXAMPLES = (
    (
        "Nora",
        "Yeah, so I moved the shop's database to the new server on Sunday night, it took me "
        "three hours in the end.",
        "Nora moved the shop's database to the new server on Sunday night.",
    ),
    (
        "Tom",
        "Wow, that is so kind of you, Nora! By the way, I'm off to my sister's wedding in Lyon "
        "next week.",
        "Tom is off to his sister's wedding in Lyon next week.",
    ),
    (
        "The user",
        "Can you help me to set up a Redis cache for the login page? I'm using Django 4.2 and I "
        "need it by Friday.",
        "The user needs a Redis cache for the login page by Friday.",
    ),
    (
        "Lea",
        "Thanks, Tom! I started to play the cello five years ago, and I love how it calms me down.",
        "Lea started to play the cello five years ago.",
    ),
    (
        "The assistant",
        "The export failed because the disk of the old server was full, so I deleted the "
        "temporary files and started it again.",
        "The assistant deleted the temporary files because the disk of the old server was full.",
    ),
)

NOTES_SYSTEM = "You take notes. You write only what the text says, in full sentences."
NOTES_TASK = (
    "Write six short notes on the text above: the facts, decisions, rules and open points. One "
    "sentence a line, with the names of the people, in the text's own words."
)
NOTES_EXAMPLE = (
    "1. Nora: I moved the shop's database to the new server on Sunday night. It took me three "
    "hours.\n"
    "2. Tom: Did the old invoices come along?\n"
    "3. Nora: All but the ones from 2019, Tom. The export stopped because the disk was full.\n"
    "4. Tom: Then please never delete the old server before the tax office has answered.\n"
    "5. Nora: Agreed. We keep it until March. I still have to ask Lea for the backup key.\n"
    "6. Tom: Fine. I am off to my sister's wedding in Lyon next week, by the way.",
    "- Nora moved the shop's database to the new server on Sunday night.\n"
    "- The export stopped because the disk was full.\n"
    "- Never delete the old server before the tax office has answered.\n"
    "- Nora keeps the old server until March.\n"
    "- Nora still has to ask Lea for the backup key.\n"
    "- Tom is off to his sister's wedding in Lyon next week.",
)
GROUP_TASK = (
    "The lines above are notes from one conversation, oldest first. Write up to three short "
    "sentences that tell what it was about as a whole, in the notes' own words. One sentence a "
    "line."
)
# The instructions, which a statement may not repeat.
INSTRUCTIONS = f"{RETELL_SYSTEM} {NOTES_SYSTEM} {NOTES_TASK} {GROUP_TASK}"

_BULLET = re.compile(r"^\s*(?:[-*•–]+\s*|\(?\d{1,2}[.):]\)?\s+)")
_LABEL = {"user": "The user", "assistant": "The assistant"}


def name_of(speaker: str) -> str:
    """The name of a speaker in a sentence.

    Example:
        >>> name_of("user"), name_of("Ana")
        ('The user', 'Ana')
    """
    return _LABEL.get(speaker, " ".join(speaker.split()))


def retell_question(speaker: str, sentence: str) -> str:
    """The question about one sentence, which is put on a single line."""
    return f'{name_of(speaker)} said: "{flat(sentence)}"\nIn short:'


def retell_examples() -> tuple[tuple[str, str], ...]:
    """The worked examples of retelling, as question and answer."""
    return tuple(
        (retell_question(speaker, sentence), answer)
        for speaker, sentence, answer in RETELL_EXAMPLES
    )


def begins_own_call(text: str) -> bool:
    """Whether a message is the first of a call of treemem to a model.

    Example:
        >>> begins_own_call(RETELL_SYSTEM), begins_own_call("What did Nora say?")
        (True, False)
    """
    return text.lstrip().startswith(
        (RETELL_SYSTEM, NOTES_SYSTEM, retell_examples()[0][0], notes_examples()[0][0])
    )


def notes_question(lines: Sequence[str], task: str) -> str:
    """The question about a stretch of text: the fenced lines, then the task."""
    return "TEXT\n" + "\n".join(lines) + f"\nEND OF TEXT\n\n{task}"


def notes_examples() -> tuple[tuple[str, str], ...]:
    """The worked example of taking notes, as question and answer."""
    text, notes = NOTES_EXAMPLE
    return ((notes_question(text.split("\n"), NOTES_TASK), notes),)


def windows(excerpts: Sequence[Excerpt], chars_max: int | None = None) -> list[list[Excerpt]]:
    """The excerpts of a leaf in windows of about chars_max characters of speech.

    chars_max: None for WINDOW_CHARS. Messages without words, such as a bare tool call, are left
    out.
    """
    room = WINDOW_CHARS if chars_max is None else chars_max
    cut: list[list[Excerpt]] = []
    chars = room
    for excerpt in excerpts:
        cost = min(len(spoken(excerpt)), LINE_CHARS_MAX)
        if excerpt.message.kind != "said" or cost == 0:
            continue
        if not cut or chars + cost > room:
            cut.append([])
            chars = 0
        cut[-1].append(excerpt)
        chars += cost
    return cut


def spoken(excerpt: Excerpt) -> str:
    """The words of an excerpt on one line. Of a tool's result only tool_result_lines; calls,
    thinking and attachments are left out.

    Example:
        >>> from treemem.types import Message, Part
        >>> call = Message(text="Let me look. [tool use] ls", parts=(Part("tool_use", 13, 26),))
        >>> spoken(Excerpt(call, 0, 26))
        'Let me look.'
    """
    text = excerpt.message.text
    pieces: list[str] = []
    at = excerpt.start
    for part in sorted(excerpt.message.parts, key=lambda part: part.start):
        if part.kind == "text" or part.end <= excerpt.start or part.start >= excerpt.end:
            continue
        pieces.append(text[at : max(at, part.start)])
        if part.kind == "tool_result":
            pieces += tool_result_lines(text[part.start : part.end], part.name)
        at = max(at, min(part.end, excerpt.end))
    pieces.append(text[at : excerpt.end])
    return " ".join(" ".join(pieces).split())


def tool_result_lines(output: str, name: str | None) -> list[str]:
    """The lines that stand for a tool's result: those that name an error, and of a long result
    also its name, size and first line.

    Example:
        >>> tool_result_lines("== 2 tests ==" + " ok" * 200 + "\\nKeyError: 'id'", "pytest")[1:]
        ["KeyError: 'id'"]
        >>> tool_result_lines("3 files", "ls")
        []
    """
    errors = tool_errors(output)
    if len(output) <= RESULT_CHARS_MAX:
        return errors
    first = next((line for line in output.splitlines() if line.strip()), "")
    head = flat(first)[:FIRST_LINE_CHARS_MAX]
    return [f"[tool result: {name or 'tool'}, {count_tokens(output)} tokens, {head}]", *errors]


def leaf_lines(window: Sequence[Excerpt]) -> list[str]:
    """The window as numbered lines, one a message."""
    return [
        _line(index, excerpt.message.speaker, spoken(excerpt))
        for index, excerpt in enumerate(window)
    ]


def group_lines(statements: Sequence[ChildStatement]) -> list[str]:
    """The children's statements as numbered lines."""
    return [
        _line(index, statement.kind, statement.text) for index, statement in enumerate(statements)
    ]


def _line(index: int, label: str, text: str) -> str:
    """A numbered line. The text is put on one line, so it cannot start another."""
    words = flat(text)
    if len(words) > LINE_CHARS_MAX:
        words = words[: LINE_CHARS_MAX - 2] + " …"
    return f"{index + 1}. {flat(label)}: {words}"


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def read_notes(answer: str) -> list[str]:
    """The notes in an answer, one a line, without list marks.

    Example:
        >>> read_notes("- It works.\\n2. Ana left.\\n\\n")
        ['It works.', 'Ana left.']
    """
    lines = (flat(_BULLET.sub("", clean(line))) for line in answer.splitlines())
    return [line[: NOTE_CHARS_MAX + 1] for line in lines if line][:NOTES_MAX]


def read_retelling(answer: str) -> str:
    """The sentence in an answer: its first line."""
    first = next((line for line in answer.splitlines() if line.strip()), "")
    return flat(clean(first)).strip("\"“”' ")[: NOTE_CHARS_MAX + 1]


def clean(text: str) -> str:
    """The text with a question mark for each lone surrogate, which SQLite cannot store."""
    return text.encode("utf-8", "replace").decode()
