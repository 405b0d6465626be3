"""Takes out of a single turn what a provider refuses: empty texts, misplaced or broken blocks.

A turn without such things comes back unchanged. Nothing that says something is lost: what has no
place in a message becomes text in it. Pure.

Tested in tests/sessions/shapes/test_repairs.py.
"""

from __future__ import annotations

from treemem.importers.common.attachments import compact_json
from treemem.patterns import lazy_regex
from treemem.sessions.shapes.conversion import (
    IMAGE_TYPES,
    call_object,
    safe_name,
    thinking_as_text,
)
from treemem.sessions.shapes.turns import (
    BLOCK_KEYS,
    THINKING_TYPES,
    Json,
    Turn,
    json_object,
    json_words,
    parse,
)

NO_OUTPUT = "[no output]"
_USER_NAME_BAD = lazy_regex(r"[\s<|\\/>]+")
_USER_NAME_CHARS_MAX = 64


def cleaned(turn: Turn) -> Turn | None:
    """The turn as a provider takes it by itself; None if it says nothing."""
    raw = _anthropic_cleaned(turn) if turn.shape == "anthropic" else _openai_cleaned(turn)
    if raw is None:
        return None
    return turn if raw == turn.raw else parse(raw, turn.shape)


# -- Anthropic -------------------------------------------------------------------------


def _anthropic_cleaned(turn: Turn) -> Json | None:
    # What a response has beside them (id, model, usage) is refused in a request.
    raw = {key: turn.raw[key] for key in turn.raw if key in ("role", "content")}
    content = raw.get("content")
    if not isinstance(content, list):
        return raw if isinstance(content, str) and content.strip() else None
    mend = _assistant_block if turn.role == "assistant" else _user_block
    blocks = [_known(mended) for block in content if (mended := mend(block)) is not None]
    if turn.role == "assistant":
        blocks.sort(key=lambda block: block["type"] == "tool_use")
        while blocks and blocks[-1]["type"] in THINKING_TYPES and not _is_opening(blocks):
            blocks.pop()
    raw["content"] = blocks
    return raw if blocks else None


def _known(block: Json) -> Json:
    """A block without the fields that a request must not have."""
    keys = BLOCK_KEYS.get(block["type"])
    return block if keys is None else {key: block[key] for key in block if key in keys}


def _is_opening(blocks: list[Json]) -> bool:
    """Whether there is only thinking, which the next message may go on from."""
    return all(block["type"] in THINKING_TYPES for block in blocks)


def _assistant_block(block: Json) -> Json | None:
    block_type = block.get("type")
    if block_type == "tool_use":
        return _mended_use(block)
    if block_type == "thinking" and not block.get("signature"):
        words = block.get("thinking")
        is_said = isinstance(words, str) and words.strip()
        return {"type": "text", "text": thinking_as_text(words)} if is_said else None  # type: ignore[arg-type]
    if block_type == "redacted_thinking" and not block.get("data"):
        return None
    if block_type == "tool_result":
        return {"type": "text", "text": json_words(block)}
    if block_type in ("image", "document"):
        return {"type": "text", "text": f"[{block_type}]"}
    return _shared_block(block)


def _mended_use(block: Json) -> Json:
    value, name = block.get("input"), block.get("name")
    mended = dict(block)
    if not isinstance(value, dict):
        found = json_object(value) if isinstance(value, str) else {} if value is None else None
        mended["input"] = {"arguments": value} if found is None else found
    mended["name"] = safe_name(name if isinstance(name, str) else "", "anthropic")
    return mended


def _user_block(block: Json) -> Json | None:
    block_type = block.get("type")
    if block_type == "tool_result":
        return _mended_result(block)
    if block_type in ("tool_use", *THINKING_TYPES):
        return {"type": "text", "text": json_words(block)}
    return _shared_block(block)


