"""Reads what Messages keeps of a text in binary: the archived text, and its edits.

Pure. `attributedBody` is a typedstream, Apple's old archive of objects, whose first object is the
text with its layout. `message_summary_info` is a binary property list.

Tested in tests/importers/test_imessage.py.
"""

from __future__ import annotations

import plistlib
from typing import Any

from treemem.importers.common.coerce import as_dict, as_list

# How the first text of a typedstream begins: the type "+", written out since it is the first.
_TEXT_TYPE = b"\x84\x01+"
# The number of bytes of a length, by the byte before it; any other byte below 128 is the length.
_LENGTH_BYTES = {0x81: 2, 0x82: 4}
_PLIST_MAGIC = b"bplist00"
_PLIST_BYTES_MAX = 4 * 1024**2


def archived_text(value: object) -> str | None:
    r"""The text in a typedstream; None for any other value, and for a damaged one.

    Example:
        >>> archived_text(b"\x04\x0bstreamtyped\x84\x84\x08NSString\x01\x94\x84\x01+\x03hey\x86")
        'hey'
        >>> archived_text(b"\x84\x01+\x09cut") is None, archived_text("hey") is None
        (True, True)
    """
    if not isinstance(value, bytes):
        return None
    at = value.find(_TEXT_TYPE) + len(_TEXT_TYPE)
    if at < len(_TEXT_TYPE) or at >= len(value):
        return None
    length, at = value[at], at + 1
    if width := _LENGTH_BYTES.get(length):
        length, at = int.from_bytes(value[at : at + width], "little"), at + width
    elif length > 0x7F:
        return None
    return value[at : at + length].decode("utf-8", "replace") if at + length <= len(value) else None


def summary_of(value: object) -> dict[str, Any]:
    """The entries of a message's summary; empty if there is none, or if it is damaged."""
    is_plist = isinstance(value, bytes) and value.startswith(_PLIST_MAGIC)
    if not is_plist or len(value) > _PLIST_BYTES_MAX:  # type: ignore[arg-type]
        return {}
    try:
        return as_dict(plistlib.loads(value))  # type: ignore[arg-type]
    except (ValueError, RecursionError, MemoryError):
        return {}


def last_edit(summary: dict[str, Any]) -> str | None:
    """The last wording of a message that was edited, of all its parts; None if it never was."""
    edits = as_dict(summary.get("ec"))
    parts = [
        as_list(edits[key]) for key in sorted(edits, key=lambda key: (len(str(key)), str(key)))
    ]
    texts = [archived_text(as_dict(part[-1]).get("t")) for part in parts if part]
    return "".join(filter(None, texts)) or None


def is_taken_back(summary: dict[str, Any]) -> bool:
    """Whether a part of the message was taken back."""
    return bool(as_list(summary.get("rp")))
