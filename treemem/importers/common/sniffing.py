"""Examines the first bytes of a file, to recognize its format or to describe it in an error.

Pure. A head is a Head, or the first HEAD_BYTES of a file; a shorter one is the whole file.

Tested in tests/importers/test_detection.py.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from treemem.importers.common.records import parse_json, strip_padding
from treemem.importers.streams.heads import HEAD_BYTES, Head
from treemem.patterns import lazy_regex

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"), (b"%PDF-", "PDF"), (b"PK\x03\x04", "ZIP"), (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"SQLite format 3\0", "SQLite"), (b"\x7fELF", "ELF"), (b"GGUF", "GGUF"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"RIFF", "RIFF"), (b"OggS", "Ogg"), (b"ID3", "MP3"),
)  # fmt: skip
# Control characters that do not occur in text: all but BEL, BS, HT, LF, VT, FF, CR, ESC.
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_CONTROL_SHARE_MAX = 0.01
_JSON_START = lazy_regex(rb"\s*(?:\{\s*[\"}]|\[\s*(?:[\[{\"\]]|-?\d+(?:\.\d+)?\s*[,\]]))")
# An incomplete string extends to the end, so that nothing in it is taken for syntax.
_TOKEN = lazy_regex(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]", b'"': b'"'}
_SCALAR = lazy_regex(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_DEPTH_MAX = 500
_KEYS_SHOWN = 5
_KEY_CHARS_MAX = 30


def is_blank(head: bytes) -> bool:
    """Whether the head contains only blanks, line breaks, NULs and a BOM."""
    return not strip_padding(head)


def is_whole(head: bytes) -> bool:
    """Whether the head is the whole file."""
    return head.is_whole if isinstance(head, Head) else len(head) < HEAD_BYTES


@lru_cache(maxsize=4)
def head_objects(head: bytes) -> tuple[list[object], bytes]:
    """The JSON values of the head's whole lines, except invalid ones, and the incomplete last line.

    Callers must not change them: the result is cached, since most importers need it.
    """
    lines = head.split(b"\n")
    rest = b"" if is_whole(head) else lines.pop()
    values: list[object] = []
    for line in filter(None, map(strip_padding, filter(None, lines))):
        # Subtle: the parser is slow to reject prose; this test rejects most of it.
        if line[-1:] != _CLOSING.get(line[:1]) and not _SCALAR.fullmatch(line):
            continue
        try:
            values.append(parse_json(line))
        except (ValueError, RecursionError):
            continue
    return values, rest


@lru_cache(maxsize=4)
def head_lines(head: bytes) -> list[str]:
    r"""The head's lines as text, without line ends and BOM; omits an incomplete last line.

    Callers must not change the result, which is cached.

    Example:
        >>> head_lines(b"\xef\xbb\xbfone\r\ntwo")
        ['one', 'two']
    """
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if not is_whole(head):
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


@lru_cache(maxsize=4)
def head_value(head: bytes) -> object:
    """Parses the JSON document that begins with this head, closed after its last whole value.

    Returns None unless it is a single JSON value. Callers must not change the result, which is
    cached.

    Example:
        >>> head_value(b'{"a": [1, 2]}')
        {'a': [1, 2]}
    """
    body = strip_padding(head)
    try:
        return parse_json(body)
    except (ValueError, RecursionError):
        pass
    if is_whole(head) or (closed := _closed(body)) is None:
        return None
    try:
        return parse_json(closed)
    except (ValueError, RecursionError):
        return None


def _closed(body: bytes) -> bytes | None:
    """Cuts truncated JSON after its last whole value and closes the open brackets."""
    if body[:1] not in (b"[", b"{"):
        return None
    open_brackets: list[bytes] = []
    end, closing = 0, b""
    for token in _TOKEN.finditer(body):
        char = token.group()[:1]
        if char in b"[{":
            open_brackets.append(b"]" if char == b"[" else b"}")
            if len(open_brackets) > _DEPTH_MAX:
                break
            if char == b"[":
                # Subtle: after a key, only "[" and what follows complete the pair.
                end, closing = token.end(), b"".join(reversed(open_brackets))
        elif char == b",":
            end, closing = token.start(), b"".join(reversed(open_brackets))
        elif char in b"]}":
            if not open_brackets:
                return None
            open_brackets.pop()
            end, closing = token.end(), b"".join(reversed(open_brackets))
            if not open_brackets:
                return None  # A whole value followed by another: JSON Lines.
    return body[:end] + closing if end else None


def has_key(data: bytes, key: str, values: str | None = None) -> bool:
    """Whether the beginning of a JSON text has a key. values: its value is one of these (a|b)."""
    value = f'"(?:{values})"' if values else ""
    return re.search(rf'"{key}"\s*:\s*{value}'.encode(), data) is not None


def is_text(head: bytes) -> bool:
    r"""Whether the head is text: not a known binary format, and hardly any control characters.

    Example:
        >>> is_text(b"plain"), is_text(b"\x00\x01\x02\x03"), is_text(b"%PDF-1.7 text")
        (True, False, False)
    """
    if _magic(head) is not None:
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls <= len(head) * _CONTROL_SHARE_MAX


def is_json(head: bytes) -> bool:
    """Whether the head is JSON, JSON Lines, or the beginning of either."""
    body = strip_padding(head)
    if _JSON_START.match(body) is None:
        return False
    if not is_whole(head):
        return True
    closed = _closed(body) or b""
    return any(_is_json_text(text) for text in (body, body.split(b"\n", 1)[0], closed))


def describe_content(head: bytes) -> str:
    r"""Describes the content of a file for an error message.

    Example:
        >>> describe_content(b"[1, 2, 3]"), describe_content(b"\x89PNG\r\n\x1a\n")
        ('a JSON array of numbers', 'binary data (PNG)')
    """
    if not head:
        return "nothing, the file is empty"
    if is_blank(head):
        return "nothing but blank lines"
    if not is_text(head):
        magic = _magic(head)
        return f"binary data ({magic})" if magic else "binary data"
    if not is_json(head):
        return "text"
    try:
        return _json_shape(json.loads(strip_padding(head)))
    except (ValueError, RecursionError):
        objects, _ = head_objects(head)
    if objects and head.split(b"\n", 1)[0].rstrip().endswith((b"}", b"]")):
        return f"JSON Lines, the first line {_json_shape(objects[0])}"
    return "a JSON array" if strip_padding(head).startswith(b"[") else "a JSON object"


def _magic(head: bytes) -> str | None:
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def _is_json_text(text: bytes) -> bool:
    try:
        parse_json(strip_padding(text))
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _json_shape(value: object) -> str:
    """Describes a JSON value: "a JSON array of numbers", or an object with its first keys."""
    if isinstance(value, dict):
        keys = ", ".join(repr(key[:_KEY_CHARS_MAX]) for key in list(value)[:_KEYS_SHOWN])
        return f"a JSON object with the keys {keys}" if keys else "an empty JSON object"
    if isinstance(value, list):
        kinds = sorted({_json_kind(item) for item in value})
        return f"a JSON array of {' and '.join(kinds)}" if kinds else "an empty JSON array"
    return f"a JSON {_json_kind(value).removesuffix('s')}"


def _json_kind(value: object) -> str:
    if value is None:
        return "nulls"
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, str):
        return "strings"
    return "arrays" if isinstance(value, list) else "objects"
