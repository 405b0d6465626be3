"""Reads Codex's rollouts in ~/.codex/sessions: JSON Lines of two layers, items and events.

Items are the model's history, events were shown on the screen; most messages are in both. A file is
a session. Reads it twice, first to find repeated messages and turns that were rolled back, holding
one record at a time.

Tested in tests/importers/test_codex.py and test_codex_layers.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from treemem.importers.codex.completed import items_of
from treemem.importers.codex.items import (
    BARE_ITEMS,
    EMPTY,
    ENVELOPES,
    Record,
    Speech,
    event_of,
    event_speech,
    item_speech,
    without_envelope,
)
from treemem.importers.codex.survey import Layers, Survey, Turn
from treemem.importers.common.base import Event, ForkedSource, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text, digest_of, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.json_members import read_members
from treemem.importers.common.records import TOO_DEEP, parse_json, skim_json
from treemem.importers.common.records import Record as Line
from treemem.importers.common.sniffing import has_key, head_objects, head_value
from treemem.importers.common.source_ids import is_uuid, printable, sent_at
from treemem.importers.streams.marks import (
    NO_COUNTS,
    Counts,
    GrowingImporter,
    Mark,
    ReadWholeError,
    key_of,
    marked_records,
)
from treemem.types import PARENT_AGENT, Message, Source

LOGGED_TWICE = "logged twice: an item and an event"
NOT_AN_OBJECT = "no message: not an object"

_STEM_ID_LENGTH = 36


class Codex(GrowingImporter):
    """Imports the rollouts below ~/.codex/sessions."""

    name = "codex"
    version = 4
    description = "Codex session logs (rollouts, JSON Lines)"
    kept = "turns, reasoning summaries, tool calls and results, rolled-back turns, summaries, forks"
    dropped = "the second layer of each turn, encrypted reasoning, replaced history, bookkeeping"
    marks = (("timestamp", "type", "payload"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        objects, rest = head_objects(head)
        records = [value for value in objects if isinstance(value, dict)]
        if any(_is_enveloped(value) for value in records):
            return 0.95
        if records and _is_header(records[0]) and all(map(_is_bare, records[1:])):
            return 0.9
        if not records and has_key(rest, "type", "session_meta") and has_key(rest, "payload"):
            return 0.9
        return 0.9 if _is_document(head_value(head)) else 0.0

    def read_on(
        self, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS
    ) -> Iterator[Event | Mark]:
        survey = Survey(since, seen)
        if since is not None:
            _add_sessions(survey, file)
        ends = array("q")
        for ordinal, item in enumerate(_records(file, skim_json, since, ends)):
            survey.add_line(ordinal, item.line, ends[-1] if ends else 0)
            if not isinstance(item, Skipped) and isinstance(item.value, dict):
                survey.add(ordinal, without_envelope(item.value))
        survey.finish()
        yield from _Reading(file, survey, since, seen).events()


class _Reading:
    """The second pass over one file."""

    def __init__(self, file: LogFile, survey: Survey, since: Mark | None, seen: Counts) -> None:
        self._file = file
        self._survey = survey
        self._since, self._seen = since, seen
        self._layers = Layers(survey)
        self._blocks = BlockReader()
        self._turn = Turn()
        if since is not None:
            self._blocks.names.restore(since.state["tools"])
            self._turn.id = since.state["turn"]
        self._occurrences: dict[str, int] = {}
        self._keys = array("q")  # of the messages, in order
        session = survey.session
        self._session_id = (session and session.id) or _id_of(file)
        self._root_id = survey.root_id or self._session_id
        self._root_is_uuid = is_uuid(self._root_id)
        parent = session.parent if session else None
        self._is_delegated = session is not None and session.is_delegated
        self._source = Source(
            id=f"{Codex.name}/{printable(self._session_id)}",
            format=Codex.name,
            title=survey.title,
            origin=file.label,
            parent_id=f"{Codex.name}/{printable(parent)}" if parent else None,
            project=survey.project,
        )
        if session is not None and session.forked_from:
            forked_from = f"{Codex.name}/{printable(session.forked_from)}"
            self._source = ForkedSource(**asdict(self._source), forked_from=forked_from)

    def events(self) -> Iterator[Event | Mark]:
        if self._since is not None and self._source.id != self._since.state["source"]:
            raise ReadWholeError
        is_open = False
        for ordinal, item in enumerate(_records(self._file, parse_json, self._since)):
            if (mark := self._survey.mark_at(ordinal)) is not None:
                tools = self._blocks.names.waiting()
                mark.state.update(source=self._source.id, tools=tools, turn=self._turn.id)
                mark.keys.extend(self._keys)
                yield mark
            try:
                read = item if isinstance(item, Skipped) else self._messages(ordinal, item.value)
            except RecursionError:
                read = Skipped(TOO_DEEP, item.line, problem=True)
            if isinstance(read, str):
                read = Skipped(read, item.line)
            if isinstance(read, Skipped):
                yield read
                continue
            if not is_open:
                is_open = True
                yield self._source
            yield from read

    def _messages(self, ordinal: int, value: object) -> list[Message] | str:
        """The messages of a record, or the reason to skip it."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        record = without_envelope(value)
        self._turn.note(record)
        speeches = self._calls(record) or self._speech(record)
        if isinstance(speeches, str):
            return speeches
        return [self._message(ordinal, record, speech) for speech in speeches]

    def _message(self, ordinal: int, record: Record, speech: Speech) -> Message:
        content = speech.content
        text = content.text
        scope = self._turn.id or self._root_id
        key = f"{Codex.name}:{scope}:{speech.role}:{digest_of(text)}"
        self._keys.append(key_of(key))
        if key not in self._occurrences:
            self._occurrences[key] = self._seen.count(self._keys[-1])
        number = self._occurrences[key] = self._occurrences[key] + 1
        # The id keeps the role that the log gives.
        is_prompt = speech.role == "user" and speech.kind == "said"
        is_agents = is_prompt and self._is_delegated
        return content.message(
            "other" if is_agents else speech.role,
            author=PARENT_AGENT if is_agents else speech.author,
            origin="agent" if is_agents or speech.role == "other" else None,
            sent_at=sent_at(record.time),
            external_id=f"{key}:{number}",
            session=self._session_id,
            kind=speech.kind,
            unique_id=self._turn.id is not None or self._root_is_uuid,
            active=self._survey.is_active(ordinal),
        )

    def _calls(self, record: Record) -> list[Speech] | str:
        """The tool call and the result in a completed item, without those that items repeat; empty
        if the record is no tool call."""
        if record.kind != "event_msg" or record.payload.get("type") != "item_completed":
            return []
        items = items_of(as_dict(record.payload.get("item")))
        if not items:
            return []
        new = [item for item in items if not self._layers.repeats_call(item)]
        speeches = [item_speech(item, self._blocks) for item in new]
        spoken = [speech for speech in speeches if not isinstance(speech, str)]
        return spoken or (EMPTY if new else LOGGED_TWICE)

    def _speech(self, record: Record) -> list[Speech] | str:
        speech = self._single_speech(record)
        return speech if isinstance(speech, str) else [speech]

    def _single_speech(self, record: Record) -> Speech | str:
        kind, payload = record.kind, record.payload
        if kind == "response_item":
            return self._item(payload)
        if kind == "event_msg":
            return self._event(payload)
        if kind == "compacted" and as_text(payload.get("message")):
            return _with_text(Speech("assistant", Content(), "summary"), payload["message"])
        if kind == "inter_agent_communication" and as_text(payload.get("content")):
            author = as_text(payload.get("author"))
            return _with_text(Speech("other", Content(), author=author), payload["content"])
        return no_message(kind)

    def _item(self, item: dict[str, Any]) -> Speech | str:
        speech = item_speech(item, self._blocks)
        if isinstance(speech, str) or speech.role != "user":
            return speech
        return speech if self._layers.is_typed_item(item) else speech._replace(kind="injected")

    def _event(self, payload: dict[str, Any]) -> Speech | str:
        event = event_of(payload)
        if event is None:
            return no_message("event_msg", payload.get("type"))
        if self._layers.repeats_event(event):
            return LOGGED_TWICE
        return event_speech(event, self._blocks)


