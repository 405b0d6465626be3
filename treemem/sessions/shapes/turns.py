"""Reads one message of a provider into a turn with parts, and changes the words of a part.

A turn keeps its message as it was given, so that an unchanged turn is sent back as it came; each
part knows its place in it. Messages are OpenAI's, of chat completions, or Anthropic's. Pure.

Tested in tests/sessions/shapes/test_shapes.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from treemem.errors import UsageError
from treemem.importers.common.attachments import compact_json, without_base64

Shape = Literal["openai", "anthropic"]
TurnRole = Literal["system", "user", "assistant", "tool"]
TurnPartKind = Literal[
    "text", "thinking", "tool_use", "tool_result", "image", "document", "other"
]  # fmt: skip
Json = dict[str, Any]

SEPARATOR = "\n\n"
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
# The fields of Anthropic's blocks in a request; a block of a response may have more.
BLOCK_KEYS = {
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
# Fields in which servers of OpenAI's shape return what a model thought: DeepSeek, llama.cpp and
# vLLM; OpenRouter.
REASONING_KEYS = ("reasoning_content", "reasoning")
_ROLE_OF: dict[tuple[Shape, str], TurnRole] = {
    ("openai", "system"): "system", ("openai", "developer"): "system",
    ("openai", "user"): "user", ("openai", "assistant"): "assistant", ("openai", "tool"): "tool",
    ("anthropic", "user"): "user", ("anthropic", "assistant"): "assistant",
}  # fmt: skip
_KIND_OF: dict[str, TurnPartKind] = {
    "text": "text", "refusal": "text", "thinking": "thinking", "redacted_thinking": "thinking",
    "tool_use": "tool_use", "tool_result": "tool_result", "image": "image", "image_url": "image",
    "document": "document", "file": "document",
}  # fmt: skip
_MEDIA = frozenset({"image", "document"})


@dataclass(frozen=True, slots=True)
class TurnPart:
    """A part of a turn.

    text: its words: the text, the thinking (empty if it is redacted), the arguments of a call as
        JSON, a result's text with [image] or [document] for each of its attachments, the text of a
        document, an unknown block as JSON. An image has none.
    name: the tool of a call, and of a result if the message says it; the media type, or "url", of
        an image or document; the type of an unknown block.
    use_id: the id of the call, in a call and in its result. is_error: of a result.
    media: how many images and documents it is or contains.
    at: its place in the raw message, as keys and indexes.
    """

    kind: TurnPartKind
    text: str
    name: str = ""
    use_id: str = ""
    is_error: bool = False
    media: int = 0
    at: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a provider.

    role: "tool" for a message that contains results of tools and nothing else, in either shape.
    raw: the message as it was given; not to be changed in place.
    """

    role: TurnRole
    parts: tuple[TurnPart, ...]
    raw: Json = field(hash=False)
    shape: Shape

    @property
    def uses(self) -> tuple[TurnPart, ...]:
        """Its tool calls."""
        return tuple(part for part in self.parts if part.kind == "tool_use")

    @property
    def results(self) -> tuple[TurnPart, ...]:
        """Its results of tools."""
        return tuple(part for part in self.parts if part.kind == "tool_result")


def parse(message: Mapping[str, Any], shape: Shape) -> Turn:
    """Reads a message, of which the turn gets a copy. Objects of the providers' libraries, with a
    method model_dump, are taken too, as the message or as its blocks.

    Raises UsageError if it is no message of that shape.

    Example:
        >>> parse({"role": "user", "content": "Hello."}, "openai").parts[0].text
        'Hello.'
    """
    raw = copied(message)
    if not isinstance(raw, dict):
        raise UsageError(f"A message is a dict with a role, not {type(message).__name__}.")
    role = _ROLE_OF.get((shape, str(raw.get("role"))))
    if role is None:
        raise UsageError(
            f"The role {raw.get('role')!r} is none of a message in the shape {shape!r}; roles are "
            f"{', '.join(name for of, name in _ROLE_OF if of == shape)}."
        )
    if raw.get("function_call"):
        raise UsageError("function_call is the old form of a tool call; use tool_calls.")
    content = raw.get("content")
    if content is not None and not isinstance(content, str | list):
        raise UsageError(f"content is a text or a list, not {type(content).__name__}.")
    if isinstance(content, list) and not all(isinstance(block, dict) for block in content):
        raise UsageError("content is a list of objects with a type; one of them is no object.")
    calls = raw.get("tool_calls")
    if calls and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise UsageError("tool_calls is a list of objects.")
    parts = _anthropic_parts(raw) if shape == "anthropic" else _openai_parts(raw, role)
    if role == "user" and parts and all(part.kind == "tool_result" for part in parts):
        role = "tool"
    return Turn(role, tuple(parts), raw, shape)


