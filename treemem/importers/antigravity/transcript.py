"""Reads the transcripts of Antigravity: JSON Lines, one step per line.

A step is what the user typed, an answer with its thoughts and calls, what a tool gave, or a notice.
When the user goes back, the numbers of the steps begin again from there.

Tested in tests/importers/test_antigravity.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, digest_of
from treemem.importers.common.content import Content, ToolNames
from treemem.importers.common.records import Record, events_of, read_records, skim_json
from treemem.importers.common.source_ids import sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty step"
EARLIER = "earlier state of a step"
NOT_A_STEP = "no step"

_INPUT, _ANSWER = "USER_INPUT", "PLANNER_RESPONSE"
_SUMMARY = "CHECKPOINT"
_REQUEST = lazy_regex(r"\s*<USER_REQUEST>\n?(.*)</USER_REQUEST>\s*(.*)", re.DOTALL)
_SYSTEM = ("SYSTEM", "SYSTEM_SDK", "USER_IMPLICIT")


def is_step(value: object) -> bool:
    """Whether a record is a step."""
    step = as_dict(value)
    is_named = isinstance(step.get("source"), str) and isinstance(step.get("type"), str)
    return is_named and isinstance(step.get("step_index"), int)


def read(file: LogFile, source: Source) -> Iterator[Event]:
    survey = _Survey()
    with file.open() as stream:
        for record in read_records(stream, skim_json):
            survey.add(None if isinstance(record, Skipped) else as_dict(record.value))
    reader = Steps()
    with file.open() as stream:

        def message(ordinal: int, record: Record) -> Message | str:
            step = as_dict(record.value)
            if not is_step(step):
                return NOT_A_STEP
            name = survey.name(ordinal)
            if name is None:
                return EARLIER
            return reader.message(step, name, active=ordinal not in survey.undone) or EMPTY

        yield from events_of(read_records(stream), message, lambda _: source)


class _Survey:
    """The first pass: which lines are the last state of a step, and which steps were undone.

    undone: the lines of steps before the user went back. An era lasts until the user goes back.
    """

    def __init__(self) -> None:
        self.undone: set[int] = set()
        self._steps: list[tuple[int, int] | None] = []  # number and era of each line
        self._last: dict[tuple[int, int], int] = {}
        self._eras: dict[int, list[int]] = {}
        self._typed: dict[int, str] = {}
        self._era = 0

    def add(self, step: dict[str, Any] | None) -> None:
        """Takes the next record; None for damage."""
        line = len(self._steps)
        if step is None or not is_step(step):
            self._steps.append(None)
            return
        number = step["step_index"]
        if step["type"] == _INPUT:
            typed = digest_of(as_text(step.get("content")) or "")
            if self._typed.get(number, typed) != typed:
                self._era += 1
                self.undone |= {
                    at for at, known in enumerate(self._steps) if known and known[0] >= number
                }
            self._typed[number] = typed
        eras = self._eras.setdefault(number, [])
        if self._era not in eras:
            eras.append(self._era)
        self._steps.append((number, self._era))
        self._last[number, self._era] = line

    def name(self, line: int) -> str | None:
        """The id of the step of a line; None if a later line has its last state."""
        known = self._steps[line]
        if known is None or self._last[known] != line:
            return None
        number, era = known
        before = self._eras[number].index(era)
        return f"{number}/{before}" if before else str(number)


class Steps:
    """Turns steps into messages, in order; remembers which calls wait for a result.

    A call has no id in a transcript, so results are those of the calls in their order.
    """

    def __init__(self) -> None:
        self._names = ToolNames()
        self._waiting: list[str] = []

    def message(self, step: dict[str, Any], name: str, *, active: bool) -> Message | None:
        """The message of a step; None if it is empty."""
        kind, origin = step["type"], step["source"]
        text = as_text(step.get("content")) or ""
        content, role, said = Content(), "assistant", "said"
        if kind == _INPUT:
            role, said = "user", "said" if origin == "USER_EXPLICIT" else "injected"
            request = _REQUEST.fullmatch(text)
            content.add(request[1].removesuffix("\n") if request is not None else text)
            content.add(request[2] if request is not None else "", "injected", "context")
        elif kind == _ANSWER:
            content.add(as_text(step.get("thinking")) or "", "thinking")
            content.add(text)
            self._add_calls(content, name, as_list(step.get("tool_calls")))
        elif kind == _SUMMARY:
            said = "summary"
            content.add(text)
        elif origin in _SYSTEM or kind.endswith("_MESSAGE"):
            role, said = "system", "injected"
            content.add(text)
        else:
            role = "tool"
            self._add_result(content, kind, text)
        return build(content, role, said, name, step.get("created_at"), active=active)

    def _add_calls(self, content: Content, name: str, calls: list[Any]) -> None:
        self._waiting = [] if calls else self._waiting
        for number, call in enumerate(map(as_dict, calls)):
            arguments = call.get("args")
            shown = arguments if isinstance(arguments, str) else compact_json(arguments)
            use_id = as_text(call.get("id")) or f"{name}.{number}"
            content.add_tool_use(as_text(call.get("name")) or "unnamed", shown, use_id, self._names)
            self._waiting.append(use_id)

    def _add_result(self, content: Content, kind: str, text: str) -> None:
        content.is_answer = True
        tool = kind.lower()
        if self._waiting:
            use_id = self._waiting.pop(0)
            content.tool_result_ids.append(use_id)
            tool = self._names.take(use_id) or tool
        content.add(text, "tool_result", tool)


def build(
    content: Content, role: str, kind: str, name: str, at: object, *, active: bool = True
) -> Message | None:
    """The message of a step; None if it is empty."""
    if content.is_empty:
        return None
    said: MessageKind = "summary" if kind == "summary" else "said" if kind == "said" else "injected"
    whose: Role = "user" if role == "user" else "tool" if role == "tool" else "assistant"
    return content.message(
        "system" if role == "system" else whose,
        external_id=name,
        sent_at=sent_at(at),
        kind=said,
        active=active,
    )
