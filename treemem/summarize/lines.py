"""Turns messages and statements into the numbered lines that a model reads, and into windows.

Pure. A person's words are never cut: a leaf that exceeds a window is read in several, which
together contain all of it. Only the tools' part is shortened: of a long result the head, the tail
and the lines that name an error stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from treemem.patterns import lazy_regex
from treemem.proposals import ChildStatement, Excerpt
from treemem.text.sentences import split_sentences
from treemem.text.tokens import count_many, count_tokens
from treemem.types import Message, Part
from treemem.verify.words import stems

# Tokens of a window's lines for a model that cannot read a whole leaf at once.
WINDOW_TOKENS = 1_000
# Characters of a tool's result or call that stays whole, and of the parts of a longer one.
TOOL_CHARS_MAX = 500
HEAD_CHARS = 240
TAIL_CHARS = 160
# Lines of a long result that name an error, and characters of one.
ERRORS_MAX = 6
ERROR_CHARS_MAX = 200
# Characters of the words that a statement rests on, beside it.
CITED_CHARS_MAX = 200

_ERROR = lazy_regex(
    r"^.*(?:\b(?:error|exception|panic|fail(?:ed|ure|s)?|fatal|denied|not found|timed out)\b"
    r"|\w(?:Error|Exception)\b|\bexit (?:code|status) [1-9]).*$",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = {"user": "The user", "assistant": "The assistant"}


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a leaf that one question contains. tokens: of its lines."""

    lines: tuple[str, ...]
    tokens: int


def windows(excerpts: Sequence[Excerpt], tokens_max: int = WINDOW_TOKENS) -> list[Window]:
    """The excerpts of a leaf in windows of at most tokens_max tokens, in order and complete.

    A message that exceeds a window is continued in the next. Messages without words, and those
    that a tool put into the log, are left out.
    """
    rows = [
        (label(excerpt.message), piece)
        for excerpt in excerpts
        if excerpt.message.kind == "said"
        for piece in _pieces(spoken(excerpt), tokens_max)
    ]
    # Each line is counted with its number and label.
    sizes = count_many([f"{index}. {head}: {words}" for index, (head, words) in enumerate(rows, 1)])
    cut: list[list[tuple[str, str]]] = []
    room, totals = 0, []
    for row, size in zip(rows, sizes, strict=True):
        if not cut or size + 1 > room:
            cut.append([])
            totals.append(0)
            room = tokens_max
        cut[-1].append(row)
        totals[-1] += size + 1
        room -= size + 1
    return [Window(numbered(group), total) for group, total in zip(cut, totals, strict=True)]


