"""Reads transcripts of meetings and subtitles: WebVTT, SubRip (SRT) and SBV.

Merges neighbouring cues of one speaker into a message. Times in the file are offsets: they become
ids, and also message times if the file name contains the start of the recording.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.documents import Line, document_lines
from treemem.importers.common.sniffing import head_lines, is_text
from treemem.importers.common.source_ids import file_key, one_line
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

MERGED = "fragment of a message, merged"
NO_SPEECH = "cue without words"
NOTE = "header, note or style"

# Characters after which a message ends with the next sentence, or at twice the number in any case.
MESSAGE_CHARS = 1_500

_LINES_LOOKED_AT = 8
_SENTENCE_END = lazy_regex(r"[.!?…。！？][\"'»”’)\]]*\Z")
# Zoom's file names, for example GMT20240115-150000_Recording.transcript.vtt.
_RECORDING_START = lazy_regex(r"GMT(\d{8}-\d{6})(?!\d)")
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_ARROW = lazy_regex(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?\s*\Z")
_COMMA = lazy_regex(rf"\s*{_TIME},{_TIME}\s*\Z")
_NUMBER = lazy_regex(r"\s*\d+\s*\Z")
_NOTE = lazy_regex(r"\ufeff?(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|\Z)")
_VOICE = lazy_regex(r"<v(?:\.[^ \t>]*)?[ \t]+([^>\n]*)>")
_STAMP = lazy_regex(r"<\d[\d:.]*>")
_TAG = lazy_regex(
    r"</?(?:c|i|b|u|s|v|ruby|rt|lang|font)(?:[ \t.][^<>]*)?/?>|<\d[\d:.]*>|\{\\an?\d\}",
    re.IGNORECASE,
)
_CHANGE = lazy_regex(r">>+\s*")
_NAME = lazy_regex(
    r"(?P<name>\w[\w.'’-]{0,30}(?: (?:\([^()\n]{1,30}\)|\w[\w.'’-]{0,30})){0,4}):[ \t]+(?=\S)"
)
_PARTICLES = frozenset("de da di del der den van von la le al bin ibn y e".split())
# Words before a colon that introduce a text and are not names.
_NO_NAMES = frozenset(
    "note warning question answer q a example step tip hint update agenda summary action todo "
    "problem solution result option chapter part section first second third today tomorrow "
    "remember reminder however so and but or because the this that then also http https".split()
)


class Transcript(Importer):
    """Imports transcripts; its source is the file, which is a snapshot."""

    name = "transcript"
    version = 1
    is_document = True
    description = "transcripts of meetings and subtitles: WebVTT (Teams, Zoom), SRT, SBV"
    kept = "speaker, text, start of each message in the recording"
    dropped = "layout, notes, styles, the ends of cues, lines that live captions repeat"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if not is_text(head):
            return 0.0
        lines = [line for line in head_lines(head) if line.strip()][:_LINES_LOOKED_AT]
        if lines and re.match(r"WEBVTT(?:\s|\Z)", lines[0]):
            return 0.95
        # A number and, below it, the times; in SBV only the times.
        return 0.9 if any(map(is_times, lines[:2])) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield Source(
            f"transcript/{file_key(file)}",
            self.name,
            title=one_line(file.stem),
            origin=file.label,
            snapshot=True,
        )
        yield from _Reading(_began_at(file.name)).events(file)


class _Reading:
    """The open message: the speaker, the texts so far, and their start."""

    def __init__(self, began_at: datetime | None) -> None:
        self._began_at = began_at
        self._texts: list[str] = []
        self._speaker: str | None = None
        self._start_ms = 0
        self._chars = 0
        self._ids: dict[str, int] = {}
        self._rolls = False
        self._last_line = ""

    def events(self, file: LogFile) -> Iterator[Event]:
        for item in cues(document_lines(file)):
            if isinstance(item, Note):
                yield Skipped(NOTE, item.line)
                continue
            has_cues = False
            for speech in speeches(self._without_repeats(item)):
                if not self._continues(speech):
                    yield from self._closed()
                    self._speaker, self._start_ms = speech.speaker, item.start_ms
                elif not has_cues:
                    yield Skipped(MERGED, item.line)
                self._texts.append(speech.text)
                self._chars += len(speech.text) + 1
                has_cues = True
            if not has_cues:
                yield Skipped(NO_SPEECH, item.line)
        yield from self._closed()

    def _continues(self, speech: Speech) -> bool:
        if not self._texts or speech.changes or speech.speaker != self._speaker:
            return False
        if self._chars >= 2 * MESSAGE_CHARS:
            return False
        return self._chars < MESSAGE_CHARS or not _SENTENCE_END.search(self._texts[-1])

    def _closed(self) -> Iterator[Message]:
        if not self._texts:
            return
        offset = timedelta(milliseconds=self._start_ms)
        sent_at = (self._began_at + offset).isoformat() if self._began_at else None
        yield Message(
            role="other" if self._speaker else "document",
            text=" ".join(self._texts),
            author=self._speaker,
            sent_at=sent_at,
            external_id=self._id(),
        )
        self._texts, self._chars = [], 0

    def _id(self) -> str:
        """The start of the message as its id; further ones with the same start are numbered."""
        seconds, ms = divmod(self._start_ms, 1000)
        start = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
        self._ids[start] = self._ids.get(start, 0) + 1
        return start if self._ids[start] == 1 else f"{start}#{self._ids[start]}"

    def _without_repeats(self, cue: Cue) -> Cue:
        """Drops repeated lines: live captions show each line twice, as it is spoken and above the
        next."""
        self._rolls = self._rolls or is_rolling(cue)
        if not self._rolls:
            return cue
        lines = list(cue.lines)
        plain = [" ".join(speech.text for speech in speeches(Cue(0, 0, [line]))) for line in lines]
        new_lines = [line for line, shown in zip(lines, plain, strict=True)
                if shown and shown != self._last_line]  # fmt: skip
        self._last_line = next((shown for shown in reversed(plain) if shown), self._last_line)
        return Cue(cue.start_ms, cue.line, new_lines)


def _began_at(name: str) -> datetime | None:
    match = _RECORDING_START.search(name)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


# -- cues ------------------------------------------------------------------------------


@dataclass(slots=True)
class Cue:
    """A cue. start_ms: since the start of the recording. line: the line number of its times."""

    start_ms: int
    line: int
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Speech:
    """One speaker's text in a cue. changes: whether the speaker changed, even if unnamed."""

    speaker: str | None
    text: str
    changes: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A block that is not a cue: the header, a comment, a style sheet."""

    line: int


def is_times(line: str) -> bool:
    """Whether a line contains a cue's times.

    Example:
        >>> is_times("00:01.000 --> 00:02.500 align:left"), is_times("A --> B")
        (True, False)
    """
    return _ARROW.match(line) is not None or _COMMA.match(line) is not None


def cues(lines: Iterable[Line]) -> Iterator[Cue | Note]:
    """Yields the cues and notes of a file in order.

    A block without times continues the cue before it, since many tools wrongly write blank lines
    in speech.
    """
    open_cue: Cue | None = None
    in_note = False
    number, after_blank = 0, True
    for line in lines:
        number += line.is_start
        text = line.text.rstrip("\r\n")
        if line.is_start and is_times(text):
            if open_cue is not None:
                # A cue's number or name is on the line above its times.
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
    """The index in a cue's lines of the next cue's identifier: the last line, if it follows a blank
    line or is a number; else None."""
    last = len(lines) - 1
    if last >= 1 and not lines[last - 1].strip() and lines[last].strip():
        return last
    return last if _NUMBER.match(lines[last]) and last >= 1 else None


def _start_ms(text: str) -> int:
    match = _ARROW.match(text) or _COMMA.match(text)
    assert match is not None
    hours, minutes, seconds, fraction = match.groups()[:4]
    in_seconds = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return in_seconds * 1000 + int(fraction.ljust(3, "0"))


def is_rolling(cue: Cue) -> bool:
    """Whether words have times of their own, as in live captions, which repeat the line above."""
    return any(_STAMP.search(line) for line in cue.lines)


def speeches(cue: Cue) -> Iterator[Speech]:
    """Yields the text of each voice in a cue."""
    text = "\n".join(line for line in cue.lines if line.strip())
    at, voice = 0, None
    for match in _VOICE.finditer(text):
        yield from _speech(voice, text[at : match.start()])
        at, voice = match.end(), _plain(match[1])
    yield from _speech(voice, text[at:])


def _speech(voice: str | None, text: str) -> Iterator[Speech]:
    plain = _plain(text)
    changes = (mark := _CHANGE.match(plain)) is not None
    plain = plain[mark.end() :] if mark else plain
    if not plain:
        return
    if voice is None and (named := _NAME.match(plain)) and _is_name(named["name"]):
        yield Speech(named["name"], plain[named.end() :], changes)
    else:
        yield Speech(voice, plain, changes)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _is_name(text: str) -> bool:
    """Whether the text before a colon is a name: capitalized, and not a common word."""
    names = [name for name in text.split() if not name.startswith("(")]
    if not names or names[0].lower() in _NO_NAMES:
        return False
    return all(name[0].isupper() or not name[0].isascii() or name.lower() in _PARTICLES
               or name[0].isdigit() for name in names) and not names[0].isdigit()  # fmt: skip
