"""The rules that providers check before they answer, each with where it is known from.

Strict: where servers of one shape differ, the rule of the strictest holds. Errors are quoted from
the providers' own answers, as they are reported in trackers of clients. Not checked, since it
depends on the model: whether the last message may be the assistant's (Anthropic's models since
4.6 refuse to go on from it), whether images are taken at all, and sizes. Pure.

Tested in tests/sessions/shapes/test_validation.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treemem.patterns import lazy_regex
from treemem.sessions.shapes import openai_rules
from treemem.sessions.shapes.conversion import IMAGE_TYPES
from treemem.sessions.shapes.turns import BLOCK_KEYS, THINKING_TYPES, Json, Shape

# "String should match pattern '^[a-zA-Z0-9_-]+$'", for messages.N.content.M.tool_use.id.
_ID = lazy_regex(r"[a-zA-Z0-9_-]+")
# "tools.18.custom.name: String should have at most 128 characters"; Bedrock's limit was 64 in 2025.
_NAME = lazy_regex(r"[a-zA-Z0-9_-]{1,128}")
# "A maximum of 4 blocks with cache_control may be provided. Found 5."
_CACHE_MARKS_MAX = 4
_ASSISTANT_ONLY = frozenset({"tool_use", *THINKING_TYPES})
_USER_ONLY = frozenset({"tool_result", "image", "document"})
# The blocks that the reference of the API lists for the content of a tool_result.
_RESULT_TYPES = frozenset({"text", "image", "document", "search_result", "tool_reference"})


def problems(
    messages: Sequence[Mapping[str, Any]],
    shape: Shape,
    system: str | None = None,
    *,
    thinking: bool = False,
) -> list[str]:
    """Why a provider would refuse these messages, one reason a line, with the place; empty if it
    would take them.

    system: Anthropic's system prompt, which is sent apart. thinking: the request enables
    Anthropic's thinking with a budget.
    """
    if shape == "openai":
        return list(openai_rules.broken_rules(messages))
    found = list(_whole(messages, system))
    for place, message in enumerate(messages):
        path = f"messages.{place}"
        is_last = place == len(messages) - 1
        found += _message(message, path, is_last=is_last)
        previous = messages[place - 1] if place else None
        following = None if is_last else messages[place + 1]
        found += _pairs(message, path, previous, following)
    return found + (list(_loop(messages)) if thinking else [])


def blocks_of(message: Mapping[str, Any] | None) -> list[Json]:
    """The blocks of a message; none for a text."""
    content = message.get("content") if message is not None else None
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def _whole(messages: Sequence[Mapping[str, Any]], system: str | None) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
    elif messages[0].get("role") != "user":
        # API error: 'messages: first message must use the "user" role'.
        yield 'messages: first message must use the "user" role'
    if system is not None and not system.strip():
        # API error: "system: text content blocks must be non-empty".
        yield "system: the text is empty"
    blocks = [block for message in messages for block in blocks_of(message)]
    marks = sum(block.get("cache_control") is not None for block in blocks)
    if marks > _CACHE_MARKS_MAX:
        yield f"messages: at most {_CACHE_MARKS_MAX} blocks have cache_control, not {marks}"
    # API error: "messages.1.content.1: `tool_use` ids must be unique".
    used = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    twice = {str(use_id) for use_id in used if used.count(use_id) > 1}
    yield from (f"messages: the tool_use id {use_id!r} is used twice" for use_id in sorted(twice))


def _message(message: Mapping[str, Any], path: str, is_last: bool) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        yield f"{path}.role: {role!r} is neither user nor assistant"
    # API errors: "name: Extra inputs are not permitted", and those quoted at _block.
    yield from (f"{path}.{key}: extra inputs are not permitted"
                for key in message if key not in ("role", "content"))  # fmt: skip
    if not isinstance(content, str | list):
        yield f"{path}.content: neither a text nor a list"
        return
    # API error: "all messages must have non-empty content except for the optional final assistant
    # message"; "text content blocks must contain non-whitespace text".
    if not content or (isinstance(content, str) and not content.strip()):
        yield f"{path}: all messages must have non-empty content"
    if isinstance(content, list):
        for place, block in enumerate(content):
            yield from _block(block, f"{path}.content.{place}", role)
        yield from _order(blocks_of(message), path, role)
    if is_last and role == "assistant":
        # API error: "final assistant content cannot end with trailing whitespace".
        last = content if isinstance(content, str) else content[-1].get("text") if content else ""
        if isinstance(last, str) and last != last.rstrip():
            yield f"{path}: final assistant content cannot end with trailing whitespace"


def _order(blocks: list[Json], path: str, role: object) -> Iterator[str]:
    types = [block.get("type") for block in blocks]
    if role == "user":
        # Documentation of tool use: tool_result blocks come first, text only after all of them.
        firsts = [block_type == "tool_result" for block_type in types]
        if firsts != sorted(firsts, reverse=True):
            yield f"{path}: tool_result blocks must come first in the content"
        return
    # A text after a tool_use is answered by "`tool_use` ids were found without `tool_result` blocks
    # immediately after".
    uses = [block_type == "tool_use" for block_type in types]
    if uses != sorted(uses):
        yield f"{path}: tool_use blocks must come last in the content"
    if types and types[-1] in THINKING_TYPES:
        # API error: "The final block in an assistant message cannot be `thinking`."
        yield f"{path}: the final block in an assistant message cannot be thinking"


def _block(block: Any, path: str, role: object) -> Iterator[str]:
    block_type = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block_type, str):
        yield f"{path}: a block is an object with a type"
        return
    # API errors: "messages.65.content.1.tool_use.text: Extra inputs are not permitted",
    # "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted".
    extra = sorted(set(block) - BLOCK_KEYS.get(block_type, set(block)))
    yield from (f"{path}.{key}: extra inputs are not permitted" for key in extra)
    if block_type in (_USER_ONLY if role == "assistant" else _ASSISTANT_ONLY):
        # API error: "`tool_use` blocks can only be in `assistant` messages", and the like.
        yield f"{path}: {block_type} cannot be in a message of the {role}"
    elif block_type == "tool_use":
        yield from _use(block, path)
    elif block_type == "tool_result":
        yield from _result(block, path)
    elif block_type == "thinking":
        # API errors: "thinking.signature: Field required"; "Invalid `signature` in `thinking`
        # block".
        if not isinstance(block.get("thinking"), str) or not block.get("signature"):
            yield f"{path}: thinking has its text and its signature"
    elif block_type == "redacted_thinking":
        if not block.get("data"):
            yield f"{path}.data: field required"
    else:
        yield from _plain(block, path)


def _plain(block: Json, path: str) -> Iterator[str]:
    """The rules of the blocks that both roles and results may contain."""
    if block["type"] == "text":
        text = block.get("text")
        if not isinstance(text, str) or not text.strip():
            # API errors: "text content blocks must be non-empty", "… must contain non-whitespace
            # text".
            yield f"{path}: text content blocks must contain non-whitespace text"
    elif block["type"] == "image":
        source = block.get("source")
        source_type = source.get("type") if isinstance(source, dict) else None
        if not isinstance(source, dict) or source_type not in ("base64", "url", "file"):
            yield f"{path}.source: an image has a source of type base64, url or file"
        elif source_type == "base64" and source.get("media_type") not in IMAGE_TYPES:
            # Documentation of vision: JPEG, PNG, GIF and WebP.
            yield f"{path}.source: the media type {source.get('media_type')!r} is not taken"


def _use(block: Json, path: str) -> Iterator[str]:
    if _ID.fullmatch(str(block.get("id") or "")) is None:
        yield f"{path}.id: {block.get('id')!r} should match {_ID.pattern}"
    if _NAME.fullmatch(str(block.get("name") or "")) is None:
        yield f"{path}.name: {block.get('name')!r} should match {_NAME.pattern}"
    if not isinstance(block.get("input"), dict):
        # API error: "tool_use.input: Input should be a valid dictionary".
        yield f"{path}.input: input should be a valid dictionary"


def _result(block: Json, path: str) -> Iterator[str]:
    content = block.get("content")
    if isinstance(content, list):
        for place, inner in enumerate(content):
            inner_type = inner.get("type") if isinstance(inner, dict) else None
            if inner_type not in _RESULT_TYPES:
                yield f"{path}.content.{place}: {inner_type!r} cannot be in a tool_result"
            else:
                yield from _plain(inner, f"{path}.content.{place}")
    elif isinstance(content, str) and content and not content.strip():
        yield f"{path}: text content blocks must contain non-whitespace text"
    elif content is not None and not isinstance(content, str):
        yield f"{path}.content: neither a text nor a list"
    if block.get("is_error") and not (content.strip() if isinstance(content, str) else content):
        # API error: "tool_result: content cannot be empty if `is_error` is true".
        yield f"{path}: content cannot be empty if is_error is true"


def _pairs(
    message: Mapping[str, Any],
    path: str,
    previous: Mapping[str, Any] | None,
    following: Mapping[str, Any] | None,
) -> Iterator[str]:
    uses = _ids(message, "tool_use", "id") if message.get("role") == "assistant" else []
    answered = _ids(following, "tool_result", "tool_use_id")
    # API error: "`tool_use` ids were found without `tool_result` blocks immediately after: X. Each
    # `tool_use` block must have a corresponding `tool_result` block in the next message."
    yield from (f"{path}: the tool_use {use_id!r} has no tool_result in the next message"
                for use_id in uses if use_id not in answered)  # fmt: skip
    results = _ids(message, "tool_result", "tool_use_id")
    called = _ids(previous, "tool_use", "id")
    # API error: "unexpected `tool_use_id` found in `tool_result` blocks: X. Each `tool_result`
    # block must have a corresponding `tool_use` block in the previous message."
    yield from (f"{path}: the tool_result of {use_id!r} has no tool_use in the previous message"
                for use_id in results if use_id not in called)  # fmt: skip
    # API error: "each tool_use must have a single result. Found multiple `tool_result` blocks with
    # id: X".
    twice = {use_id for use_id in results if results.count(use_id) > 1}
    yield from (f"{path}: the tool_use {use_id!r} has several results" for use_id in sorted(twice))


def _ids(message: Mapping[str, Any] | None, block_type: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in blocks_of(message) if block.get("type") == block_type]


def _loop(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """With thinking enabled, the loop of calls that is running begins with thinking.

    API error: "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is
    enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost
    set of `tool_use` and `tool_result` blocks)."
    """
    first = len(messages)
    while first and (
        messages[first - 1].get("role") == "assistant"
        or (
            _ids(messages[first - 1], "tool_result", "tool_use_id")
            and all(block["type"] == "tool_result" for block in blocks_of(messages[first - 1]))
        )
    ):
        first -= 1
    blocks = blocks_of(messages[first]) if first < len(messages) else []
    calls = any(block.get("type") == "tool_use" for block in blocks)
    if calls and blocks[0].get("type") not in THINKING_TYPES:
        yield f"messages.{first}.content.0: expected thinking, since the loop of calls begins here"
