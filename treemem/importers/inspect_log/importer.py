"""Reads the logs of Inspect: a document of JSON, or an archive (.eval) with a file for each sample.

A sample is a conversation of a model with a task. Nobody typed it here: the task is of a data set.

Tested in tests/importers/test_inspect_log.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, id_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.json_members import read_members, read_value
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import file_key, one_line, printable, sent_at
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"
BESIDE = "no chat: the log's header, summaries or scores"
NO_SAMPLE = "no chat: not a sample"

_SAMPLE = frozenset({"id", "epoch", "input", "target"})
_HEADER = frozenset({"version", "eval", "plan"})
_ROLES: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip
_ATTACHED = ("attachment://", "tc://")
_HEADERS = (("..", "header.json"), ("..", "_journal", "start.json"), ("..", "start.json"))
_MEDIA = ("image", "audio", "video", "document")


class InspectLog(Importer):
    """Imports logs of Inspect; a source is a sample."""

    name = "inspect"
    version = 1
    description = "logs of Inspect (JSON, .eval)"
    kept = "messages of each sample, reasoning, tool calls and results, media as markers"
    dropped = "scores, events, usage, model names, settings, states"
    marks = (
        ("version", "status", "eval", "samples"),
        ("id", "epoch", "input", "target", "messages"),
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        value = head_value(head)
        first = as_dict(as_list(value)[0] if as_list(value) else None)
        fields = as_dict(value)
        if fields.keys() >= _SAMPLE or (fields.keys() >= _HEADER and _is_eval(fields["eval"])):
            return 0.95
        is_beside = file.folder in ("summaries", "_journal") or file.stem in (
            "summaries", "reductions", "summary", "results", "start",
        )  # fmt: skip
        in_log = is_beside and _header_of(file) is not None
        return 0.9 if first.keys() >= _SAMPLE or in_log else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        about: dict[str, Any] = {}
        fields = as_dict(head_value(file.head()))
        if fields.keys() >= _SAMPLE:
            header = _header_of(file)
            about = as_dict(as_dict(head_value(header.head())).get("eval")) if header else {}
            yield from _sample(file, about, read_value(file))
            return
        is_log = False
        for member in read_members(file):
            if isinstance(member, Skipped):
                yield member
            elif member.key == "eval":
                about = as_dict(member.value)
            elif member.key == "samples" and member.is_element:
                is_log = True
                yield from _sample(file, about, member.value)
        if not is_log:
            yield Skipped(BESIDE)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """The header of an archive's samples, which names the task."""
        header = _header_of(file)
        return () if header is None or header.label == file.label else (header,)


def _header_of(file: LogFile) -> LogFile | None:
    """The file of an archive that says which log it is."""
    steps = _HEADERS if file.folder == "samples" else (
        ("header.json",), ("_journal", "start.json"), ("..", "header.json"), ("..", "start.json"),
        ("..", "..", "header.json"),
    )  # fmt: skip
    found = (file.neighbour(*names) for names in steps)
    return next((one for one in found if one is not None and _is_header(one)), None)


def _is_header(file: LogFile) -> bool:
    return _is_eval(as_dict(head_value(file.head())).get("eval"))


def _is_eval(value: object) -> bool:
    return {"task", "run_id"} <= as_dict(value).keys()


def _sample(file: LogFile, about: dict[str, Any], value: object) -> Iterator[Event]:
    if not isinstance(value, dict) or not value.keys() >= _SAMPLE:
        yield Skipped(NO_SAMPLE)
        return
    task = one_line(about.get("task"))
    name = f"{id_text(value.get('id')) or 'sample'}_epoch_{id_text(value.get('epoch')) or 1}"
    log = as_text(about.get("eval_id")) or as_text(about.get("run_id"))
    key = as_text(value.get("uuid")) or f"{log or file_key(file)}/{name}"
    yield Source(
        f"{InspectLog.name}/{printable(key)}",
        InspectLog.name,
        title=one_line(f"{task}: {name}" if task else name),
        origin=file.label,
    )
    speech = _Speech(value)
    for message in as_list(value.get("messages")):
        try:
            told = speech.message(message)
        except RecursionError:
            yield Skipped(TOO_DEEP, problem=True)
            continue
        yield Skipped(told) if isinstance(told, str) else told


