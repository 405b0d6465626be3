"""Reads the Messenger and Instagram threads of Meta's archive: message_1.json, message_2.json, ….

Repairs the texts, which are UTF-8 decoded as Latin-1, and puts a thread's messages in order, which
Meta stores newest first and splits into several files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, dicts_in, text_or_empty
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import EMPTY, NOT_A_MESSAGE, build_message, marker
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, printable, sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

UNSENT = "message taken back"
WITH_THE_FIRST = "read with message_1.json"

_PART_NAME = lazy_regex(r"message_(\d{1,6})\.json")
_FIRST = "message_1.json"
# Labels for markers by Meta's names for kinds of files.
_FILES = {
    "photos": "photo", "videos": "video", "audio_files": "audio", "gifs": "gif", "files": "file",
    "media": "media",
}  # fmt: skip
_LOOKED_AT = 20


class Messenger(Importer):
    """Imports Meta's threads; its sources are the threads."""

    name = "messenger"
    version = 1
    description = "Messenger and Instagram threads from the archive of an account, as JSON"
    kept = "speaker, text, time, shared links, kinds of media"
    dropped = "reactions, layout, calls, messages taken back, files themselves"
    marks = (("participants", "messages"), ("sender_name", "timestamp_ms"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        if not isinstance(value.get("participants"), list) or "messages" not in value:
            return 0.0
        messages = dicts_in(value["messages"])[:_LOOKED_AT]
        known = sum("sender_name" in item and "timestamp_ms" in item for item in messages)
        known += sum("senderName" in item and "timestamp" in item for item in messages)
        return 0.95 if messages and 2 * known >= len(messages) else 0.0

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        return [part for part in _parts(file) if part.name != file.name]

    def read(self, file: LogFile) -> Iterator[Event]:
        if self._belongs_to_first_file(file):
            yield Skipped(WITH_THE_FIRST)
            return
        thread: dict[str, object] = {}
        is_open = False
        # The first file contains the newest messages, the last the oldest.
        for part in reversed(_parts(file)):
            elements: list[JsonMember] = []
            for member in read_members(part):
                if isinstance(member, Skipped):
                    yield member
                elif member.key == "messages" and member.is_element:
                    elements.append(member)
                elif isinstance(member.value, str):
                    thread[member.key or ""] = member.value
            for member in _in_order(elements):
                event = _event(member.value)
                if isinstance(event, Message) and not is_open:
                    is_open = True
                    yield _source(file, thread)
                yield event

    def _belongs_to_first_file(self, file: LogFile) -> bool:
        """Whether the first file reads this one too; not if it is missing, damaged or empty."""
        if file.name == _FIRST or not _PART_NAME.fullmatch(file.name):
            return False
        first = file.neighbour(_FIRST)
        return first is not None and self.recognizes(first, first.head()) > 0


def _parts(file: LogFile) -> list[LogFile]:
    """The files of the thread that begins with this file, by number; else the file alone."""
    if file.name != _FIRST:
        return [file]
    numbered = [(int(match[1]), part) for part in file.neighbours()
                if (match := _PART_NAME.fullmatch(part.name)) and part.name != _FIRST]  # fmt: skip
    return [file, *(part for _, part in sorted(numbered, key=lambda pair: pair[0]))]


def _in_order(elements: list[JsonMember]) -> list[JsonMember]:
    """Orders the messages oldest first. Reverses them if the first is newer than the last, but does
    not sort by time, since clocks may differ."""
    times = [time for member in elements if (time := _time_ms(member.value)) is not None]
    return elements[::-1] if times and times[0] > times[-1] else elements


def _time_ms(value: object) -> int | None:
    fields = as_dict(value)
    time = fields.get("timestamp_ms", fields.get("timestamp"))
    return time if isinstance(time, int) and not isinstance(time, bool) else None


def _source(file: LogFile, thread: dict[str, object]) -> Source:
    path = repaired(
        text_or_empty(thread.get("thread_path")) or text_or_empty(thread.get("threadName"))
    )
    title = one_line(repaired(text_or_empty(thread.get("title")))) or one_line(path)
    # The last folder has the thread's name and number; the one above may change.
    name = path.rstrip("/").rsplit("/", 1)[-1]
    key = printable(name) if name else file_key(file)
    return Source(f"messenger/{key}", Messenger.name, title, origin=file.label)


def _event(value: object) -> Message | Skipped:
    fields = as_dict(value)
    is_plain = "senderName" in fields
    read = text_or_empty if is_plain else _repaired_in
    if not is_plain and "sender_name" not in fields:
        return Skipped(NOT_A_MESSAGE)
    if fields.get("is_unsent") is True or fields.get("isUnsent") is True:
        return Skipped(UNSENT)
    content = Content()
    content.add(read(fields.get("text" if is_plain else "content")))
    share = as_dict(fields.get("share"))
    content.add(read(share.get("link")), "marker", "link")
    # The text of a shared post is its author's, not the sender's.
    content.add(read(share.get("share_text")), "marker", "share")
    for key, label in _FILES.items():
        for item in dicts_in(fields.get(key)):
            name = read(item.get("uri")).rsplit("/", 1)[-1]
            content.add(marker(label, name), "marker")
    if as_dict(fields.get("sticker")):
        content.add(marker("sticker"), "marker")
    if content.is_empty:
        return Skipped(EMPTY)
    author = one_line(read(fields.get("senderName" if is_plain else "sender_name")))
    return build_message(content, author, sent_at(_time_ms(fields)))


def _repaired_in(value: object) -> str:
    return repaired(text_or_empty(value))


def repaired(text: str) -> str:
    """Repairs a text whose UTF-8 was decoded as Latin-1; returns any other unchanged.

    Example:
        >>> repaired("Zo\\u00c3\\u00ab"), repaired("Zoë"), repaired("日本")
        ('Zoë', 'Zoë', '日本')
    """
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
