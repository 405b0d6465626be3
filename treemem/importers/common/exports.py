"""Reads exports of whole conversations, one conversation at a time.

Knows no format: the importer decides which objects are conversations.

Tested in tests/importers/test_chatgpt.py and test_claude_ai.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list
from treemem.importers.common.json_members import read_members
from treemem.importers.common.sniffing import head_value


def read_conversations(
    file: LogFile, is_conversation: Callable[[object], bool]
) -> Iterator[object]:
    """Yields the elements of a document's outermost array, or of the arrays of conversations in its
    outermost object; if there are none, that object itself. Damage becomes a Skipped."""
    outer: dict[str, Any] = {}
    is_wrapper = False
    for member in read_members(file):
        if isinstance(member, Skipped):
            yield member
        elif member.key is None:
            yield member.value
        elif member.is_element and is_conversation(member.value):
            is_wrapper = True
            yield member.value
        elif member.is_element and isinstance(elements := outer.setdefault(member.key, []), list):
            elements.append(member.value)
        else:
            outer[member.key] = member.value
    if outer and not is_wrapper:
        yield outer


def first_object(head: bytes) -> dict[str, Any]:
    """The first object in a document's head: the first element of its array, or the document
    itself; empty if there is none."""
    value = head_value(head)
    if isinstance(value, list):
        return next((item for item in value if isinstance(item, dict)), {})
    return as_dict(value)


# Returns the reason to skip an object that accompanies conversations; None if it is unknown.
Beside = Callable[[dict[str, Any]], str | None]


def recognized(head: bytes, is_conversation: Callable[[object], bool], beside: Beside) -> float:
    """Scores, by its head, how certainly a document is such an export."""
    first = first_object(head)
    wrapped = as_list(first.get("conversations"))[:1]
    if is_conversation(first) or any(map(is_conversation, wrapped)):
        return 0.95
    return 0.6 if beside(first) else 0.0


def export_events(
    file: LogFile,
    is_conversation: Callable[[object], bool],
    beside: Beside,
    events: Callable[[dict[str, Any], int], Iterator[Event]],
    no_conversation: str,
) -> Iterator[Event]:
    """Yields the events of each conversation, and a Skipped for every other object."""
    for number, value in enumerate(read_conversations(file, is_conversation), 1):
        if isinstance(value, Skipped):
            yield value
        elif isinstance(value, dict) and is_conversation(value):
            yield from events(value, number)
        else:
            reason = beside(value) if isinstance(value, dict) else None
            yield Skipped(reason or no_conversation)