def _mended_result(block: Json) -> Json:
    content = block.get("content")
    if isinstance(content, list):
        inner = [_shared_block(part) for part in content if isinstance(part, dict)]
        content = [part for part in inner if part is not None]
        block = block | {"content": content}
    elif content is not None and not isinstance(content, str):
        content = compact_json(content)
        block = block | {"content": content}
    if isinstance(content, str) and content and not content.strip():
        content = ""
        block = block | {"content": content}
    if block.get("is_error") and not (content.strip() if isinstance(content, str) else content):
        block = block | {"content": NO_OUTPUT}
    return block


def _shared_block(block: Json) -> Json | None:
    """A block that both roles and results may contain."""
    block_type = block.get("type")
    if not isinstance(block_type, str):
        return {"type": "text", "text": json_words(block)}
    if block_type == "text":
        text = block.get("text")
        return block if isinstance(text, str) and text.strip() else None
    source = block.get("source")
    if block_type == "image" and (
        not isinstance(source, dict)
        or (source.get("type") == "base64" and source.get("media_type") not in IMAGE_TYPES)
    ):
        return {"type": "text", "text": "[image]"}
    return block


# -- OpenAI ----------------------------------------------------------------------------


def _openai_cleaned(turn: Turn) -> Json | None:
    raw = dict(turn.raw)
    content = raw.get("content")
    if isinstance(name := raw.get("name"), str) and turn.role != "tool":
        raw["name"] = _USER_NAME_BAD.sub("_", name)[:_USER_NAME_CHARS_MAX]
    if raw.get("name") in ("", None):
        raw.pop("name", None)
    if isinstance(content, list):
        parts = [_openai_block(block, turn.role) for block in content]
        raw["content"] = content = [part for part in parts if part is not None]
    if turn.role == "tool":
        return raw if content else raw | {"content": "" if content == "" else NO_OUTPUT}
    if turn.role != "assistant":
        has_words = content.strip() if isinstance(content, str) else content
        return raw if has_words else None
    return _assistant_cleaned(raw)


def _assistant_cleaned(raw: Json) -> Json | None:
    content = raw.get("content")
    has_words = bool(content.strip() if isinstance(content, str) else content)
    refusal = raw.get("refusal")
    if not has_words and isinstance(refusal, str) and refusal.strip():
        # A message needs a content, though a response with a refusal has none.
        raw["content"] = [{"type": "refusal", "refusal": refusal}]
        del raw["refusal"]
        has_words = True
    calls = raw.get("tool_calls")
    if calls:
        raw["tool_calls"] = [_mended_call(call) for call in calls]
        if content == []:
            raw["content"] = None
        return raw
    raw.pop("tool_calls", None)
    return raw if has_words else None


def _mended_call(call: Json) -> Json:
    function = call.get("function")
    if not isinstance(function, dict):
        if isinstance(call.get("custom"), dict):
            return call
        return call_object("", safe_name("", "openai"), json_words(call))
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(arguments, str):
        arguments = compact_json({} if arguments is None else arguments)
    made = call_object("", safe_name(name if isinstance(name, str) else "", "openai"), arguments)
    return call | {"type": "function", "function": function | made["function"]}


def _openai_block(block: Json, role: str) -> Json | None:
    block_type = block.get("type")
    if block_type == "text":
        text = block.get("text")
        return block if isinstance(text, str) and text.strip() else None
    if role == "user" and block_type in ("image_url", "input_audio", "file"):
        return block
    if role == "assistant" and block_type == "refusal" and block.get("refusal"):
        return block
    if block_type in ("image_url", "file", "input_audio"):
        return {"type": "text", "text": f"[{str(block_type).removesuffix('_url')}]"}
    return {"type": "text", "text": json_words(block)}


def has_only_thinking(turn: Turn) -> bool:
    """Whether a turn of Anthropic's thinks and says nothing."""
    is_quiet = bool(turn.parts) and all(part.kind == "thinking" for part in turn.parts)
    return is_quiet and turn.role == "assistant" and turn.shape == "anthropic"
