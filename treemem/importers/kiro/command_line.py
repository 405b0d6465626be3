"""Reads the sessions of Kiro's command line, which was Amazon Q's: the database, what /save wrote
of it, and the logs of newer versions.

Tested in tests/importers/test_kiro.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none, no_message
from treemem.importers.common.content import Content
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import TOO_DEEP, Record, events_of, read_records
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.importers.kiro.words import (
    EMPTY,
    FORMAT,
    NOT_AN_OBJECT,
    Words,
    add_image,
    kind_of_prompt,
    message_of,
)
from treemem.types import Message, Source

DAMAGED_CONVERSATION = "damaged conversation"
OLDER_COPY = "older copy of a conversation"

_NEWER = "conversations_v2"
_OLDER = "conversations"
_ROWS_NEWER = (
    "SELECT rowid, key, conversation_id FROM conversations_v2 ORDER BY updated_at DESC, rowid DESC"
)
_ROWS_OLDER = "SELECT rowid, key, NULL FROM conversations ORDER BY rowid"
_VALUE = "SELECT value FROM {table} WHERE rowid = ?"
_KINDS = frozenset({"Prompt", "AssistantMessage", "ToolResults"})


# -- recognizing ---------------------------------------------------------------------------


def is_database(columns: dict[str, frozenset[str]]) -> bool:
    """Whether a SQLite file has the tables of the command line."""
    newer = columns.get(_NEWER, frozenset()) >= {"key", "conversation_id", "value", "updated_at"}
    older = columns.get(_OLDER) == frozenset({"key", "value"})
    return newer or (older and ("history" in columns or "state" in columns))


def is_conversation(value: object) -> bool:
    """Whether a value is a conversation as the database has it, or what /save wrote."""
    fields = as_dict(value)
    is_own = "conversation_id" in fields and isinstance(fields.get("history"), list)
    return is_own and ("transcript" in fields or "valid_history_range" in fields)


def is_line(value: object) -> bool:
    """Whether a record is a line of a log."""
    fields = as_dict(value)
    kind = fields.get("kind")
    data = as_dict(fields.get("data"))
    return isinstance(kind, str) and kind in _KINDS and isinstance(data.get("content"), list)


def is_settings(value: object) -> bool:
    """Whether a value is what is beside a log: the session's folder and title."""
    return {"session_id", "cwd", "session_state"} <= as_dict(value).keys()


# -- the database --------------------------------------------------------------------------


def read_database(file: LogFile) -> Iterator[Event]:
    with sqlite_files.open_tables(file) as tables:
        columns = tables.columns()
        seen: set[str] = set()
        found: list[tuple[str, object, object]] = []
        for table, sql in ((_NEWER, _ROWS_NEWER), (_OLDER, _ROWS_OLDER)):
            if table in columns:
                found += [(table, rowid, key) for rowid, key, _ in tables.rows(sql)]
        for table, rowid, key in found:
            rows = tables.rows(_VALUE.format(table=table), (rowid,))
            value = json_or_none(next((held for (held,) in rows), None))
            if not isinstance(value, dict):
                yield Skipped(DAMAGED_CONVERSATION, problem=True)
                continue
            own = as_text(value.get("conversation_id"))
            if own is not None and own in seen:
                yield Skipped(OLDER_COPY)
                continue
            seen |= {own} if own else set()
            yield from _conversation(file, value, as_text(key))


def read_saved(file: LogFile) -> Iterator[Event]:
    """Reads what /save wrote: one conversation."""
    yield from _conversation(file, as_dict(read_value(file)), None)


def _conversation(file: LogFile, value: dict[str, Any], key: str | None) -> Iterator[Event]:
    own = as_text(value.get("conversation_id"))
    entries = as_list(value.get("history"))
    name = printable(own) if own else file_key(file) + (f"#{printable(key)}" if key else "")
    yield Source(
        f"{FORMAT}/{name}",
        FORMAT,
        origin=file.label,
        rewritten=True,
        project=key or _directory(entries),
    )
    summary = value.get("latest_summary")
    text = summary if isinstance(summary, str) else next(iter(as_list(summary)), None)
    if isinstance(text, str) and text:
        content = Content()
        content.add(text)
        message = message_of(content, "assistant", None, None, kind="summary")
        yield message or Skipped(EMPTY)
    words = Words()
    for entry in entries:
        yield from _entry_events(words, entry)
    if value.get("next_message"):
        yield from _entry_events(words, {"user": value["next_message"]})


def _directory(entries: list[Any]) -> str | None:
    """The working directory that the first entries name."""
    for entry in entries[:8]:
        state = as_dict(as_dict(_sides(entry)[0].get("env_context")).get("env_state"))
        if named := as_text(state.get("current_working_directory")):
            return named
    return None


