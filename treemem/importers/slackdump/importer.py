"""Reads what slackdump writes of Slack: a database, chunk files, and dumps of a channel.

They have the records of Slack's own export, from which slack/speech.py makes the same messages of
the same sources: a channel that is read from both is stored once. What "slackdump export" writes is
such an export, and read as one.

Tested in tests/importers/test_slackdump.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, dicts_in
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import printable
from treemem.importers.slack.people import Directory
from treemem.importers.slack.speech import Speech, is_message
from treemem.importers.slackdump.database import SEARCHED, Database, is_database
from treemem.importers.slackdump.lists import Lists, lists_beside, names_beside
from treemem.importers.slackdump.pages import Pages
from treemem.types import Message, Source

LISTED = "read with the messages"
NO_MESSAGES = "no message: page of no messages"
NOT_A_CHUNK = "no message: not of the format's shape"

# What a chunk may have: its header, and what one answer of Slack had.
_KEYS = frozenset({
    "t", "ts", "id", "n", "nt", "r", "l", "to", "sq",
    "ci", "cu", "p", "m", "f", "u", "ch", "w", "st", "b", "sm", "sf",
})  # fmt: skip
_LISTS = frozenset({"ci", "cu", "u", "ch", "w"})
_REPLIES = "slackdump_thread_replies"
_WORKSPACE = frozenset({"url", "team", "team_id", "user_id"})
_LOOKED_AT = 5


class Slackdump(Importer):
    """Imports the databases, chunk files and dumps of slackdump; its sources are Slack's."""

    name = "slackdump"
    version = 1
    spans_files = True
    description = "Slack channels, fetched by slackdump (database, chunk files, dumps)"
    kept = "speaker, text, time, ids, threads, text of bots' attachments, names of files"
    dropped = "reactions, layout, notices, deleted messages, results of searches, files themselves"
    marks = (("ID", "CHUNK_ID", "CHANNEL_ID", "TS", "DATA"), ("t", "ts", "id", "m"),
             ("channel_id", "name", "messages"))  # fmt: skip

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if is_database(sqlite_files.table_columns(file, head)):
            return 0.95
        value = head_value(head)
        chunks = [value] if isinstance(value, dict) else head_objects(head)[0]
        chunks = chunks[:_LOOKED_AT]
        if all(map(_is_chunk, chunks)) and any(as_dict(each).keys() <= _KEYS for each in chunks):
            return 0.95
        if _is_dump(as_dict(value)):
            return 0.95
        is_list = file.name == "workspace.json" and as_dict(value).keys() >= _WORKSPACE
        return 0.9 if is_list else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            magic = stream.read(len(sqlite_files.MAGIC))
        if magic == sqlite_files.MAGIC:
            with sqlite_files.open_tables(file) as tables:
                yield from _database(file, Database(tables))
            return
        value = head_value(file.head())
        is_chunks = not isinstance(value, dict) or _is_chunk(value)
        with tempfile.TemporaryFile() as store:
            yield from (_Chunks if is_chunks else _Dump)(file, Pages(store)).events()

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The lists beside a chunk file or a dump, and a database's -wal."""
        return [*sqlite_files.companions(file), *lists_beside(file)]


def _database(file: LogFile, database: Database) -> Iterator[Event]:
    names = database.names()
    for channel in database.channels():
        yield from _told(file, names, str(channel), database.messages(channel))
    yield from database.searched()


