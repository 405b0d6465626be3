"""Finds foreign text within a line: quotations, hidden comments, objects, what an address carries.

Pure. A quotation of a word or two only names something, so it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from treemem.patterns import lazy_regex, matches_from

# Words of a quotation that may be somebody's sentence.
WORDS_MIN = 3
# Characters of a quotation in a script without spaces that may be a sentence.
_DENSE_CHARS_MIN = 6
# Words between a quotation and the verb of speech before it.
_MARKS = lazy_regex(
    r'(?P<triple>"""|\'\'\')'
    r"|(?P<open>[“„‚«「『‹])|(?P<close>[”»」』›])"
    r'|(?P<straight>")|(?P<single>[’‘]|[\'`](?:(?<![^\W_].)|(?![^\W_])))'
    r"|(?P<blank>\n[ \t]*\n)"
)
_MARKS_BEGIN = lazy_regex(r"[\"'“„‚«「『‹”»」』›’‘`\n]")
_SIGN = lazy_regex(r"[\"'“„‚«「『‹”»」』›’‘`]")
# Marks that may open a quotation.
CLOSING = "\"'”“‘’«»」』›`"
OPENING = "\"'“„‚«»「『‹‘`"
_PAIRS = {"“": "”", "„": "“”", "‚": "‘’", "»": "«", "«": "»", "「": "」", "『": "』", "‹": "›"}
_HIDDEN = lazy_regex(r"<!--|/\*")
_HIDDEN_ENDS = {"<!--": "-->", "/*": "*/"}
_OBJECT = lazy_regex(r"\{\s*[\"'][^\"'\n]{1,60}[\"']\s*:[^\n]*")
_LINK = lazy_regex(r"\[[^\]\n]{12,300}\]\([^)\n]{1,300}\)")
_ADDRESS = lazy_regex(r"\b(?:https?://|www\.|data:[\w/+.-]*[;,]|mailto:)[^\s<>\"'）)\]]{1,}")
_PUNCTUATION = ".,;:!?…-–—()[]*_'\"’"
_DENSE = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff]")
_SPEAKS = lazy_regex(
    r"\b(?:says?|said|wrote|writes|told|replied|answered|reads|asked|like|called\ out|shouted|"
    r"sagt|sagte|dit|dice|dijo|говорит|сказал)\b[^.!?\n]{0,20}$",
    re.IGNORECASE,
)
# Words that are written with a small letter in titles.
_SMALL = frozenset("a an and as at but by for from in into nor of on or the to vs with".split())


def pairs(text: str) -> Iterator[tuple[int, int]]:
    """The outermost quotations, marks included. One that is not closed lasts to the end of its
    block.

    Example:
        >>> list(pairs('Is "a" one?'))
        [(3, 6)]
    """
    start, depth, opener, waits = -1, 0, "", False
    if _SIGN.search(text) is None:
        return
    for match in matches_from(_MARKS_BEGIN, _MARKS, text):
        mark = match[0]
        if match.lastgroup == "blank":
            # The next paragraph may go on with the quotation, or begin its own.
            if depth and opener != '"""':
                if opener in ("'", "`"):
                    depth = 0
                waits = bool(depth)
                block_end = match.start()
            continue
        role = _role(text, match)
        if not depth:
            if role == "open":
                start, depth, opener, waits = match.start(), 1, _kind(mark), False
            continue
        if waits and role == "open" and _kind(mark) == opener:
            yield start, block_end
            start, depth, waits = match.start(), 1, False
        elif _closes(opener, mark, role):
            depth -= 1
            if not depth:
                yield start, match.end()
        elif role == "open" and _kind(mark) == opener and opener not in ("'", "`", '"""'):
            depth += 1
    if depth and opener not in ("'", "`"):
        yield start, block_end if waits else len(text)


def speech(text: str, found: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The quotations among those found that may be somebody's words, marks included."""
    return ((start, end) for start, end in found if _is_speech(text, start, end))


def hidden(text: str) -> Iterator[tuple[int, int]]:
    """Comments of a page or a program, objects, and addresses with words in them."""
    at = 0
    may_hide = any(map(text.__contains__, _HIDDEN_ENDS))
    while may_hide and (match := _HIDDEN.search(text, at)):
        end = text.find(_HIDDEN_ENDS[match[0]], match.end())
        # Subtle: "src/*.py" opens no comment.
        if end < 0 and match[0] == "/*":
            break
        at = len(text) if end < 0 else end + len(_HIDDEN_ENDS[match[0]])
        yield match.start(), at
    for pattern in (_OBJECT, _LINK):
        yield from (match.span() for match in pattern.finditer(text))
    if not any(map(text.__contains__, ("://", "www.", "data:", "mailto:"))):
        return
    for match in _ADDRESS.finditer(text):
        path = match[0].partition("//")[2].partition("/")[2] or match[0]
        if match[0].startswith(("data:", "mailto:")) or re.search(r"[?#].*[+%_-]|%20|\+", path):
            yield match.span()


def _kind(mark: str) -> str:
    if mark in ('"""', "'''"):
        return '"""'
    return "'" if mark in "'’‘" else mark


def _closes(opener: str, mark: str, role: str) -> bool:
    if opener == '"""':
        return mark in ('"""', "'''")
    if opener in _PAIRS:
        return mark in _PAIRS[opener] or (mark == '"' and role == "close")
    return _kind(mark) == opener and role == "close"


def _role(text: str, match: re.Match[str]) -> str:
    """Whether a mark opens or closes, by what is on its sides. "" for an apostrophe or an inch."""
    if match.lastgroup in ("open", "close") and match[0] not in "«»":
        return str(match.lastgroup)
    if match.lastgroup == "triple":
        return "open"
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    opens = not (before.isalnum() or before in (".", ",", "!", "?", ")", "_")) or not before
    if match[0] in "«»" and (before.isspace() or not before) == (after.isspace() or not after):
        return str(match.lastgroup)
    opens = opens and bool(after) and not after.isspace()
    closes = bool(before) and not before.isspace() and not (after.isalnum() or after == "_")
    if opens and closes:
        return "open" if before.isspace() else "close"
    return "open" if opens else "close" if closes else ""


def _is_speech(text: str, start: int, end: int) -> bool:
    """Whether a quotation may be somebody's words: more than a name, a title or a term."""
    inside = text[start + 1 : end - 1][:2_000]
    words = [word.strip(_PUNCTUATION) for word in inside.split()]
    words = [word for word in words if word]
    if "\n" in inside or text[end - 1] not in CLOSING:
        return True
    if _DENSE.search(inside):
        return len(inside) >= _DENSE_CHARS_MIN
    if len(words) < WORDS_MIN - 1:
        return False
    if len(words) < WORDS_MIN:
        return _SPEAKS.search(text, max(0, start - 60), start) is not None
    return not all(word[0].isupper() or word[0].isdigit() or word in _SMALL for word in words)
