"""Reads the rooms of Matrix that Element exports in JSON, each event as the server told it.

What Element could not decrypt stays unread and is counted.

Tested in tests/importers/test_matrix.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, dicts_in
from treemem.importers.common.json_members import read_members
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.matrix.events import Room
from treemem.types import Message, Source

_HEADER = frozenset({"room_name", "export_date", "exported_by", "messages"})
_EVENT = frozenset({"type", "sender", "content", "origin_server_ts"})
_LOOKED_AT = 5


class Matrix(Importer):
    """Imports the rooms of Matrix that Element exports."""

    name = "matrix"
    version = 1
    description = "Matrix rooms, exported in JSON by Element"
    kept = "speaker, text, time, ids, threads, last edits, quotes, polls, names of files"
    dropped = "reactions, layout, notices, deleted and encrypted messages, files themselves"
    marks = (("room_name", "exported_by", "messages"), ("event_id", "origin_server_ts", "sender"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        if value.keys() >= _HEADER:
            return 0.95 if isinstance(value["messages"], list) else 0.0
        events = dicts_in(value.get("messages"))[:_LOOKED_AT]
        return 0.9 if events and all(event.keys() >= _EVENT for event in events) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        room = Room()
        title: str | None = None
        for member in read_members(file):
            if isinstance(member, Skipped):
                continue
            if member.key == "messages" and member.is_element:
                room.note(member.value)
            elif member.key == "room_name":
                title = one_line(member.value)
        key = printable(room.room_id) if room.room_id else file_key(file)
        source = Source(f"{Matrix.name}/{key}", Matrix.name, title, origin=file.label)
        is_open = False
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
                continue
            if member.key != "messages" or not member.is_element:
                continue
            try:
                event = room.read(member.value)
            except RecursionError:
                event = Skipped(TOO_DEEP, problem=True)
            if isinstance(event, Message) and not is_open:
                is_open = True
                yield source
            yield event
