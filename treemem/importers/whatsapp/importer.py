"""Reads WhatsApp chats exported with "Export chat": a text file in the phone's language.

Separates people's messages from WhatsApp's notices. A first pass over the file determines the order
of day and month, and which authors are people.

Tested in tests/importers/test_whatsapp.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import EMPTY, build_message
from treemem.importers.common.documents import document_lines
from treemem.importers.common.sniffing import head_lines, is_text
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.whatsapp.lines import GENERATED, MARKS, Head, Order, head_of, time_of
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

BEFORE_THE_FIRST = "line before the first message"
DELETED = "deleted message"

# Longer messages are split: a file without further heads is probably not a chat.
TEXT_CHARS_MAX = 1_000_000

_LINES_LOOKED_AT = 400
# Levels that look like speakers in a program's log.
_LEVELS = frozenset({"debug", "info", "notice", "warn", "warning", "error", "fatal", "critical"})
_AUTHORS_MAX = 10_000
_TITLE = lazy_regex(
    r"(?:\w+\s(?:d[eo]\s)?)?WhatsApp[\s-]?(?:Chat)?\s(?:[-–]|with|mit|met|con|com|avec|med|z|с|de)\s"
    r"(.+?)(?:\s?\(\d+\))?",
    re.IGNORECASE,
)
# After the mark of WhatsApp's own text, these represent content from the sender, in any language:
# "image omitted", "<attached: 1.jpg>", "POLL:".
_SENT = lazy_regex(
    r"<[^<>\n]{1,300}>|[^\n]*\b(?:omitted|weggelassen|omitid[oa]s?|omis(?:e|es)?|omess[oi]|oculto|"
    r"weggelaten|pominięt\w*|пропущен\w*|eklenmedi|attached)\b[^\n]*|"
    r"(?:POLL|UMFRAGE|ENCUESTA|SONDAGE|ENQUETE|SONDAGGIO|Location|Standort|Ubicación):.*",
    re.IGNORECASE | re.DOTALL,
)
_IN_BRACKETS = lazy_regex(
    r"<(?:attached: [^<>]+|(?:(?:view once|einmal|ver una vez)[^<>]*|"
    r"(?:media|medien|multimedia|médias?|mídias?|arquivo|medya|медиа|без медиа)[^<>]*))>",
    re.IGNORECASE,
)
_FILE_SENT = lazy_regex(
    r"[^\n<>:\"/\\|?*]+\.\w{2,5} \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|"
    r"file allegato|arquivo anexado|bestand bijgevoegd|plik załączony|файл добавлен)\)",
    re.IGNORECASE,
)
_INSIDE = lazy_regex(GENERATED + r"<[^<>\n]{1,300}>")
_DELETED = lazy_regex(
    r"(?:This message was deleted|You deleted this message|null|"
    r"Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht|"
    r"(?:Se )?eliminó este mensaje|Eliminaste este mensaje|Ce message a été supprimé|"
    r"Questo messaggio è stato eliminato|Esta mensagem foi apagada|Mensagem apagada)\.?",
    re.IGNORECASE,
)


class WhatsApp(Importer):
    """Imports exported chats; its source is the chat that the file is named after."""

    name = "whatsapp"
    version = 1
    description = "WhatsApp chats, exported as text by iPhones and Android phones"
    kept = "speaker, text, time without a zone, kinds of media, notices as injected text"
    dropped = "deleted messages, marks of direction around names, files themselves"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if not is_text(head):
            return 0.0
        lines = [line for line in head_lines(head)[:_LINES_LOOKED_AT] if line.strip()]
        if not lines or (first := head_of(lines[0])) is None:
            # The file may begin with a line added by the exporter.
            first = head_of(lines[1]) if len(lines) > 1 else None
        if first is None:
            return 0.0
        heads = [item[1] for line in lines if (item := head_of(line, first[0])) is not None]
        authors = {item.author for item in heads if item.author}
        return 0.9 if any(author.lower() not in _LEVELS for author in authors) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file).events()


class _Reading:
    """Two passes over a file. _people: all authors of a message that WhatsApp did not generate. In
    groups it writes notices under the group's name, which is not a person."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._order = Order()
        self._people: set[str] = set()
        self._form: str | None = None

    def events(self) -> Iterator[Event]:
        self._survey()
        is_open, is_first = False, True
        for item in self._items():
            event = item if isinstance(item, Skipped) else self._event(*item, is_first=is_first)
            is_first = is_first and isinstance(item, Skipped)
            if isinstance(event, Message) and not is_open:
                is_open = True
                yield self._source()
            yield event

    def _items(self) -> Iterator[tuple[Head, str, int] | Skipped]:
        """Yields each message's head, text and first line number."""
        head: Head | None = None
        pending: list[str] = []
        number = at = chars = 0
        for line in document_lines(self._file):
            number += line.is_start
            match = head_of(line.text, self._form) if self._form and line.is_start else None
            if match is None and head is None:
                if line.text.strip():
                    yield Skipped(BEFORE_THE_FIRST, number, problem=True)
                continue
            if match is not None or chars >= TEXT_CHARS_MAX:
                if head is not None:
                    yield head, "".join(pending), at
                # Without a new head, the rest of a long message keeps its sender.
                head = match[1] if match else head
                pending, at, chars = [], number, 0
            text = match[1].text if match else line.text
            pending.append(text)
            chars += len(text)
        if head is not None:
            yield head, "".join(pending), at

    def _survey(self) -> None:
        for line in document_lines(self._file):
            match = head_of(line.text, self._form) if line.is_start else None
            if match is None:
                continue
            self._form, head = match
            self._order.weigh(head)
            is_said = head.author and not head.text.startswith(GENERATED)
            if is_said and len(self._people) < _AUTHORS_MAX:
                self._people.add(head.author or "")

    def _source(self) -> Source:
        title = chat_title(self._file)
        key = printable(title) if title else file_key(self._file)
        name = one_line(title or self._file.stem)
        return Source(f"whatsapp/{key}", WhatsApp.name, name, origin=self._file.label)

    def _event(self, head: Head, body: str, line: int, *, is_first: bool) -> Message | Skipped:
        """Builds the message of a head and its text. is_first: whether it is the file's first, in
        which WhatsApp announces encryption."""
        text = _without_end(body)
        sent_at = time_of(head, is_month_first=self._order.is_month_first)
        is_generated = text.startswith(GENERATED)
        text = text.removeprefix(GENERATED) if is_generated else text
        bare = text.strip(MARKS + " \u202f\xa0\r\n")
        if _DELETED.fullmatch(bare):
            return Skipped(DELETED, line)
        if not bare:
            return Skipped(EMPTY, line)
        content = Content()
        is_sent = _SENT.fullmatch(bare) is not None
        is_notice = is_generated and not is_sent and (is_first or head.author not in self._people)
        if head.author is None or is_notice:
            content.add(text)
            return build_message(content, None, sent_at, role="system", kind="injected")
        if is_generated or _IN_BRACKETS.fullmatch(bare):
            content.add(text, "marker")
        else:
            _add_words(content, text)
        return build_message(content, head.author, sent_at)


def _add_words(content: Content, text: str) -> None:
    """Adds a text, with "<attached: …>", "<This message was edited>" and a file name above its
    caption as markers."""
    content.add(text)
    first = text.split("\n", 1)[0]
    if _FILE_SENT.fullmatch(first.strip(MARKS + " \r")):
        content.mark(0, len(first), "marker")
    for match in _INSIDE.finditer(text):
        content.mark(match.start(), match.end(), "marker")


def _without_end(body: str) -> str:
    """Removes the line end of the last line, which only the next head adds."""
    return body.removesuffix("\n").removesuffix("\r")


def chat_title(file: LogFile) -> str | None:
    """The chat in the name of a file, or in that of the archive or folder of a "_chat.txt".

    Example:
        >>> chat_title(LogFile("WhatsApp Chat with Ann (1).txt")), chat_title(LogFile("a.txt"))
        ('Ann', None)
    """
    for name in (file.stem, file.folder if file.stem == "_chat" else ""):
        if match := _TITLE.fullmatch(name):
            return match[1]
    return None
