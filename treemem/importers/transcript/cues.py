"""The cues of a transcript or a subtitle file (WebVTT, SubRip, SBV): who says what, and from when.

Pure apart from being handed lines. It knows what in a cue is speech; putting the cues of one
speaker together is the importer's business.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from treemem.importers.common.documents import Line

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_ARROW = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?\s*\Z")
_COMMA = re.compile(rf"\s*{_TIME},{_TIME}\s*\Z")
_NUMBER = re.compile(r"\s*\d+\s*\Z")
_NOTE = re.compile(r"\ufeff?(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|\Z)")
_VOICE = re.compile(r"<v(?:\.[^ \t>]*)?[ \t]+([^>\n]*)>")
_STAMP = re.compile(r"<\d[\d:.]*>")
_TAG = re.compile(
    r"</?(?:c|i|b|u|s|v|ruby|rt|lang|font)(?:[ \t.][^<>]*)?/?>|<\d[\d:.]*>|\{\\an?\d\}",
    re.IGNORECASE,
)
_CHANGE = re.compile(r">>+\s*")
_NAME = re.compile(
    r"(?P<name>\w[\w.'’-]{0,30}(?: (?:\([^()\n]{1,30}\)|\w[\w.'’-]{0,30})){0,4}):[ \t]+(?=\S)"
)
_PARTICLES = frozenset("de da di del der den van von la le al bin ibn y e".split())
# Words before a colon that introduce something and are nobody's name.
_NO_NAMES = frozenset(
    "note warning question answer q a example step tip hint update agenda summary action todo "
    "problem solution result option chapter part section first second third today tomorrow "
    "remember reminder however so and but or because the this that then also http https".split()
)


@dataclass(slots=True)
class Cue:
    """start_ms: from the recording's beginning. line: of its times in the file."""

    start_ms: int
    line: int
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Speech:
    """What one speaker says in a cue. changes: another speaker than before, even if unnamed."""

    speaker: str | None
    text: str
    changes: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A block that is no cue: the header, a comment, a style sheet."""

    line: int


def is_times(line: str) -> bool:
    """Whether a line holds a cue's times.

    Example:
        >>> is_times("00:01.000 --> 00:02.500 align:left"), is_times("A --> B")
        (True, False)
    """
    return _ARROW.match(line) is not None or _COMMA.match(line) is not None


def cues(lines: Iterable[Line]) -> Iterator[Cue | Note]:
    """The cues and notes of a file in its order.

    A block without times goes on with the cue before it: blank lines in speech are damage that
    many tools do.
    """
    open_cue: Cue | None = None
    in_note = False
    number, after_blank = 0, True
    for line in lines:
        number += line.is_start
        text = line.text.rstrip("\r\n")
        if line.is_start and is_times(text):
            if open_cue is not None:
                # A cue's number or name stands on the line above its times.
                if open_cue.lines and (at := _id_at(open_cue.lines)) is not None:
                    del open_cue.lines[at:]
                yield open_cue
            open_cue, in_note = Cue(_start_ms(text), number), False
        elif line.is_blank:
            if open_cue is not None:
                open_cue.lines.append("")
            in_note = False
        elif after_blank and _NOTE.match(text):
            in_note = True
            yield Note(number)
        elif open_cue is not None and not in_note:
            open_cue.lines.append(text)
        after_blank = line.is_blank
    if open_cue is not None:
        yield open_cue


def _id_at(lines: list[str]) -> int | None:
    """Where in a cue's lines the next cue's identifier stands: behind the last blank line, or a
    number that lacks one."""
    last = len(lines) - 1
    if last >= 1 and not lines[last - 1].strip() and lines[last].strip():
        return last
    return last if _NUMBER.match(lines[last]) and last >= 1 else None


def _start_ms(text: str) -> int:
    found = _ARROW.match(text) or _COMMA.match(text)
    assert found is not None
    hours, minutes, seconds, fraction = found.groups()[:4]
    in_seconds = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return in_seconds * 1000 + int(fraction.ljust(3, "0"))


def is_rolling(cue: Cue) -> bool:
    """Whether words have times of their own: live captions, which repeat the line above."""
    return any(_STAMP.search(line) for line in cue.lines)


def speeches(cue: Cue) -> Iterator[Speech]:
    """What is said in a cue, one for every voice."""
    text = "\n".join(line for line in cue.lines if line.strip())
    at, voice = 0, None
    for found in _VOICE.finditer(text):
        yield from _speech(voice, text[at : found.start()])
        at, voice = found.end(), _plain(found[1])
    yield from _speech(voice, text[at:])


def _speech(voice: str | None, text: str) -> Iterator[Speech]:
    words = _plain(text)
    changes = (mark := _CHANGE.match(words)) is not None
    words = words[mark.end() :] if mark else words
    if not words:
        return
    if voice is None and (named := _NAME.match(words)) and _is_name(named["name"]):
        yield Speech(named["name"], words[named.end() :], changes)
    else:
        yield Speech(voice, words, changes)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _is_name(text: str) -> bool:
    """Whether what stands before a colon is somebody's name: capitals, and no common word."""
    words = [word for word in text.split() if not word.startswith("(")]
    if not words or words[0].lower() in _NO_NAMES:
        return False
    return all(word[0].isupper() or not word[0].isascii() or word.lower() in _PARTICLES
               or word[0].isdigit() for word in words) and not words[0].isdigit()  # fmt: skip