def with_text(turn: Turn, index: int, text: str) -> Turn:
    """The turn with the words of one part replaced, all else kept.

    A result keeps its call and its error flag. An image, a document or an unknown block becomes a
    text. Arguments that are no JSON object are put into one: {"arguments": text}.
    Raises UsageError for thinking of Anthropic's, which is signed: see without_thinking.
    """
    part = turn.parts[index]
    raw = copied(turn.raw)
    *way, last = part.at
    holder: Any = raw
    for key in way:
        holder = holder[key]
    if part.kind == "thinking" and turn.shape == "anthropic":
        raise UsageError("Thinking is signed, so its words cannot be changed. Take it out whole.")
    block = holder[last]
    if isinstance(block, str) or block is None:
        holder[last] = text
    elif part.kind == "tool_use":
        _set_arguments(block, text)
    elif part.kind == "tool_result":
        if turn.shape == "openai":
            holder[last] = text
        else:
            block["content"] = text
    elif block.get("type") in ("text", "refusal"):
        block[block["type"]] = text
    else:
        mark = block.get("cache_control")
        holder[last] = {"type": "text", "text": text} | ({"cache_control": mark} if mark else {})
    return parse(raw, turn.shape)


def with_appended(turn: Turn, text: str) -> Turn:
    """The turn with a text at its end: a block of its own, after all results (Anthropic, and a
    list of OpenAI's), else in the same text after an empty line.

    Raises UsageError for an assistant's turn, in whose name nobody else speaks.
    """
    if turn.role == "assistant":
        raise UsageError("Text is appended to a user's, a tool's or a system turn only.")
    raw = copied(turn.raw)
    content = raw.get("content")
    block = {"type": "text", "text": text}
    if isinstance(content, list):
        content.append(block)
    elif not content or not content.strip():
        raw["content"] = text
    elif turn.shape == "anthropic":
        raw["content"] = [{"type": "text", "text": content}, block]
    else:
        raw["content"] = content + SEPARATOR + text
    return parse(raw, turn.shape)


def without_thinking(turn: Turn) -> Turn:
    """The turn without what the model thought. Needed for a tool call only while its loop runs."""
    raw = {key: value for key, value in turn.raw.items() if key not in REASONING_KEYS}
    if isinstance(raw.get("content"), list):
        raw["content"] = [
            block for block in raw["content"] if block.get("type") not in THINKING_TYPES
        ]
    return parse(raw, turn.shape)


def tool_names(turns: Sequence[Turn]) -> dict[str, str]:
    """The name of the tool by the id of its call; of two calls with one id, the later."""
    return {part.use_id: part.name for turn in turns for part in turn.uses if part.use_id}


