"""Decides what kind of source a history is: a chat, a meeting, work of an agent, a document, …

Pure. The importer's name decides where it can; a source of any other format is judged by who
speaks in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from treemem.formats.table import FORMATS
from treemem.types import SourceKind

# Formats of one kind.
KIND_OF_FORMAT = {row.name: row.kind for row in FORMATS if row.kind}
# What the tool of a format is called; formats that several tools write have none.
TOOL_NAMES = {row.name: row.tool for row in FORMATS if row.tool}
# The speakers of a meeting, at least; two who talk are a conversation.
MEETING_PEOPLE_MIN = 3
# The share of messages with marks of spoken language ("uh", "{laughter}") in a meeting.
SPOKEN_SHARE = 0.05


def kind_of(
    format_name: str,
    roles: Mapping[str, int],
    people: int,
    *,
    calls_tools: bool = False,
    spoken_share: float = 0.0,
) -> SourceKind:
    """The kind of a source.

    roles: the number of messages by role. people: how many named people speak. calls_tools:
    whether any message calls a tool. spoken_share: the share of messages with marks of spoken
    language.

    Example:
        >>> kind_of("slack", {"user": 3}, 2), kind_of("api", {"user": 3, "assistant": 3}, 0)
        ('people', 'assistant')
    """
    if format_name in KIND_OF_FORMAT:
        return KIND_OF_FORMAT[format_name]
    if roles.get("assistant"):
        return "agent" if calls_tools or roles.get("tool") else "assistant"
    if roles.get("document", 0) > sum(roles.values()) / 2:
        return "document"
    is_spoken = format_name == "transcript" or spoken_share >= SPOKEN_SHARE
    if is_spoken and (people >= MEETING_PEOPLE_MIN or format_name == "transcript"):
        return "meeting"
    return "people"
