"""Reads the threads of Amp: a JSON document for each, which Amp rewrites as it grows.

Tested in tests/importers/test_amp.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, id_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.records import events_of
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import (
    file_key,
    one_line,
    path_of_uri,
    printable,
    sent_at,
)
from treemem.origins.wrappers import is_injected
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"

_THREAD = "T-"
_BEGINNING = lazy_regex(rb'\s*\{\s*(?:"v"\s*:\s*\d+\s*,\s*)?"id"\s*:\s*"T-[0-9a-f-]{36}"')
_BESIDE = frozenset({"created", "v", "agentMode", "env"})
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "info": "system"}
_OUTPUTS = ("output", "content", "diff")


class Amp(Importer):
    """Imports threads of Amp."""

    name = "amp"
    version = 1
    description = "threads of Amp (JSON)"
    kept = "turns, thinking, tool calls and results, commands of the user, summaries, images"
    dropped = "usage, model names, traces, states, contents of mentioned files"
    marks = (("id", "created", "messages", "env"), ("role", "messageId", "content"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = as_dict(head_value(head))
        is_named = (as_text(value.get("id")) or "").startswith(_THREAD)
        if is_named and isinstance(value.get("messages"), list):
            return 0.95 if _BESIDE & value.keys() else 0.0
        # A head that ends in the first message shows no list, and a torn file no document.
        is_begun = is_named and {"v", "created"} <= value.keys()
        return 0.9 if is_begun or _BEGINNING.match(head) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        thread = {
            member.key: member.value
            for member in read_members(file)
            if isinstance(member, JsonMember) and member.key and not member.is_element
        }
        source, speech = _source_of(file, thread), _Speech(thread.get("created"))
        yield from events_of(
            _messages(file), lambda _, value: speech.message(value), lambda _: source
        )


def _messages(file: LogFile) -> Iterator[object]:
    for member in read_members(file):
        if isinstance(member, Skipped):
            yield member
        elif member.key == "messages" and member.is_element:
            yield member.value


def _source_of(file: LogFile, thread: dict[str, Any]) -> Source:
    key = as_text(thread.get("id"))
    key = key or (file.stem if file.stem.startswith(_THREAD) else file_key(file))
    trees = as_list(as_dict(as_dict(thread.get("env")).get("initial")).get("trees"))
    tree = as_dict(trees[0]) if trees else {}
    return Source(
        f"{Amp.name}/{printable(key)}",
        Amp.name,
        title=one_line(thread.get("title")),
        origin=file.label,
        rewritten=True,
        project=path_of_uri(tree.get("uri")) or as_text(tree.get("displayName")),
    )


class _Speech:
    """Reads messages in the order of the thread."""

    def __init__(self, began: object) -> None:
        self._blocks = BlockReader()
        self._began: str | None = sent_at(began)

    def message(self, value: object) -> Message | str:
        """A message, or the reason to skip it."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        role = _ROLES.get(as_text(value.get("role")))
        if role is None:
            return no_message(value.get("role"))
        when = sent_at(as_dict(value.get("meta")).get("sentAt"))
        when = when or sent_at(as_dict(value.get("usage")).get("timestamp")) or self._began
        self._began = None  # the time of the thread is that of its first message
        content = Content()
        blocks = value.get("content")
        kinds = {self._add(content, block) for block in
                 ([blocks] if isinstance(blocks, str) else as_list(blocks))}  # fmt: skip
        if content.is_empty:
            return EMPTY
        kind: MessageKind = "summary" if kinds == {"summary"} else "said"
        author = None
        has_words = any(map(str.strip, content.spoken)) and not is_injected(content.spoken)
        if role == "user" and not has_words and kind == "said":
            role, kind = ("tool", "said") if content.is_answer else ("user", "injected")
        elif role == "user" and as_text(value.get("parentToolUseId")):
            role, author = "other", "parent agent"
        elif role == "system":
            kind = kind if kind == "summary" else "injected"
        return content.message(
            role,
            author=author,
            sent_at=when,
            kind=kind,
            external_id=id_text(value.get("messageId")),
        )

    def _add(self, content: Content, value: object) -> str | None:
        """Adds a block; returns its type."""
        block = as_dict(value)
        kind = as_text(block.get("type"))
        if kind == "tool_result" and "run" in block:
            use_id = block.get("toolUseID") or block.get("tool_use_id")
            self._blocks.add_tool_result(content, _result_of(as_dict(block["run"])), use_id)
        elif kind == "manual_bash_invocation":
            command = as_dict(block.get("args")).get("cmd")
            content.add(f"[tool use: bash] {as_text(command) or ''}", "tool_use", "bash")
            run = _result_of(as_dict(block.get("toolRun")))
            self._blocks.add_tool_result(content, run, None, "bash")
        elif kind == "summary":
            summary = block.get("summary")
            content.add(as_text(summary) or as_text(as_dict(summary).get("summary")) or "")
        else:
            self._blocks.add(content, [value])
        return kind


def _result_of(run: dict[str, Any]) -> object:
    """What a tool returned: texts, blocks, or JSON."""
    result = run.get("result")
    if result is None:
        error = run.get("error")
        return as_text(as_dict(error).get("message")) or as_text(error) or []
    if isinstance(result, dict):
        outputs = [result[key] for key in _OUTPUTS if isinstance(result.get(key), str | list)]
        result = next(filter(None, outputs), [] if outputs else result)
    is_shown = isinstance(result, str) or (isinstance(result, list) and all(map(_is_block, result)))
    return result if is_shown else compact_json(result)


def _is_block(value: object) -> bool:
    return as_text(as_dict(value).get("type")) is not None