class _Speech:
    """Reads the messages of a sample."""

    def __init__(self, sample: dict[str, Any]) -> None:
        self._blocks = BlockReader()
        self._attached = as_dict(sample.get("attachments"))
        self._began = sent_at(sample.get("started_at"))
        self._times: dict[str, str | None] = {}
        for event in map(as_dict, as_list(sample.get("events"))):
            when = sent_at(event.get("timestamp"))
            if event.get("event") == "tool":
                self._times[str(event.get("id"))] = when
            for choice in as_list(as_dict(event.get("output")).get("choices")):
                message = as_dict(as_dict(choice).get("message"))
                self._times.setdefault(str(message.get("id")), when)

    def message(self, value: object) -> Message | str:
        """A message, or the reason to skip it."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        role = _ROLES.get(as_text(value.get("role")))
        if role is None:
            return no_message(value.get("role"))
        content = Content()
        call_id = as_text(value.get("tool_call_id"))
        blocks = value.get("content")
        parts = [self._block(part) for part in (blocks if isinstance(blocks, list) else [blocks])]
        if role == "tool":
            shown = [part for part in parts if part is not None]
            error = as_text(as_dict(value.get("error")).get("message"))
            shown += [error] if error and not any(shown) else []
            name = as_text(value.get("function"))
            self._blocks.add_tool_result(content, shown, call_id, name)
        else:
            self._blocks.add(content, [part for part in parts if part is not None])
        for call in map(as_dict, as_list(value.get("tool_calls"))):
            name = as_text(call.get("function")) or "unnamed"
            arguments = compact_json(self._resolved(call.get("arguments")))
            content.add_tool_use(name, arguments, call.get("id"), self._blocks.names)
        if content.is_empty:
            return EMPTY
        # What is no input is of the agent's frame, which asks the model to go on.
        is_frame = role == "user" and value.get("source") != "input"
        kind: MessageKind = "injected" if is_frame else "said"
        key = as_text(value.get("id"))
        when = self._times.get(call_id or "") or self._times.get(key or "")
        return content.message(
            role,
            origin="person" if role == "user" and not is_frame else None,
            sent_at=when or self._began,
            external_id=key,
            kind=kind,
        )

    def _block(self, part: object) -> object:
        """A part of a content in the shape of the API's; None if it says nothing."""
        part = self._resolved(part)
        fields = as_dict(part)
        part_type = as_text(fields.get("type"))
        if part_type == "reasoning":
            words = as_text(fields.get("reasoning")) if not fields.get("redacted") else None
            words = words or as_text(fields.get("summary"))
            return {"type": "thinking", "thinking": words} if words else None
        if part_type in _MEDIA:
            place = as_text(fields.get(part_type)) or as_text(fields.get("filename")) or ""
            if part_type == "image":
                return {"type": "image_url", "image_url": {"url": place}}
            return {"type": part_type, "url": place[:200]}
        return part if part not in ("", None) else None

    def _resolved(self, value: object, depth: int = 8) -> object:
        """A value in which references to the sample's attachments are the attached texts."""
        if isinstance(value, str):
            prefix = next(filter(value.startswith, _ATTACHED), None)
            found = self._attached.get(value.removeprefix(prefix)) if prefix else None
            return found if isinstance(found, str) else value
        if depth and isinstance(value, list):
            return [self._resolved(item, depth - 1) for item in value]
        if depth and isinstance(value, dict):
            return {key: self._resolved(item, depth - 1) for key, item in value.items()}
        return value
