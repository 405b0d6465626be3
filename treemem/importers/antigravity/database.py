"""Reads the database of a conversation of Antigravity: a row for each step, as protobuf.

Its schema is not published. The numbers of fields are those that other readers found in the
program: what the user typed, answers with thoughts and calls, results of tools that have no form of
their own, and errors. Steps of other forms are counted by their number.

Tested in tests/importers/test_antigravity.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.antigravity.transcript import EMPTY, build
from treemem.importers.common import sqlite_files
from treemem.importers.common.base import Event, LogFile, Skipped
from treemem.importers.common.content import Content, ToolNames
from treemem.importers.streams.protobuf import integer, message, messages, text
from treemem.types import Message, Source

DAMAGED_STEP = "damaged step"
TOLD = "step, told by its transcript"

_INPUT, _ANSWER, _ERROR, _RESULT = 14, 15, 17, 132
# Fields of a step, and of its metadata.
_TYPE, _METADATA, _OF_INPUT, _OF_ANSWER, _OF_ERROR, _OF_RESULT = 1, 5, 19, 20, 24, 140
_CREATED, _SOURCE, _CALL = 1, 3, 4
_USER_EXPLICIT = 4
_COLUMNS = frozenset({"idx", "step_type", "step_payload"})
_STEPS = "SELECT idx, step_type, step_payload FROM steps ORDER BY idx"
_COUNT = "SELECT count(*) FROM steps"


def is_database(columns: dict[str, frozenset[str]]) -> bool:
    """Whether a SQLite file holds such steps."""
    return columns.get("steps", frozenset()) >= _COLUMNS and "trajectory_meta" in columns


def read(file: LogFile, source: Source, *, is_told: bool) -> Iterator[Event]:
    """is_told: whether a transcript has the same steps."""
    with sqlite_files.open_tables(file) as tables:
        if is_told:
            count = next(iter(tables.rows(_COUNT)), (0,))[0]
            yield from (Skipped(TOLD) for _ in range(int(count)))
            return
        yield source
        names = ToolNames()
        for number, kind, payload in tables.rows(_STEPS):
            if not isinstance(payload, bytes) or integer(payload, _TYPE) is None:
                yield Skipped(DAMAGED_STEP, problem=True, detail=f"step {number}")
                continue
            yield _step(names, str(number), kind, payload)


def _step(names: ToolNames, name: str, kind: Any, payload: bytes) -> Message | Skipped:
    metadata = message(payload, _METADATA)
    content, role, said = Content(), "assistant", "said"
    kind = integer(payload, _TYPE) or kind
    if kind == _INPUT:
        held = message(payload, _OF_INPUT)
        content.add(text(held, 1) or text(held, 2))
        role = "user"
        said = "said" if integer(metadata, _SOURCE) == _USER_EXPLICIT else "injected"
    elif kind == _ANSWER:
        held = message(payload, _OF_ANSWER)
        content.add(text(held, 3), "thinking")
        content.add(text(held, 1))
        for call in messages(held, 7):
            content.add_tool_use(text(call, 2) or "unnamed", text(call, 3), text(call, 1), names)
    elif kind == _ERROR:
        details = message(payload, _OF_ERROR, 3)
        content.add(next(filter(None, (text(details, field) for field in (1, 2, 3))), ""))
        role, said = "system", "injected"
    elif kind == _RESULT:
        call = message(metadata, _CALL)
        content.is_answer = True
        content.tool_result_ids += [use_id] if (use_id := text(call, 1)) else []
        content.add(text(payload, _OF_RESULT, 2, 1), "tool_result", text(call, 2) or None)
        role = "tool"
    else:
        return Skipped(f"no message: step of the type {kind}"[:60])
    created = message(metadata, _CREATED)
    seconds, nanos = integer(created, 1), integer(created, 2) or 0
    at = None if seconds is None else seconds * 1_000_000_000 + nanos
    return build(content, role, said, name, at) or Skipped(EMPTY)
