"""Reads the tool calls of Codex's completed items, which newer versions log as events.

Pure. A completed item holds a call together with its result; it is turned into the two items that
older versions log instead. Field names are written with or without underscores.

Tested in tests/importers/test_codex_completed.py.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.coerce import as_dict, as_text

# Types of completed items that are no tool calls; items.py reads those that are messages.
_OTHERS = frozenset({
    "usermessage", "agentmessage", "plan", "reasoning", "hookprompt", "contextcompaction",
    "enteredreviewmode", "exitedreviewmode",
})  # fmt: skip
_NAMES = {
    "commandexecution": "shell", "filechange": "apply_patch", "websearch": "web_search",
    "imageview": "view_image", "imagegeneration": "image_generation",
}  # fmt: skip
# Fields of the result, of which the first that is not empty is used.
_RESULTS = ("aggregatedoutput", "formattedoutput", "output", "contentitems", "result", "error")
_BOOKKEEPING = frozenset({
    "type", "id", "callid", "status", "server", "tool", "exitcode", "durationms", "duration",
    "processid", "source", "success", "stdout", "stderr", "parsedcmd", "commandactions", "cwd",
    *_RESULTS,
})  # fmt: skip
_ID_KEYS = ("call_id", "callId", "id")
_DONE = ("completed", "inprogress", "success")


def items_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The call and the result in a completed item; empty if it is no tool call.

    Example:
        >>> run = {"type": "CommandExecution", "id": "c", "command": "ls", "aggregated_output": "a"}
        >>> [entry["type"] for entry in items_of(run)]
        ['function_call', 'function_call_output']
    """
    kind = _plain(item.get("type"))
    if not isinstance(item.get("type"), str) or not kind or kind in _OTHERS:
        return []
    fields = {_plain(key): value for key, value in item.items()}
    server, tool = as_text(fields.get("server")), as_text(fields.get("tool"))
    name = "__".join(filter(None, (server, tool))) or _NAMES.get(kind, kind)
    arguments = fields.get("arguments")
    if arguments is None:
        arguments = {key: value for key, value in fields.items() if key not in _BOOKKEEPING}
    call_id = next(filter(None, map(as_text, map(item.get, _ID_KEYS))), None)
    call = {
        "type": "function_call", "name": name, "call_id": call_id,
        "arguments": arguments if isinstance(arguments, str) else compact_json(arguments),
    }  # fmt: skip
    if (output := _result_of(fields)) is None:
        return [call]
    return [call, {"type": "function_call_output", "call_id": call_id, "output": output}]


def _result_of(fields: dict[str, Any]) -> object:
    """The result as text or blocks: the output, an error, or a status that tells of a failure."""
    for key in _RESULTS:
        value = fields.get(key)
        if isinstance(inner := as_dict(value).get("content"), str | list) and inner:
            return inner
        if message := as_text(as_dict(value).get("message")):
            return message
        if value:
            return value
    printed = [text for key in ("stdout", "stderr") if (text := as_text(fields.get(key)))]
    if printed:
        return "".join(printed)
    status = as_text(fields.get("status"))
    return status if status and _plain(status) not in _DONE else None


def _plain(name: object) -> str:
    return str(name or "").replace("_", "").lower()
