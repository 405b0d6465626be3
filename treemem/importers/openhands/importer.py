"""Reads OpenHands' conversations: folders with a file for each event, of both generations.

Version 1 has base_state.json and events/event-00000-<id>.json, version 0 events/0.json and
metadata.json. The state, or else the first event, is read together with the events behind it; the
other files are read with it. Lists of events in one file are trajectories, see there.

Tested in tests/importers/test_openhands.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import path_to_root
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import DAMAGED, TOO_DEEP
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, place_key, printable
from treemem.importers.openhands import speech
from treemem.importers.trajectory.openhands import EventReader, is_event
from treemem.patterns import lazy_regex
from treemem.types import Source

WITH_SESSION = "read with its conversation"
NOT_AN_EVENT = "no message: not an event"

_STATE, _EVENTS = "base_state.json", "events"
_ABOUT = ("metadata.json", "meta.json")
_SUBAGENTS = "subagents"
_NUMBER = lazy_regex(r"(?:event[-_])?(\d+)(?:[-_][0-9a-fA-F-]+)?\.json")
_HEX_ID = lazy_regex(r"[0-9a-fA-F]{32}")
_DEFAULT_TITLE = lazy_regex(r"\W*conversation [0-9a-f]{5}", re.IGNORECASE)
_ABOUT_FIELDS = frozenset({"selected_repository", "trigger", "last_updated_at", "github_user_id"})
_STATE_FIELDS = frozenset({"execution_status", "max_iterations", "agent_status", "persistence_dir"})


class OpenHands(Importer):
    """Imports OpenHands' folders of conversations."""

    name = "openhands"
    version = 1
    description = "OpenHands conversations (folders of events)"
    kept = "turns, thinking, tool calls and results, other branches, sub-agents, summaries, images"
    dropped = "usage, model names, settings of the agent, tools' schemas, updates of its state"
    marks = (("id", "timestamp", "source", "kind"), ("id", "agent", "workspace"))
    beside = (
        ".openhands/conversations/*/events/*.json",
        ".openhands/agent-canvas/conversations/*/events/*.json",
        ".openhands/sessions/*/events/*.json",
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        if speech.is_event(value) or is_event(value):
            return 0.95
        return 0.9 if _is_state(value) or _is_about(value) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        if not _is_first(file):
            yield Skipped(WITH_SESSION)
            return
        yield from _Conversation(file).events()

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The events of a conversation, and what is known about it."""
        if not _is_first(file):
            return
        conversation = _Conversation(file)
        yield from (event for event in conversation.files if event.name != file.name)
        yield from conversation.about_files()


class _Conversation:
    """A conversation by its state or its first event. files: its events, in their order."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._value = as_dict(read_value(file))
        # The way from the file to the folder of the conversation.
        is_state = _is_state(self._value)
        in_folder = file.path is not None and file.path.parent.name == _EVENTS
        self._up = ("..",) if in_folder and not is_state else ()
        steps = (_EVENTS,) if is_state else ()
        numbered = [(number, event) for event in file.neighbours(*steps)
                    if (number := _number(event.name)) is not None]  # fmt: skip
        self.files = [event for _, event in sorted(numbered, key=lambda row: row[0])]
        self.files = self.files if is_state or self.files else [file]

    def about_files(self) -> Iterator[LogFile]:
        """The files about the conversation, other than its state."""
        for name in _ABOUT:
            about = self._file.neighbour(*self._up, name)
            if about is not None:
                yield about

    def events(self) -> Iterator[Event]:
        state = self._value if _is_state(self._value) else {}
        yield self._source(state)
        reader, older = speech.Speech(is_agents=self._parent() is not None), EventReader()
        active = self._active(state)
        for event in map(_read, self.files):
            if isinstance(event, Skipped):
                yield event
            elif is_event(event):
                yield older.read(event)
            elif speech.is_event(event):
                is_active = active is None or as_text(event.get("id")) in active
                try:
                    yield reader.read(event, active=is_active)
                except RecursionError:
                    yield Skipped(TOO_DEEP, problem=True)
            else:
                yield Skipped(NOT_AN_EVENT)

    def _source(self, state: dict[str, Any]) -> Source:
        about: dict[str, Any] = {}
        for file in self.about_files():
            value = _read(file)
            about |= {} if isinstance(value, Skipped) else value
        title = one_line(about.get("title"))
        workspace = state.get("workspace", about.get("workspace"))
        project = as_text(as_dict(workspace).get("working_dir")) or as_text(workspace)
        named = as_text(state.get("id")) or as_text(about.get("conversation_id"))
        parent = self._parent()
        return Source(
            f"{OpenHands.name}/{_id(named or self._folder())}",
            OpenHands.name,
            title=None if title and _DEFAULT_TITLE.fullmatch(title) else title,
            origin=self._file.label,
            parent_id=f"{OpenHands.name}/{_id(parent)}" if parent else None,
            project=project or as_text(about.get("selected_repository")),
        )

    def _path(self, above: int) -> Path:
        """The folder of the conversation, or one above it."""
        path = Path(self._file.place or self._file.label)
        return path.parents[min(len(self._up) + above, len(path.parents) - 1)]

    def _folder(self) -> str:
        """The name of the folder; of the archive, if the file is in one."""
        archive = self._file.label.rpartition("!")[0]
        if self._file.path is None:
            return place_key(Path(archive).stem, archive) if archive else file_key(self._file)
        return self._path(0).name or self._file.stem

    def _parent(self) -> str | None:
        """The conversation whose sub-agent this is, by their folders."""
        return self._path(2).name if self._path(1).name == _SUBAGENTS else None

    def _active(self, state: dict[str, Any]) -> set[str] | None:
        """The events above the one that the state names; None if nothing was left behind."""
        leaf = as_text(state.get("leaf_event_id"))
        if leaf is None:
            return set() if state.get("head_is_empty") is True else None
        parent_of: dict[str, str | None] = {}
        before: str | None = None
        for file in self.files:
            event = _read(file)
            if isinstance(event, Skipped) or (event_id := as_text(event.get("id"))) is None:
                continue
            named = as_text(event.get("parent_id"))
            parent_of[event_id] = named if "parent_id" in event else before
            before = event_id
        return path_to_root(parent_of, leaf) if leaf in parent_of else None


def _read(file: LogFile) -> dict[str, Any] | Skipped:
    try:
        value = read_value(file)
    except ImportFileError as error:
        return Skipped(DAMAGED, problem=True, detail=str(error))
    return value if isinstance(value, dict) else Skipped(NOT_AN_EVENT)


def _is_first(file: LogFile) -> bool:
    """Whether a conversation is read by this file: its state or, without one, its first event."""
    if file.path is None:
        return True
    if file.name == _STATE:
        return True
    if file.name in _ABOUT:
        return False
    if file.neighbour("..", _STATE) is not None or file.neighbour(_STATE) is not None:
        return False
    if file.name != "0.json" and file.neighbour("0.json") is not None:
        return False
    folder = file.path.parent
    return _number(file.name) is None or file.path.name == _first_name(
        str(folder), folder.stat().st_mtime_ns
    )


@lru_cache(maxsize=8)
def _first_name(folder: str, changed_ns: int) -> str | None:
    """The name of the first event in a folder. changed_ns: when the folder was changed."""
    del changed_ns
    names = (path.name for path in Path(folder).iterdir())
    numbered = [(number, name) for name in names if (number := _number(name)) is not None]
    return min(numbered)[1] if numbered else None


def _number(name: str) -> int | None:
    """The number of an event by the name of its file; None for other files."""
    match = _NUMBER.fullmatch(name)
    return int(match[1]) if match else None


def _id(name: str) -> str:
    """The id of a conversation, whose folder has it without hyphens."""
    if _HEX_ID.fullmatch(name):
        at = (0, 8, 12, 16, 20, 32)
        name = "-".join(name[start:end] for start, end in pairwise(at))
    return printable(name)


def _is_state(value: dict[str, Any]) -> bool:
    return {"id", "agent", "workspace"} <= value.keys() and not _STATE_FIELDS.isdisjoint(value)


def _is_about(value: dict[str, Any]) -> bool:
    return "conversation_id" in value and len(_ABOUT_FIELDS & value.keys()) > 1
