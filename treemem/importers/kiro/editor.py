"""Reads the sessions of Kiro's editor, of all three generations.

The first wrote a document for each step of an execution, each with the chat up to there (.chat);
the next a document for each session, whose answers are in the logs of executions (executions.py);
the newest a log of events for each session.

Tested in tests/importers/test_kiro.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import Content
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import TOO_DEEP, Record, events_of, read_records
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.importers.kiro.executions import Execution, beside
from treemem.importers.kiro.words import (
    EMPTY,
    FORMAT,
    NOT_AN_OBJECT,
    Words,
    kind_of_prompt,
    message_of,
)
from treemem.types import Message, MessageKind, Source

ELSEWHERE = "answer is in the log of an execution that is not there"
TOLD_BY_SESSION = "told by its session"

_PLACEHOLDERS = frozenset({"On it.", ""})
_ACKNOWLEDGED = frozenset({"I will follow these instructions.", "Understood."})
_ROLES = {"human": "user", "bot": "assistant", "tool": "tool"}
_PAYLOADS = frozenset({"user", "assistant", "tool_call", "tool_result", "turn_start", "turn_end"})
_SESSIONS = "workspace-sessions"


# -- recognizing ---------------------------------------------------------------------------


def is_chat(value: object) -> bool:
    """Whether a document is a step of an execution with its chat."""
    fields = as_dict(value)
    chat = fields.get("chat")
    is_own = "executionId" in fields and isinstance(chat, list)
    roles = [as_dict(message).get("role") for message in as_list(chat)[:4]]
    return is_own and all(isinstance(role, str) and role in _ROLES for role in roles)


def is_session(value: object) -> bool:
    """Whether a document is a session."""
    fields = as_dict(value)
    history = fields.get("history")
    is_own = "workspaceDirectory" in fields and isinstance(history, list)
    return is_own and all("message" in as_dict(entry) for entry in as_list(history)[:4])


def is_event(value: object) -> bool:
    """Whether a record is a line of a log of events."""
    payload = as_dict(as_dict(value).get("payload"))
    kind = payload.get("type")
    own = {"content", "toolCallId", "executionId", "operationType"} & payload.keys()
    return isinstance(kind, str) and kind in _PAYLOADS and bool(own)


def is_settings(value: object) -> bool:
    """Whether a document lists the sessions of a workspace, or is about a log of events."""
    rows = value if isinstance(value, list) else [value]
    keys = [as_dict(row).keys() for row in rows[:4]]
    listed = [row >= {"sessionId", "workspaceDirectory"} and "history" not in row for row in keys]
    about = [row >= {"id", "workspacePaths", "createdAt"} for row in keys]
    return bool(keys) and (all(listed) or (all(about) and not isinstance(value, list)))


# -- sessions ------------------------------------------------------------------------------


def executions_of(file: LogFile) -> dict[str, LogFile]:
    """The logs of the executions that a session names, by their ids."""
    try:
        session = as_dict(read_value(file))
    except ImportFileError:
        return {}
    named = [
        as_text(as_dict(entry).get("executionId")) for entry in as_list(session.get("history"))
    ]
    return beside(file, as_text(session.get("workspaceDirectory")), filter(None, named))


def read_session(file: LogFile) -> Iterator[Event]:
    session = as_dict(read_value(file))
    own = as_text(session.get("sessionId")) or (file.stem if is_uuid(file.stem) else file_key(file))
    yield Source(
        f"{FORMAT}/{printable(own)}",
        FORMAT,
        title=one_line(session.get("title")),
        origin=file.label,
        rewritten=True,
        project=as_text(session.get("workspaceDirectory")),
    )
    logs, problems = {}, []
    for name, log in executions_of(file).items():
        try:
            logs[name] = Execution.read(log)
        except ImportFileError as error:
            problems.append(Skipped("damaged log of an execution", problem=True, detail=str(error)))
    yield from problems
    words = Words()
    history = as_list(session.get("history"))
    for number, entry in enumerate(history):
        try:
            yield from _history_events(words, entry, history[number + 1 : number + 2], logs)
        except RecursionError:
            yield Skipped(TOO_DEEP, problem=True)


def _history_events(
    words: Words, value: object, following: list[Any], logs: dict[str, Execution]
) -> Iterator[Event]:
    """Yields what an entry tells. following: the next entry, whose execution began then."""
    entry = as_dict(value)
    said = as_dict(entry.get("message"))
    role = said.get("role")
    if role not in ("user", "assistant", "tool"):
        yield Skipped(no_message(role) if entry else NOT_AN_OBJECT)
        return
    log = logs.get(as_text(entry.get("executionId")) or "")
    after = as_dict(next(iter(following), None))
    began = log or logs.get(as_text(after.get("executionId")) or "")
    content = Content()
    _add_blocks(words, content, said.get("content"))
    if role == "assistant" and content.text.strip() in _PLACEHOLDERS:
        messages = list(log.messages(words)) if log is not None else []
        yield from messages
        if messages:
            return
        content = Content()
        for prompt in as_list(entry.get("promptLogs")):
            content.add(as_text(as_dict(prompt).get("completion")) or "")
        if content.is_empty:
            yield Skipped(ELSEWHERE)
            return
    kind = kind_of_prompt(content) if role == "user" else "said"
    at = began.began if began is not None else None
    message = message_of(content, role, as_text(said.get("id")), at, kind=kind)
    yield message or Skipped(EMPTY)


def _add_blocks(words: Words, content: Content, blocks: object) -> None:
    for block in blocks if isinstance(blocks, list) else [blocks]:
        fields = as_dict(block)
        if isinstance(block, str):
            words.add_prompt(content, block)
        elif fields.get("type") == "text":
            words.add_prompt(content, fields.get("text"))
        elif fields.get("type") == "imageUrl":
            words.blocks.add(
                content, {**fields, "type": "image_url", "image_url": fields.get("imageUrl")}
            )
        else:
            words.blocks.add(content, block)


# -- executions alone ----------------------------------------------------------------------


def has_session(file: LogFile) -> bool:
    """Whether the session that an execution belongs to is there, and tells it."""
    fields = as_dict(head_value(file.head()))
    own = as_text(fields.get("chatSessionId"))
    if file.path is None or own is None or not is_uuid(own):
        return False
    sessions = file.path.resolve().parent.parent.parent / _SESSIONS
    return next(sessions.glob(f"*/{own}.json"), None) is not None


def read_execution(file: LogFile) -> Iterator[Event]:
    """Reads the log of an execution whose session is not there."""
    if has_session(file):
        yield Skipped(TOLD_BY_SESSION)
        return
    log = Execution.read(file)
    own = log.session or log.id
    yield Source(f"{FORMAT}/{printable(own) if own else file_key(file)}", FORMAT, origin=file.label)
    words = Words()
    try:
        prompt = log.prompt(words)
        yield from [prompt] if prompt is not None else []
        messages = list(log.messages(words))
    except RecursionError:
        yield Skipped(TOO_DEEP, problem=True)
        return
    yield from messages
    if not messages:
        yield Skipped(EMPTY)


# -- chats of the first generation ---------------------------------------------------------


def read_chat(file: LogFile) -> Iterator[Event]:
    value = as_dict(read_value(file))
    own = as_text(value.get("executionId"))
    began = sent_at(as_dict(value.get("metadata")).get("startTime"))
    yield Source(f"{FORMAT}/{printable(own) if own else file_key(file)}", FORMAT, origin=file.label)
    words = Words()
    is_injected = False
    for number, entry in enumerate(as_list(value.get("chat"))):
        fields = as_dict(entry)
        role = _ROLES.get(str(fields.get("role")))
        text = fields.get("content")
        if role is None or not isinstance(text, str):
            yield Skipped(no_message(fields.get("role")) if fields else NOT_AN_OBJECT)
            continue
        content = Content()
        kind: MessageKind = "said"
        if role == "tool":
            words.add_result(content, text, None)
        else:
            words.add_prompt(content, text)
        if role == "user":
            kind = kind_of_prompt(content)
            is_injected = kind == "injected"
        elif role == "assistant" and is_injected and text.strip() in _ACKNOWLEDGED:
            kind = "injected"
        # Each step of an execution has the chat up to there, so the place is the message's.
        name = f"{own}/{number}" if own else None
        message = message_of(content, role, name, began, kind=kind)
        yield message or Skipped(EMPTY)


# -- logs of events ------------------------------------------------------------------------


def about_events(file: LogFile) -> LogFile | None:
    """The document beside a log of events, which has the session's id, folders and title."""
    return file.neighbour("session.json")


