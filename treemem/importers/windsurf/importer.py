"""Reads the transcripts of Windsurf's Cascade, which was renamed to Devin Desktop.

Windsurf encrypts its own history (.codeium/windsurf/cascade/*.pb). It writes a transcript of each
conversation, JSON Lines with one step per line, once a hook asks for it. Steps have no ids.

Tested in tests/importers/test_windsurf.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text, no_message
from treemem.importers.common.content import Content, ToolNames
from treemem.importers.common.records import Record, events_of, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import file_key, is_uuid, printable, sent_at
from treemem.importers.streams import sealed
from treemem.types import Message, Source

EMPTY = "empty step"
UNFINISHED = "step that is not finished"
NOT_AN_OBJECT = "no message: not an object"
NEEDS = (
    "encrypted by Windsurf",
    "Let Windsurf write transcripts, which are read: add the hook "
    "post_cascade_response_with_transcript to ~/.codeium/windsurf/hooks.json.",
)

_LOOKED_AT = 400
_WAITING = frozenset({"pending", "running", "generating", "waiting", "queued"})
# Fields of a step that a tool gave; all others were given to it.
_RESULT_KEYS = ("result", "output", "content", "results", "exit_code", "error")
_BEFORE = "original_content"


class Windsurf(Importer):
    """Imports the transcripts below ~/.windsurf/transcripts."""

    name = "windsurf"
    version = 1
    description = "transcripts of Windsurf's Cascade (JSON Lines)"
    kept = "turns, thinking, tool calls and results"
    dropped = "whole files before an edit, rules, Cascade's encrypted history"
    marks = (("status", "type", "user_input"), ("status", "type", "planner_response"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if sealed.is_sealed(file, head, "windsurf"):
            return 0.6
        objects, rest = head_objects(head)
        first = objects[:4] or [head_value(rest)]
        return 0.9 if any(map(_is_step, first)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            head = stream.read(1)
        if file.suffix == sealed.SUFFIX and head != b"{":
            yield from sealed.refused(file, NEEDS)
        source = Source(
            f"{self.name}/{printable(file.stem) if is_uuid(file.stem) else file_key(file)}",
            self.name,
            origin=file.label,
            rewritten=True,
            project=_directory(file),
        )
        names = ToolNames()
        with file.open() as stream:
            yield from events_of(
                read_records(stream),
                lambda at, record: _messages(at, record, names),
                lambda _: source,
            )

    def needs_of(self, name: str) -> tuple[str, str] | None:
        """That a file with this name is encrypted, and what to do; None for a transcript."""
        return NEEDS if name.endswith(sealed.SUFFIX) else None


def _is_step(value: object) -> bool:
    """Whether a record is a step: its fields are under the name of its type."""
    fields = as_dict(value)
    kind = fields.get("type")
    own = isinstance(kind, str) and isinstance(fields.get(kind), dict)
    return own and ("status" in fields or kind in ("user_input", "planner_response"))


def _directory(file: LogFile) -> str | None:
    """The first working directory that a command was run in."""
    with file.open() as stream:
        for record in islice(read_records(stream), _LOOKED_AT):
            step = {} if isinstance(record, Skipped) else as_dict(record.value)
            if named := as_text(as_dict(step.get("run_command")).get("cwd")):
                return named
    return None


def _messages(ordinal: int, record: Record, names: ToolNames) -> list[Message] | str:
    """The messages of a step, or the reason to skip it."""
    step = as_dict(record.value)
    if not step:
        return NOT_AN_OBJECT
    kind = as_text(step.get("type")) or ""
    fields = step.get(kind)
    if not isinstance(fields, dict):
        return no_message(step.get("type"))
    if str(step.get("status")).lower() in _WAITING:
        return UNFINISHED
    at = sent_at(step.get("timestamp"))
    contents: list[tuple[str, Content]] = []
    said = Content()
    if kind == "user_input":
        said.add(as_text(fields.get("user_response")) or "")
        contents.append(("user", said))
    elif kind == "planner_response":
        said.add(as_text(fields.get("thinking")) or "", "thinking")
        said.add(as_text(fields.get("response")) or "")
        contents.append(("assistant", said))
    else:
        contents = _call(kind, fields, f"step-{ordinal}", names)
    messages = [
        content.message(role, sent_at=at)  # type: ignore[arg-type]
        for role, content in contents
        if not content.is_empty
    ]
    return messages or EMPTY


def _call(
    kind: str, fields: dict[str, Any], use_id: str, names: ToolNames
) -> list[tuple[str, Content]]:
    """A step that called a tool: the call, and what it gave."""
    given = {key: held for key, held in fields.items() if key not in (*_RESULT_KEYS, _BEFORE)}
    tool = as_text(given.pop("tool_name", None)) or kind
    arguments = given.pop("arguments", given) if "arguments" in given else given
    shown, blobs = without_base64(arguments)
    call, answer = Content(), Content()
    call.add_tool_use(tool, shown if isinstance(shown, str) else compact_json(shown), use_id, names)
    call.blobs += blobs
    got = {key: fields[key] for key in _RESULT_KEYS if fields.get(key) not in (None, "")}
    if got.get("exit_code") == 0:
        del got["exit_code"]
    first = next(iter(got.values()), None)
    if got:
        answer.is_answer = True
        answer.tool_result_ids.append(use_id)
        is_plain = len(got) == 1 and isinstance(first, str)
        text = str(first) if is_plain else compact_json(without_base64(got)[0])
        answer.add(text, "tool_result", tool)
        names.take(use_id)
    return [("assistant", call), ("tool", answer)]