def copied(value: Any) -> Any:
    """A copy of a JSON value; objects with a method model_dump become what it returns."""
    if isinstance(value, Mapping):
        return {key: copied(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [copied(inner) for inner in value]
    if hasattr(value, "model_dump"):
        return copied(value.model_dump(mode="json", exclude_unset=True))
    return value


def json_object(text: str) -> Json | None:
    """The object in a JSON text; None if it is another value, or no JSON."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_words(block: object) -> str:
    """An unknown block as JSON, with a marker for each long base64 string."""
    return compact_json(without_base64(block)[0])


def use_block(use_id: str, name: str, arguments: str) -> Json:
    """A tool call in Anthropic's shape."""
    value = json_object(arguments)
    return {
        "type": "tool_use",
        "id": use_id,
        "name": name,
        "input": {"arguments": arguments} if value is None else value,
    }


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _set_arguments(call: Json, text: str) -> None:
    if call.get("type") == "tool_use":
        call["input"] = use_block("", "", text)["input"]
    elif isinstance(call.get("custom"), dict):
        call["custom"]["input"] = text
    else:
        call["function"]["arguments"] = (
            text if json_object(text) is not None else compact_json({"arguments": text})
        )


# -- parts -----------------------------------------------------------------------------


def _anthropic_parts(raw: Json) -> list[TurnPart]:
    content = raw.get("content")
    if isinstance(content, str):
        return [TurnPart("text", content, at=("content",))]
    return [_block_part(block, ("content", place)) for place, block in enumerate(content or ())]


def _openai_parts(raw: Json, role: TurnRole) -> list[TurnPart]:
    content = raw.get("content")
    parts = [
        TurnPart("thinking", words, at=(key,))
        for key in REASONING_KEYS
        if isinstance(words := raw.get(key), str) and words
    ][:1]
    if role == "tool":
        use_id, name = _text(raw.get("tool_call_id")), _text(raw.get("name"))
        words, media = _result_words(content)
        return [TurnPart("tool_result", words, name, use_id, media=media, at=("content",))]
    if isinstance(content, str):
        parts.append(TurnPart("text", content, at=("content",)))
    elif isinstance(content, list):
        parts += [_block_part(block, ("content", place)) for place, block in enumerate(content)]
    if isinstance(refusal := raw.get("refusal"), str) and refusal:
        parts.append(TurnPart("text", refusal, at=("refusal",)))
    parts += [
        _call_part(call, ("tool_calls", place))
        for place, call in enumerate(raw.get("tool_calls") or ())
    ]
    return parts


def _call_part(call: Json, at: tuple[str | int, ...]) -> TurnPart:
    custom = call.get("custom")
    if isinstance(custom, dict):
        name, words = _text(custom.get("name")), _text(custom.get("input"))
        return TurnPart("tool_use", words, name, _text(call.get("id")), at=at)
    function = call.get("function")
    if not isinstance(function, dict):
        return TurnPart("other", json_words(call), _text(call.get("type")), at=at)
    arguments = function.get("arguments")
    words = arguments if isinstance(arguments, str) else compact_json(arguments)
    return TurnPart("tool_use", words, _text(function.get("name")), _text(call.get("id")), at=at)


def _block_part(block: Json, at: tuple[str | int, ...]) -> TurnPart:
    block_type = _text(block.get("type"))
    kind = _KIND_OF.get(block_type, "other")
    if kind == "text" and isinstance(words := block.get(block_type), str):
        return TurnPart("text", words, at=at)
    if kind == "thinking":
        return TurnPart("thinking", _text(block.get("thinking")), at=at)
    if kind == "tool_use":
        words = compact_json(block.get("input"))
        return TurnPart("tool_use", words, _text(block.get("name")), _text(block.get("id")), at=at)
    if kind == "tool_result":
        words, media = _result_words(block.get("content"))
        use_id, is_error = _text(block.get("tool_use_id")), block.get("is_error") is True
        return TurnPart("tool_result", words, "", use_id, is_error, media, at)
    if kind in _MEDIA:
        words = _document_words(block) if kind == "document" else ""
        return TurnPart(kind, words, _media_type(block), media=1, at=at)
    return TurnPart("other", json_words(block), block_type, at=at)


def _result_words(content: object) -> tuple[str, int]:
    """The text of a result, and how many attachments it has."""
    if not isinstance(content, list):
        return _text(content), 0
    parts = [_block_part(block, ()) for block in content if isinstance(block, dict)]
    words = [f"[{part.kind}]" if part.kind in _MEDIA and not part.text else part.text
             for part in parts]  # fmt: skip
    return SEPARATOR.join(filter(None, words)), sum(part.media for part in parts)


def _document_words(block: Json) -> str:
    """The text of a document that is plain text or blocks; empty for a file."""
    source = block.get("source")
    if not isinstance(source, dict):
        return ""
    if source.get("type") == "text":
        return _text(source.get("data"))
    return _result_words(source.get("content"))[0] if source.get("type") == "content" else ""


def _media_type(block: Json) -> str:
    source = block.get("source")
    if isinstance(source, dict):
        return _text(source.get("media_type")) or _text(source.get("type"))
    holder = block.get(_text(block.get("type")))
    url = _text(holder.get("url") or holder.get("file_data")) if isinstance(holder, dict) else ""
    return url[len("data:") :].partition(";")[0] if url.startswith("data:") else url and "url"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
