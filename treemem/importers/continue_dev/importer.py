"""Reads the sessions of Continue, in an editor or its command line: a JSON document for each.

Continue writes the document anew after each turn. The list beside it, sessions.json, has the only
date of a session; it is written with every turn of any session, so a change in it alone has no
session read again.

Tested in tests/importers/test_continue.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.json_members import read_value
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import one_line, path_of_uri, printable, sent_at
from treemem.importers.continue_dev.speech import NOT_AN_OBJECT, Speech
from treemem.types import Source

LISTED = "no message: a session in the list of sessions"

_KIRO = "kiro.kiroagent"
_LIST = "sessions.json"
_LIST_BYTES_MAX = 16 * 1024**2
_ENTRY_FIELDS = ({"sessionId", "dateCreated"}, {"session_id", "date_created"})
_DEFAULT_TITLES = frozenset({"new session", "untitled session", "chat"})


class Continue(Importer):
    """Imports Continue's sessions; its list of them holds no messages."""

    name = "continue"
    version = 1
    description = "sessions of Continue, in editors and its command line (JSON)"
    kept = "turns, thinking, tool calls and results, attached context, summaries, images"
    dropped = "usage, model names, the editor's state, logs of prompts, rules, modes"
    marks = (("sessionId", "workspaceDirectory", "history"), ("message", "contextItems"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        value = head_value(head)
        if isinstance(value, list):
            # Kiro's list has the same fields; only their place tells them apart.
            is_own = bool(value) and _KIRO not in (file.place or "")
            return 0.96 if is_own and all(map(_is_entry, value[:3])) else 0.0
        session = as_dict(value)
        items = [as_dict(item) for item in as_list(session.get("history"))]
        # Kiro's editor was made of Continue, and answers in logs of executions.
        if _KIRO in (file.place or "") or any("executionId" in item for item in items):
            return 0.0
        is_own = bool(items) and all({"message", "contextItems"} <= item.keys() for item in items)
        if not {"sessionId", "workspaceDirectory"} <= session.keys():
            return 0.7 if is_own else 0.0
        return 0.97 if is_own else 0.9 if isinstance(session.get("history"), list) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        value = read_value(file)
        if isinstance(value, list):
            yield from (Skipped(LISTED) for _ in value)
            return
        session = as_dict(value)
        session_id = as_text(session.get("sessionId")) or file.stem
        entry = _entry(file, session_id)
        title = one_line(session.get("title")) or one_line(entry.get("title"))
        folder = as_text(session.get("workspaceDirectory"))
        folder = folder or as_text(entry.get("workspaceDirectory"))
        yield Source(
            f"{self.name}/{printable(session_id)}",
            self.name,
            title=None if title and title.lower() in _DEFAULT_TITLES else title,
            origin=file.label,
            rewritten=True,
            project=path_of_uri(folder) or folder,
        )
        speech = Speech(sent_at(entry.get("dateCreated")))
        for item in as_list(session.get("history")):
            if isinstance(item, dict):
                yield from speech.read(item)
            else:
                yield Skipped(NOT_AN_OBJECT)


def _entry(file: LogFile, session_id: str) -> dict[str, Any]:
    """What the list of sessions says of a session."""
    listed = file.neighbour(_LIST)
    if listed is None:
        return {}
    try:
        entries = as_list(read_value(listed, _LIST_BYTES_MAX))
    except ImportFileError:
        return {}
    ours = (as_dict(entry) for entry in entries if as_dict(entry).get("sessionId") == session_id)
    return next(ours, {})


def _is_entry(value: object) -> bool:
    fields = as_dict(value).keys()
    return any(named <= fields for named in _ENTRY_FIELDS) and "history" not in fields