def _with_text(speech: Speech, text: str) -> Speech | str:
    speech.content.add(text)
    return EMPTY if speech.content.is_empty else speech


def _add_sessions(survey: Survey, file: LogFile) -> None:
    """Adds the sessions at the beginning of a rollout that is read on."""
    for item in _records(file, skim_json):
        value = None if isinstance(item, Skipped) else item.value
        if isinstance(value, dict):
            record = without_envelope(value)
            if record.kind != "session_meta":
                break
            survey.add(0, record)
    survey.end_sessions()


def _records(
    file: LogFile,
    parse: Callable[[bytes], object],
    since: Mark | None = None,
    ends: array[int] | None = None,
) -> Iterator[Line | Skipped]:
    """Yields the records of a rollout; the oldest are one document, a header and a list. since,
    ends: as for marked_records."""
    if since is None and _is_document(head_value(file.head())):
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
            else:
                yield Line(None, member.value)
        return
    yield from marked_records(file, parse, since, ends)


def _id_of(file: LogFile) -> str:
    """The id at the end of a rollout's name, for a file without its header."""
    tail = file.stem[-_STEM_ID_LENGTH:]
    return tail if is_uuid(tail) else file.stem


# -- recognizing -------------------------------------------------------------------------


def _is_enveloped(value: dict[str, object]) -> bool:
    return as_text(value.get("type")) in ENVELOPES and isinstance(value.get("payload"), dict)


def _is_header(value: dict[str, object]) -> bool:
    """Whether a value is the first line of the oldest rollouts: {"id", "timestamp", "instructions",
    "git"}."""
    named = as_text(value.get("id")) and "timestamp" in value and "type" not in value
    return bool(named) and not {"instructions", "git"}.isdisjoint(value)


def _is_bare(value: dict[str, object]) -> bool:
    return as_text(value.get("type")) in BARE_ITEMS or "record_type" in value


def _is_document(value: object) -> bool:
    """Whether a value has the shape from before JSON Lines: {"session": {…}, "items": […]}."""
    document = as_dict(value)
    if as_text(as_dict(document.get("session")).get("id")) is None:
        return False
    items = document.get("items")
    return isinstance(items, list) and all(_is_bare(as_dict(item)) for item in items[:1])
