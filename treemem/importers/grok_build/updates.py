"""Reads updates.jsonl of Grok Build: notifications of the Agent Client Protocol, one per line.

A message is told in pieces, which are joined; a call of a tool and its result are told apart. The
file is read twice, first for the prompts that were rewound, holding one message at a time.

Tested in tests/importers/test_grok_build.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message, text_or_empty
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP, Record, read_records, skim_json
from treemem.importers.common.source_ids import sent_at
from treemem.importers.grok_build.history import EMPTY, NOT_AN_OBJECT, PARENT
from treemem.origins.wrappers import is_injected
from treemem.types import Message, MessageKind, Role

JOINED = "piece of a message, joined"
UNFINISHED = "state of a tool call"

_ASKED, _SAID, _THOUGHT = "user_message_chunk", "agent_message_chunk", "agent_thought_chunk"
_CALL, _CALL_STATE, _REWIND = "tool_call", "tool_call_update", "rewind_marker"
_SPEECH = frozenset({_ASKED, _SAID, _THOUGHT, _CALL})
_METHODS = frozenset({"session/update", "_x.ai/session/update"})
_ENDED = frozenset({"completed", "failed"})
_OUTPUT_KEYS = ("output_for_prompt", "output", "content", "message", "error")
_JOINED_CHARS_MAX = 4_000_000


class Update(NamedTuple):
    """A notification. meta: of the notification; own: of the piece in it."""

    kind: str
    fields: dict[str, Any]
    meta: dict[str, Any]
    session: str | None

    @property
    def own(self) -> dict[str, Any]:
        return as_dict(self.fields.get("_meta"))

    @property
    def prompt(self) -> int | None:
        """The number of the prompt that it is a piece of."""
        number = self.own.get("promptIndex")
        is_number = isinstance(number, int) and not isinstance(number, bool)
        return number if is_number else None

    @property
    def run(self) -> tuple[object, ...]:
        """What pieces of one message of the user have in common."""
        return (self.prompt, self.own.get("hostTurn"), self.own.get("interjection"))


def update_of(value: object) -> Update | None:
    """The update in a line; older lines have it without an envelope. None for anything else."""
    line = as_dict(value)
    if "method" in line and as_text(line["method"]) not in _METHODS:
        return None
    params = as_dict(line.get("params")) if "method" in line else line
    fields = as_dict(params.get("update"))
    kind = as_text(fields.get("sessionUpdate"))
    if kind is None:
        return None
    return Update(kind, fields, as_dict(params.get("_meta")), as_text(params.get("sessionId")))


class Survey:
    """The first pass. session: its id. first_marked: the record from which prompts are numbered."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.has_updates = False
        self.first_marked: int | None = None
        self.rewound = RewoundRanges()
        self._prompts: list[tuple[int, int]] = []  # the number of each, and its first record
        self._run: tuple[object, ...] | None = None

    def add(self, ordinal: int, update: Update) -> None:
        self.has_updates = True
        self.session = self.session or update.session
        if update.kind == _ASKED:
            if update.run != self._run:
                self._begin(ordinal, update)
            self._run = update.run
        elif update.kind in _SPEECH:
            self._run = None
        elif update.kind == _REWIND:
            self._rewind(ordinal, update.fields.get("target_prompt_index"))

    def _begin(self, ordinal: int, update: Update) -> None:
        if update.prompt is not None:
            self.first_marked = ordinal if self.first_marked is None else self.first_marked
            self._prompts.append((update.prompt, ordinal))
        elif self.first_marked is None and update.own.get("hostTurn") is not True:
            self._prompts.append((len(self._prompts), ordinal))

    def _rewind(self, ordinal: int, target: object) -> None:
        if not isinstance(target, int) or isinstance(target, bool):
            return
        gone = [at for number, at in self._prompts if number >= target]
        if gone:
            self.rewound.add(min(gone), ordinal)
            self._prompts = [prompt for prompt in self._prompts if prompt[0] < target]
        self._run = None