def read_events(file: LogFile) -> Iterator[Event]:
    beside_it = about_events(file)
    about = as_dict(head_value(beside_it.head())) if beside_it is not None else {}
    own = as_text(about.get("id")) or (
        file.folder if file.folder.startswith("sess_") else file_key(file)
    )
    folders = [*as_list(about.get("workspacePaths")), *as_list(about.get("rootPaths"))]
    source = Source(
        f"{FORMAT}/{printable(own)}",
        FORMAT,
        title=one_line(about.get("title")),
        origin=file.label,
        rewritten=True,
        project=next(filter(None, map(as_text, folders)), None),
    )
    words = Words()
    with file.open() as stream:
        yield from events_of(
            read_records(stream), lambda _, record: _event(words, record), lambda _: source
        )


def _event(words: Words, record: Record) -> Message | str:
    fields = as_dict(record.value)
    payload = as_dict(fields.get("payload"))
    kind = payload.get("type")
    name, at = as_text(fields.get("id")), sent_at(fields.get("timestamp"))
    content = Content()
    if not fields:
        return NOT_AN_OBJECT
    if kind == "user":
        _add_blocks(words, content, payload.get("content"))
        message = message_of(content, "user", name, at, kind=kind_of_prompt(content))
    elif kind == "assistant":
        if payload.get("operationType") == "Reasoning":
            content.add(as_text(payload.get("content")) or "", "thinking")
        else:
            _add_blocks(words, content, payload.get("content"))
        message = message_of(content, "assistant", name, at)
    elif kind == "tool_call":
        words.add_call(
            content, payload.get("toolName"), payload.get("args"), payload.get("toolCallId")
        )
        message = message_of(content, "assistant", name, at)
    elif kind == "tool_result":
        words.add_result(content, payload.get("content"), payload.get("toolCallId"))
        message = message_of(content, "tool", name, at)
    else:
        return no_message(kind)
    return message or EMPTY
