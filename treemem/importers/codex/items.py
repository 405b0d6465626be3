"""What one record of a Codex rollout says: items of the model's history, and events about it.

Pure. An item is what was sent to the model or came from it; an event is what the screen showed.
Most of what is said is logged as both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.types import MessageKind, Role

ENVELOPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted",
     "inter_agent_communication", "world_state", "token_usage_record"}
)  # fmt: skip
# Types of items that the oldest rollouts hold without an envelope around them.
BARE_ITEMS = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "local_shell_call",
     "custom_tool_call", "custom_tool_call_output", "web_search_call"}
)  # fmt: skip

THINKING = "thinking"
EMPTY = "empty message"

_ROLES: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system",
}  # fmt: skip
# What Codex puts into the history in the user's name; the closing tag must end the text.
_TAGS = frozenset(
    {"apps_instructions", "codex_internal_context", "collaboration_mode", "environment_context",
     "extension_context", "goal_context", "hook_prompt", "model_switch", "permissions",
     "personality_spec", "plugins_instructions", "recommended_plugins", "skill",
     "skills_instructions", "subagent_notification", "turn_aborted", "user_instructions",
     "user_shell_command"}
)  # fmt: skip
_AGENTS_MD = ("# AGENTS.md instructions", "<INSTRUCTIONS>")
_AGENTS_MD_END = "</INSTRUCTIONS>"
_TAG_CHARS_MAX = 200
# What the screen leaves out of an answer, or shows by itself.
_NOT_SHOWN = (("<proposed_plan>", "</proposed_plan>"),
              ("<oai-mem-citation>", "</oai-mem-citation>"))  # fmt: skip
_CALL, _OUTPUT = "_call", "_output"
_BOOKKEEPING = frozenset({"type", "id", "call_id", "status", "name"})


class Record(NamedTuple):
    """A record without its envelope. kind: the envelope's type, or what it amounts to."""

    kind: str | None
    payload: dict[str, Any]
    time: object


class Speech(NamedTuple):
    """Who said it, and whether Codex only put it into the history."""

    role: Role
    content: Content
    kind: MessageKind = "said"
    author: str | None = None


class Event(NamedTuple):
    """What an event shows as said. speaker: a role, or THINKING."""

    speaker: str
    text: str
    images: tuple[str, ...] = ()


def unwrapped(value: dict[str, Any]) -> Record:
    """A record of any generation of the format, by one measure."""
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
    """What an item of the history says, or why it is no message."""
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
    posed = role == "system" or (role == "user" and is_context(content.spoken))
    return Speech(role, content, "injected" if posed else "said", author)


def event_of(payload: dict[str, Any]) -> Event | None:
    """What an event shows as said; None for all that is no speech."""
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
    """An event as a message, where no item says the same."""
    content = Content()
    content.add(event.text, "thinking" if event.speaker == THINKING else None)
    for url in event.images:
        blocks.add(content, {"type": "input_image", "image_url": url})
    if content.is_empty:
        return EMPTY
    role: Role = "user" if event.speaker == "user" else "assistant"
    posed = role == "user" and is_context(content.spoken)
    return Speech(role, content, "injected" if posed else "said")


def shown_as(item: dict[str, Any]) -> tuple[str, list[str]] | None:
    """Whose words an item holds, and the texts as which an event may show them."""
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
    """The words of a reasoning item; what is encrypted has none."""
    return [*texts_of(item.get("summary")), *texts_of(item.get("content"))]


def is_context(spoken: list[str]) -> bool:
    """Whether every piece of a user's text was put there by Codex.

    Example:
        >>> is_context(["<environment_context><cwd>/p</cwd></environment_context>"])
        True
        >>> is_context(["<skill> is a tag, isn't it?"]), is_context([])
        (False, False)
    """
    pieces = [piece for piece in spoken if not piece.isspace()]
    return bool(pieces) and all(map(_is_context, pieces))


def _is_context(text: str) -> bool:
    start, end = text[:_TAG_CHARS_MAX].lstrip(), text[-_TAG_CHARS_MAX:].rstrip()
    if start.startswith(_AGENTS_MD):
        return end.endswith(_AGENTS_MD_END)
    if not start.startswith("<"):
        return False
    name = start[1:].partition(">")[0].split(" ", 1)[0].lower()
    return name in _TAGS and end.lower().endswith(f"</{name}>")


def _element(text: str, tag: str, closing: str) -> str:
    """What stands in the first element of that name."""
    return text.partition(tag)[2].partition(closing)[0]


def _without(text: str, tag: str, closing: str) -> str:
    """The text without all elements of that name, and without one that does not end."""
    kept, at = [], 0
    while (start := text.find(tag, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(closing, start)
        at = len(text) if end < 0 else end + len(closing)
    return "".join([*kept, text[at:]])


def _add_call(content: Content, item_type: str, item: dict[str, Any], blocks: BlockReader) -> None:
    """A call of any tool: its arguments as they stand, or all that the item says about it."""
    name = as_text(item.get("name")) or item_type.removesuffix(_CALL)
    found = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
    if found is None:
        rest = {key: value for key, value in item.items() if key not in _BOOKKEEPING}
        found, blobs = without_base64(rest)
        content.blobs += blobs
    arguments = found if isinstance(found, str) else compact_json(found)
    use_id = as_text(item.get("call_id")) or item.get("id")
    content.add_tool_use(name, arguments, use_id, blocks.names)


def _output_of(item: dict[str, Any]) -> object:
    """What a tool answered: a text, blocks, or an object around one of them."""
    found = item.get("output", item.get("tools"))
    if isinstance(found, dict) and isinstance(inner := found.get("content"), str | list):
        return inner
    return found


def _completed(item: dict[str, Any]) -> Event | None:
    """An item of a turn as newer versions show it, in place of the older events."""
    item_type = str(item.get("type")).lower()
    if item_type == "usermessage":
        return Event("user", "".join(texts_of(item.get("content"))))
    if item_type == "agentmessage":
        return Event("assistant", "".join(texts_of(item.get("content"))))
    if item_type == "plan":
        return Event("assistant", as_text(item.get("text")) or "")
    if item_type == "reasoning":
        shown = [*texts_of(item.get("summary_text")), *texts_of(item.get("raw_content"))]
        return Event(THINKING, "\n\n".join(shown))
    return None
