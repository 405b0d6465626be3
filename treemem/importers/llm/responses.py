"""Reads the older tables of llm's logs.db, in which a row is a prompt with its response.

A row yields the system prompt if it changed, the fragments, the tool results, the prompt, and the
response. Rows are ordered by id, not by time: ids are ULIDs, which increase.

Tested in tests/importers/test_llm.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_text
from treemem.importers.common.content import Content
from treemem.importers.llm.tables import Shared, fragment_message, is_ulid, utc
from treemem.types import Message, Role

EMPTY_RESPONSE = "empty response"

_IDS = "SELECT conversation_id, id FROM responses {without} ORDER BY id"
_RESPONSE = (
    "SELECT id, prompt, system, response, datetime_utc, {reasoning} FROM responses WHERE id = ?"
)
# A response that the newer tables also contain was written twice.
_NOT_A_TURN = "WHERE id NOT IN (SELECT id FROM turns)"
_CALL_IDS = "SELECT response_id, id FROM tool_calls ORDER BY id"
_CALL = "SELECT name, arguments, tool_call_id FROM tool_calls WHERE id = ?"
_RESULT_IDS = "SELECT response_id, id FROM tool_results ORDER BY id"
_RESULT = "SELECT name, output, tool_call_id, {exception} FROM tool_results WHERE id = ?"
_RESULT_ATTACHMENTS = """
SELECT attachment_id FROM tool_results_attachments WHERE tool_result_id = ? ORDER BY "order"
"""
_PROMPT_ATTACHMENTS = """
SELECT attachment_id FROM prompt_attachments WHERE response_id = ? ORDER BY "order"
"""
_FRAGMENTS = 'SELECT fragment_id FROM {table} WHERE response_id = ? ORDER BY "order"'


class Responses:
    """The responses of one file by conversation. Holds their ids only."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._rows = shared.tables.rows
        self._of: dict[object, list[object]] = {}
        needed = ("id", "prompt", "system", "response", "conversation_id", "datetime_utc")
        if shared.has("responses", *needed):
            without = _NOT_A_TURN if shared.has("turns", "id") else ""
            self._of = shared.tables.grouped(_IDS.format(without=without))
        # No index leads from a response to its calls, so one pass replaces a query for each.
        self._calls = self._results = {}
        if shared.has("tool_calls", "id", "response_id", "name", "arguments", "tool_call_id"):
            self._calls = shared.tables.grouped(_CALL_IDS)
        if shared.has("tool_results", "id", "response_id", "name", "output", "tool_call_id"):
            self._results = shared.tables.grouped(_RESULT_IDS)

    def conversations(self) -> list[object]:
        """The ids of the conversations in the order they began; None for rows without one."""
        return list(self._of)

    def read(self, conversation: object) -> Iterator[Message | Skipped]:
        """Yields the messages of a conversation, and a Skipped for each empty row."""
        has_reasoning = self._shared.has("responses", "reasoning")
        sql = _RESPONSE.format(reasoning="reasoning" if has_reasoning else "NULL")
        system: object = None
        seen: set[str] = set()
        for response_id in self._of.get(conversation, ()):
            for row in self._rows(sql, (response_id,)):
                events: list[Message | Skipped] = list(self._messages(row, system, seen))
                system = row[2] or system
                yield from events or [Skipped(EMPTY_RESPONSE)]

    def _messages(self, row: tuple[Any, ...], system: object, seen: set[str]) -> Iterator[Message]:
        response_id, prompt, instructions, response, when, reasoning = row
        time = utc(when)
        if instructions != system and as_text(instructions):
            content = Content()
            content.add(instructions)
            yield from _message(content, "system", response_id, time)
        for table, role in (("system_fragments", "system"), ("prompt_fragments", "user")):
            yield from self._fragments(table, role, response_id, time, seen)
        yield from _message(self._results_of(response_id), "tool", response_id, time)
        content = Content()
        content.add(as_text(prompt) or "")
        if self._shared.has("prompt_attachments", "response_id", "attachment_id", "order"):
            for (attachment,) in self._rows(_PROMPT_ATTACHMENTS, (response_id,)):
                self._shared.add_attachment(content, attachment)
        yield from _message(content, "user", response_id, time)
        content = Content()
        content.add(as_text(reasoning) or "", "thinking")
        content.add(as_text(response) or "")
        self._add_calls(content, response_id)
        yield from _message(content, "assistant", response_id, time)

    def _fragments(
        self, table: str, role: Any, response_id: object, time: str | None, seen: set[str]
    ) -> Iterator[Message]:
        """Yields each fragment once per conversation, however often prompts use it."""
        if not self._shared.has(table, "response_id", "fragment_id", "order"):
            return
        for (fragment_id,) in self._rows(_FRAGMENTS.format(table=table), (response_id,)):
            groups = self._shared.fragment(fragment_id)
            if groups is not None and groups[0] not in seen:
                seen.add(groups[0])
                yield fragment_message(role, *groups, time)

    def _add_calls(self, content: Content, response_id: object) -> None:
        for call in self._calls.get(response_id, ()):
            for name, arguments, call_id in self._rows(_CALL, (call,)):
                text = as_text(arguments) or "{}"
                content.add_tool_use(str(name), text, call_id, self._shared.blocks.names)

    def _results_of(self, response_id: object) -> Content:
        """Reads the results of the tools that the previous response called."""
        content = Content()
        has_exception = self._shared.has("tool_results", "exception")
        sql = _RESULT.format(exception="exception" if has_exception else "NULL")
        has_attachments = self._shared.has(
            "tool_results_attachments", "tool_result_id", "attachment_id", "order"
        )
        for result in self._results.get(response_id, ()):
            for name, output, call_id, exception in self._rows(sql, (result,)):
                outputs = [text for text in (output, exception) if as_text(text)]
                self._shared.blocks.add_tool_result(content, outputs, call_id, as_text(name))
            for (attachment,) in (
                self._rows(_RESULT_ATTACHMENTS, (result,)) if has_attachments else ()
            ):
                self._shared.add_attachment(content, attachment)
        return content


def _message(
    content: Content, role: Role, response_id: object, time: str | None
) -> Iterator[Message]:
    """Yields the message with one role in a row, unless it is empty."""
    if content.is_empty:
        return
    yield content.message(
        role,
        sent_at=time,
        external_id=f"llm:{response_id}/{role}",
        unique_id=is_ulid(response_id),
    )
