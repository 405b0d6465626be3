"""Writes what changes in the records of a compacted log: texts that were cut, links, a summary.

A record that is kept stays as it is, but for the strings that were cut, and for a link to a record
that is gone. Pure.

Tested in tests/sessions/logs/test_writing.py.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treemem.importers.common.source_ids import is_uuid
from treemem.patterns import lazy_regex
from treemem.store.database import storable_text

# A shorter string is never taken for a part of a text that was cut; a longer one beside it, such as
# a copy for the screen, is cut, too.
PART_CHARS_MIN, COPY_CHARS_MAX = 200, 2_000
_DEPTH_MAX = 12
_ID_KEYS = ("uuid", "id", "message_id", "messageId")
_PARENT = lazy_regex(r"(?i)(?:logical_?)?parent")
_LOGICAL = lazy_regex(r"(?i)logical")
# Strings that mean nothing if they are cut.
_WHOLE_KEYS = frozenset({"data", "signature", "encrypted_content", "url", "image_url", "thinking"})
_NAMESPACE = uuid.UUID("6d1f9a52-2f0e-4c1c-9a41-0d6f2c9f7b1e")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that was cut: the input of a call, or a result, or words. shown: what is left."""

    kind: str
    text: str
    shown: str


# -- texts -----------------------------------------------------------------------------


def with_cuts(record: Any, cuts: Sequence[Cut], spoken: str) -> Any | None:
    """A copy of a record with texts cut; None if one of them is not found in it.

    spoken: the words of its message, which are left in all strings that contain them.
    """
    changed = record
    for cut in cuts:
        changed = _with_cut(changed, cut)
        if changed is None:
            return None
    if any(cut.kind == "tool_result" for cut in cuts):
        changed = _mapped(changed, lambda text: _without_copy(text, spoken))
    return changed


def _with_cut(record: Any, cut: Cut) -> Any | None:
    """A copy of a record with one text cut; None if it is not found."""
    done: list[int] = []
    whole = cut.text.strip()

    def exactly(text: str) -> str:
        is_input = cut.kind == "tool_use" and text[:1] == "{" and _equal(text, whole)
        if storable_text(text)[0].strip() == whole or is_input:
            done.append(1)
            return cut.shown
        return text

    def arguments(value: Any) -> Any:  # some logs have those of a call as an object
        if cut.kind == "tool_use" and isinstance(value, dict) and _equal(value, whole):
            done.append(1)
            return json.loads(cut.shown)
        return value

    changed = _mapped(record, exactly, arguments)
    if not done:
        changed = _mapped(record, _in_pieces(cut, record, done))
    return changed if done else None


def _equal(value: dict[str, Any] | str, text: str) -> bool:
    """Whether a value, or one written as JSON, is that of a JSON text."""
    try:
        return bool((json.loads(value) if isinstance(value, str) else value) == json.loads(text))
    except (ValueError, RecursionError):
        return False


def _in_pieces(cut: Cut, record: Any, done: list[int]) -> Callable[[str], str]:
    """Cuts a text that a record has in several strings: the longest says what is left."""
    pieces = [
        text for text in _strings(record)
        if len(text) >= PART_CHARS_MIN and text.strip() in cut.text
    ]  # fmt: skip
    longest = max(pieces, key=len, default=None)

    def cut_piece(text: str) -> str:
        if text == longest and not done:
            done.append(1)
            return cut.shown
        return "[…]" if done and text in pieces else text

    return cut_piece


def _without_copy(text: str, spoken: str) -> str:
    if len(text) <= COPY_CHARS_MAX or text.strip() in spoken:
        return text
    half = COPY_CHARS_MAX // 4
    left = len(text) - 2 * half
    return f"{text[:half]}\n[… {left:,} characters left out …]\n{text[-half:]}"


