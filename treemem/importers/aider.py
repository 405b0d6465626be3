"""Reads Aider's .aider.chat.history.md: Markdown with a session after each "# aider chat started
at".

Lines that begin with "#### " are the user's text, with "> " aider's own output; all others are the
model's answer. Inside the code fences of an answer these marks are content. Reads the file twice,
first to learn in which sessions marked lines still end in two blanks, as aider writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import digest_of
from treemem.importers.common.documents import Line, document_lines, fence_after
from treemem.importers.common.sniffing import is_text
from treemem.importers.common.source_ids import file_key, folder_of, one_line, printable
from treemem.patterns import lazy_regex
from treemem.types import Message, Part, Source

EMPTY = "empty message"
SESSION_START = "no message: start of a session"

_HISTORY_NAME = "aider.chat.history.md"
_BLOCK_CHARS_MAX = 8 * 1024 * 1024
_START = lazy_regex(r"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s*\Z")
_START_BYTES = lazy_regex(rb"\s*# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
# A session's start below other text, and aider's or the user's first line in it.
_LATER_START = lazy_regex(
    r"(?:\A|\n[ \t]*\r?\n)# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*\n"
    r"(?:####|>)(?: |\r?\n)"
)
_USER = lazy_regex(r"####(?: |[\r\n]*\Z)")
_TOOL = lazy_regex(r">(?: |[\r\n]*\Z)")
# A line without a line end is a piece of a longer line.
_BREAK = lazy_regex(r"(?:  [\r\n]*|[^\r\n])\Z")
# Lines that aider prints after an answer, even one that was cut off inside a fence.
_AFTER_ANSWER = lazy_regex(r"> (?:Tokens: |\^C )")
_BLANK_INPUT = "<blank>"

_Kind = Literal["user", "assistant", "tool"]


class Aider(Importer):
    """Imports .aider.chat.history.md."""

    name = "aider"
    version = 3
    description = "aider's chat history (Markdown)"
    kept = "prompts, answers, aider's own output"
    dropped = "the marks in front of lines"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if _START_BYTES.match(head.removeprefix(b"\xef\xbb\xbf")):
            return 0.95
        if b"# aider chat started at " in head and _begins_below(head):
            return 0.9
        # A history whose beginning was cut off.
        return 0.9 if file.name.endswith(_HISTORY_NAME) and head and is_text(head) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield from _Reading(file).events()


class _Reading:
    """One pass over a history: the open block and its session.

    _marked: whether marked lines end in two blanks here; an editor may have stripped them.
    """

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._key = _key(file)
        self._marked_after = _marked_sessions(file)
        self._heads = 0
        self._kind: _Kind | None = None
        self._lines: list[str] = []
        self._chars = 0
        self._fence: str | None = None
        self._after_blank = True
        self._started: str | None = None
        self._name = ""
        self._starts: dict[str, int] = {}
        self._source: Source | None = None
        self._ordinal = 0
        self._asked = ""

    def events(self) -> Iterator[Event]:
        for line in document_lines(self._file):
            if not line.is_start:
                yield from self._put(line.text, self._kind or "assistant")
            else:
                yield from self._take(line)
            if self._chars > _BLOCK_CHARS_MAX:
                yield from self._block()
        yield from self._block()

    @property
    def _marked(self) -> bool:
        return self._marked_after[self._heads]

    def _take(self, line: Line) -> Iterator[Event]:
        start = _START.match(line.text)
        if start is not None:
            self._heads += 1
        if start is not None and self._begins(f"{start.group(1)}T{start.group(2)}"):
            yield from self._block()
            yield from self._session(f"{start.group(1)}T{start.group(2)}")
        else:
            yield from self._put(line.text, self._kind_of(line.text))
        self._after_blank = line.is_blank

    def _begins(self, started: str) -> bool:
        """Whether a session starts here: only after a blank line, and inside a fence only if its
        time is not before the current session's."""
        if self._fence is None:
            return self._after_blank
        return self._after_blank and self._started is not None and started >= self._started

    def _kind_of(self, text: str) -> _Kind | None:
        """The kind of block that a line belongs to; None for a blank line outside a fence."""
        if self._fence is not None:
            ended = _AFTER_ANSWER.match(text) and (_BREAK.search(text) or not self._marked)
            return "tool" if ended else "assistant"
        if not text.strip():
            return None
        if self._marked and not _BREAK.search(text):
            return "assistant"
        if _TOOL.match(text):
            return "tool"
        # Subtle: without the two blanks a heading in an answer looks like the user's text, but
        # aider prints something after every answer.
        if _USER.match(text) and (self._marked or self._kind != "assistant"):
            return "user"
        return "assistant"

    def _put(self, text: str, kind: _Kind | None) -> Iterator[Event]:
        if kind is None and self._kind != "assistant":
            # A blank line ends the user's text: the next marked line is a new message.
            yield from self._block()
            return
        if kind is not None and kind != self._kind:
            yield from self._block()
            self._kind = kind
        self._lines.append(text)
        self._chars += len(text)
        if kind == "assistant":
            self._fence = fence_after(self._fence, text)

    # -- ends of sessions and blocks --------------------------------------------------------

    def _session(self, started: str) -> Iterator[Event]:
        self._starts[started] = number = self._starts.get(started, 0) + 1
        self._started, self._source, self._ordinal, self._asked = started, None, 0, ""
        self._name = started if number == 1 else f"{started}-{number}"
        yield Skipped(SESSION_START)

    def _block(self) -> Iterator[Event]:
        """Yields the open block as a message, with the source before a session's first message."""
        kind, lines = self._kind, self._lines
        self._kind, self._lines, self._chars, self._fence = None, [], 0, None
        if kind is None:
            return
        text = "".join(lines)
        text = text.strip("\r\n") if kind == "assistant" else _unmarked(text, kind)
        self._ordinal += 1
        if not text.strip() or (kind == "user" and text == _BLANK_INPUT):
            yield Skipped(EMPTY)
            return
        external_id = self._id()
        if kind == "user":
            self._asked = text
        # The title is the first prompt. Output before it is yielded under a source without title.
        if self._source is None or (kind == "user" and self._source.title is None):
            name = f"#{self._name}" if self._started else ""
            self._source = Source(
                f"{Aider.name}/{self._key}{name}",
                Aider.name,
                title=one_line(text) if kind == "user" else None,
                origin=self._file.label,
                project=folder_of(self._file),
            )
            yield self._source
        yield Message(
            role="other" if kind == "assistant" and self._is_preamble else kind,
            text=text,
            sent_at=self._started,
            external_id=external_id,
            parts=(Part("tool_result", 0, len(text)),) if kind == "tool" else (),
            unique_id=external_id is not None,
        )

    @property
    def _is_preamble(self) -> bool:
        """Whether nobody has asked anything yet and a session starts below: the text may be the
        end of an earlier answer, or a note that somebody put there."""
        return self._heads == 0 and not self._asked and len(self._marked_after) > 1

    def _id(self) -> str | None:
        """A message's id, from its session, its position and the prompt before it. The last message
        of a history may have grown when the file is next read; its id stays the same."""
        if self._started is None:
            return None
        return f"{Aider.name}:{self._started}:{self._ordinal}:{digest_of(self._asked)}"


