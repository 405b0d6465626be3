"""Turns one request of a VS Code chat and its response into messages.

A request is what the user typed, with what was attached to it. A response is a list of parts in
the order in which they were shown: pieces of text, thoughts, calls of tools, and marks of the
screen. A message ends at each result of a tool.

Tested in tests/importers/test_vscode_copilot.py.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json, read_attachment, without_base64
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.conversation import marker
from treemem.importers.common.source_ids import is_uuid, sent_at
from treemem.importers.vscode_copilot.calls import (
    Rounds,
    arguments_of,
    path_of,
    result_of,
    words_of,
)
from treemem.types import Message, MessageKind

# Parts that say nothing beside the text, or that another part says.
_DROPPED = frozenset({
    "agentDetection", "clearToPreviousToolInvocation", "codeCitation", "codeblockUri", "command",
    "disabledClaudeHooks", "externalEdits", "hook", "markdownInfo", "mcpServersStarting", "move",
    "multiDiffData", "prepareToolInvocation", "progressMessage", "progressTask",
    "progressTaskSerialized", "reference", "treeData", "undoStop", "usedContext", "workspaceEdit",
})  # fmt: skip
_EDITS = frozenset({"textEditGroup", "notebookEditGroup", "textEdit", "notebookEdit"})
# Attachments that the editor adds by itself.
_ADDED = frozenset({"implicit", "promptText", "workspace", "promptFile", "debugEvents"})
_FENCE = "```"
_CALL = "toolInvocationSerialized"
_PREFIXES = ("request_", "response_")
_BYTES_MAX = 32 * 1024**2


class Turn:
    """A request and its response.

    agents: the calls of each sub-agent, by the id of the call that started it.
    """

    def __init__(self, request: dict[str, Any], began: object, *, active: bool) -> None:
        self._request = request
        self._sent_at = sent_at(request.get("timestamp")) or sent_at(began)
        self._active = active
        self._rounds = Rounds(request.get("result"))
        self._blocks = BlockReader()
        self._asked: dict[str, str] = {}
        self.agents: dict[str, list[dict[str, Any]]] = {}

    def messages(self) -> Iterator[Message]:
        """The messages of the chat itself; fills agents."""
        prompt = self._prompt()
        if not prompt.is_empty:
            # A button that was pressed, or a command that has ended, is told in the user's name.
            is_typed = not self._request.get("confirmation")
            is_typed &= self._request.get("isSystemInitiated") is not True
            kind: MessageKind = "said" if is_typed else "injected"
            name = as_text(self._request.get("requestId"))
            yield self._message(prompt, "user", name, kind)
        parts = list(map(_as_part, as_list(self._request.get("response"))))
        self._rounds.match(part for part in parts if part.get("kind") == _CALL)
        yield from self._response(parts, self._reply_id())

    def agent_messages(self, agent: str) -> Iterator[Message]:
        """The messages of a sub-agent: what it was asked, and its calls."""
        if prompt := self._asked.get(agent):
            content = Content()
            content.add(prompt)
            yield self._message(content, "user", f"{agent}/prompt", "said")
        yield from self._response(self.agents[agent], f"{agent}/reply", is_agent=True)

    def _reply_id(self) -> str | None:
        own = as_text(self._request.get("responseId"))
        asked = as_text(self._request.get("requestId"))
        return own or (f"{asked}/reply" if asked else None)

    def _message(
        self, content: Content, role: str, name: str | None, kind: MessageKind = "said"
    ) -> Message:
        plain = (name or "").split("/")[0]
        for prefix in _PREFIXES:
            plain = plain.removeprefix(prefix)
        return content.message(
            role,  # type: ignore[arg-type]
            sent_at=self._sent_at,
            external_id=name,
            unique_id=is_uuid(plain),
            kind=kind,
            active=self._active,
        )

    # -- the request -------------------------------------------------------------------------

    def _prompt(self) -> Content:
        content = Content()
        message = self._request.get("message")
        text = message if isinstance(message, str) else as_dict(message).get("text")
        content.add(text if isinstance(text, str) else "")
        variables = as_list(as_dict(self._request.get("variableData")).get("variables"))
        for variable in map(as_dict, variables):
            _attach(content, variable)
        return content

    # -- the response ------------------------------------------------------------------------

    def _response(
        self, parts: Iterable[dict[str, Any]], name: str | None, *, is_agent: bool = False
    ) -> Iterator[Message]:
        content, count = Content(), 0
        text = _Running(content)
        for part in parts:
            agent = as_text(part.get("subAgentInvocationId"))
            if agent is not None and not is_agent:
                self.agents.setdefault(agent, []).append(part)
            elif part.get("kind") != _CALL:
                text.add(part)
            else:
                text.end()
                answer = self._call(content, part)
                count += 1
                if answer is not None:
                    yield self._message(content, "assistant", _numbered(name, count))
                    yield self._message(answer, "tool", _numbered(name, count, "result"))
                    content = Content()
                    text = _Running(content)
        text.end()
        if not is_agent:
            _add_error(content, self._request.get("result"))
        if not content.is_empty:
            yield self._message(content, "assistant", _numbered(name, count + 1))
        if not is_agent:
            yield from self._untold(name, count + 1)

    def _call(self, content: Content, part: dict[str, Any]) -> Content | None:
        """Adds a call. Returns its result, if it has one."""
        call_id = as_text(part.get("toolCallId")) or ""
        call, told = self._rounds.take(call_id)
        name = as_text(call.get("name")) or as_text(part.get("toolId")) or "unnamed"
        content.add_tool_use(name, arguments_of(call, part), call_id, self._blocks.names)
        prompt = as_text(as_dict(part.get("toolSpecificData")).get("prompt"))
        if prompt is not None:
            self._asked[call_id] = prompt
        answer = Content()
        self._blocks.add_tool_result(answer, result_of(told, part), call_id, name)
        return None if answer.is_empty else answer

    def _untold(self, name: str | None, count: int) -> Iterator[Message]:
        """The calls that the model made and the response does not show under the same id."""
        for call_id in self._rounds.rest():
            count += 1
            call, told = self._rounds.take(call_id)
            part = {"kind": _CALL, "toolCallId": call_id, "toolId": call.get("name")}
            content, answer = Content(), Content()
            tool = as_text(call.get("name")) or "unnamed"
            content.add_tool_use(tool, arguments_of(call, part), call_id, self._blocks.names)
            yield self._message(content, "assistant", _numbered(name, count))
            if told:
                self._blocks.add_tool_result(answer, told, call_id, tool)
                yield self._message(answer, "tool", _numbered(name, count, "result"))


class _Running:
    """Joins the pieces in which a text, or a thought, was sent."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._text: list[str] = []
        self._thought: list[str] = []
        self._is_fenced = False

    def add(self, part: dict[str, Any]) -> None:
        kind = part.get("kind")
        if kind == "thinking":
            self._end_text()
            value = part.get("value")
            pieces = value if isinstance(value, list) else [value]
            self._thought += [piece for piece in pieces if isinstance(piece, str)]
            return
        if kind in _DROPPED:
            # Subtle: the fence around an edit is a text of its own, before and behind the edit.
            if kind == "codeblockUri" and part.get("isEdit") is True:
                self._is_fenced = bool(self._text) and self._text[-1].strip() == _FENCE
                del self._text[len(self._text) - self._is_fenced :]
            return
        self._end_thought()
        if (text := _spoken(part)) is not None:
            if not self._is_fenced or text.strip() != _FENCE:
                self._text.append(text)
            self._is_fenced = False
            return
        self._end_text()
        _add_other(self._content, part)

    def end(self) -> None:
        self._end_thought()
        self._end_text()

    def _end_text(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        if not text.isspace():
            self._content.add(text)

    def _end_thought(self) -> None:
        thought = "".join(self._thought)
        self._thought.clear()
        if not thought.isspace():
            self._content.add(thought, "thinking")


def _as_part(value: object) -> dict[str, Any]:
    """A part of a response; the first versions have its text alone."""
    part = {"value": value} if isinstance(value, str) else as_dict(value)
    return part if isinstance(part.get("kind"), str | None) else {**part, "kind": ""}


def _spoken(part: dict[str, Any]) -> str | None:
    """The piece of the assistant's text that a part is; None if it is something else."""
    kind = part.get("kind")
    if kind is None and isinstance(part.get("value"), str):
        return words_of(part)
    if kind in ("markdownContent", "markdownVuln"):
        return words_of(part.get("content")) or words_of(part.get("value"))
    if kind == "inlineReference" or (kind is None and "inlineReference" in part):
        reference = part.get("inlineReference")
        path = path_of(reference)
        name = as_text(part.get("name")) or as_text(as_dict(reference).get("name"))
        return name or (path or "").rstrip("/").split("/")[-1]
    return None


def _add_other(content: Content, part: dict[str, Any]) -> None:
    """Adds what is on the screen beside the assistant's text."""
    kind = part.get("kind")
    if kind in _EDITS:
        content.add(marker("edit", path_of(part)), "marker", "edit")
    elif kind in ("warning", "info"):
        content.add(words_of(part.get("content")), "marker", "warning")
    elif kind in ("confirmation", "elicitation", "elicitation2", "elicitationSerialized"):
        shown = (words_of(part.get("title")), words_of(part.get("message")))
        content.add("\n".join(filter(None, shown)), "marker", "confirmation")
    elif part:
        shown_part, blobs = without_base64(part)
        content.add(compact_json(shown_part), "marker", as_text(kind))
        content.blobs += blobs


def _add_error(content: Content, result: object) -> None:
    error = as_dict(as_dict(result).get("errorDetails"))
    content.add(as_text(error.get("message")) or "", "marker", "error")


def _attach(content: Content, variable: dict[str, Any]) -> None:
    """Adds what was attached to a request: what the user pasted, or a reference to a file."""
    kind, value = as_text(variable.get("kind")) or "", variable.get("value")
    name = as_text(variable.get("name")) or as_text(variable.get("id"))
    is_added = kind in _ADDED or variable.get("automaticallyAdded") is True
    if kind == "image":
        _attach_image(content, variable, name)
        return
    pasted = as_text(variable.get("code")) if kind == "paste" else None
    if pasted is None and isinstance(value, str) and "://" not in value[:20]:
        pasted = value
    path = path_of(value)
    if pasted is not None:
        content.add(pasted, "injected" if is_added else "pasted", name or kind)
    elif kind == "terminalCommand" and (command := as_text(variable.get("command"))):
        output = as_text(variable.get("output")) or ""
        content.add(f"$ {command}\n{output}".rstrip("\n"), "injected", kind)
    elif path is not None or name is not None:
        content.add(
            marker(kind if kind not in ("", "implicit") else "file", path or name), "marker"
        )


def _attach_image(content: Content, variable: dict[str, Any], name: str | None) -> None:
    media_type = as_text(variable.get("mimeType")) or "image/png"
    data = _base64(variable.get("value"))
    source = {"type": "base64", "media_type": media_type, "data": data}
    attachment = read_attachment({"type": "image", "source": source}) if data else None
    shown = marker("image", name) if attachment is None else attachment.marker
    content.add(shown, "marker", media_type)
    content.blobs += [attachment.blob] if attachment is not None and attachment.blob else []


def _base64(value: object) -> str | None:
    """The bytes of an image in base64: as such, under "$base64", or as an object of numbers."""
    if isinstance(value, str):
        return value.partition(";base64,")[2] or value
    fields = as_dict(value)
    if isinstance(text := fields.get("$base64"), str):
        return text
    numbers = list(fields.values()) if isinstance(value, dict) else as_list(value)
    is_bytes = all(isinstance(byte, int) and 0 <= byte < 256 for byte in numbers)
    if not numbers or not is_bytes or len(numbers) > _BYTES_MAX:
        return None
    return base64.b64encode(bytes(numbers)).decode()


def _numbered(name: str | None, number: int, what: str = "") -> str | None:
    """The id of a message of a response: the response's own for the first."""
    if name is None:
        return None
    return "/".join(filter(None, (name, str(number) if number > 1 else "", what)))
