"""Writes the questions to a model, and reads its answers.

Pure. In the mode "retell" a question contains one sentence of a message, to be shortened in the
third person; the answer begins with the speaker's name. In the mode "notes" it contains a
stretch of the log, or the statements of a node's children, followed by the task of writing notes
in the model's own words. Worked examples, the same in every call, come first. The text of a log is
content only: nothing in it is read as an instruction, a turn number or a special token.

The prompts' words are part of every producer: to change one, raise PROMPT_VERSION in
model_summarizer.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from treemem.patterns import lazy_regex
from treemem.summarize.lines import flat, name_of

SummaryMode = Literal["retell", "notes"]

# A note for so many tokens of the lines it is about, with a least and a greatest number. They are
# more than a summary has room for, since some are refused.
TOKENS_A_NOTE = 100
NOTES_MIN = 4
NOTES_MAX = 20
# Tokens of an answer for each note, and notes that are read beyond those asked for.
ANSWER_TOKENS_A_NOTE = 45
NOTES_BEYOND = 4
# Notes about a whole group.
GISTS_MIN = 2
GISTS_MAX = 6
NOTE_CHARS_MAX = 300

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

NOTES_SYSTEM = "You take notes. You write in your own words, and only what the text says."
_NOTES_TASK = (
    "Note what the text above says, in your own words: who did, said or decided what, and when. "
    "The first line says in one sentence what it is about. Then one thing a line: facts, decisions "
    "with their reasons, rules, open questions, errors and how they were solved. Merge what "
    "belongs together and leave out small talk. Write names instead of pronouns and dates instead "
    'of "yesterday"; copy names and numbers exactly. At most {count} lines.'
)
_GROUP_TASK = (
    "The lines above are notes on the parts of one log, oldest first, with the words that they "
    "rest on. Tell in your own words what the log is about as a whole: who, what and when, what "
    "came of it, what is still open. One thing a line, each about something else, from all parts, "
    "with names instead of pronouns; copy names and numbers exactly. Write {count} lines."
)
NOTES_EXAMPLE = (
    "1. Nora (Mon 3 Mar 2025): I moved the shop's database to the new server on Sunday. It took me "
    "three hours, that disk is really slow.\n"
    "2. Tom (Mon 3 Mar 2025): Did the old invoices come along?\n"
    "3. Nora (Mon 3 Mar 2025): All but the ones from 2019. The export stopped when the old disk "
    "was full. I'll fetch them by hand.\n"
    "4. Tom (Mon 3 Mar 2025): Then please never delete the old server before the tax office has "
    "answered.\n"
    "5. Nora (Mon 3 Mar 2025): Agreed. And I still have to ask Lea for the backup key.\n"
    "6. Nora (Tue 4 Mar 2025): Done, they are over now. Lea doesn't pick up the phone, though.\n"
    "7. Tom (Tue 4 Mar 2025): Thanks! I'm off to my sister's wedding in Lyon, by the way, back on "
    "Sunday.",
    "- Nora and Tom talked about moving the shop's database to the new server.\n"
    "- Nora moved it on Sunday, 2 March 2025, in three hours, because the disk is slow.\n"
    "- The invoices from 2019 were missing, since the export stopped when the old disk was full; "
    "Nora had fetched them by 4 March.\n"
    "- Tom asked Nora never to delete the old server before the tax office has answered, and she "
    "agreed.\n"
    "- Nora still needs the backup key from Lea, who does not answer the phone.\n"
    "- Tom is at his sister's wedding in Lyon until Sunday.",
)
# The instructions, which a statement may not repeat.
INSTRUCTIONS = f"{RETELL_SYSTEM} {NOTES_SYSTEM} {_NOTES_TASK} {_GROUP_TASK}"

# How calls for notes begin, also those of earlier versions.
_NOTES_BEGINNINGS = ("You take notes. You write ", "TEXT\n1. Nora: I moved the shop's database ")

_BULLET = lazy_regex(r"^\s*(?:[-*•–]+\s*|\(?\d{1,2}[.):]\)?\s+)")
_BOLD = lazy_regex(r"\*\*([^*]*)\*\*")


def notes_task(count: int) -> str:
    """The task of writing at most this many notes on a text."""
    return _NOTES_TASK.format(count=count)


def group_task(count: int) -> str:
    """The task of writing this many notes on a group."""
    return _GROUP_TASK.format(count=count)


def notes_for(tokens: int) -> int:
    """How many notes a text of this many tokens needs.

    Example:
        >>> notes_for(100), notes_for(1_000), notes_for(4_000)
        (4, 10, 20)
    """
    return max(NOTES_MIN, min(NOTES_MAX, tokens // TOKENS_A_NOTE))


def gists_for(children: int) -> int:
    """How many notes a group of this many children needs.

    Example:
        >>> gists_for(1), gists_for(4), gists_for(20)
        (2, 4, 6)
    """
    return max(GISTS_MIN, min(GISTS_MAX, children))


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
        (RETELL_SYSTEM, *_NOTES_BEGINNINGS, retell_examples()[0][0], notes_examples()[0][0])
    )


def notes_question(lines: Sequence[str], task: str) -> str:
    """The question about a stretch of text: the fenced lines, then the task."""
    return "TEXT\n" + "\n".join(lines) + f"\nEND OF TEXT\n\n{task}"


def notes_examples() -> tuple[tuple[str, str], ...]:
    """The worked example of taking notes, as question and answer."""
    text, notes = NOTES_EXAMPLE
    return ((notes_question(text.split("\n"), notes_task(NOTES_MAX)), notes),)


def read_notes(answer: str, count: int = NOTES_MAX) -> list[str]:
    """The notes in an answer, one a line, without list marks, marks of emphasis and headings.

    count: how many were asked for; NOTES_BEYOND more are read.

    Example:
        >>> read_notes("Notes:\\n- It **works**.\\n2. Ana left.\\n\\n")
        ['It works.', 'Ana left.']
    """
    lines = (flat(_BOLD.sub(r"\1", _BULLET.sub("", clean(line)))) for line in answer.splitlines())
    kept = [line[: NOTE_CHARS_MAX + 1] for line in lines if line and line[-1] != ":"]
    return kept[: count + NOTES_BEYOND]


def read_retelling(answer: str) -> str:
    """The sentence in an answer: its first line."""
    first = next((line for line in answer.splitlines() if line.strip()), "")
    return flat(clean(first)).strip("\"“”' ")[: NOTE_CHARS_MAX + 1]


def clean(text: str) -> str:
    """The text with a question mark for each lone surrogate, which SQLite cannot store."""
    return text.encode("utf-8", "replace").decode()
