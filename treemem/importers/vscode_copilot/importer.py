"""Reads the chats of VS Code and its forks: with GitHub Copilot, or any other participant.

A chat is a source. The editor keeps it in chatSessions as one document, or, in newer versions, as a
log of changes; "Chat: Export Session" writes the document without its id. A sub-agent that a
request started is a source of its own.

Tested in tests/importers/test_vscode_copilot.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.json_members import read_members
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable
from treemem.importers.vscode_copilot.calls import path_of
from treemem.importers.vscode_copilot.changes import (
    NO_PLACE,
    WHOLE,
    Replay,
    is_change,
    is_chat,
)
from treemem.importers.vscode_copilot.speech import Turn
from treemem.types import Message, Source

EMPTY = "empty request"
IN_LOG = "chat, told by the log of changes beside it"
NOT_AN_OBJECT = "no request: not an object"
WAITING = "request that waits to be sent"

_WORKSPACE = "workspace.json"
_REQUESTS = "requests"
# Fields that a log changes; others are those of another tool's log.
_FIELDS = frozenset({_REQUESTS, "inputState", "customTitle", "pendingRequests", "hasPendingEdits"})


class VsCodeCopilot(Importer):
    """Imports the chats of VS Code, its Insiders and its forks."""

    name = "vscode-copilot"
    version = 1
    description = "chats of VS Code with GitHub Copilot (JSON, JSON Lines)"
    kept = "turns, thinking, tool calls and results, undone requests, attachments, sub-agents"
    dropped = "usage, model names, edits beside a call, drafts, progress, prompts around a request"
    marks = (("kind", "v"), ("kind", "k", "v"), ("requests", "responderUsername"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        first = objects[:1] or [head_value(rest)]
        if is_chat(first[0]) or is_chat(head_value(head)):
            return 0.95
        if any(is_change(value) and as_dict(value).get("kind") == WHOLE for value in first):
            return 0.95
        # The beginning of a log may be damaged.
        changes = [as_dict(value) for value in objects[:4] if is_change(value)]
        is_own = any(
            as_list(change.get("k"))[:1][0] in _FIELDS for change in changes if "k" in change
        )
        return 0.85 if is_own else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        if self.retells(file):
            yield Skipped(IN_LOG)
        elif is_log(file):
            yield from _read_log(file)
        else:
            yield from _read_document(file)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """What names the folder of the workspace that a chat is in."""
        beside = file.neighbour("..", _WORKSPACE)
        return [each for each in (beside, _log_beside(file)) if each is not None]

    def retells(self, file: LogFile) -> bool:
        """Whether it is the document that a newer version left beside the log of changes."""
        return _log_beside(file) is not None


def _log_beside(file: LogFile) -> LogFile | None:
    """The log of changes of the same chat, which goes on where the document ended."""
    found = file.neighbour(f"{file.stem}.jsonl") if file.suffix == ".json" else None
    return found if found is not None and is_uuid(file.stem) and found.size_bytes else None


def is_log(file: LogFile) -> bool:
    """Whether a file is a log of changes, not a document."""
    head = file.head()
    objects, rest = head_objects(head)
    first = next(iter(objects), None) or head_value(rest) or head_value(head)
    fields = as_dict(first)
    return "kind" in fields and _REQUESTS not in fields and ("v" in fields or "k" in fields)


def _read_log(file: LogFile) -> Iterator[Event]:
    replay = Replay()
    with file.open() as stream:
        for record in read_records(stream):
            if isinstance(record, Skipped):
                yield record
                continue
            reason = replay.apply(record.value)
            yield Skipped(reason, record.line, problem=reason == NO_PLACE)
    yield from _Chat(file, replay.chat).events(replay.requests())


def _read_document(file: LogFile) -> Iterator[Event]:
    fields = {
        member.key: member.value
        for member in read_members(file)
        if not isinstance(member, Skipped) and member.key and not member.is_element
    }
    chat = _Chat(file, fields)
    for member in read_members(file):
        if isinstance(member, Skipped):
            yield member
        elif member.key == _REQUESTS and member.is_element:
            yield from chat.request(member.value, active=True)
        elif member.key == _REQUESTS and not isinstance(member.value, list):
            yield Skipped(NOT_AN_OBJECT)
        elif member.key == "pendingRequests" and member.is_element:
            yield Skipped(WAITING)


class _Chat:
    """One chat, whose requests are read in order."""

    def __init__(self, file: LogFile, fields: dict[str, Any]) -> None:
        self._file = file
        self._fields = fields
        self._main: Source | None = None
        self._current: Source | None = None

    def events(self, requests: list[tuple[dict[str, Any], bool]]) -> Iterator[Event]:
        for request, active in requests:
            yield from self.request(request, active=active)
        yield from (Skipped(WAITING) for _ in as_list(self._fields.get("pendingRequests")))

    def request(self, value: object, *, active: bool) -> Iterator[Event]:
        if not isinstance(value, dict):
            yield Skipped(NOT_AN_OBJECT)
            return
        is_undone = bool(value.get("shouldBeRemovedOnSend")) or value.get("isHidden") is True
        turn = Turn(value, self._fields.get("creationDate"), active=active and not is_undone)
        try:
            messages = list(turn.messages())
        except RecursionError:
            yield Skipped(TOO_DEEP, problem=True)
            return
        if not messages:
            yield Skipped(EMPTY)
        main = self._main = self._main or self._source(value)
        yield from self._told(main, messages)
        for agent in turn.agents:
            child = Source(
                f"{main.id}/agent-{printable(agent)}",
                VsCodeCopilot.name,
                origin=self._file.label,
                parent_id=main.id,
                project=main.project,
            )
            yield from self._told(child, list(turn.agent_messages(agent)))

    def _told(self, source: Source, messages: list[Message]) -> Iterator[Event]:
        if messages and source is not self._current:
            self._current = source
            yield source
        yield from messages

    def _source(self, first: dict[str, Any]) -> Source:
        own = as_text(self._fields.get("sessionId"))
        if own is None:
            # An export has no id: it is known by its first request, whatever its file's name is.
            stem, asked = self._file.stem, as_text(first.get("requestId"))
            own = stem if is_uuid(stem) else f"export-{asked}" if asked else file_key(self._file)
        return Source(
            f"{VsCodeCopilot.name}/{printable(own)}",
            VsCodeCopilot.name,
            title=one_line(self._fields.get("customTitle")),
            origin=self._file.label,
            rewritten=True,
            project=self._project(),
        )

    def _project(self) -> str | None:
        """The folder that the chat names, or the one of the workspace that it is kept in."""
        repository = as_dict(self._fields.get("repoData"))
        beside = self._file.neighbour("..", _WORKSPACE)
        workspace = as_dict(head_value(beside.head())) if beside is not None else {}
        named = (
            path_of(self._fields.get("workingDirectory")),
            path_of(workspace.get("folder")),
            path_of(workspace.get("workspace") or workspace.get("configuration")),
            as_text(repository.get("workspacePath")),
        )
        return next(filter(None, named), None)
