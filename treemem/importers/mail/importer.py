"""Reads mail: mbox files, and single messages (.eml).

Streams an mbox twice: first to find the threads, then to read the messages. A message is identified
by its Message-ID across files; a thread is a source.

Tested in tests/importers/test_mail.py.
"""

from __future__ import annotations

import email
import io
import re
from collections.abc import Iterator
from email.message import Message as Mail
from typing import BinaryIO

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.content import Content
from treemem.importers.common.conversation import EMPTY, build_message
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sniffing import is_text
from treemem.importers.common.source_ids import file_key, printable
from treemem.importers.mail.body import add_body, header, ids_in, sender, sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

MAIL_BYTES_MAX = 128 * 1024**2
TOO_LONG = "mail over the size limit"
DELETED = "deleted message"
NO_MAIL = "no mail: no headers"

_LINE_BYTES_MAX = 1024**2
_HEADERS_BYTES_MAX = 256 * 1024
# "From ann@example.org Mon Jan 1 10:00:00 2024"; the address may contain blanks.
_FROM_LINE = lazy_regex(rb"From [^\r\n]*\d\d?:\d\d[^\r\n]*\b(?:19|20)\d\d\b")
# Thunderbird keeps deleted messages in the file until the folder is compacted.
_EXPUNGED = 0x0008
_QUOTED_FROM = lazy_regex(rb">+From ")
_HEADER = lazy_regex(rb"(?!-)[A-Za-z][A-Za-z0-9-]*:(?:[ \t]|\r?$)", re.MULTILINE)
_NAMED = lazy_regex(
    rb"^(?:from|to|date|subject|message-id|received|return-path|mime-version|delivered-to):",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED_MIN = 3
_SUBJECT_LEAD = lazy_regex(r"(?:(?:re|aw|fwd?|wg|sv|antw)\s?(?:\[\d+\])?:\s*)+", re.IGNORECASE)


class MailImporter(Importer):
    """Imports mailboxes and single messages; its sources are the threads."""

    name = "mail"
    version = 1
    description = "mail: mbox files (Thunderbird, Google Takeout, mutt) and .eml files"
    kept = "sender, subject, text, date with its zone, Message-ID, attachments"
    dropped = "other headers, recipients, the HTML of a mail that has plain text, layout"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if not is_text(head):
            return 0.0
        first, _, rest = head.partition(b"\n")
        is_mbox = _FROM_LINE.match(first + b"\n") is not None and _HEADER.match(rest) is not None
        headers = re.split(rb"\r?\n\r?\n", rest if is_mbox else head, maxsplit=1)[0]
        if is_mbox:
            return 0.9 if _NAMED.search(headers) else 0.0
        named = {name.lower() for name in _NAMED.findall(headers)}
        is_mail = _HEADER.match(head.removeprefix(b"\xef\xbb\xbf")) is not None
        if not is_mail or b"from:" not in named or len(named) < _NAMED_MIN:
            return 0.0
        return 0.9 if named & {b"message-id:", b"received:", b"mime-version:"} else 0.6

    def read(self, file: LogFile) -> Iterator[Event]:
        roots = _roots(file)
        current: str | None = None
        for item in _mails(file):
            if isinstance(item, Skipped):
                yield item
                continue
            mail = item.parsed()
            if isinstance(mail, Skipped):
                yield mail
                continue
            source = _source(file, mail, roots)
            message = _message(mail)
            if isinstance(message, Message) and source.id != current:
                current = source.id
                yield source
            yield message


class _Raw:
    """The bytes of one message in the file, without those over the limit."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        self.size_bytes = 0
        self.is_blank = True

    def add(self, line: bytes) -> None:
        self.size_bytes += len(line)
        self.is_blank = self.is_blank and not line.strip()
        if self.size_bytes <= MAIL_BYTES_MAX:
            self._bytes.write(line)

    def parsed(self) -> Mail | Skipped:
        self._bytes.seek(0)
        try:
            # Subtle: the parser needs twice the message's size, so its bytes are not copied.
            return email.message_from_binary_file(self._bytes)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True, detail=f"{self.size_bytes:,} bytes")
        finally:
            self._bytes.close()

    def headers(self) -> Mail:
        self._bytes.seek(0)
        lines: list[bytes] = []
        size = 0
        while (line := self._bytes.readline()).strip() and size <= _HEADERS_BYTES_MAX:
            lines.append(line)
            size += len(line)
        return email.message_from_bytes(b"".join(lines))


def _mails(file: LogFile) -> Iterator[_Raw | Skipped]:
    """Yields the messages of an mbox, or the one in an .eml file."""
    with file.open() as stream:
        first = stream.readline(_LINE_BYTES_MAX)
        while first and not first.strip(b" \t\r\n\0"):
            first = stream.readline(_LINE_BYTES_MAX)
        is_mbox = _FROM_LINE.match(first) is not None
        raw = _Raw()
        if not is_mbox:
            raw.add(first.removeprefix(b"\xef\xbb\xbf"))
        for line, is_head in _lines(stream, is_mbox=is_mbox):
            if is_head:
                yield from _thread_title(raw)
                raw = _Raw()
            else:
                raw.add(line)
        yield from _thread_title(raw)


def _lines(stream: BinaryIO, *, is_mbox: bool) -> Iterator[tuple[bytes, bool]]:
    """Yields each line, or piece of one, and whether it separates messages. Unquotes ">From "."""
    after_blank, starts = False, True
    while line := stream.readline(_LINE_BYTES_MAX):
        is_head = is_mbox and starts and after_blank and _FROM_LINE.match(line) is not None
        if is_mbox and starts and _QUOTED_FROM.match(line):
            line = line[1:]
        yield line, is_head
        after_blank = starts and not line.strip(b"\r\n")
        starts = line.endswith(b"\n")


def _thread_title(raw: _Raw) -> Iterator[_Raw | Skipped]:
    if raw.is_blank:
        return
    if raw.size_bytes > MAIL_BYTES_MAX:
        detail = f"{raw.size_bytes:,} bytes, where {MAIL_BYTES_MAX:,} are allowed"
        yield Skipped(TOO_LONG, problem=True, detail=detail)
        return
    yield raw


# -- threads -----------------------------------------------------------------------------


def _roots(file: LogFile) -> dict[str, str]:
    """Maps the id of every reply in the file to the first id of its thread.

    References lists the whole thread from its beginning, In-Reply-To only the previous message.
    """
    roots: dict[str, str] = {}
    for item in _mails(file):
        if isinstance(item, Skipped):
            continue
        mail = item.headers()
        own = ids_in(mail, "Message-ID")
        named = ids_in(mail, "References") or ids_in(mail, "In-Reply-To")
        if own and named and own[0] != named[0]:
            roots.setdefault(own[0], named[0])
    return _roots_by_id(roots)


def _roots_by_id(above: dict[str, str]) -> dict[str, str]:
    """Maps every id that has a parent to its root; follows each path once."""
    tops: dict[str, str] = {}
    for mail_id in above:
        path: dict[str, int] = {}
        while mail_id in above and mail_id not in tops and mail_id not in path:
            path[mail_id] = len(path)
            mail_id = above[mail_id]
        # Subtle: messages that answer each other in a circle must all have the same root.
        circle = list(path)[path[mail_id] :] if mail_id in path else []
        top = min(circle) if circle else tops.get(mail_id, mail_id)
        tops.update(dict.fromkeys(path, top))
    return tops


def _root(mail: Mail, roots: dict[str, str]) -> str | None:
    own = ids_in(mail, "Message-ID")
    named = ids_in(mail, "References") or ids_in(mail, "In-Reply-To") or own
    if not named:
        return None
    return roots.get(named[0], named[0])


def _source(file: LogFile, mail: Mail, roots: dict[str, str]) -> Source:
    root = _root(mail, roots)
    key = printable(root) if root else file_key(file)
    subject = header(mail, "Subject")
    title = _SUBJECT_LEAD.sub("", subject, count=1) if subject else None
    return Source(f"mail/{key}", MailImporter.name, title or None, origin=file.label)


def _message(mail: Mail) -> Message | Skipped:
    if not mail.keys():
        return Skipped(NO_MAIL, problem=True)
    if _is_expunged(mail):
        return Skipped(DELETED)
    content = Content()
    subject = header(mail, "Subject")
    if subject and not _SUBJECT_LEAD.match(subject):
        # Subtle: added only if it is the sender's own; "Re: Tank" is somebody else's text.
        content.add(subject, "text", "subject")
    try:
        add_body(content, mail)
    except RecursionError:
        return Skipped(TOO_DEEP, problem=True)
    if content.is_empty:
        return Skipped(EMPTY)
    own = ids_in(mail, "Message-ID")
    return build_message(
        content, sender(mail), sent_at(mail), external_id=own[0] if own else None, unique_id=True
    )


def _is_expunged(mail: Mail) -> bool:
    try:
        return bool(int(header(mail, "X-Mozilla-Status") or "0", 16) & _EXPUNGED)
    except ValueError:
        return False