class _Chunks:
    """A chunk file: an answer of Slack on each line, of one channel or of several."""

    def __init__(self, file: LogFile, pages: Pages) -> None:
        self._file, self._pages = file, pages
        self._lists = Lists()

    def events(self) -> Iterator[Event]:
        with self._file.open() as stream:
            for item in read_records(stream):
                if isinstance(item, Skipped):
                    yield item
                    continue
                try:
                    yield from self._chunk(item.value, item.line)
                except RecursionError:
                    yield Skipped(TOO_DEEP, item.line, problem=True)
        names = self._lists.names(names_beside(lists_beside(self._file)))
        for channel in self._pages.channels():
            yield from _told(self._file, names, channel, self._pages.messages(channel))

    def _chunk(self, value: object, line: int | None) -> Iterator[Skipped]:
        """Adds what is in a chunk; yields what leads to no message."""
        chunk = as_dict(value)
        if not _is_chunk(chunk):
            yield Skipped(NOT_A_CHUNK, line)
            return
        self._lists.add(chunk)
        channel = as_text(chunk.get("id")) or self._file.stem
        self._pages.add(channel, chunk.get("p"), is_beside=True)
        messages = as_list(chunk.get("m"))
        for message in messages:
            if reason := self._pages.add(channel, message):
                yield Skipped(reason, line)
        if not messages:
            yield Skipped(_reason(chunk), line)


class _Dump:
    """A dump of a channel or a thread: a document, in which replies are below their thread."""

    def __init__(self, file: LogFile, pages: Pages) -> None:
        self._file, self._pages = file, pages

    def events(self) -> Iterator[Event]:
        header: dict[str, object] = {}
        has_messages = False
        for member in read_members(self._file):
            if isinstance(member, Skipped):
                yield member
            elif member.key == "messages" and member.is_element:
                has_messages = True
                yield from self._messages(member)
            elif member.key is not None and not member.is_element:
                header[member.key] = member.value
        if not has_messages:
            yield Skipped(NO_MESSAGES if "channel_id" in header else LISTED)
        names = names_beside(lists_beside(self._file))
        channel, name = as_text(header.get("channel_id")), as_text(header.get("name"))
        for key in self._pages.channels():
            messages = self._pages.messages(key)
            yield from _told(self._file, names, channel or self._file.stem, messages, name)

    def _messages(self, member: JsonMember) -> Iterator[Skipped]:
        """Adds a message and its replies; yields what leads to no message."""
        fields = as_dict(member.value)
        replies = as_list(fields.get(_REPLIES))
        alone = {key: value for key, value in fields.items() if key != _REPLIES}
        for message in (alone, *replies):
            try:
                if reason := self._pages.add("", message):
                    yield Skipped(reason)
            except RecursionError:
                yield Skipped(TOO_DEEP, problem=True)


def _told(
    file: LogFile,
    names: Directory,
    channel_id: str,
    messages: Iterable[dict[str, Any] | Skipped],
    name: str | None = None,
) -> Iterator[Event]:
    """The events of a channel. name: what a dump calls it, if no list does."""
    channel = names.channels.get(channel_id)
    key = "/".join(printable(part) for part in (names.team, channel_id) if part)
    title = channel.title if channel else _title(channel_id, name)
    source = Source(f"slack/{key}", "slack", title, origin=file.label)
    speech = Speech(names, channel_id, source.id)
    is_open = False
    for fields in messages:
        event = fields if isinstance(fields, Skipped) else speech.read(fields)
        if isinstance(event, Message) and not is_open:
            is_open = True
            yield source
        yield event


def _title(channel_id: str, name: str | None) -> str:
    if not name:
        return channel_id
    return name if channel_id.startswith("D") or name.startswith("mpdm-") else f"#{name}"


def _reason(chunk: dict[str, Any]) -> str:
    """Why a chunk without messages leads to none."""
    if _LISTS & chunk.keys():
        return LISTED
    return SEARCHED if {"sm", "sf"} & chunk.keys() else NO_MESSAGES


def _is_chunk(value: object) -> bool:
    """Whether a value has the numbers of a chunk: its type and when it was fetched."""
    numbers = (as_dict(value).get("t"), as_dict(value).get("ts"))
    return all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)


def _is_dump(value: dict[str, Any]) -> bool:
    if not {"channel_id", "name", "messages"} <= value.keys() or "guild" in value:
        return False
    messages = dicts_in(value["messages"])
    return isinstance(value["channel_id"], str) and all(map(is_message, messages[:_LOOKED_AT]))
