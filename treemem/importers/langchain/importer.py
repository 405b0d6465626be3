"""LangChain and LangGraph: lists of messages, states of threads, checkpoints, traced runs.

Each state of a thread and each run holds the messages before it again. A message is taken the
first time it is met: by its id, or, having none, as the so-manyth of its words in its list.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.content import BlockReader
from treemem.importers.common.exports import read_conversations
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import file_key, printable
from treemem.importers.langchain.messages import Found, found_in, message_of
from treemem.types import Message, Source

NO_MESSAGE = "no message: none of LangChain's in it"
REPEATED = "message of an earlier state, repeated"

_LOOKED_AT = 50


class LangChain(Importer):
    """The importer of LangChain's and LangGraph's JSON; a source is a thread, or the file."""

    name = "langchain"
    version = 1
    description = "LangChain messages, LangGraph states and checkpoints, LangSmith runs (JSON)"
    kept = "messages, reasoning, tool calls and results, each once"
    dropped = "prompts' templates, other state, artifacts, usage, timings"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = head_value(head)
        values: object = head_objects(head)[0] if value is None else value
        found = list(islice(found_in(values), _LOOKED_AT))
        kinds = {item.kind for item in found} & {"human", "ai"}
        if kinds and any(item.certain for item in found):
            return 0.9
        return 0.72 if len(kinds) == 2 else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield from _Reading(file).events()


class _Reading:
    """One pass over a file; what it keeps of each message is a hash."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._blocks = BlockReader()
        self._seen: set[bytes] = set()
        self._alone: Counter[bytes] = Counter()
        self._current: str | None = None

    def events(self) -> Iterator[Event]:
        for line, value in self._records():
            if isinstance(value, Skipped):
                yield value
                continue
            source_id = self._source_id(value)
            counts: defaultdict[int, Counter[bytes]] = defaultdict(Counter)
            counts[0] = self._alone
            is_empty = True
            for found in found_in(value):
                is_empty = False
                yield from self._said(source_id, line, found, counts[found.group])
            if is_empty:
                yield Skipped(NO_MESSAGE, line)

    def _records(self) -> Iterator[tuple[int | None, object]]:
        """Lines, or the elements of a document; a single object is one record."""
        if head_value(self._file.head()) is not None:
            for value in read_conversations(self._file, _holds_messages):
                yield None, value
            return
        with self._file.open() as stream:
            for item in read_records(stream):
                yield item.line, item if isinstance(item, Skipped) else item.value

    def _said(
        self, source_id: str, line: int | None, found: Found, counts: Counter[bytes]
    ) -> Iterator[Event]:
        try:
            message = message_of(found, self._blocks)
        except RecursionError:
            yield Skipped(TOO_DEEP, line, problem=True)
            return
        if isinstance(message, str):
            yield Skipped(message, line)
            return
        key = _key(source_id, message, counts)
        if key in self._seen:
            yield Skipped(REPEATED, line)
            return
        self._seen.add(key)
        if source_id != self._current:
            self._current = source_id
            yield Source(source_id, LangChain.name, origin=self._file.label)
        yield message

    def _source_id(self, value: object) -> str:
        """The thread that a state or a run names, else the file."""
        fields = as_dict(value)
        places = (
            fields,
            as_dict(as_dict(fields.get("config")).get("configurable")),
            as_dict(fields.get("metadata")),
            as_dict(as_dict(fields.get("extra")).get("metadata")),
        )
        thread = next((name for place in places if (name := as_text(place.get("thread_id")))), None)
        trace = as_text(fields.get("trace_id")) if "run_type" in fields else None
        name = thread or trace
        return f"{LangChain.name}/{printable(name) if name else file_key(self._file)}"


def _key(source_id: str, message: Message, counts: Counter[bytes]) -> bytes:
    """What tells a message from all others of its source: its id and words, or which repetition
    of its words within one list it is."""
    words = (message.external_id, message.role, message.text, message.tool_result_ids)
    digest = _digest(source_id, *words)
    if message.external_id is not None:
        return digest
    counts[digest] += 1
    return _digest(source_id, *words, counts[digest])


def _digest(*values: Any) -> bytes:
    data = repr(values).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest()


def _holds_messages(value: object) -> bool:
    return next(found_in(value), None) is not None
