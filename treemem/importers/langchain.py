"""Reads LangChain's and LangGraph's JSON: lists of messages, thread states, checkpoints, runs.

Each state of a thread and each run repeats the messages before it. A message is imported at its
first occurrence, identified by its id and text or, without an id, by its text and the number of its
repetition in its list.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from treemem.importers.chat.messages import ROLE_OF, time_of
from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.exports import read_conversations
from treemem.importers.common.json_members import has_several_values
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import file_key, printable
from treemem.patterns import lazy_regex
from treemem.types import Message, Role, Source

NO_MESSAGE = "no message: none of LangChain's in it"
REPEATED = "message of an earlier state, repeated"

_LOOKED_AT = 50
EMPTY = "empty message"
REMOVAL = "no message: removal of one"

_ROLES: dict[str, Role] = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool",
    "chat": "other", "remove": "other",
}  # fmt: skip
_FLAT_MARKS = frozenset(
    {"additional_kwargs", "response_metadata", "tool_calls", "tool_call_id", "usage_metadata"}
)
_CLASS = lazy_regex(r"(\w+?)Message(?:Chunk)?\Z")
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DEPTH_MAX = 12


class LangChain(Importer):
    """Imports LangChain's and LangGraph's JSON; a source is a thread, or the file."""

    name = "langchain"
    version = 2
    description = "LangChain messages, LangGraph states and checkpoints, LangSmith runs (JSON)"
    kept = "messages, reasoning, tool calls and results, each once"
    dropped = "prompts' templates, other state, artifacts, usage, timings"
    marks = (
        ("type", "data"),
        ("type", "content", "additional_kwargs"),
        ("lc", "type", "id", "kwargs"),
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = head_value(head)
        values: object = head_objects(head)[0] if value is None else value
        message_fields = list(islice(messages_in(values), _LOOKED_AT))
        kinds = {item.kind for item in message_fields} & {"human", "ai"}
        if kinds and any(item.certain for item in message_fields):
            return 0.9
        return 0.72 if len(kinds) == 2 else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield from _Reading(file).events()


class _Reading:
    """One pass over a file. Holds a hash of each message."""

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
            is_empty, is_run = True, "run_type" in as_dict(value)
            for message_fields in messages_in(value):
                is_empty = False
                for event in self._message_events(
                    source_id, line, message_fields, counts[message_fields.group]
                ):
                    yield _of_run(event) if is_run else event
            if is_empty:
                yield Skipped(NO_MESSAGE, line)

    def _records(self) -> Iterator[tuple[int | None, object]]:
        """Yields lines, or the elements of a document; a single object is one element."""
        # Subtle: a line may be longer than the head, which then looks like that of a document.
        is_document = head_value(self._file.head()) is not None
        if is_document and not has_several_values(self._file):
            for value in read_conversations(self._file, _holds_messages):
                yield None, value
            return
        with self._file.open() as stream:
            for item in read_records(stream):
                yield item.line, item if isinstance(item, Skipped) else item.value

    def _message_events(
        self, source_id: str, line: int | None, message_fields: FoundMessage, counts: Counter[bytes]
    ) -> Iterator[Event]:
        try:
            message = message_of(message_fields, self._blocks)
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
        """The id by the thread or trace that a state or run names, or else by the file."""
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


def _of_run(event: Event) -> Event:
    """An event of a LangSmith run. It traces a program, whose user may be anybody."""
    if isinstance(event, Message) and event.role == "user":
        return replace(event, origin="person")
    return event


def _key(source_id: str, message: Message, counts: Counter[bytes]) -> bytes:
    """Identifies a message in its source by its id and text, or by its text and the number of its
    repetition in one list."""
    identity = (message.external_id, message.role, message.text, message.tool_result_ids)
    digest = _digest(source_id, *identity)
    if message.external_id is not None:
        return digest
    counts[digest] += 1
    return _digest(source_id, *identity, counts[digest])


def _digest(*values: Any) -> bytes:
    data = repr(values).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest()


def _holds_messages(value: object) -> bool:
    return next(messages_in(value), None) is not None


# -- messages --------------------------------------------------------------------------


class FoundMessage(NamedTuple):
    """A message's fields, and its type in lower case.

    certain: whether no other tool writes this shape. group: the number of the list it is in.
    """

    kind: str
    fields: dict[str, Any]
    certain: bool
    group: int = 0


def messages_in(value: object, depth: int = _DEPTH_MAX) -> Iterator[FoundMessage]:
    """Yields the messages in a JSON value in order. Group 0 is outside of any list.

    Example:
        >>> state = {"values": [{"type": "human", "content": "hi"}]}
        >>> [(message_fields.kind, message_fields.group) for message_fields in messages_in(state)]
        [('human', 1)]
    """
    groups = 0
    stack: list[tuple[object, int, int]] = [(value, depth, 0)]
    while stack:
        value, depth, group = stack.pop()
        if isinstance(value, dict):
            if (message_fields := _as_message(value)) is not None:
                yield message_fields._replace(group=group)
                continue
            inner: list[object] = list(value.values())
        elif isinstance(value, list):
            inner = value
            groups += 1
            group = groups
        else:
            continue
        if depth > 0:
            stack += [(item, depth - 1, group) for item in reversed(inner)]


def message_of(message_fields: FoundMessage, reader: BlockReader) -> Message | str:
    """Builds the message, or returns the reason to skip it."""
    fields = message_fields.fields
    if message_fields.kind == "remove":
        return REMOVAL
    role = _ROLES[message_fields.kind]
    name = as_text(fields.get("name"))
    if message_fields.kind == "chat":
        name = as_text(fields.get("role")) or name
        role = ROLE_OF.get((name or "").lower(), "other")
    extra = as_dict(fields.get("additional_kwargs"))
    content = Content()
    if thought := as_text(extra.get("reasoning_content")):
        content.add(thought, "thinking")
    if role == "tool":
        blocks, call = fields.get("content"), fields.get("tool_call_id")
        reader.add_tool_result(content, _blocks(blocks), call, name)
    else:
        reader.add(content, _blocks(fields.get("content")))
        _add_calls(content, fields, extra, reader)
    if content.is_empty:
        return EMPTY
    external_id = as_text(fields.get("id"))
    # A user with a name is one of several.
    is_named = role == "user" and name is not None and name not in ROLE_OF
    return content.message(
        role,
        origin="person" if is_named else None,
        author=name if role != "tool" and name not in ROLE_OF else None,
        sent_at=time_of(extra) or time_of(as_dict(fields.get("response_metadata"))),
        external_id=external_id,
        # Ids like "run-<uuid>-0" are as unique as their UUID.
        unique_id=external_id is not None and _UUID.search(external_id) is not None,
    )


def _as_message(value: dict[str, Any]) -> FoundMessage | None:
    kind = value.get("type")
    if isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list):
        named = _CLASS.match(str(value["id"][-1])) if value["id"] else None
        kind = named.group(1).lower() if named else None
        return FoundMessage(kind, value["kwargs"], True) if kind in _ROLES else None
    if not isinstance(kind, str):
        return None
    named = _CLASS.match(kind)
    kind = named.group(1).lower() if named else kind
    if kind not in _ROLES:
        return None
    data = value.get("data")
    if isinstance(data, dict) and "content" in data:
        return FoundMessage(kind, data, True)
    if "content" in value and ("role" not in value or kind == "chat"):
        return FoundMessage(kind, value, bool(_FLAT_MARKS & value.keys()))
    return FoundMessage(kind, value, False) if kind == "remove" and "id" in value else None


def _blocks(content: object) -> object:
    """Converts reasoning blocks to thinking blocks; a BlockReader knows all others."""
    if not isinstance(content, list):
        return content
    return [_thought(block) if isinstance(block, dict) else block for block in content]


def _thought(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") != "reasoning":
        return block
    pieces = [as_text(as_dict(item).get("text")) for item in as_list(block.get("summary"))]
    text = as_text(block.get("reasoning")) or "\n\n".join(filter(None, pieces))
    return {"type": "thinking", "thinking": text}


def _add_calls(
    content: Content, fields: dict[str, Any], extra: dict[str, Any], reader: BlockReader
) -> None:
    """Adds each tool call once; it may also be a block, or be in the provider's own form."""
    calls = as_list(fields.get("tool_calls")) + as_list(fields.get("invalid_tool_calls"))
    before = set(content.tool_use_ids)
    for call in map(as_dict, calls):
        if as_text(call.get("id")) in before:
            continue
        if name := as_text(call.get("name")):
            content.add_tool_use(name, _shown(call.get("args")), call.get("id"), reader.names)
    if calls:
        return
    legacy = {"function": extra.get("function_call")}
    for call in map(as_dict, [*as_list(extra.get("tool_calls")), legacy]):
        function = as_dict(call.get("function"))
        if name := as_text(function.get("name")):
            text = _shown(function.get("arguments"))
            content.add_tool_use(name, text, call.get("id"), reader.names)


def _shown(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else compact_json(arguments)
