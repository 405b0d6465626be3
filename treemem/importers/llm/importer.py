"""Reads the llm command line tool's logs.db: a SQLite file with every prompt and response.

Each conversation is a source. The tool has had three generations of tables, of which an upgraded
file contains several; a message stored in two of them is read once.

Tested in tests/importers/test_llm.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_text
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.llm.responses import EMPTY_RESPONSE, Responses
from treemem.importers.llm.tables import Shared, utc
from treemem.importers.llm.turns import Turns, message_digest
from treemem.types import Message, Source

_FIRST_TABLE = frozenset({"id", "prompt", "response", "chat_id"})
_RESPONSES = frozenset({"id", "prompt", "response", "conversation_id", "datetime_utc"})
_TURNS = frozenset({"id", "thread_id", "parent_message_hash", "tip_message_hash"})
_NAMES = "SELECT id, name FROM conversations"
_FIRST_ROWS = """
SELECT id, prompt, system, response, chat_id, {time} FROM {table} ORDER BY coalesce(chat_id, id), id
"""


class LlmLogs(Importer):
    """Imports llm's logs.db; a source is a conversation."""

    name = "llm"
    version = 1
    description = "the log of the llm command line tool (SQLite)"
    kept = "prompts, system prompts, responses, reasoning, tool calls and results, fragments, forks"
    dropped = "usage, model names, options, schemas, raw JSON of providers"
    marks = (("responses", "conversations"), ("turns", "messages"), ("id", "prompt", "response"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        tables = sqlite_files.table_columns(file, head)
        is_new = tables.get("turns", frozenset()) >= _TURNS and "messages" in tables
        is_old = tables.get("responses", frozenset()) >= _RESPONSES and "conversations" in tables
        is_first = any(tables.get(name, frozenset()) >= _FIRST_TABLE for name in ("log", "logs"))
        return 0.9 if is_new or is_old else 0.85 if is_first else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with sqlite_files.open_tables(file) as tables:
            shared = Shared(tables, tables.columns())
            yield from _first_generation(file, shared)
            yield from _conversations(file, shared)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        return sqlite_files.companions(file)


def _conversations(file: LogFile, shared: Shared) -> Iterator[Event]:
    """Yields every conversation: first its older tables, then the additions of the newer ones."""
    responses, turns = Responses(shared), Turns(shared)
    names: dict[object, object] = {}
    if shared.has("conversations", "id", "name"):
        names = dict(shared.tables.rows(_NAMES))
    for conversation in dict.fromkeys([*responses.conversations(), *turns.threads()]):
        title = names.get(conversation) or turns.title(str(conversation))
        yield _source(file, conversation, title)
        counts: Counter[bytes] = Counter()
        for event in responses.read(conversation):
            if isinstance(event, Message):
                counts[message_digest(event)] += 1
            yield event
        if isinstance(conversation, str):
            yield from turns.read(conversation, counts)


def _source(file: LogFile, conversation: object, title: object) -> Source:
    name = as_text(conversation)
    return Source(
        f"llm/{printable(name)}" if name else f"llm/{file_key(file)}",
        LlmLogs.name,
        title=one_line(title) if name else None,
        origin=file.label,
    )


def _first_generation(file: LogFile, shared: Shared) -> Iterator[Event]:
    """Reads the single table of the first versions: a chat is a row and the replies to it."""
    for table in ("log", "logs"):
        if not shared.columns.get(table, frozenset()) >= _FIRST_TABLE | {"system"}:
            continue
        times = ("datetime_utc", "timestamp_utc", "timestamp")
        time = next((name for name in times if name in shared.columns[table]), "NULL")
        current: object = None
        for row in shared.tables.rows(_FIRST_ROWS.format(table=table, time=time)):
            chat = row[4] if row[4] is not None else row[0]
            if chat != current:
                current = chat
                yield Source(f"llm/{file_key(file)}#{chat}", LlmLogs.name, origin=file.label)
            events: list[Event] = list(_row_messages(row))
            yield from events or [Skipped(EMPTY_RESPONSE)]


def _row_messages(row: tuple[Any, ...]) -> Iterator[Message]:
    row_id, prompt, system, response, _, when = row
    texts = (("system", system), ("user", prompt), ("assistant", response))
    for role, text in texts:
        if as_text(text) and not text.isspace():
            external_id = f"{row_id}/{role}"
            yield Message(role=role, text=text, sent_at=utc(when), external_id=external_id)
