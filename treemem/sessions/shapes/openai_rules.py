"""The rules of OpenAI's chat completions, and of the servers that take its shape.

Errors are quoted from the providers' answers. Unknown fields are not refused: reasoning_content is
one, which DeepSeek and llama.cpp need.

Tested in tests/sessions/shapes/test_validation.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treemem.patterns import lazy_regex
from treemem.sessions.shapes.conversion import ID_CHARS_MAX
from treemem.sessions.shapes.turns import Json, json_object

# "Invalid 'messages[9].tool_calls[0].function.name': string does not match pattern. Expected a
# string that matches the pattern '^[a-zA-Z0-9_-]+$'"; the reference: at most 64 characters.
_NAME = lazy_regex(r"[a-zA-Z0-9_-]{1,64}")
# "Invalid 'messages[1].name': string does not match pattern '^[^\s<|\\/>]+$'"; in 2024 the pattern
# was that of the names of tools, which would take the letters out of most people's names.
_USER_NAME = lazy_regex(r"[^\s<|\\/>]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")
# By role, the parts that the reference of the API lists. "Image URLs are only allowed for messages
# with role 'user', but this message with role 'tool' contains an image URL."
_PARTS = {
    "system": ("text",), "developer": ("text",), "tool": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}  # fmt: skip


def broken_rules(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why OpenAI, or a server of its shape, would refuse these messages."""
    if not messages:
        # "[] is too short - 'messages'".
        yield "messages: [] is too short"
    waiting: list[str] = []
    caller = ""
    for place, message in enumerate(messages):
        path = f"messages.{place}"
        yield from _message(message, path)
        if message.get("role") == "tool":
            use_id = message.get("tool_call_id")
            if use_id in waiting:
                waiting.remove(str(use_id))
            else:
                # "messages with role 'tool' must be a response to a preceeding message with
                # 'tool_calls'"; also for a second response to one call.
                yield f"{path}: the result of {use_id!r} responds to no call before it"
            continue
        yield from _unanswered(caller, waiting)
        caller, waiting = path, [str(call.get("id")) for call in _calls(message)]
    yield from _unanswered(caller, waiting)


def _unanswered(path: str, waiting: list[str]) -> Iterator[str]:
    # "An assistant message with 'tool_calls' must be followed by tool messages responding to each
    # 'tool_call_id'. The following tool_call_ids did not have response messages: X".
    yield from (f"{path}: no tool message responds to the call {use_id!r}" for use_id in waiting)


def _calls(message: Mapping[str, Any]) -> list[Json]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _message(message: Mapping[str, Any], path: str) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield f"{path}.role: {role!r} is none of {', '.join(_ROLES)}"
        return
    name = message.get("name")
    if name is not None and (not isinstance(name, str) or _USER_NAME.fullmatch(name) is None):
        yield f"{path}.name: {name!r} does not match {_USER_NAME.pattern}"
    if role == "assistant":
        yield from _assistant(message, path)
    elif content is None:
        # "Invalid value for 'content': expected a string, got null."
        yield f"{path}.content: expected a string, got null"
    if role == "tool" and not message.get("tool_call_id"):
        # "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
        yield f"{path}: messages with role 'tool' must have a tool_call_id"
    if isinstance(content, list):
        yield from _parts(content, f"{path}.content", str(role))
    elif content is not None and not isinstance(content, str):
        yield f"{path}.content: neither a text nor a list"


def _parts(parts: list[Any], path: str, role: str) -> Iterator[str]:
    if not parts:
        # "[] is too short - 'messages.0.content'".
        yield f"{path}: [] is too short"
    for place, part in enumerate(parts):
        part_type = part.get("type") if isinstance(part, dict) else None
        if part_type not in _PARTS[role]:
            yield f"{path}.{place}: {part_type!r} is not allowed in a message of the role {role}"
        elif part_type in ("text", "refusal") and not isinstance(part.get(part_type), str):
            yield f"{path}.{place}.{part_type}: expected a string"
        elif part_type == "image_url":
            url = part.get("image_url")
            if not isinstance(url, dict) or not isinstance(url.get("url"), str):
                # "Invalid type for 'messages[0].content[0].image_url': expected an object".
                yield f"{path}.{place}.image_url: expected an object with a url"


def _assistant(message: Mapping[str, Any], path: str) -> Iterator[str]:
    calls = message.get("tool_calls")
    if message.get("content") is None and not calls:
        # Reference: content is required unless tool_calls is given. "Invalid value for 'content':
        # expected a string, got null."
        yield f"{path}.content: expected a string, got null, without tool_calls"
    if calls == []:
        # "[] is too short - 'messages.1.tool_calls'".
        yield f"{path}.tool_calls: [] is too short"
    ids = [call.get("id") for call in _calls(message)]
    if len(set(map(str, ids))) < len(ids):
        yield f"{path}.tool_calls: two calls have one id"
    for place, call in enumerate(_calls(message)):
        yield from _call(call, f"{path}.tool_calls.{place}")


def _call(call: Json, path: str) -> Iterator[str]:
    use_id, call_type = call.get("id"), call.get("type")
    if not isinstance(use_id, str) or not 0 < len(use_id) <= ID_CHARS_MAX:
        # "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum
        # length 40": 64 since 2026.
        yield f"{path}.id: expected 1 to {ID_CHARS_MAX} characters, not {use_id!r}"
    if call_type == "custom" and isinstance(call.get("custom"), dict):
        return
    function = call.get("function")
    if call_type != "function" or not isinstance(function, dict):
        # "Missing required parameter: 'messages[1].tool_calls[0].type'."
        yield f"{path}.type: expected 'function' with a function"
        return
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        yield f"{path}.function.name: {name!r} does not match {_NAME.pattern}"
    if not isinstance(arguments, str):
        # "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but
        # got an object instead."
        yield f"{path}.function.arguments: expected a string"
    elif json_object(arguments) is None:
        # vLLM and llama.cpp decode the arguments before they fill the template of a model.
        yield f"{path}.function.arguments: expected the JSON of an object"
