"""Reads the items and events of a Codex rollout.

Pure. An item was sent to the model or came from it; an event was shown on the screen. Most messages
are logged as both.

Tested in tests/importers/test_codex.py and test_codex_layers.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.origins.wrappers import is_injected
from treemem.types import MessageKind, Role

ENVELOPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted",
     "inter_agent_communication", "world_state", "token_usage_record"}
)  # fmt: skip
# Types of items that the oldest rollouts contain without an envelope.
BARE_ITEMS = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "local_shell_call",
     "custom_tool_call", "custom_tool_call_output", "web_search_call"}
)  # fmt: skip

THINKING = "thinking"
EMPTY = "empty message"

_ROLES: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system",
}  # fmt: skip
# Elements that the screen omits from an answer, or shows separately.
_NOT_SHOWN = (("<proposed_plan>", "</proposed_plan>"),
              ("<oai-mem-citation>", "</oai-mem-citation>"))  # fmt: skip
_CALL, _OUTPUT = "_call", "_output"
_BOOKKEEPING = frozenset({"type", "id", "call_id", "status", "name"})


class Record(NamedTuple):
    """A record without its envelope. kind: the envelope's type, or an equivalent."""

    kind: str | None
    payload: dict[str, Any]
    time: object


class Speech(NamedTuple):
    """A message's role, content and kind; "injected" if Codex added it to the history."""

    role: Role
    content: Content
    kind: MessageKind = "said"
    author: str | None = None


class Event(NamedTuple):
    """A message shown on the screen. speaker: a role, or THINKING."""

    speaker: str
    text: str
    images: tuple[str, ...] = ()


def without_envelope(value: dict[str, Any]) -> Record:
    """Reduces a record of any generation of the format to one shape."""
    kind, time = as_text(value.get("type")), value.get("timestamp")
    if isinstance(payload := value.get("payload"), dict):
        return Record(kind, payload, time)
    if kind in BARE_ITEMS:
        return Record("response_item", value, time)
    if kind is None and "record_type" in value:
        return Record(f"record_type {as_text(value['record_type']) or '?'}", {}, time)
    if kind is None and as_text(value.get("id")):
        return Record("session_meta", value, time)
    return Record(kind, {}, time)


def item_speech(item: dict[str, Any], blocks: BlockReader) -> Speech | str:
    """The speech of an item, or the reason to skip it."""
    item_type = as_text(item.get("type")) or ("message" if "role" in item else None)
    content = Content()
    role: Role = "assistant"
    author = None
    if item_type == "message":
        role = _ROLES.get(as_text(item.get("role")), "other")
        blocks.add(content, item.get("content"))
    elif item_type == "agent_message":
        role, author = "other", as_text(item.get("author"))
        blocks.add(content, item.get("content"))
    elif item_type == "reasoning":
        for text in thoughts_of(item):
            content.add(text, "thinking")
        if content.is_empty:
            return "no message: reasoning without words"
    elif item_type is not None and item_type.endswith(_CALL):
        _add_call(content, item_type, item, blocks)
    elif item_type is not None and item_type.endswith(_OUTPUT):
        role = "tool"
        blocks.add_tool_result(content, _output_of(item), item.get("call_id"))
    else:
        return no_message("response_item", item.get("type"))
    if content.is_empty:
        return EMPTY
    is_context = role == "system" or (role == "user" and is_injected(content.spoken))
    return Speech(role, content, "injected" if is_context else "said", author)


def event_of(payload: dict[str, Any]) -> Event | None:
    """The event in a payload; None if it does not show a message."""
    event_type = payload.get("type")
    if event_type == "user_message":
        images = tuple(url for url in as_list(payload.get("images")) if isinstance(url, str))
        return Event("user", as_text(payload.get("message")) or "", images)
    if event_type == "agent_message":
        return Event("assistant", as_text(payload.get("message")) or "")
    if event_type in ("agent_reasoning", "agent_reasoning_raw_content"):
        return Event(THINKING, as_text(payload.get("text")) or "")
    return _completed(as_dict(payload.get("item"))) if event_type == "item_completed" else None


