"""Builds messages from the API history of Cline and Roo Code.

Pure. Everything but the model's answers is logged as the user's: typed text, tool results, the
state of the editor, reminders. Tags distinguish them.

Tested in tests/importers/test_cline.py.
"""

from __future__ import annotations

import re
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import add_block, text_in_tag
from treemem.importers.common.source_ids import sent_at
from treemem.origins.wrappers import in_element, is_continuation, is_injected
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"

_ROLE_OF: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip
_TYPED = ("task", "feedback", "answer", "user_message", "user_input")
_DETAILS = ("environment_details",)
# Tools whose result is what the user answered.
_ASKING = frozenset({
    "act_mode_respond", "ask_followup_question", "attempt_completion", "condense", "new_rule",
    "new_task", "plan_mode_respond", "report_bug",
})  # fmt: skip
# "[read_file for 'a.py'] Result:", with the tool's output after it or in the next block.
_RESULT = lazy_regex(r"\[(\w{1,80})(?: for [^\n]{0,2000})?\] Result:")
_ANSWER = lazy_regex(r"<(answer|feedback|user_message)>\n?(.*?)\n?</\1>", re.DOTALL)
_TOOL_SUFFIX = "_tool_"


class Speech:
    """Turns the entries of one history into messages; remembers the names of called tools.

    has_ids: whether the entries' ids are globally unique; only the SDK's are.
    """

    def __init__(self, *, has_ids: bool) -> None:
        self._blocks = BlockReader()
        self._has_ids = has_ids

    def message(self, entry: dict[str, Any]) -> Message | Skipped:
        if entry.get("type") == "reasoning" and "role" not in entry:
            return self._reasoning(entry)
        role = _ROLE_OF.get(as_text(entry.get("role")))
        if role is None:
            return Skipped(NO_ROLE)
        content = Content()
        has_injected = False
        try:
            if role == "user":
                has_injected = self._add_user(content, entry.get("content"))
            else:
                self._add_model(content, entry, role)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        if content.is_empty:
            return Skipped(EMPTY)
        if role == "user" and content.is_answer and not content.spoken:
            role = "tool"
        kind = _kind_of(entry, content)
        if kind == "said" and role == "user" and has_injected and not content.spoken:
            kind = "injected"
        return self._finished(content, entry, role, kind)

    def _finished(
        self, content: Content, entry: dict[str, Any], role: Role, kind: MessageKind
    ) -> Message:
        external_id = _name(entry.get("id")) if self._has_ids else None
        return content.message(
            role,
            sent_at=sent_at(entry.get("ts") or as_dict(entry.get("metadata")).get("generatedAt")),
            external_id=external_id,
            kind=kind,
            unique_id=external_id is not None,
        )

    def _reasoning(self, entry: dict[str, Any]) -> Message | Skipped:
        """The message of an entry that contains only thoughts."""
        content = Content()
        for item in [entry, *as_list(entry.get("summary"))]:
            content.add(as_text(as_dict(item).get("text")) or "", "thinking")
        if content.is_empty:
            return Skipped(EMPTY)
        return self._finished(content, entry, "assistant", "said")

    def _add_model(self, content: Content, entry: dict[str, Any], role: Role) -> None:
        for key in ("reasoning_content", "reasoning"):
            content.add(as_text(entry.get(key)) or "", "thinking")
        blocks = entry.get("content")
        for block in blocks if isinstance(blocks, list) else [blocks]:
            if role == "tool" and isinstance(block, str):
                self._blocks.add_tool_result(content, block, entry.get("tool_call_id"))
            else:
                self._add_other(content, block)

    def _add_other(self, content: Content, block: object) -> None:
        """Adds a block that is not plain text. The content of an attached file is not speech."""
        is_file = isinstance(block, dict) and block.get("type") == "file"
        if is_file and (text := as_text(as_dict(block).get("content"))) is not None:
            content.add(text, "marker", as_text(as_dict(block).get("path")))
            return
        add_block(self._blocks, content, block)

    def _add_user(self, content: Content, blocks: object) -> bool:
        """Adds the user's blocks; returns whether the tool injected any of them.

        A result comes behind its header, in the same block and in those that follow, up to what
        the tool adds: a feedback of the user's in between cannot be told from a result.
        """
        has_injected = False
        tool: str | None = None  # whose results come next
        for block in blocks if isinstance(blocks, list) else [blocks]:
            text = block if isinstance(block, str) else _text_of(block)
            if text is None:
                self._add_other(content, block)
                continue
            header = _RESULT.match(text)
            tool = header.group(1) if header is not None else tool
            prompt = text_in_tag(text, _TYPED) if tool is None or tool in _ASKING else None
            if prompt is not None:
                content.add(prompt)
            elif is_injected([text]) and not is_continuation([text]):
                has_injected, tool = True, None
                is_details = in_element(text, _DETAILS)
                content.add(text, "marker", "environment_details" if is_details else "notice")
            elif tool is not None:
                _add_result(content, text, tool)
            else:
                content.add(text)
        return has_injected


def _add_result(content: Content, text: str, tool: str) -> None:
    """Adds a tool's result. Only a tool that asks the user returns the user's words."""
    content.is_answer = True
    answer = _ANSWER.search(text) if tool in _ASKING else None
    if answer is None:
        content.add(text, "tool_result", tool)
        return
    start = content.add(text)
    content.mark(start, start + answer.start(2), "tool_result", tool)
    content.mark(start + answer.end(2), start + len(text), "tool_result", tool)


def _text_of(block: object) -> str | None:
    if not isinstance(block, dict) or block.get("type") != "text":
        return None
    return as_text(block.get("text"))


def _kind_of(entry: dict[str, Any], content: Content) -> MessageKind:
    record_kind = as_dict(entry.get("metadata")).get("kind")
    if entry.get("isSummary") is True or record_kind == "compaction_summary":
        return "summary"
    if is_continuation(content.spoken):
        return "summary"
    if entry.get("isTruncationMarker") is True or record_kind == "compaction":
        return "injected"
    return "said"


def _name(entry_id: object) -> str | None:
    """The id of an entry. Each save of a session appends the call's id to the id of a tool result
    again; only the first is used.

    Example:
        >>> _name("msg_a_tool_t1_tool_t1"), _name("msg_b"), _name(None)
        ('cline:msg_a_tool_t1', 'cline:msg_b', None)
    """
    if not isinstance(entry_id, str) or not entry_id:
        return None
    pieces = entry_id.split(_TOOL_SUFFIX)
    return "cline:" + _TOOL_SUFFIX.join(dict.fromkeys(pieces))
