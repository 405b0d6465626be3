"""Reads chat_history.jsonl of Grok Build: a line for each item that the model is sent.

Items have no times and no ids. Older files have the roles of chat completions instead of types.

Tested in tests/importers/test_grok_build.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.attachments import compact_json
from treemem.importers.common.base import LogFile
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import Record, read_records, skim_json
from treemem.origins.wrappers import is_continuation, is_injected
from treemem.types import Message, MessageKind, Role

EMPTY = "empty item"
NOT_AN_OBJECT = "no message: not an object"
PARENT = "parent agent"

_KINDS = frozenset({"system", "user", "assistant", "reasoning", "tool_result", "backend_tool_call"})
# What only this format has among those with such types.
_SIGNS = frozenset({"synthetic_reason", "prompt_index", "model_fingerprint", "tool_call_id"})
# Reasons for an item in the user's name that are the user's.
_TYPED = frozenset({"human", "interjection"})
_LOOKED_AT = 40


def is_row(values: Sequence[object]) -> bool:
    """Whether the first values of a file are items of a history."""
    rows = [as_dict(value) for value in values[:_LOOKED_AT]]
    kinds = {as_text(row.get("type")) for row in rows}
    is_known = bool(rows) and kinds <= _KINDS and all("role" not in row for row in rows)
    return is_known and any(map(_is_sign, rows))


def is_synthetic(reason: object) -> bool:
    """Whether the tool wrote an item in the user's name."""
    return reason is not None and reason not in _TYPED


def written_by_tool(file: LogFile | None) -> dict[int, str]:
    """The texts of the prompts that the tool itself wrote, by the numbers of their prompts."""
    if file is None:
        return {}
    written: dict[int, str] = {}
    try:
        with file.open() as stream:
            for item in read_records(stream, skim_json):
                row = as_dict(item.value) if isinstance(item, Record) else {}
                number = row.get("prompt_index")
                if isinstance(number, int) and is_synthetic(row.get("synthetic_reason")):
                    written[number] = "\n".join(texts_of(row.get("content")))
    except ImportFileError:
        return written
    return written


class History:
    """One pass over a history. is_agents: the session is a sub-agent's."""

    def __init__(self, *, is_agents: bool) -> None:
        self._is_agents = is_agents
        self._blocks = BlockReader()

    def message(self, _: int, item: Record) -> Message | str:
        """The message of an item, or the reason to skip it."""
        if not isinstance(item.value, dict):
            return NOT_AN_OBJECT
        row = item.value
        named = as_text(row.get("type")) or as_text(row.get("role"))
        content = Content()
        if named == "user":
            return self._asked(row, content)
        role: Role = "assistant"
        if named in ("tool_result", "tool"):
            role = "tool"
            self._blocks.add_tool_result(content, row.get("content"), row.get("tool_call_id"))
            self._blocks.add(content, row.get("images"))
        elif named == "assistant":
            content.add(_thoughts(row), "thinking")
            self._blocks.add(content, row.get("content"))
            for call in as_list(row.get("tool_calls")):
                self._add_call(content, as_dict(call))
        elif named == "reasoning":
            content.add("\n\n".join(texts_of(row.get("summary"))), "thinking")
        elif named == "backend_tool_call":
            kind = as_dict(row.get("kind"))
            self._add_call(content, kind | {"name": kind.get("tool_type"), "arguments": kind})
        else:
            return no_message(named)
        return EMPTY if content.is_empty else content.message(role)

    def _asked(self, row: dict[str, Any], content: Content) -> Message | str:
        self._blocks.add(content, row.get("content"))
        if content.is_empty:
            return EMPTY
        kind: MessageKind = "said"
        if is_synthetic(row.get("synthetic_reason")) or is_injected(content.spoken):
            is_summary = is_continuation(content.spoken)
            kind = "summary" if is_summary else "injected"
        elif self._is_agents:
            return content.message("other", author=PARENT)
        return content.message("user", kind=kind)

    def _add_call(self, content: Content, call: dict[str, Any]) -> None:
        function = as_dict(call.get("function")) or call
        given = function.get("arguments")
        text = given if isinstance(given, str) else compact_json(given)
        name = as_text(function.get("name")) or "unnamed"
        content.add_tool_use(name, text, call.get("id"), self._blocks.names)


def _thoughts(row: dict[str, Any]) -> str:
    """The thoughts that older versions kept in the answer itself."""
    inside = as_text(as_dict(row.get("reasoning")).get("text"))
    return inside or as_text(row.get("reasoning_content")) or ""


def _is_sign(row: dict[str, Any]) -> bool:
    is_thought = row.get("type") == "reasoning" and isinstance(row.get("summary"), list)
    return is_thought or not _SIGNS.isdisjoint(row)
