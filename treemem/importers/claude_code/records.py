"""Finds the records of Claude Code's logs: one per line, or in one JSON document.

A document is a single record copied out of a log, or an object with a list of them, "loglines".

Tested in tests/importers/test_claude_code_documents.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

from treemem.importers.common.base import LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.json_members import read_members, read_value
from treemem.importers.common.records import Record
from treemem.importers.common.sniffing import has_key, head_objects, head_value
from treemem.importers.common.source_ids import is_uuid
from treemem.importers.streams.marks import Mark, marked_records
from treemem.patterns import lazy_regex

_MARKS = ("parentUuid", "isSidechain", "leafUuid", "isSnapshotUpdate")
_NAMES = frozenset({"uuid", "sessionId"})
_CONTROL_TYPES = frozenset(
    {"ai-title", "custom-title", "last-prompt", "mode", "permission-mode", "queue-operation",
     "agent-name", "worktree-state"}
)  # fmt: skip
_LIST_KEY = "loglines"
# A record on a line of its own has no line break before its end.
_OVER_LINES = lazy_regex(rb"(?:\xef\xbb\xbf)?\s*\{[ \t]*\r?\n")


def certainty(head: bytes, name: str) -> float:
    """Scores, from 0 to 0.95, how certainly a head consists of Claude Code's records. name: of the
    file, without its suffix."""
    if _has_loglines(head) or _is_single(head):
        return 0.95
    objects, rest = head_objects(head)
    if any(map(_is_record, objects)):
        return 0.95
    # New versions write records of new types, and a log may begin with many of them.
    if is_uuid(name) and any(_is_of_session(value, name) for value in objects):
        return 0.9
    # The first line is longer than the head: only its beginning can be examined.
    long_line = not objects and any(has_key(rest, mark) for mark in _MARKS[:2])
    return 0.9 if long_line else 0.0


def records_of(
    file: LogFile,
    parse: Callable[[bytes], object],
    since: Mark | None = None,
    ends: array[int] | None = None,
) -> Iterator[Record | Skipped]:
    """Yields the records of a file in order. In a document, a record's line is its position.

    since: where to begin, in JSON Lines. ends: gets the offset after the line of each record, in
    JSON Lines. Raises ImportFileError if a document of a single record is damaged.
    """
    if since is not None:
        yield from marked_records(file, parse, since, ends)
        return
    head = file.head()
    if _has_loglines(head):
        number = 0
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
            elif member.is_element and member.key == _LIST_KEY:
                number += 1
                yield Record(number, member.value)
    elif _is_single(head):
        yield Record(1, read_value(file))
    else:
        yield from marked_records(file, parse, ends=ends)


def _has_loglines(head: bytes) -> bool:
    return any(map(_is_record, as_list(as_dict(head_value(head)).get(_LIST_KEY))))


def _is_single(head: bytes) -> bool:
    if _OVER_LINES.match(head) is None:
        return False
    value = as_dict(head_value(head))
    return _is_record(value) and not _NAMES.isdisjoint(value)


def _is_of_session(value: object, session_id: str) -> bool:
    """Whether a JSON value is a record of this session, of whatever type."""
    fields = as_dict(value)
    return fields.get("sessionId") == session_id and as_text(fields.get("type")) is not None


def _is_record(value: object) -> bool:
    """Whether a JSON value can only be a record of Claude Code."""
    if not isinstance(value, dict):
        return False
    record_type, message = value.get("type"), value.get("message")
    if record_type is not None and not isinstance(record_type, str):
        return False
    marked = any(mark in value for mark in _MARKS)
    if isinstance(message, dict) and "parts" in message:
        return False  # Gemini's message shape, which forks of both tools write.
    if record_type in ("user", "assistant"):
        return marked or isinstance(message, dict)
    if record_type is None:
        return isinstance(message, dict) and {"sessionId", "requestId"} <= value.keys()
    known = record_type in _CONTROL_TYPES and "sessionId" in value
    return marked or known