def survey_of(file: LogFile) -> Survey:
    """Reads a file for its prompts and rewinds."""
    survey = Survey()
    with file.open() as stream:
        for ordinal, item in enumerate(read_records(stream, skim_json)):
            update = update_of(item.value) if isinstance(item, Record) else None
            if update is not None:
                survey.add(ordinal, update)
    return survey


class _Open:
    """A message while its pieces come in. calls: id, name and arguments of each call."""

    def __init__(self, ordinal: int, update: Update, told_at: str | None) -> None:
        self.ordinal, self.told_at = ordinal, told_at
        self.is_users = update.kind == _ASKED
        self.first = update
        # Subtle: the numbers of events may begin anew with the program, times do not.
        self.id = f"{as_text(update.meta.get('eventId')) or ordinal}@{told_at}"
        self.pieces: list[tuple[str, object]] = []
        self.calls: list[tuple[str, str, str]] = []
        self.chars = 0

    def takes(self, update: Update) -> bool:
        """Whether an update goes on with this message."""
        if self.is_users:
            return update.kind == _ASKED and update.run == self.first.run
        # What is said or thought behind a call is another message.
        is_early = not self.calls or update.kind == _CALL
        return update.kind != _ASKED and is_early and self.chars < _JOINED_CHARS_MAX

    def add(self, kind: str, block: object) -> None:
        """Adds a piece; a text goes on with the one before it, if that is of its kind."""
        if isinstance(block, str):
            self.chars += len(block)
            if self.pieces and self.pieces[-1][0] == kind and isinstance(self.pieces[-1][1], list):
                self.pieces[-1][1].append(block)
                return
            block = [block]
        self.pieces.append((kind, block))


