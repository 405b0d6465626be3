"""Transcripts of meetings and subtitles: WebVTT, SubRip (SRT) and SBV.

It puts neighbouring cues of one speaker together, so that a message is what somebody said at a
stretch. Times in such a file are offsets: they become ids, and times of day only where the
file's name tells when the recording began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.documents import document_lines
from treemem.importers.common.sniffing import head_lines, is_text
from treemem.importers.common.source_ids import file_key, one_line
from treemem.importers.transcript.cues import (
    Cue,
    Note,
    Speech,
    cues,
    is_rolling,
    is_times,
    speeches,
)
from treemem.types import Message, Source

MERGED = "fragment of a message, merged"
NO_SPEECH = "cue without words"
NOTE = "header, note or style"

# A message ends with the first sentence that ends behind so many characters; at twice the number it
# ends anyway.
MESSAGE_CHARS = 1_500

_LINES_LOOKED_AT = 8
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'»”’)\]]*\Z")
# As Zoom names its recordings, for example GMT20240115-150000_Recording.transcript.vtt.
_BEGAN = re.compile(r"GMT(\d{8}-\d{6})(?!\d)")


class Transcript(Importer):
    """The importer of transcripts; its source is the file, which is a snapshot."""

    name = "transcript"
    version = 1
    is_document = True
    description = "transcripts of meetings and subtitles: WebVTT (Teams, Zoom), SRT, SBV"
    kept = "speaker, words, where each message begins in the recording"
    dropped = "layout, notes, styles, the ends of cues, lines that live captions repeat"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if not is_text(head):
            return 0.0
        lines = [line for line in head_lines(head) if line.strip()][:_LINES_LOOKED_AT]
        if lines and re.match(r"WEBVTT(?:\s|\Z)", lines[0]):
            return 0.95
        # A number, and the times below it; in SBV the times alone.
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
    """The message that is open: who speaks, the texts so far, and where they began."""

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
            found = False
            for speech in speeches(self._without_repeats(item)):
                if not self._goes_on(speech):
                    yield from self._closed()
                    self._speaker, self._start_ms = speech.speaker, item.start_ms
                elif not found:
                    yield Skipped(MERGED, item.line)
                self._texts.append(speech.text)
                self._chars += len(speech.text) + 1
                found = True
            if not found:
                yield Skipped(NO_SPEECH, item.line)
        yield from self._closed()

    def _goes_on(self, speech: Speech) -> bool:
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
        """Where the message begins; a second one that begins there is told apart by counting."""
        seconds, ms = divmod(self._start_ms, 1000)
        start = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
        self._ids[start] = self._ids.get(start, 0) + 1
        return start if self._ids[start] == 1 else f"{start}#{self._ids[start]}"

    def _without_repeats(self, cue: Cue) -> Cue:
        """Live captions show each line twice: as it is spoken, and above the next one."""
        self._rolls = self._rolls or is_rolling(cue)
        if not self._rolls:
            return cue
        lines = list(cue.lines)
        plain = [" ".join(speech.text for speech in speeches(Cue(0, 0, [line]))) for line in lines]
        kept = [line for line, words in zip(lines, plain, strict=True)
                if words and words != self._last_line]  # fmt: skip
        self._last_line = next((words for words in reversed(plain) if words), self._last_line)
        return Cue(cue.start_ms, cue.line, kept)


def _began_at(name: str) -> datetime | None:
    found = _BEGAN.search(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
