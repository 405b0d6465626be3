"""WhatsApp chats as its "export chat" writes them: one text file, in the phone's language.

It tells the messages apart, and what people said from what WhatsApp wrote. A first pass over
the file finds out how its days are to be read and who in it is a person.
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
from treemem.types import Message, Source

BEFORE_THE_FIRST = "line before the first message"
DELETED = "deleted message"

# A message that is longer goes on as another: what has no heads any more is no chat.
TEXT_CHARS_MAX = 1_000_000

_LINES_LOOKED_AT = 400
# Who "speaks" in a program's log.
_LEVELS = frozenset({"debug", "info", "notice", "warn", "warning", "error", "fatal", "critical"})
_AUTHORS_MAX = 10_000
_TITLE = re.compile(
    r"(?:\w+\s(?:d[eo]\s)?)?WhatsApp[\s-]?(?:Chat)?\s(?:[-–]|with|mit|met|con|com|avec|med|z|с|de)\s"
    r"(.+?)(?:\s?\(\d+\))?",
    re.IGNORECASE,
)
# Behind the mark of what WhatsApp wrote: "image omitted", "<attached: 1.jpg>", "POLL:" and such
# stand for what the sender sent, whatever the language.
_SENT = re.compile(
    r"<[^<>\n]{1,300}>|[^\n]*\b(?:omitted|weggelassen|omitid[oa]s?|omis(?:e|es)?|omess[oi]|oculto|"
    r"weggelaten|pominięt\w*|пропущен\w*|eklenmedi|attached)\b[^\n]*|"
    r"(?:POLL|UMFRAGE|ENCUESTA|SONDAGE|ENQUETE|SONDAGGIO|Location|Standort|Ubicación):.*",
    re.IGNORECASE | re.DOTALL,
)
_IN_BRACKETS = re.compile(
    r"<(?:attached: [^<>]+|(?:(?:view once|einmal|ver una vez)[^<>]*|"
    r"(?:media|medien|multimedia|médias?|mídias?|arquivo|medya|медиа|без медиа)[^<>]*))>",
    re.IGNORECASE,
)
_FILE_SENT = re.compile(
    r"[^\n<>:\"/\\|?*]+\.\w{2,5} \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|"
    r"file allegato|arquivo anexado|bestand bijgevoegd|plik załączony|файл добавлен)\)",
    re.IGNORECASE,
)
_INSIDE = re.compile(GENERATED + r"<[^<>\n]{1,300}>")
_DELETED = re.compile(
    r"(?:This message was deleted|You deleted this message|null|"
    r"Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht|"
    r"(?:Se )?eliminó este mensaje|Eliminaste este mensaje|Ce message a été supprimé|"
    r"Questo messaggio è stato eliminato|Esta mensagem foi apagada|Mensagem apagada)\.?",
    re.IGNORECASE,
)


class WhatsApp(Importer):
    """The importer of exported chats; its source is the chat that the file is called after."""

    name = "whatsapp"
    version = 1
    description = "WhatsApp chats, exported as text by iPhones and Android phones"
    kept = "speaker, words, time without a zone, what media is, notices as injected text"
    dropped = "deleted messages, marks of direction around names, files themselves"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if not is_text(head):
            return 0.0
        lines = [line for line in head_lines(head)[:_LINES_LOOKED_AT] if line.strip()]
        if not lines or (first := head_of(lines[0])) is None:
            # What a file begins with may be a line of the exporter's.
            first = head_of(lines[1]) if len(lines) > 1 else None
        if first is None:
            return 0.0
        heads = [found[1] for line in lines if (found := head_of(line, first[0])) is not None]
        authors = {found.author for found in heads if found.author}
        return 0.9 if any(author.lower() not in _LEVELS for author in authors) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file).events()


class _Reading:
    """Two passes over a file. people: whoever says something that WhatsApp did not write; in
    groups it writes notices under the group's name, which is nobody's."""

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
        """Each message's head, its text and the number of its first line."""
        head: Head | None = None
        held: list[str] = []
        number = at = chars = 0
        for line in document_lines(self._file):
            number += line.is_start
            found = head_of(line.text, self._form) if self._form and line.is_start else None
            if found is None and head is None:
                if line.text.strip():
                    yield Skipped(BEFORE_THE_FIRST, number, problem=True)
                continue
            if found is not None or chars >= TEXT_CHARS_MAX:
                if head is not None:
                    yield head, "".join(held), at
                # Without a head of its own a line goes on with what the last sender said.
                head = found[1] if found else head
                held, at, chars = [], number, 0
            text = found[1].text if found else line.text
            held.append(text)
            chars += len(text)
        if head is not None:
            yield head, "".join(held), at

    def _survey(self) -> None:
        for line in document_lines(self._file):
            found = head_of(line.text, self._form) if line.is_start else None
            if found is None:
                continue
            self._form, head = found
            self._order.weigh(head)
            is_said = head.author and not head.text.startswith(GENERATED)
            if is_said and len(self._people) < _AUTHORS_MAX:
                self._people.add(head.author or "")

    def _source(self) -> Source:
        title = chat_title(self._file)
        key = printable(title) if title else file_key(self._file)
        shown = one_line(title or self._file.stem)
        return Source(f"whatsapp/{key}", WhatsApp.name, shown, origin=self._file.label)

    def _event(self, head: Head, body: str, line: int, *, is_first: bool) -> Message | Skipped:
        """is_first: of the file, where WhatsApp says that nobody else can read it."""
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
    """What was said, in which "<attached: …>", "<This message was edited>" and, above what is
    said of it, the name of a file are markers."""
    content.add(text)
    first = text.split("\n", 1)[0]
    if _FILE_SENT.fullmatch(first.strip(MARKS + " \r")):
        content.mark(0, len(first), "marker")
    for found in _INSIDE.finditer(text):
        content.mark(found.start(), found.end(), "marker")


def _without_end(body: str) -> str:
    """A message without the end of its last line, which the next head makes."""
    return body.removesuffix("\n").removesuffix("\r")


def chat_title(file: LogFile) -> str | None:
    """The chat that a file is called after, or the archive or folder of a "_chat.txt".

    Example:
        >>> chat_title(LogFile("WhatsApp Chat with Ann (1).txt")), chat_title(LogFile("a.txt"))
        ('Ann', None)
    """
    for name in (file.stem, file.folder if file.stem == "_chat" else ""):
        if found := _TITLE.fullmatch(name):
            return found[1]
    return None
