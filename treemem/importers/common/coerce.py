"""Coerces a log's values to the expected type, or to an empty value.

Pure. Logs come from many versions of a tool and may be damaged: a field may hold null, a number or
a list instead of text. No function here raises an error for that.

Tested in tests/importers/test_mutated.py.
"""

from __future__ import annotations

import hashlib
from typing import Any

from treemem.importers.common.records import parse_json

_TYPE_CHARS_MAX = 40
_DIGEST_BYTES = 12


def as_text(value: object) -> str | None:
    """The value if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def as_dict(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_or_empty(value: object) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def dicts_in(value: object) -> list[dict[str, object]]:
    """The objects in a list; an empty list if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def id_text(value: object) -> str | None:
    """An id as text, whether the log has a number or a string; None for any other type.

    Example:
        >>> id_text(12), id_text("C1"), id_text(None), id_text(True)
        ('12', 'C1', None, None)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def texts_of(value: object) -> list[str]:
    """A string in a list of its own; or the strings in a list and the "text" of its objects.

    Example:
        >>> texts_of([{"type": "text", "text": "a"}, "b", 3]), texts_of("c"), texts_of(None)
        (['a', 'b'], ['c'], [])
    """
    items = value if isinstance(value, list) else [value]
    texts = (item.get("text") if isinstance(item, dict) else item for item in items)
    return [text for text in texts if isinstance(text, str) and text]


def json_or_none(value: object) -> object:
    """Parses JSON text or bytes; None for any other type, invalid JSON or excessive nesting.

    Example:
        >>> json_or_none('{"a": 1}'), json_or_none(b"[1]"), json_or_none("{"), json_or_none(None)
        ({'a': 1}, [1], None, None)
    """
    if not isinstance(value, str | bytes):
        return None
    try:
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
        return parse_json(data)
    except (ValueError, RecursionError):  # A lone surrogate cannot be encoded.
        return None


def no_message(*types: object) -> str:
    """The reason to skip a record that is not a message, with its types.

    The types come from the file, so unprintable ones are replaced.

    Example:
        >>> no_message("event_msg", "token_count"), no_message(None), no_message("a", 7)
        ('no message: event_msg/token_count', 'no message: no type', 'no message: a/unknown type')
    """
    return f"no message: {'/'.join(map(_shown, types))}"


def digest_of(text: str) -> str:
    """A digest of the text: 24 hexadecimal digits."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _shown(record_type: object) -> str:
    if record_type is None:
        return "no type"
    if isinstance(record_type, str) and record_type.isprintable():
        return record_type[:_TYPE_CHARS_MAX]
    return "unknown type"