def _mapped(
    value: Any, text_of: Callable[[str], str], value_of: Callable[[Any], Any] = lambda value: value,
    depth: int = 0,
) -> Any:  # fmt: skip
    """A copy of a value with all its strings mapped; also those in JSON within a string."""
    value = value_of(value)
    if isinstance(value, str):
        mapped = text_of(value)
        if mapped == value and value[:1] in "{[" and len(value) >= PART_CHARS_MIN:
            return _mapped_json(value, text_of, value_of, depth)
        return mapped
    if depth >= _DEPTH_MAX:
        return value
    if isinstance(value, dict):
        return {
            key: item if key in _WHOLE_KEYS and isinstance(item, str)
            else _mapped(item, text_of, value_of, depth + 1)
            for key, item in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [_mapped(item, text_of, value_of, depth + 1) for item in value]
    return value


def _mapped_json(
    text: str, text_of: Callable[[str], str], value_of: Callable[[Any], Any], depth: int
) -> str:
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    mapped = _mapped(inner, text_of, value_of, depth + 1)
    return text if mapped == inner else json.dumps(mapped, ensure_ascii=False)


def _strings(value: Any, depth: int = 0) -> Iterable[str]:
    if isinstance(value, str):
        yield value
        if value[:1] in "{[" and len(value) >= PART_CHARS_MIN and depth < _DEPTH_MAX:
            try:
                yield from _strings(json.loads(value), depth + 1)
            except (ValueError, RecursionError):
                return
    elif isinstance(value, dict | list) and depth < _DEPTH_MAX:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item, depth + 1)


# -- ids and links ---------------------------------------------------------------------


def ids_of(record: Any) -> set[str]:
    """The ids of a record, its own or those of the message in it."""
    found: set[str] = set()
    for holder in _holders(record):
        found |= {holder[key] for key in _ID_KEYS if isinstance(holder.get(key), str)}
    return found


def relinked(record: Any, gone: set[str], summary_id: str | None) -> Any:
    """A record whose link to one that is gone leads to the summary, or nowhere; the same object if
    it has none."""
    if not isinstance(record, dict):
        return record
    is_aside = record.get("isSidechain") is True
    changed = record
    for key, value in record.items():
        if isinstance(value, dict) and (inner := relinked(value, gone, summary_id)) is not value:
            changed = {**changed, key: inner}
        if isinstance(value, str) and value in gone and _PARENT.match(key):
            is_nowhere = is_aside or _LOGICAL.match(key) is not None
            changed = {**changed, key: None if is_nowhere else summary_id}
    return changed


def _holders(record: Any) -> list[dict[str, Any]]:
    if not isinstance(record, dict):
        return []
    return [record, *(one for one in record.values() if isinstance(one, dict))]


# -- the summary -----------------------------------------------------------------------


def summary_record(
    format_name: str, template: Mapping[str, Any], words: str, summary: str
) -> tuple[dict[str, Any], str | None] | None:
    """The record of a summary, and its id: the format's own kind of record, or one like that of a
    user's message. template: such a record. words: those of its message. None if these are not one
    string of it."""
    if format_name == "codex" and "payload" in template:
        made = {key: template[key] for key in ("timestamp",) if key in template}
        return {**made, "type": "compacted", "payload": {"message": summary}}, None
    done: list[int] = []

    def replaced(text: str) -> str:
        if text.strip() == words.strip():
            done.append(1)
            return summary
        return text

    record = _mapped(dict(template), replaced)
    if not done:
        return None
    new_id = None
    for holder in _holders(record):
        for key in _ID_KEYS:
            if isinstance(old := holder.get(key), str):
                holder[key] = _new_id(old)
                new_id = new_id or holder[key]
        for key in list(holder):
            if _PARENT.match(key) and isinstance(holder[key], str):
                holder[key] = None
    if format_name == "claude-code":
        record |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return record, new_id


def _new_id(old: str) -> str:
    """An id for a summary, from that of the record that it was made after."""
    return str(uuid.uuid5(_NAMESPACE, old)) if is_uuid(old) else f"{old}-summary"
