"""Writes turns as messages of a provider, in their own shape or in the other one.

A turn of the wanted shape gives its own message back. Of another, all its words are kept, but not
what the other provider has no place for: the signature of thinking, redacted thinking, the name of
a user, the error flag of a result, which becomes a word before it. Pure.

Tested in tests/sessions/shapes/test_shapes.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.patterns import lazy_regex
from treemem.sessions.shapes.turns import (
    SEPARATOR,
    Json,
    Shape,
    Turn,
    TurnPart,
    copied,
    json_object,
    use_block,
)

# The ids that both providers take: Anthropic's pattern, and the length at which OpenAI refused ids
# until 2026; it takes 64 since.
SAFE_ID = lazy_regex(r"[a-zA-Z0-9_-]{1,40}")
ID_CHARS_MAX = 40
NAME_CHARS_MAX: dict[Shape, int] = {"openai": 64, "anthropic": 128}
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_UNSAFE = lazy_regex(r"[^a-zA-Z0-9_-]")
_DATA_URL = lazy_regex(r"data:([^;,]*)(?:;[^;,]*)*?;base64,")
_HASH_CHARS = 8
_ERROR = "[error] "
_IMAGES_OF_RESULTS = "[images of the results above]"


def render(turns: Sequence[Turn], shape: Shape) -> list[Json]:
    """The messages to send. Each is a copy, which the caller may change.

    A turn of this shape gives exactly its message. In Anthropic's shape, a system turn becomes a
    user's message that says so, since the system prompt is sent apart: take the leading ones out
    by split_system. OpenAI's results in a row become one message.
    Turns as a caller appended them, or cut, may be refused by the provider: see repairs.repaired.
    """
    messages: list[Json] = []
    is_joinable = False
    for turn in turns:
        if turn.shape == shape:
            messages.append(copied(turn.raw))
            is_joinable = False
        elif shape == "openai":
            messages += _for_openai(turn)
        else:
            converted = _for_anthropic(turn)
            if is_joinable and turn.role == "tool":
                messages[-1]["content"] += converted[0]["content"]
            else:
                messages += converted
            is_joinable = turn.role == "tool"
    return messages


def split_system(turns: Sequence[Turn]) -> tuple[str, list[Turn]]:
    """The words of the system turns at the beginning, and all turns after them."""
    leading = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    words = SEPARATOR.join(part.text for turn in turns[:leading] for part in turn.parts)
    return words, list(turns[leading:])


def safe_id(use_id: str) -> str:
    """The id of a call as both providers take it; the same id gives the same one.

    Example:
        >>> safe_id("call_1"), safe_id("a.b")
        ('call_1', 'a_b_2e7336dc')
    """
    return use_id if SAFE_ID.fullmatch(use_id) else _hashed(use_id, ID_CHARS_MAX)


def safe_name(name: str, shape: Shape) -> str:
    """The name of a tool as the provider takes it."""
    limit = NAME_CHARS_MAX[shape]
    is_safe = name and len(name) <= limit and _UNSAFE.search(name) is None
    return name if is_safe else _hashed(name, limit)


def thinking_as_text(words: str) -> str:
    """Thinking as text, for a provider that takes only its own, which it signed."""
    return f"<thinking>\n{words.strip()}\n</thinking>"


def _hashed(text: str, limit: int) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{_UNSAFE.sub('_', text)[: limit - _HASH_CHARS - 1] or 'tool'}_{digest}"


# -- to Anthropic ----------------------------------------------------------------------


def _for_anthropic(turn: Turn) -> list[Json]:
    if turn.role == "tool":
        return [{"role": "user", "content": [result_block(part) for part in turn.parts]}]
    if turn.role == "system":
        words = SEPARATOR.join(part.text for part in turn.parts)
        return [{"role": "user", "content": f"[system message]{SEPARATOR}{words}"}]
    content = turn.raw.get("content")
    if turn.role == "user" and isinstance(content, str):
        return [{"role": "user", "content": content}]
    blocks = [_anthropic_block(turn, part) for part in turn.parts if _has_content(part)]
    return [{"role": turn.role, "content": blocks}] if blocks else []


def _has_content(part: TurnPart) -> bool:
    return bool(part.text.strip()) or part.kind in ("tool_use", "image", "document")


def result_block(part: TurnPart, use_id: str | None = None) -> Json:
    """A result as a block of Anthropic's."""
    return {
        "type": "tool_result",
        "tool_use_id": safe_id(part.use_id) if use_id is None else use_id,
        "content": part.text if part.text.strip() else "",
    }


