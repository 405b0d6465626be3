"""Reads the content of an email message: decodes headers and body, marks attachments and quotes.

Never raises on malformed input: an undecodable header stays unchanged, and a body falls back to
UTF-8, then Windows-1252. Quoted lines are marked as other people's text.

Tested in tests/importers/test_mail.py.
"""

from __future__ import annotations

import email.errors
import email.header
import email.utils
import hashlib
import re
from collections.abc import Iterator
from email.message import Message as Mail

from treemem.importers.common.content import Content
from treemem.importers.common.conversation import marker, size_text
from treemem.importers.common.source_ids import one_line
from treemem.importers.mail.html_text import text_of
from treemem.patterns import lazy_regex
from treemem.types import Blob

_DEPTH_MAX = 12
_PARTS_MAX = 500
_HEADER_CHARS_MAX = 8_000
_DIGEST_HEX_SHOWN = 12
_QUOTE = lazy_regex(r"^(?:>.*(?:\n|\Z))+", re.MULTILINE)
# The lines that mail programs write above a message quoted in full below the answer.
_BELOW = lazy_regex(
    r"^(?:-{3,} ?(?:Original Message|Forwarded message|Ursprüngliche Nachricht|"
    r"Weitergeleitete Nachricht|Message d'origine|Mensaje original) ?-{3,}|"
    r"Begin forwarded message:|_{20,}\n+(?:From|Von|De): )",
    re.MULTILINE | re.IGNORECASE,
)
_ID = lazy_regex(r"<([^<>\s]+)>")


def header(mail: Mail, name: str) -> str | None:
    """The text of a header on one line, with encoded words decoded; None if it is missing."""
    value = _raw(mail, name)
    if value is None:
        return None
    # Subtle: decoding takes quadratic time, and only the beginning is ever shown.
    value = value[:_HEADER_CHARS_MAX]
    try:
        decoded = str(email.header.make_header(email.header.decode_header(value)))
    except (email.errors.MessageError, LookupError, ValueError):
        decoded = value
    return one_line(decoded)


def _raw(mail: Mail, name: str) -> str | None:
    """A header's raw text, with non-ASCII bytes decoded as UTF-8, or else Windows-1252."""
    for known, value in mail.raw_items():
        if known.lower() == name.lower():
            data = str(value).encode("utf-8", "surrogateescape")
            try:
                return data.decode("utf-8")
            except UnicodeError:
                return data.decode("cp1252", "replace")
    return None


def sender(mail: Mail) -> str | None:
    """The sender's name, or the address if there is no name."""
    value = header(mail, "From") or header(mail, "Sender")
    if value is None:
        return None
    name, address = email.utils.parseaddr(value)
    return one_line(name) or one_line(address) or value


def sent_at(mail: Mail) -> str | None:
    """The Date header as ISO 8601 with its zone; unchanged if it cannot be parsed."""
    value = header(mail, "Date")
    if value is None:
        return None
    try:
        return email.utils.parsedate_to_datetime(value).isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return value


def ids_in(mail: Mail, name: str) -> list[str]:
    """The message ids in a header, without their brackets."""
    value = _raw(mail, name) or ""
    ids = _ID.findall(value)
    bare = value.strip()
    return ids or ([bare] if bare and not re.search(r"\s", bare) and "@" in bare else [])


def add_body(content: Content, mail: Mail) -> None:
    """Adds the text and attachments of a message."""
    for index, part in enumerate(_leaves(mail, _DEPTH_MAX)):
        if index >= _PARTS_MAX:
            content.add(marker("parts left out"), "marker")
            return
        _add_part(content, part)


def _leaves(mail: Mail, depth: int) -> Iterator[Mail]:
    """Yields the parts to show; of alternatives, the plain text or else the last."""
    parts = _inside(mail)
    if parts is None or depth <= 0:
        yield mail
        return
    kind = mail.get_content_type()
    if kind == "multipart/alternative" and parts:
        yield from _leaves(next(filter(_has_text, parts), parts[-1]), depth - 1)
    elif kind == "message/rfc822":
        yield mail
    else:
        for part in parts:
            yield from _leaves(part, depth - 1)


def _inside(mail: Mail) -> list[Mail] | None:
    """The messages or parts inside a message; None if it contains text or bytes."""
    # Subtle: get_payload() decodes a payload that is not a list, which can fail.
    if not mail.is_multipart():
        return None
    inner = mail.get_payload()
    return [part for part in inner if isinstance(part, Mail)] if isinstance(inner, list) else None


def _has_text(part: Mail) -> bool:
    return (
        part.get_content_type() == "text/plain" and not _text(part).isspace() and _text(part) != ""
    )


def _add_part(content: Content, part: Mail) -> None:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        _add_forwarded(content, part)
        return
    is_attached = part.get_content_disposition() == "attachment"
    name = _filename(part)
    if kind == "text/plain" and not (is_attached or name):
        _add_words(content, _text(part))
    elif kind == "text/html" and not (is_attached or name):
        _add_words(content, text_of(_text(part)))
    elif kind.startswith("message/") and not is_attached:
        content.add(_text(part), "marker", kind)
    else:
        data = _payload(part)
        digest = hashlib.sha256(data).hexdigest()
        facts = (name, kind, size_text(len(data)), f"sha256:{digest[:_DIGEST_HEX_SHOWN]}")
        content.add(marker("attachment", *facts), "marker", kind)
        content.blobs.append(Blob(kind, len(data), digest, data))


def _add_forwarded(content: Content, part: Mail) -> None:
    """Adds a message inside a message, with its headers, all marked as other people's text."""
    for mail in _inside(part) or ():
        whole = Content()
        heading = [f"{name}: {value}" for name in ("From", "Date", "Subject")
                   if (value := header(mail, name))]  # fmt: skip
        whole.add("\n".join(heading))
        for leaf in _leaves(mail, _DEPTH_MAX // 2):
            if leaf.get_content_type() != "message/rfc822":
                _add_part(whole, leaf)
        content.add(whole.text, "marker", "forwarded")
        content.blobs += whole.blobs


def _add_words(content: Content, text: str) -> None:
    """Adds a body and marks its quotes. Omits line ends at its end, since their number depends on
    the next message in the file."""
    text = text.replace("\r\n", "\n").rstrip("\n")
    start = content.add(text)
    below = _BELOW.search(text)
    end = below.start() if below else len(text)
    for quote in _QUOTE.finditer(text, 0, end):
        content.mark(start + quote.start(), start + quote.end(), "marker", "quote")
    if end < len(text):
        content.mark(start + end, start + len(text), "marker", "quote")


def _filename(part: Mail) -> str | None:
    try:
        name = part.get_filename()
    except (LookupError, ValueError, TypeError):
        return None
    return one_line(name)


def _payload(part: Mail) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (LookupError, ValueError, AssertionError, AttributeError):
        data = None
    if isinstance(data, bytes):
        return data
    if (inner := _inside(part)) is not None:
        return b"\n\n".join(map(bytes, inner))
    return str(part.get_payload() or "").encode("utf-8", "surrogateescape")


def _text(part: Mail) -> str:
    """A part's text in its declared charset; if that fails, in UTF-8 or Windows-1252."""
    data = _payload(part)
    try:
        named = part.get_content_charset() or "utf-8"
    except (LookupError, ValueError, TypeError):
        named = "utf-8"
    for charset in (named, "utf-8"):
        try:
            return data.decode(charset)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")
