"""Recognizes foreign text by the form of a block, which is the lines between two blank ones.

Pure. One table of mechanisms, each of which says with which line of a block foreign text begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from treemem.origins.forms import LINE_CHARS_MAX, Form, form_of_line
from treemem.patterns import lazy_regex

# A greeting that begins a letter below other words, and a closing with a name below it.
_SALUTATION = lazy_regex(
    r"(?:dear|hello|hi|good (?:day|morning|evening)|hallo|liebe[rs]?|guten tag|bonjour|cher|chère|"
    r"madame|monsieur|estimad[oa]|hola|buenos días|gentile|prezad[oa]|beste|kjære|kära|"
    r"уважаем\w+|здравствуйте)\b[^.?:]{0,50}[,!.]?$",
    re.IGNORECASE,
)
_CLOSING = lazy_regex(
    r"(?:(?:kind|best|warm) (?:regards|wishes)|regards|sincerely|yours (?:truly|sincerely|"
    r"faithfully)|mit freundlichen grüßen|viele grüße|liebe grüße|cordialement|bien à vous|"
    r"saludos|atentamente|un saludo|cordiali saluti|atenciosamente|met vriendelijke groet|"
    r"med vennlig hilsen|с уважением|sent from my \w+)\b.{0,20}$",
    re.IGNORECASE,
)
# The header that a mail is seldom without, and that nothing else has above further lines.
_SUBJECT = lazy_regex(
    r"(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|emne|ämne|тема|主题|件名)\s?[:：]\s?\S",
    re.IGNORECASE,
)
_MAIL_HEADER = lazy_regex(
    r"\W{0,3}(?:from|to|cc|bcc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|de|à|para|"
    r"objet|envoyé|asunto|fecha|enviado|da|oggetto|data|inviato|van|aan|onderwerp|verzonden|fra|"
    r"til|emne|från|till|ämne|от|кому|тема|дата|发件人|收件人|主题|日期|差出人|宛先|件名|日時)"
    r"\W{0,3}\s?[:：]\s?\S",
    re.IGNORECASE,
)
_TURN = lazy_regex(
    r"(?:\[[^\]\n]{1,30}\]\s*)?(?:\*\*|__)?([^\W\d][\w.'’-]*(?: [\w.'’-]+){0,2})"
    r":(?:\*\*|__)?\s+(\S.*)"
)
# An answer that nobody gives to an assistant below a label of a list.
_REPLIES = lazy_regex(
    r".*\?\s*$|(?:yes|no|nope|yeah|ok|okay|sure|thanks|hi|hello|hey|lol|hm+)\b(?!\s+\w+s\b)",
    re.IGNORECASE,
)
_NAMED = lazy_regex(r"\[[^\W\d][\w .-]{0,30}\]\s\S")
_DATED = lazy_regex(r"\W{0,2}\d{4}-\d\d-\d\d\W{1,3}\S|\W{0,3}(?:\w{3,4}\.? ){0,3}\d{1,2}:\d\d\b")
_LEVEL = lazy_regex(r"(?:DEBUG|TRACE|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b")
_SAID = lazy_regex(r"— ?\S")
_KEYED_ROW = lazy_regex(r"(\w+): .*, \w+: ")
_COMMENT = lazy_regex(r"\s*(?:#|//|--|;|\*|/\*)\s?\S")
_COLUMNS = lazy_regex(r"\s*\S(?:.*?\S)? {3,}\S")
_FLAT_KEY = lazy_regex(r"[a-z_][\w-]*: \S")
_CELL_PAIR = lazy_regex(r"[^,\s][^,]*,[^,\s][^,]*$")
_ADDED = lazy_regex(r"\+\s?\S")
_REMOVED = lazy_regex(r"-\s?\S")
_BULLET = lazy_regex(r"\s*(?:[-*+•–]|\d{1,3}[.)]|\[[ xX]\])\s")
_INDENTED = lazy_regex(r"(?: {4}|\t| {1,3}\t)\s*\S")
_KEY = lazy_regex(r"\s*(?:- )?[\w.-]+\s?[:=](?:\s|$)")
_NESTED_KEY = lazy_regex(r"\s+(?:- )?[\w.-]+:(?:\s|$)")
_SECTION = lazy_regex(r"\[[\w.\" -]+\]\s*$")
_ASSIGNED = lazy_regex(r"\s*[\w.\[\]\"'-]+ ?[:+]?= ?\S")
# A number, a word or nothing: values of data rather than wishes.
_PLAIN_VALUE = lazy_regex(r"\s*[\w.-]+:\s*(?:[\d.]+|true|false|null|\"[^\"]*\"|\S+_\S+)$")
# Rows of values, each with a sign that such a row has.
_CELLS = (
    (",", lazy_regex(r"[^,]*(?:,(?! )[^,]*){2,}$")),
    (";", lazy_regex(r"[^;]*(?:;(?! )[^;]*){2,}$")),
)
_ROWS = (("=", _ASSIGNED), (":", _PLAIN_VALUE), ("   ", _COLUMNS), (": ", _KEYED_ROW))
_DIGIT_GROUPS = lazy_regex(r"\d,\d{3}\b")
_SENTENCE_ENDS = tuple(".!?:;…。！？")
# The length of a line that was broken by hand or by a program, and how much the lines differ.
_WRAPPED_CHARS = range(55, 101)
_WRAPPED_SPREAD = 22
_WRAPPED_LINES_MIN = 3


class Block(NamedTuple):
    """The lines of a block. is_first, is_last: whether nothing precedes or follows it in its
    message."""

    lines: Sequence[str]
    is_first: bool = True
    is_last: bool = True


def forms_of_block(block: Block) -> list[Form | None]:
    """The form of each line of a block, None for what may be typed."""
    block = block._replace(lines=[line[:LINE_CHARS_MAX] for line in block.lines])
    forms = [form_of_line(line) for line in block.lines]
    for form, begins in _MECHANISMS:
        start = begins(block)
        if start is not None and forms[start] != "forged":
            forms[start] = form
    for index in _indented(block.lines):
        forms[index] = forms[index] or "data"
    for index in range(len(forms) - 2, -1, -1):
        # A comment belongs to the code below it.
        if forms[index] is None and forms[index + 1] == "data":
            forms[index] = "data" if _COMMENT.match(block.lines[index]) else None
    return forms


class Turn(NamedTuple):
    """A line that may be a turn of a conversation: the name before its colon, and what is said."""

    label: str
    words: str


def turn_of(line: str) -> Turn | None:
    """The turn that a line may be.

    Example:
        >>> turn_of("Ana: did it work?"), turn_of("It works.")
        (Turn(label='Ana', words='did it work?'), None)
    """
    match = _TURN.match(line[:LINE_CHARS_MAX])
    return Turn(match[1], match[2]) if match else None


def speakers(turns: Sequence[Turn | None]) -> frozenset[str]:
    """The names of the speakers among the lines of a message: two or more, of whom one speaks
    again, asks or replies.

    Example:
        >>> sorted(speakers([turn_of("Ana: now?"), None, turn_of("Ben: no")]))
        ['Ana', 'Ben']
    """
    counts = Counter(turn.label for turn in turns if turn)
    if len(counts) < 2:
        return frozenset()
    is_talk = max(counts.values()) > 1 or any(turn and _REPLIES.match(turn.words) for turn in turns)
    return frozenset(counts) if is_talk else frozenset()


def _mail(block: Block) -> int | None:
    """Two headers in a row, or a subject above further lines."""
    lines = block.lines
    headers = [
        index
        for index, line in enumerate(lines)
        if (":" in line or "：" in line) and _MAIL_HEADER.match(line)
    ]
    first = next((a for a, b in pairwise(headers) if b == a + 1), None)
    if first is None and _SUBJECT.match(lines[0]) and not (block.is_last and len(lines) == 1):
        return 0
    return first


def is_letter(lines: Sequence[str]) -> bool:
    """Whether a whole message is a letter: it begins with a greeting and has a closing.

    Example:
        >>> is_letter(["Hi Ana,", "Never do that.", "Best regards", "Tom"]), is_letter(["Hi Ana,"])
        (True, False)
    """
    greets = bool(lines) and _SALUTATION.match(lines[0].strip()) is not None
    return greets and any(_CLOSING.match(line.strip()) for line in lines[1:])


def _letter(block: Block) -> int | None:
    """A greeting below other words, or a closing: a typed name, too, may follow one."""
    greets = not block.is_first and _SALUTATION.match(block.lines[0].strip())
    closes = any(_CLOSING.match(line.strip()) for line in block.lines[1:])
    return 0 if greets or closes else None


def _patch(block: Block) -> int | None:
    """Lines with a plus and lines with a minus: nobody marks a list with both."""
    if not (any(map(_ADDED.match, block.lines)) and any(map(_REMOVED.match, block.lines))):
        return None
    return next(i for i, line in enumerate(block.lines) if line[:1] in ("+", "-"))


def _log(block: Block) -> int | None:
    """Two lines in a row with a time, a date or a level at the head."""
    return _first_pair(block.lines, lambda a, b: _both(_DATED, a, b) or _both(_LEVEL, a, b))


def _chat(block: Block) -> int | None:
    """Two lines in a row with a name in brackets at the head, or a question behind a dash with
    its answer."""
    return _first_pair(
        block.lines,
        lambda a, b: _both(_NAMED, a, b) or (a.rstrip().endswith("?") and _both(_SAID, a, b)),
    )


def _data(block: Block) -> int | None:
    """Rows of values, nested keys, a section with its settings."""
    lines = block.lines
    if len(lines) > 2 and any(all(map(row.match, lines)) for row in (_FLAT_KEY, _CELL_PAIR)):
        return 0
    return _first_pair(lines, _are_records)


def _are_records(line: str, following: str) -> bool:
    for sign, cells in _CELLS:
        if sign in line and _both(cells, line, following):
            return not _DIGIT_GROUPS.search(line)
    for sign, row in _ROWS:
        if sign in line and _both(row, line, following):
            return True
    if _SECTION.match(line) or line.strip() == "---":
        return _KEY.match(following) is not None
    return bool(_KEY.match(line) and line.rstrip().endswith(":") and _NESTED_KEY.match(following))


def _wrapped(block: Block) -> int | None:
    """Prose broken into lines of like length, as nobody types in a chat."""
    lines = block.lines
    least = _WRAPPED_LINES_MIN + block.is_first
    if len(lines) < least or any(_BULLET.match(line) for line in lines):
        return None
    lengths = [len(line.rstrip()) for line in lines[:-1]]
    is_even = max(lengths) - min(lengths) <= _WRAPPED_SPREAD
    broken = sum(not line.rstrip().endswith(_SENTENCE_ENDS) for line in lines[:-1])
    is_wrapped = is_even and 2 * broken > len(lengths) and all(n in _WRAPPED_CHARS for n in lengths)
    return 0 if is_wrapped else None


def _both(pattern: re.Pattern[str], line: str, following: str) -> bool:
    return bool(pattern.match(line) and pattern.match(following))


def _first_pair(lines: Sequence[str], fits: Callable[[str, str], bool]) -> int | None:
    """The index of the first line that fits the next one."""
    return next((i for i, (a, b) in enumerate(pairwise(lines)) if fits(a, b)), None)


def _indented(lines: Sequence[str]) -> list[int]:
    """The indexes of the indented lines that do not continue a list."""
    found = []
    in_list = False
    for index, line in enumerate(lines):
        if _BULLET.match(line):
            in_list = True
        elif not _INDENTED.match(line):
            in_list = in_list and line[:1].isspace()
        elif not in_list:
            found.append(index)
    return found


# In order of precedence, the last one counts most.
_MECHANISMS: tuple[tuple[Form, Callable[[Block], int | None]], ...] = (
    ("data", _data),
    ("machine", _log),
    ("machine", _patch),
    ("person", _wrapped),
    ("person", _chat),
    ("person", _letter),
    ("person", _mail),
)