class Updates:
    """The second pass. written: the texts of prompts that the tool wrote, by their numbers."""

    def __init__(self, survey: Survey, written: Mapping[int, str], *, is_agents: bool) -> None:
        self._survey, self._written, self._is_agents = survey, written, is_agents
        self._blocks = BlockReader()
        self._open: _Open | None = None

    def events(self, items: Iterable[Record | Skipped]) -> Iterator[Event]:
        for ordinal, item in enumerate(items):
            if isinstance(item, Skipped):
                yield item
                continue
            try:
                yield from self._record(ordinal, item)
            except RecursionError:
                yield Skipped(TOO_DEEP, item.line, problem=True)
        yield from self._close()

    def _record(self, ordinal: int, item: Record) -> Iterator[Event]:
        update = update_of(item.value)
        if update is None:
            reason = no_message(None) if isinstance(item.value, dict) else NOT_AN_OBJECT
            yield Skipped(reason, item.line)
            return
        told_at = update.meta.get("agentTimestampMs")
        if sent_at(told_at) is None:
            told_at = as_dict(item.value).get("timestamp")
        if update.kind == _CALL_STATE:
            yield from self._state(ordinal, item.line, update, sent_at(told_at))
        elif update.kind in _SPEECH:
            if self._open is not None and self._open.takes(update):
                yield Skipped(JOINED, item.line)
            else:
                yield from self._close()
                self._open = _Open(ordinal, update, sent_at(told_at))
            self._take(self._open, update)
        else:
            if update.kind in (_REWIND, "turn_completed"):
                yield from self._close()
            yield Skipped(no_message(update.kind), item.line)

    def _take(self, opened: _Open, update: Update) -> None:
        if update.kind == _CALL:
            call_id = as_text(update.fields.get("toolCallId")) or ""
            opened.calls.append((call_id, _tool_name(update), _given(update)))
            return
        block = as_dict(update.fields.get("content"))
        text = block.get("text")
        if opened.is_users and update.own.get("interjection") is True:
            # The tool frames what was typed while it worked.
            shown = update.own.get("displayText", as_dict(block.get("_meta")).get("displayText"))
            text = shown if isinstance(shown, str) else text
        is_text = as_text(block.get("type")) in ("text", None)
        opened.add(update.kind, text if is_text and isinstance(text, str) else block or None)

    def _close(self) -> Iterator[Event]:
        opened, self._open = self._open, None
        if opened is None:
            return
        content = Content()
        for piece, block in opened.pieces:
            if not isinstance(block, list):
                self._blocks.add(content, block)
            else:
                content.add("".join(block), "thinking" if piece == _THOUGHT else None)
        for call_id, name, given in opened.calls:
            content.add_tool_use(name, given, call_id, self._blocks.names)
        if content.is_empty:
            yield Skipped(EMPTY)
            return
        role: Role = "assistant"
        kind: MessageKind = "said"
        author = None
        if opened.is_users:
            role = "user"
            if self._is_tools(opened, content):
                kind = "injected"
            elif self._is_agents:
                role, author = "other", PARENT
        yield self._message(content, role, opened, author=author, kind=kind)

    def _is_tools(self, opened: _Open, content: Content) -> bool:
        """Whether the tool wrote a message in the user's name."""
        first, marked = opened.first, self._survey.first_marked
        if first.own.get("interjection") is True:
            return False
        is_unmarked = first.prompt is None and marked is not None and marked < opened.ordinal
        written = self._written.get(first.prompt, "") if first.prompt is not None else ""
        said = content.spoken[0] if content.spoken else ""
        is_written = bool(written and said) and (said in written or written in said)
        is_hosts = first.own.get("hostTurn") is True
        return is_unmarked or is_written or is_hosts or is_injected(content.spoken)

    def _state(
        self, ordinal: int, line: int | None, update: Update, told_at: str | None
    ) -> Iterator[Event]:
        """Takes in a tool's state: what it was given, if the call did not tell, or its result."""
        call_id = as_text(update.fields.get("toolCallId")) or ""
        if self._open is not None and call_id:
            self._open.calls = [
                (known, name, given or (_given(update) if known == call_id else ""))
                for known, name, given in self._open.calls
            ]
        if as_text(update.fields.get("status")) not in _ENDED:
            yield Skipped(UNFINISHED, line)
            return
        yield from self._close()
        content = Content()
        self._blocks.add_tool_result(content, _result(update), call_id, _tool_name(update, None))
        if content.is_empty:
            yield Skipped(EMPTY, line)
            return
        yield self._message(content, "tool", _Open(ordinal, update, told_at))

    def _message(self, content: Content, role: Role, opened: _Open, **fields: Any) -> Message:
        return content.message(
            role,
            sent_at=opened.told_at,
            external_id=opened.id,
            active=opened.ordinal not in self._survey.rewound,
            **fields,
        )


def _tool_name(update: Update, otherwise: str | None = "unnamed") -> str:
    """The tool's own name, else the title that is shown."""
    named = as_text(as_dict(update.own.get("x.ai/tool")).get("name"))
    shown = as_text(update.fields.get("title")) if otherwise else None
    return named or shown or otherwise or ""


def _given(update: Update) -> str:
    """What a tool was given; empty if an update does not tell."""
    given = update.fields.get("rawInput")
    if given is None or given in ({}, ""):
        return ""
    return given if isinstance(given, str) else compact_json(given)


def _result(update: Update) -> object:
    """What a tool gave: its text and images, else its output as the tool has it."""
    blocks = [
        inner
        for block in as_list(update.fields.get("content"))
        if (inner := as_dict(block).get("content")) is not None
    ]
    if any(text_or_empty(as_dict(block).get("text")) or "data" in as_dict(block)
           for block in blocks):  # fmt: skip
        return blocks
    output = update.fields.get("rawOutput")
    for key in _OUTPUT_KEYS:
        if text := as_text(as_dict(output).get(key)):
            return text
    return output if isinstance(output, str) or output is None else compact_json(output)