def event_speech(event: Event, blocks: BlockReader) -> Speech | str:
    """The speech of an event that no item repeats."""
    content = Content()
    content.add(event.text, "thinking" if event.speaker == THINKING else None)
    for url in event.images:
        blocks.add(content, {"type": "input_image", "image_url": url})
    if content.is_empty:
        return EMPTY
    role: Role = "user" if event.speaker == "user" else "assistant"
    is_context = role == "user" and is_injected(content.spoken)
    return Speech(role, content, "injected" if is_context else "said")


def shown_texts(item: dict[str, Any]) -> tuple[str, list[str]] | None:
    """The speaker of an item, and the texts that an event may show for it."""
    if as_text(item.get("type")) == "reasoning":
        thoughts = thoughts_of(item)
        return THINKING, [*thoughts, "\n\n".join(thoughts)] if len(thoughts) > 1 else thoughts
    role = item.get("role")
    if item.get("type") not in ("message", None) or role not in ("user", "assistant"):
        return None
    texts = texts_of(item.get("content"))
    shown = [*texts, "".join(texts), "\n".join(texts)] if len(texts) > 1 else texts
    for tag, closing in _NOT_SHOWN if role == "assistant" else ():
        if tagged := [text for text in shown if tag in text]:
            shown = [*shown, *(_element(text, tag, closing) for text in tagged)]
            shown += [_without(text, tag, closing) for text in tagged]
    return str(role), shown


def thoughts_of(item: dict[str, Any]) -> list[str]:
    """The texts of a reasoning item; none if it is encrypted."""
    return [*texts_of(item.get("summary")), *texts_of(item.get("content"))]


def _element(text: str, tag: str, closing: str) -> str:
    """The content of the first element with this tag."""
    return text.partition(tag)[2].partition(closing)[0]


def _without(text: str, tag: str, closing: str) -> str:
    """Removes all elements with this tag from a text; one that is not closed extends to the end."""
    pieces, at = [], 0
    while (start := text.find(tag, at)) >= 0:
        pieces.append(text[at:start])
        end = text.find(closing, start)
        at = len(text) if end < 0 else end + len(closing)
    return "".join([*pieces, text[at:]])


def _add_call(content: Content, item_type: str, item: dict[str, Any], blocks: BlockReader) -> None:
    """Adds a tool call: its arguments, or else all other fields of the item."""
    name = as_text(item.get("name")) or item_type.removesuffix(_CALL)
    call = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
    if call is None:
        rest = {key: value for key, value in item.items() if key not in _BOOKKEEPING}
        call, blobs = without_base64(rest)
        content.blobs += blobs
    arguments = call if isinstance(call, str) else compact_json(call)
    use_id = as_text(item.get("call_id")) or item.get("id")
    content.add_tool_use(name, arguments, use_id, blocks.names)


def _output_of(item: dict[str, Any]) -> object:
    """The result of a tool as text or blocks, taken out of an object around them."""
    output = item.get("output", item.get("tools"))
    if isinstance(output, dict) and isinstance(inner := output.get("content"), str | list):
        return inner
    return output


def _completed(item: dict[str, Any]) -> Event | None:
    """The event in a completed item, the form that newer versions write."""
    item_type = str(item.get("type")).lower()
    if item_type == "usermessage":
        return Event("user", "".join(texts_of(item.get("content"))))
    if item_type == "agentmessage":
        return Event("assistant", "".join(texts_of(item.get("content"))))
    if item_type == "plan":
        return Event("assistant", as_text(item.get("text")) or "")
    if item_type == "reasoning":
        summary = item.get("summary_text") or item.get("summary")
        texts = [*texts_of(summary), *texts_of(item.get("raw_content") or item.get("content"))]
        return Event(THINKING, "\n\n".join(texts))
    return None