def _sides(entry: object) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What the user and the assistant said, and the request; the first versions have a pair."""
    if isinstance(entry, list):
        pair = [as_dict(side) for side in entry[:2]] + [{}, {}]
        return pair[0], pair[1], {}
    fields = as_dict(entry)
    request = as_dict(fields.get("request_metadata"))
    return as_dict(fields.get("user")), as_dict(fields.get("assistant")), request


def _entry_events(words: Words, entry: object) -> Iterator[Event]:
    user, assistant, request = _sides(entry)
    try:
        messages = [*_user_messages(words, user), *_replies(words, assistant, request)]
    except RecursionError:
        yield Skipped(TOO_DEEP, problem=True)
        return
    yield from messages
    if not messages:
        yield Skipped(EMPTY)


def _user_messages(words: Words, user: dict[str, Any]) -> Iterator[Message]:
    """The results of tools that an entry begins with, and the prompt."""
    said = user.get("content")
    at = sent_at(user.get("timestamp"))
    prompt, answers = Content(), Content()
    forms = said if isinstance(said, dict) else {"Prompt": {"prompt": said}}
    for fields in map(as_dict, forms.values()):
        for result in map(as_dict, as_list(fields.get("tool_use_results"))):
            words.add_result(answers, result.get("content"), result.get("tool_use_id"))
        words.add_prompt(prompt, fields.get("prompt"))
    if (message := message_of(answers, "tool", None, at)) is not None:
        yield message
    kind = kind_of_prompt(prompt)
    is_typed = not prompt.is_empty
    prompt.add(as_text(user.get("additional_context")) or "", "injected", "context")
    for image in map(as_dict, as_list(user.get("images"))):
        add_image(prompt, image)
    message = message_of(prompt, "user", None, at, kind=kind if is_typed else "injected")
    if message is not None:
        yield message


def _replies(words: Words, assistant: dict[str, Any], request: dict[str, Any]) -> Iterator[Message]:
    began = sent_at(request.get("stream_end_timestamp_ms"))
    for fields in map(as_dict, assistant.values()):
        content = Content()
        reasoning = fields.get("reasoning_content")
        thought = as_dict(as_dict(reasoning).get("reasoning_text", reasoning)).get("text")
        content.add(as_text(thought) or "", "thinking")
        content.add(as_text(fields.get("content")) or "")
        for use in map(as_dict, as_list(fields.get("tool_uses"))):
            words.add_call(content, use.get("name"), use.get("args"), use.get("id"))
        message = message_of(content, "assistant", as_text(fields.get("message_id")), began)
        if message is not None:
            yield message


# -- the logs ------------------------------------------------------------------------------


def settings_of(file: LogFile) -> LogFile | None:
    """The document beside a log, which has the session's id, folder and title."""
    beside = file.neighbour(f"{file.stem}.json")
    return beside if beside is not None and beside.name != file.name else None


def read_log(file: LogFile) -> Iterator[Event]:
    settings = settings_of(file)
    about = as_dict(head_value(settings.head())) if settings is not None else {}
    own = as_text(about.get("session_id")) or (file.stem if is_uuid(file.stem) else file_key(file))
    parent = as_text(about.get("parent_session_id"))
    source = Source(
        f"{FORMAT}/{printable(own)}",
        FORMAT,
        title=one_line(about.get("title")),
        origin=file.label,
        parent_id=f"{FORMAT}/{printable(parent)}" if parent and parent != own else None,
        rewritten=True,
        project=as_text(about.get("cwd")),
    )
    reader = _LogReader()
    with file.open() as stream:
        yield from events_of(
            read_records(stream), lambda _, record: reader.message(record), lambda _: source
        )


class _LogReader:
    """Reads the lines of a log in order. A line without a time has that of the prompt above it."""

    def __init__(self) -> None:
        self._words = Words()
        self._sent_at: str | None = None

    def message(self, record: Record) -> Message | str:
        line = as_dict(record.value)
        if not line:
            return NOT_AN_OBJECT
        kind, data = line.get("kind"), as_dict(line.get("data"))
        meta = as_dict(data.get("meta"))
        self._sent_at = sent_at(meta.get("timestamp")) or self._sent_at
        name = as_text(data.get("message_id"))
        content = Content()
        if kind == "Prompt" and isinstance(data.get("content"), list):
            self._add(content, data)
            said = kind_of_prompt(content)
            message = message_of(content, "user", name, self._sent_at, kind=said)
        elif kind == "AssistantMessage" and isinstance(data.get("content"), list):
            self._add(content, data)
            message = message_of(content, "assistant", name, self._sent_at)
        elif kind == "ToolResults" and isinstance(data.get("content"), list):
            self._add(content, data)
            message = message_of(content, "tool", name, self._sent_at)
        elif isinstance(summary := data.get("summary"), str):
            content.add(summary)
            message = message_of(content, "assistant", name, self._sent_at, kind="summary")
        else:
            return no_message(kind)
        return message or EMPTY

    def _add(self, content: Content, data: dict[str, Any]) -> None:
        for block in map(as_dict, as_list(data.get("content"))):
            kind, held = block.get("kind"), block.get("data")
            fields = as_dict(held)
            if kind == "text":
                self._words.add_prompt(content, held)
            elif kind in ("thinking", "reasoning"):
                thought = held if isinstance(held, str) else fields.get("text")
                content.add(as_text(thought) or "", "thinking")
            elif kind == "toolUse":
                call_id = fields.get("toolUseId")
                self._words.add_call(content, fields.get("name"), fields.get("input"), call_id)
            elif kind == "toolResult":
                self._words.add_result(content, fields.get("content"), fields.get("toolUseId"))
            elif kind == "image":
                add_image(content, fields)
            else:
                self._words.blocks.add(content, block)
