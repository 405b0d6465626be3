"""Values of a log in the type that is expected of them, or nothing.

Pure. Logs are written by many versions of a tool and damaged in many ways: a field may hold
null, a number or a list where a text was meant. Nothing here raises for that.
"""

from __future__ import annotations

import hashlib
from typing import Any

from treemem.importers.common.records import parse_json

_TYPE_CHARS_MAX = 40
_DIGEST_BYTES = 12


def as_text(value: object) -> str | None:
    """The value if it is a text with anything in it."""
    return value if isinstance(value, str) and value else None


def as_dict(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_or_empty(value: object) -> str:
    """A text as it stands; "" for what is none."""
    return value if isinstance(value, str) else ""


def dicts_in(value: object) -> list[dict[str, object]]:
    """The objects of a list; of anything else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def id_text(value: object) -> str | None:
    """An id, whether the log spells it as a number or as text; None if it is neither.

    Example:
        >>> id_text(12), id_text("C1"), id_text(None), id_text(True)
        ('12', 'C1', None, None)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def texts_of(value: object) -> list[str]:
    """A text, or the texts in a list of texts and of objects that hold one.

    Example:
        >>> texts_of([{"type": "text", "text": "a"}, "b", 3]), texts_of("c"), texts_of(None)
        (['a', 'b'], ['c'], [])
    """
    found = value if isinstance(value, list) else [value]
    texts = (each.get("text") if isinstance(each, dict) else each for each in found)
    return [text for text in texts if isinstance(text, str) and text]


def json_or_none(value: object) -> object:
    """What a JSON text or its bytes hold; None for anything else, damaged or nested too deeply.

    Example:
        >>> parsed('{"a": 1}'), parsed(b"[1]"), parsed("{"), parsed(None)
        ({'a': 1}, [1], None, None)
    """
    if not isinstance(value, str | bytes):
        return None
    try:
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
        return parse_json(data)
    except (ValueError, RecursionError):  # Half of a surrogate pair cannot be encoded: no JSON.
        return None


def no_message(*types: object) -> str:
    """Why a record is no message: its types. They come from the file, so plain words only.

    Example:
        >>> no_message("event_msg", "token_count"), no_message(None), no_message("a", 7)
        ('no message: event_msg/token_count', 'no message: no type', 'no message: a/unknown type')
    """
    return f"no message: {'/'.join(map(_shown, types))}"


def digest_of(text: str) -> str:
    """Tells a text from any other; 24 hexadecimal digits."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _shown(record_type: object) -> str:
    if record_type is None:
        return "no type"
    if isinstance(record_type, str) and record_type.isprintable():
        return record_type[:_TYPE_CHARS_MAX]
    return "unknown type"
