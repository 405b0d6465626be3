"""What a message of a ChatGPT export says: its content, whichever of the many types it has.

Pure. Texts stay as they stand, the private-use characters around citations included; what is
only pointed to (images, sound, uploaded files) leaves a marker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from treemem.importers.chat.fields import ROLE_OF
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.types import MessageKind, Role

_POINTED = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
}
_BOOKKEEPING = frozenset({"reasoning_recap"})
_TEXT_KEYS = ("text", "result", "output_str", "output", "summary", "content")
_CONTEXT_KEYS = ("user_profile", "user_instructions", "model_set_context")
_USER_CONTEXT_KEYS = ("about_user_message", "about_model_message")
_EVERYBODY = frozenset({"all", "user", "assistant"})


class Author(NamedTuple):
    """role, and the name: a tool's, or what the export calls somebody of an unknown role."""

    role: Role
    name: str | None


def author_of(message: dict[str, Any]) -> Author | None:
    """Who says a message; None where the export names nobody."""
    author = message.get("author")
    role = as_text(as_dict(author).get("role")) or as_text(author)
    if role is None:
        return None
    name = as_text(as_dict(author).get("name"))
    known = ROLE_OF.get(role.lower(), "other")
    return Author(known, name or role if known == "other" else name)


def tool_called(message: dict[str, Any]) -> str | None:
    """The tool that a message of the assistant is addressed to."""
    author = author_of(message)
    recipient = as_text(message.get("recipient"))
    if author is None or author.role != "assistant" or recipient in _EVERYBODY:
        return None
    return recipient


def kind_of(message: dict[str, Any], role: Role) -> MessageKind:
    """Custom instructions and memories stand in the user's or the system's name, hidden."""
    metadata = as_dict(message.get("metadata"))
    if _content_type(message).endswith("_editable_context"):
        return "injected"
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    given = metadata.get("is_user_system_message") is True
    return "injected" if given or (hidden and role in ("user", "system")) else "said"


def is_bookkeeping(message: dict[str, Any]) -> str | None:
    """The type of a content that nobody said, such as how long the model thought."""
    content_type = _content_type(message)
    return content_type if content_type in _BOOKKEEPING else None


def content_of(
    message: dict[str, Any],
    author: Author,
    reader: BlockReader,
    use_id: str,
    call_id: str | None,
) -> Content:
    """use_id: what its answers will call it. call_id: the call that a tool's message answers."""
    content = Content()
    blocks = _blocks(message)
    tool = tool_called(message)
    if tool is not None:
        code = [block for block in blocks if isinstance(block, str) and block]
        if code:
            content.add_tool_use(tool, "\n\n".join(code), use_id, reader.names)
        blocks = [block for block in blocks if not isinstance(block, str)]
    if author.role == "tool":
        reader.add_tool_result(content, blocks, call_id, author.name)
    else:
        reader.add(content, blocks)
    return content


def _content_type(message: dict[str, Any]) -> str:
    return as_text(as_dict(message.get("content")).get("content_type")) or "text"


def _blocks(message: dict[str, Any]) -> list[object]:
    """The content as texts and blocks that a BlockReader knows."""
    value = message.get("content")
    metadata = as_dict(message.get("metadata"))
    if isinstance(value, str):
        return [value]
    content = as_dict(value)
    content_type = _content_type(message)
    if content_type == "thoughts":
        blocks = list(map(_thought, as_list(content.get("thoughts"))))
    elif content_type.endswith("_editable_context"):
        blocks = [content[key] for key in _CONTEXT_KEYS if as_text(content.get(key))]
    elif content_type == "tether_quote":
        blocks = [text for key in ("title", "url", "text") if (text := as_text(content.get(key)))]
    elif content_type == "system_error":
        blocks = [text for key in ("name", "text") if (text := as_text(content.get(key)))]
    elif isinstance(content.get("parts"), list):
        blocks = [block for part in content["parts"] for block in _part(part)]
    else:
        blocks = _other(content)
    context = as_dict(metadata.get("user_context_message_data"))
    blocks += [context[key] for key in _USER_CONTEXT_KEYS if as_text(context.get(key))]
    return blocks + _attached(metadata, blocks)


def _other(content: dict[str, Any]) -> list[object]:
    """Code, output and types that came later: the first text in it, else all of it as JSON."""
    texts = [content[key] for key in _TEXT_KEYS if isinstance(content.get(key), str)]
    if texts:
        return [next(filter(None, texts), "")]
    rest = {key: value for key, value in content.items() if key != "content_type" and value}
    return [content] if rest else []


def _thought(thought: object) -> object:
    if not isinstance(thought, dict):
        return thought
    pieces = [text for key in ("summary", "content") if (text := as_text(thought.get(key)))]
    return {"type": "thinking", "thinking": "\n\n".join(pieces)} if pieces else None


def _part(part: object) -> list[object]:
    """A piece of a message: text, what was spoken, or what is pointed to."""
    if not isinstance(part, dict):
        return [part]
    part_type, pointer = part.get("content_type"), as_text(part.get("asset_pointer"))
    if isinstance(part_type, str) and part_type in _POINTED and pointer:
        return [{"type": _POINTED[part_type], "url": pointer}]
    if part_type == "real_time_user_audio_video_asset_pointer":
        inner = [part.get("audio_asset_pointer"), part.get("video_container_asset_pointer")]
        return [block for item in inner if isinstance(item, dict) for block in _part(item)]
    if isinstance(part.get("text"), str):  # audio_transcription, and plain text in an object
        return [part["text"]]
    if pointer:
        return [{"type": "file", "path": pointer}]
    return [part]


def _attached(metadata: dict[str, Any], blocks: list[object]) -> list[object]:
    """Markers for uploaded files, and for pictures that code drew, if nothing shows them yet."""
    shown = " ".join(str(block.get("url")) for block in blocks if isinstance(block, dict))
    found: list[object] = []
    for file in as_list(metadata.get("attachments")):
        name, file_id = as_text(as_dict(file).get("name")), as_text(as_dict(file).get("id"))
        if (name or file_id) and not (file_id and file_id in shown):
            found.append({"type": "file", "path": name or file_id})
    drawn = map(as_dict, as_list(as_dict(metadata.get("aggregate_result")).get("messages")))
    urls = [as_text(item.get("image_url")) for item in drawn if item.get("message_type") == "image"]
    return found + [{"type": "image", "url": url} for url in urls if url]