def _begins_below(head: bytes) -> bool:
    """Whether a history begins below other text. Not in a fence, and not once below a heading: a
    document may quote a session."""
    text = head.decode("utf-8", "replace")
    fence, at, starts, is_titled = None, 0, 0, False
    for start in _LATER_START.finditer(text):
        for line in text[at : start.start()].split("\n"):
            is_titled = is_titled or (not starts and fence is None and line.startswith("# "))
            fence = fence_after(fence, line)
        starts += fence is None
        at = start.start() + 1
    return starts > is_titled


def _key(file: LogFile) -> str:
    """Like file_key, but with the project folder's name: all histories have the same file name."""
    key = file_key(file)
    folder = PurePosixPath(file.place or "").parent.name
    if not folder or not file.name.startswith(f".{_HISTORY_NAME}"):
        return key
    return f"{printable(folder)}-{key.rpartition('-')[2]}"


def _unmarked(text: str, kind: _Kind) -> str:
    """Removes the mark and the two blanks at the end from each line."""
    mark = _USER if kind == "user" else _TOOL
    lines: list[str] = []
    for line in _split(text):
        body = line.rstrip("\r\n")
        match = mark.match(body)
        lines.append((body[match.end() :] if match else body).removesuffix("  "))
    return "\n".join(lines)


def _split(text: str) -> list[str]:
    """Splits lines at CR and LF only: other line separators are content."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", text)


def _marked_sessions(file: LogFile) -> list[bool]:
    """Whether a marked line ends in two blanks, for the lines before the first session start and
    after each."""
    marked = [False]
    for line in document_lines(file):
        if not line.is_start:
            continue
        if _START.match(line.text):
            marked.append(False)
        elif not marked[-1] and (_USER.match(line.text) or _TOOL.match(line.text)):
            marked[-1] = line.text.rstrip("\r\n").endswith("  ")
    return marked