def numbered(rows: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Labels and words as numbered lines. Each is put on one line, so it cannot start another.

    Example:
        >>> numbered([("Ana", "It works.\\n2. Ben: No.")])
        ('1. Ana: It works. 2. Ben: No.',)
    """
    return tuple(
        f"{index}. {flat(head)}: {flat(words)}" for index, (head, words) in enumerate(rows, 1)
    )


def label(message: Message) -> str:
    """Who says a message, and on which day, if that is known.

    Example:
        >>> label(Message(author="Ana", sent_at="2025-03-03T09:30:00"))
        'Ana (Mon 3 Mar 2025)'
    """
    shown = day(message.sent_at)
    who = name_of(message.speaker)
    return f"{who} ({shown})" if shown else who


def name_of(speaker: str) -> str:
    """The name of a speaker in a sentence.

    Example:
        >>> name_of("user"), name_of("Ana")
        ('The user', 'Ana')
    """
    return _LABEL.get(speaker, flat(speaker))


def day(sent_at: str | datetime | None) -> str:
    """The day of a time as it was written, whatever its zone; "" if it is none.

    Example:
        >>> day("2025-03-03T23:30:00-08:00"), day("yesterday")
        ('Mon 3 Mar 2025', '')
    """
    try:
        moment = datetime.fromisoformat(str(sent_at)[:10])
    except ValueError:
        return ""
    return f"{moment:%a} {moment.day} {moment:%b} {moment.year}"


def spoken(excerpt: Excerpt) -> str:
    """The words of an excerpt on one line. Thinking and what a tool injected are left out; calls
    and results of tools are shortened.

    Example:
        >>> call = Message(text="Let me look. [tool use] ls", parts=(Part("tool_use", 13, 26),))
        >>> spoken(Excerpt(call, 0, 26))
        'Let me look. [tool use] ls'
    """
    text = excerpt.message.text
    pieces: list[str] = []
    at = excerpt.start
    for part in sorted(excerpt.message.parts, key=lambda part: part.start):
        start, end = max(part.start, at), min(part.end, excerpt.end)
        if part.kind not in _SHORTENED or start >= end:
            continue
        pieces += [text[at:start], _shortened(part, text[start:end])]
        at = end
    pieces.append(text[at : excerpt.end])
    return flat(" ".join(pieces))


_SHORTENED = ("tool_use", "tool_result", "thinking", "injected")


def _shortened(part: Part, text: str) -> str:
    if part.kind == "tool_result":
        return f"[{part.name or 'tool'}: {shortened_result(text)}]"
    if part.kind == "tool_use":
        return text if len(text) <= TOOL_CHARS_MAX else text[:HEAD_CHARS] + " …"
    return ""


def shortened_result(output: str) -> str:
    """A tool's result: whole if it is short; else its head, the lines that name an error, its
    size, and its tail.

    Example:
        >>> shortened_result("3 files")
        '3 files'
        >>> text = shortened_result("ok\\n" * 400 + "KeyError: 'id'\\n" + "ok\\n" * 400)
        >>> "KeyError: 'id'" in text, len(text) < 600
        (True, True)
    """
    output = output.strip()
    if len(output) <= TOOL_CHARS_MAX:
        return output
    head, tail = output[:HEAD_CHARS], output[-TAIL_CHARS:]
    found = dict.fromkeys(match.group().strip() for match in _ERROR.finditer(output))
    errors = [line[:ERROR_CHARS_MAX] for line in found if line not in head and line not in tail]
    size = f"({count_tokens(output)} tokens)"
    return " … ".join([head, *errors[-ERRORS_MAX:], size, tail])


def _pieces(words: str, tokens_max: int) -> list[str]:
    """Words on one line in pieces of at most half a window, which leaves room for a label. They
    end after a sentence if one ends in their second half, else after a word."""
    most = max(1, tokens_max // 2)
    pieces = []
    while words and (tokens := count_tokens(words)) > most:
        end = max(1, len(words) * most // tokens)
        while end > 1 and count_tokens(words[:end]) > most:
            end = end * 9 // 10
        for mark in (". ", "? ", "! ", " "):
            found = words.rfind(mark, end // 2, end)
            if found >= 0:
                end = found + len(mark)
                break
        pieces.append(words[:end].rstrip())
        words = words[end:].lstrip()
    return [*pieces, words] if words else pieces


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


# -- statements ------------------------------------------------------------------------


def behind(statement: ChildStatement, message: Message, chars: int) -> Excerpt:
    """The words of a message that a statement rests on, in a stretch of about this many
    characters: around the place where it is quoted, else around the sentence that shares most
    words with it."""
    text = message.text
    length = len(statement.text)
    start = text.find(statement.text)
    if start < 0:
        wanted = stems(statement.text)
        sentences = split_sentences(text) or [text]
        best = max(sentences, key=lambda sentence: len(wanted & stems(sentence)))
        start, length = max(0, text.find(best)), len(best)
    margin = max(0, chars - length) // 2
    begin = text.rfind(" ", 0, max(0, start - margin)) + 1 if start > margin else 0
    end = text.find(" ", max(start + length + margin, begin + chars))
    return Excerpt(message, begin, end if end >= 0 else len(text))