def _anthropic_block(turn: Turn, part: TurnPart) -> Json:
    if part.kind == "thinking":
        return _text_block(thinking_as_text(part.text))
    if part.kind == "tool_use":
        return use_block(safe_id(part.use_id), safe_name(part.name, "anthropic"), part.text)
    if part.kind in ("image", "document") and turn.role == "user":
        holder = _at(turn, part)
        inner = holder.get(holder["type"])
        payload = inner.get("url") or inner.get("file_data") if isinstance(inner, dict) else None
        source = _anthropic_source(payload, part.kind)
        if source is not None:
            return {"type": part.kind, "source": source}
    return _text_block(part.text or f"[{part.kind}]")


def _anthropic_source(payload: object, kind: str) -> Json | None:
    """The source of an image or document; None if Anthropic does not take it."""
    if not isinstance(payload, str):
        return None
    url = _DATA_URL.match(payload)
    if url is not None:
        media_type, data = url.group(1), payload[url.end() :]
        is_taken = media_type in IMAGE_TYPES if kind == "image" else media_type == "application/pdf"
        return {"type": "base64", "media_type": media_type, "data": data} if is_taken else None
    is_link = payload.startswith(("http://", "https://"))
    return {"type": "url", "url": payload} if is_link else None


# -- to OpenAI -------------------------------------------------------------------------


def _for_openai(turn: Turn) -> list[Json]:
    if turn.role == "assistant":
        return _assistant_for_openai(turn)
    messages = [result_message(part) for part in turn.results]
    shown = [image for part in turn.results for image in _images_in(_at(turn, part))]
    blocks = [_text_block(_IMAGES_OF_RESULTS), *shown] if shown else []
    others = [part for part in turn.parts if part.kind != "tool_result" and _has_content(part)]
    blocks += [block for part in others for block in _openai_blocks(turn, part)]
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        messages.append({"role": "user", "content": blocks[0]["text"]})
    elif blocks:
        messages.append({"role": "user", "content": blocks})
    return messages


def result_message(part: TurnPart, use_id: str | None = None) -> Json:
    """A result as a message of OpenAI's."""
    call = safe_id(part.use_id) if use_id is None else use_id
    return {"role": "tool", "tool_call_id": call, "content": _ERROR * part.is_error + part.text}


def _assistant_for_openai(turn: Turn) -> list[Json]:
    message: Json = {"role": "assistant"}
    thoughts = [part.text for part in turn.parts if part.kind == "thinking" and part.text]
    words = [part.text or f"[{part.kind}]" for part in turn.parts
             if part.kind not in ("thinking", "tool_use")
             and (part.text.strip() or part.media)]  # fmt: skip
    calls = [call_object(safe_id(part.use_id), safe_name(part.name, "openai"), part.text)
             for part in turn.uses]  # fmt: skip
    if not words and not calls:
        return []
    message["content"] = SEPARATOR.join(words) if words else None
    if thoughts:
        message["reasoning_content"] = SEPARATOR.join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return [message]


def call_object(use_id: str, name: str, arguments: str) -> Json:
    """A tool call in OpenAI's shape; arguments that are no JSON object are put into one."""
    if json_object(arguments) is None:
        arguments = compact_json({"arguments": arguments})
    function = {"name": name, "arguments": arguments}
    return {"id": use_id, "type": "function", "function": function}


def _openai_blocks(turn: Turn, part: TurnPart) -> list[Json]:
    block = _at(turn, part)
    if part.kind == "image":
        return [_image_url(block) or _text_block("[image]")]
    if part.kind != "document":
        return [_text_block(part.text)]
    title = block.get("title")
    source = block.get("source")
    blocks = [_text_block(title)] if isinstance(title, str) and title.strip() else []
    if isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        name = title if blocks else "document.pdf"
        return [{"type": "file", "file": {"filename": name, "file_data": url}}]
    if isinstance(source, dict) and source.get("type") == "url":
        return [*blocks, _text_block(f"[document: {source.get('url')}]")]
    images = _images_in(source) if isinstance(source, dict) else []
    return [*blocks, _text_block(part.text or "[document]"), *images]


def _images_in(holder: Json) -> list[Json]:
    content = holder.get("content")
    blocks: Iterable[Any] = content if isinstance(content, list) else ()
    images = (
        _image_url(block)
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "image"
    )
    return [image for image in images if image is not None]


def _image_url(block: Json) -> Json | None:
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    url = source.get("url")
    if source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else None


def _at(turn: Turn, part: TurnPart) -> Any:
    value: Any = turn.raw
    for key in part.at:
        value = value[key]
    return value


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}
