"""Reads tasks of Cline and Roo Code: the model's API history, or the messages of the chat window.

A task is a source. Its folder contains each turn twice: in the history, and in the messages shown
in the chat window, which are read only if there is no history. Newer sessions, written by Cline's
SDK, are one document with the same messages, plus another for each compaction.

Tested in tests/importers/test_cline.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from treemem.importers.cline.speech import Speech
from treemem.importers.cline.window import Window, is_window_entry
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, texts_of
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.sdk_blocks import text_in_tag
from treemem.importers.common.sniffing import head_value, is_whole
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

COMPACTED = "message repeated by a compaction"
NO_MESSAGES = "no messages: the session's settings"
NOT_AN_OBJECT = "no message: not an object"
IN_HISTORY = "told by the model's history"

HISTORY = "api_conversation_history.json"
_TASK_SETTINGS = "history_item.json"
_MESSAGES_SUFFIX = ".messages.json"
_LOOKED_AT = 20
_DIRECTORY_KEYS = ("cwd", "workspace", "workspaceRoot", "workspace_root", "cwdOnTaskInitialization")
# In Cline's and in Roo Code's details of the environment.
_DIRECTORY = lazy_regex(
    r"# Current (?:Working|Workspace) Directory \((?:Primary: )?([^\n]{1,4096}?)\) Files"
)


class Cline(Importer):
    """Imports Cline's and Roo Code's task folders and Cline's sessions."""

    name = "cline"
    version = 3
    description = "tasks of Cline and Roo Code, sessions of Cline's SDK (JSON)"
    kept = "turns, thinking, tool calls and results, environment details, summaries, sub-agents"
    dropped = "usage, model names, checkpoints, the window's copy of the history, system prompts"
    marks = (("role", "content", "ts"), ("ts", "type", "say"), ("sessionId", "agent", "messages"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        value = head_value(head)
        if isinstance(value, dict):
            entries = _entries(value.get("messages"), head)
            is_known = _is_session(value, entries) or _is_history_v2(value, entries)
            return 0.9 if is_known or _is_settings(value) else 0.0
        entries = _entries(value, head)
        if entries and all(map(is_window_entry, entries)):
            return 0.9
        named = file.name in (HISTORY, "claude_messages.json")
        return _history_score(entries, named) if all(map(_is_entry, entries)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        task = Task.of(file)
        if task.is_settings:
            yield Skipped(NO_MESSAGES)
            return
        yield Source(
            f"{Cline.name}/{printable(task.id)}",
            Cline.name,
            title=task.title,
            origin=file.label,
            parent_id=f"{Cline.name}/{printable(task.parent)}" if task.parent else None,
            rewritten=not task.is_compaction,
            project=_project(file),
        )
        speech, window = Speech(has_ids=task.is_session), Window()
        is_told = self.retells(file)
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
                continue
            if not member.is_element or member.key not in (None, "messages"):
                continue
            entry = member.value
            if not isinstance(entry, dict):
                yield Skipped(NOT_AN_OBJECT)
            elif is_window_entry(entry):
                yield Skipped(IN_HISTORY) if is_told else window.message(entry)
            else:
                message = speech.message(entry)
                is_copy = task.is_compaction and isinstance(message, Message)
                is_summary = isinstance(message, Message) and message.kind == "summary"
                yield Skipped(COMPACTED) if is_copy and not is_summary else message

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The settings of a session, which contain its title, or those of a task."""
        settings = file.neighbour(file.name.replace(_MESSAGES_SUFFIX, ".json"))
        beside = (settings, file.neighbour(_TASK_SETTINGS))
        return [other for other in beside if other is not None and other.name != file.name]

    def retells(self, file: LogFile) -> bool:
        """Whether it is the chat window's copy of a history beside it."""
        return file.name != HISTORY and file.neighbour(HISTORY) is not None


@dataclass(frozen=True, slots=True)
class Task:
    """The task that a file belongs to.

    is_session: a document of Cline's SDK, not a history. is_compaction: the compacted form of
    messages in a neighbouring file. is_settings: it contains no messages.
    """

    id: str
    title: str | None = None
    parent: str | None = None
    is_session: bool = False
    is_compaction: bool = False
    is_settings: bool = False

    @classmethod
    def of(cls, file: LogFile) -> Task:
        value = head_value(file.head())
        if not isinstance(value, dict):
            return cls(_folder(file) or file_key(file), _title(value), _parent_task(file))
        if _is_settings(value):
            return cls(str(value.get("session_id")), is_settings=True)
        origin = as_dict(value.get("origin"))
        own = as_text(value.get("sessionId")) or as_text(origin.get("sessionId"))
        own = own or _folder(file) or file_key(file)
        parent = as_text(origin.get("parentThreadId"))
        if parent is None and "__" in own:
            parent = own.split("__", 1)[0] or None
        settings = file.neighbour(file.name.replace(_MESSAGES_SUFFIX, ".json"))
        return cls(
            own,
            _session_title(settings) if settings and settings.name != file.name else None,
            parent if parent != own else None,
            is_session=as_text(value.get("sessionId")) is not None,
            is_compaction=_is_compacted(file) and _has_messages(file, own),
        )


def _folder(file: LogFile) -> str | None:
    """The folder's name if it is that of a task: a time in milliseconds, or a UUID."""
    steps = (file.place or "").replace("\\", "/").split("!")[-1].split("/")
    name = steps[-2] if len(steps) > 1 else ""
    is_task = (name.isdigit() and len(name) >= 10) or len(name) == 36
    return name if is_task else None


def _parent_task(file: LogFile) -> str | None:
    """The task that started this one, which Roo Code notes beside the history."""
    settings = file.neighbour(_TASK_SETTINGS)
    value = as_dict(head_value(settings.head())) if settings is not None else {}
    return as_text(value.get("parentTaskId"))


def _title(value: object) -> str | None:
    """The task's text, if the history begins with it."""
    first = as_dict(as_list(value)[0] if as_list(value) else None)
    blocks = first.get("content")
    texts = [blocks] if isinstance(blocks, str) else [
        as_text(as_dict(block).get("text")) for block in as_list(blocks)[:2]
    ]  # fmt: skip
    # A head may show only the beginning of a long task.
    whole = (text if "</task>" in text else f"{text}</task>" for text in texts if text)
    task = next((text_in_tag(text, ("task",)) for text in whole), None)
    return one_line(task) or one_line(first.get("text"))


def _session_title(settings: LogFile) -> str | None:
    value = as_dict(head_value(settings.head()))
    return one_line(as_dict(value.get("metadata")).get("title"))


def _project(file: LogFile) -> str | None:
    """The working directory: in the settings beside the file, else in the first details of the
    environment."""
    for name in (file.name.replace(_MESSAGES_SUFFIX, ".json"), _TASK_SETTINGS):
        settings = file.neighbour(name) if name != file.name else None
        fields = as_dict(head_value(settings.head())) if settings is not None else {}
        places = (fields, as_dict(fields.get("metadata")))
        if found := next(
            filter(None, (as_text(place.get(key)) for place in places for key in _DIRECTORY_KEYS)),
            None,
        ):
            return found
    for member in islice(read_members(file), _LOOKED_AT):
        entry = as_dict(member.value) if isinstance(member, JsonMember) else {}
        for text in (*texts_of(entry.get("content")), *texts_of(entry.get("text"))):
            if (named := _DIRECTORY.search(text)) is not None:
                return named[1]
    return None


def _is_compacted(file: LogFile) -> bool:
    for member in read_members(file):
        if isinstance(member, JsonMember) and member.key == "messages":
            metadata = as_dict(as_dict(member.value).get("metadata"))
            kind = metadata.get("kind")
            if (
                isinstance(kind, str) and kind.startswith("compaction")
            ) or "compaction" in metadata:
                return True
    return False


def _has_messages(file: LogFile, session_id: str) -> bool:
    """Whether the messages of a session are in a file next to their compacted form."""
    for beside in file.neighbours():
        if beside.name.endswith(_MESSAGES_SUFFIX) and beside.name != file.name:
            value = as_dict(head_value(beside.head()))
            if value.get("sessionId") == session_id:
                return True
    return False


# -- recognizing ---------------------------------------------------------------------------


def _entries(value: object, head: bytes) -> list[Any]:
    """The entries at the beginning of a list, without the last if the head may have cut it."""
    entries = as_list(value)
    return (entries if is_whole(head) or len(entries) < 2 else entries[:-1])[:_LOOKED_AT]


def _is_session(value: dict[str, Any], entries: list[Any]) -> bool:
    own = as_text(value.get("sessionId")) is not None and {"version", "agent"} <= value.keys()
    return own and isinstance(value.get("messages"), list) and all(map(_is_entry, entries))


def _is_history_v2(value: dict[str, Any], entries: list[Any]) -> bool:
    has_times = any("ts" in as_dict(entry) for entry in entries)
    return value.get("version") == 2 and has_times and all(map(_is_entry, entries))


def _is_settings(value: dict[str, Any]) -> bool:
    own = {"session_id", "messages_path", "source", "started_at"}
    return own <= value.keys() and "messages" not in value


def _is_entry(value: object) -> bool:
    """Whether a value can be an entry of the history: a role, and blocks or text."""
    entry = as_dict(value)
    if entry.get("type") == "reasoning" and "role" not in entry:
        return True
    if entry.get("role") not in ("user", "assistant", "tool", "system"):
        return False
    blocks = entry.get("content")
    kinds = [as_dict(block).get("type") for block in as_list(blocks)]
    return isinstance(blocks, str) or (bool(kinds) and all(isinstance(kind, str) for kind in kinds))


def _history_score(entries: list[Any], named: bool) -> float:
    """Scores a list of messages, which any tool may write, by Cline's tags and times."""
    texts = [
        str(as_dict(block).get("text"))
        for entry in entries
        for block in as_list(as_dict(entry).get("content"))
    ]
    if any("<environment_details>" in text or text.startswith("<task>") for text in texts):
        return 0.9
    has_times = bool(entries) and all("ts" in as_dict(entry) for entry in entries)
    return 0.85 if (has_times and texts) or (named and entries) else 0.0
