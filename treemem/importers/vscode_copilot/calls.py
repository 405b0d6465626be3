"""Reads what a tool of VS Code's chat was called with, and what it answered.

The chat shows a call as a part of the response. The model's own words for it, the arguments and the
result, are in the metadata that the Copilot extension adds when the response is complete.

Tested in tests/importers/test_vscode_copilot.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.source_ids import path_of_uri

_DENIED = (0, 5)  # by the user: denied, skipped
_TEXT_NODE = 2
_DEPTH_MAX = 60


class Rounds:
    """The calls that the model made for one request, by their ids, with their results."""

    def __init__(self, result: object) -> None:
        metadata = as_dict(as_dict(result).get("metadata"))
        self._calls = {
            call_id: as_dict(call)
            for turn in as_list(metadata.get("toolCallRounds"))
            for call in as_list(as_dict(turn).get("toolCalls"))
            if (call_id := as_text(as_dict(call).get("id")))
        }
        self._results = dict(as_dict(metadata.get("toolCallResults")))
        self._own: dict[str, str] = {}

    def match(self, parts: Iterable[dict[str, Any]]) -> None:
        """Finds the calls of a response's parts by their order, if none has the id of one: in 2025
        the chat gave its own ids to calls."""
        shown = [as_text(part.get("toolCallId")) or "" for part in parts]
        if len(shown) != len(self._calls) or self._calls.keys() & set(shown):
            return
        self._own = dict(zip(shown, self._calls, strict=True))

    def take(self, call_id: str) -> tuple[dict[str, Any], str | None]:
        """A call and its result; each only once. Empty if the model's words are not there."""
        call_id = self._own.get(call_id, call_id)
        result = self._results.pop(call_id, None)
        return self._calls.pop(call_id, {}), _result_text(result)

    def rest(self) -> list[str]:
        """The ids of the calls that were not taken."""
        return list(self._calls)


def path_of(value: object) -> str | None:
    """The path that a URI, a place in a file or a symbol has, if it names one.

    Example:
        >>> path_of({"uri": {"scheme": "file", "path": "/w/a.py"}}), path_of("file:///w/b")
        ('/w/a.py', '/w/b')
    """
    if isinstance(value, str):
        if value.startswith("vscode-remote://"):
            _, slash, path = value.removeprefix("vscode-remote://").partition("/")
            return slash + unquote(path) if path else None
        return path_of_uri(value)
    fields = as_dict(value)
    for key in ("uri", "location"):
        if isinstance(inner := fields.get(key), dict | str):
            return path_of(inner) if not isinstance(inner, dict) or inner != fields else None
    return as_text(fields.get("fsPath")) or as_text(fields.get("path"))


def words_of(value: object) -> str:
    """The text of a Markdown value or a plain one; "" for anything else.

    Example:
        >>> words_of("a"), words_of({"value": "b", "isTrusted": False}), words_of(None)
        ('a', 'b', '')
    """
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def arguments_of(call: dict[str, Any], part: dict[str, Any]) -> str:
    """What a tool was called with: the model's own words, else what the chat shows."""
    arguments = call.get("arguments")
    if arguments is not None:
        return arguments if isinstance(arguments, str) else compact_json(arguments)
    data, details = as_dict(part.get("toolSpecificData")), as_dict(part.get("resultDetails"))
    line = as_dict(data.get("commandLine"))
    command = next(
        filter(None, (as_text(line.get(key)) for key in ("userEdited", "toolEdited", "original"))),
        as_text(data.get("command")),
    )
    if command is not None:
        return compact_json({"command": command})
    if data.get("rawInput") is not None:
        return compact_json(data["rawInput"])
    if (prompt := as_text(data.get("prompt"))) is not None:
        return compact_json({"description": data.get("description"), "prompt": prompt})
    for key in ("todoList", "extensions"):
        if isinstance(listed := data.get(key), list):
            return compact_json({key: listed})
    given = details.get("input") or data.get("input")
    if isinstance(given, str) and given:
        return given
    return words_of(part.get("invocationMessage"))


def result_of(told: str | None, part: dict[str, Any]) -> object:
    """What a tool answered, as blocks; None if nothing is known of it. told: the model's words."""
    if told:
        return told
    confirmed = part.get("isConfirmed")
    if confirmed is False or as_dict(confirmed).get("type") in _DENIED:
        return "[denied by the user]"
    data, details = as_dict(part.get("toolSpecificData")), part.get("resultDetails")
    blocks = [_output(output) for output in as_list(as_dict(details).get("output"))]
    if isinstance(output := as_dict(details).get("output"), dict):
        blocks = [_output(output)]
    if any(blocks):
        return list(filter(None, blocks))
    shown = as_dict(data.get("terminalCommandOutput")).get("text")
    for text in (shown, data.get("output"), data.get("result")):
        if isinstance(text, str) and text:
            return text
    places = [path for place in as_list(details) if (path := path_of(place))]
    past = words_of(part.get("pastTenseMessage"))
    return "\n".join(filter(None, [past, *places])) or None


def _output(value: object) -> dict[str, Any] | None:
    """A part of a result as a content block."""
    output = as_dict(value)
    media_type = as_text(output.get("mimeType")) or ""
    data = output.get("base64Data")
    if not isinstance(data, str) and output.get("isText") is False:
        data = output.get("value")
    if isinstance(data, str):
        kind = "image" if media_type.startswith("image/") else "file"
        source = {"type": "base64", "media_type": media_type, "data": data}
        return {"type": kind, "source": source}
    text = as_text(output.get("value")) or path_of(output.get("uri"))
    return {"type": "text", "text": text} if text else None


def _result_text(value: object) -> str | None:
    """The text of a result in the metadata; its parts are texts, or trees of a prompt's pieces."""
    pieces = []
    for part in as_list(as_dict(value).get("content")):
        held = as_dict(part).get("value")
        if isinstance(held, str):
            pieces.append(held)
        elif isinstance(held, dict):
            pieces.append("".join(_tree_texts(held.get("node"), _DEPTH_MAX)))
    return "\n".join(filter(None, pieces)) or None


def _tree_texts(value: object, depth: int) -> list[str]:
    node = as_dict(value)
    if depth == 0 or not node:
        return []
    text = node.get("text")
    if isinstance(text, str) and node.get("type", _TEXT_NODE) == _TEXT_NODE:
        return [f"\n{text}" if node.get("lineBreakBefore") is True else text]
    children = as_list(node.get("children"))
    return [text for child in children for text in _tree_texts(child, depth - 1)]
