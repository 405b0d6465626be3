"""Reads ChatGPT's data export: conversations.json, with each conversation as a tree of messages.

Holds one conversation at a time. Messages that are not on the path from the root to the current
node (replaced answers, edited questions) are imported as inactive. chat.html repeats the same
conversations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from treemem.importers.chat.messages import ROLE_OF
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.branches import path_to_root, tree_order
from treemem.importers.common.coerce import as_dict, as_list, as_text, no_message
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.exports import export_events, recognized
from treemem.importers.common.json_members import DOCUMENT_BYTES_MAX
from treemem.importers.common.records import events_of
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable, sent_at
from treemem.types import Message, MessageKind, Role, Source

EMPTY = "empty message"
EMPTY_CONVERSATION = "empty conversation"
EMPTY_NODE = "no message: a node of the tree only"
NO_SPEAKER = "no message: no speaker"
NOT_AN_OBJECT = "no message: not an object"
NO_CONVERSATION = "no conversation: no tree of messages"
SAME_AS_JSON = "no chat: the conversations of the JSON files once more"
HTML_TOO_LARGE = "no chat: the page is too large, read conversations.json instead"

_CONVERSATION_KEYS = frozenset({"title", "create_time", "conversation_id"})
_LOOKED_AT = 20
_HTML_TITLE = b"<title>ChatGPT Data Export</title>"
_HTML_DATA = b"var jsonData ="
# Keys of objects that an export contains besides conversations.
_BESIDE = (
    (frozenset({"conversation_id", "is_anonymous"}), "no chat: shared links"),
    (frozenset({"conversation_id", "rating"}), "no chat: feedback"),
    (frozenset({"chatgpt_plus_user"}), "no chat: account"),
)
_TOOL_ANSWERS_MAX = 100
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


class ChatGpt(Importer):
    """Imports conversations.json, whole, in pieces, or of one conversation."""

    name = "chatgpt"
    version = 2
    description = "ChatGPT data export (conversations.json)"
    kept = "turns, reasoning, tool calls and results, abandoned branches, custom instructions"
    dropped = "model names, citations' details, custom GPTs' ids, feedback, account"
    marks = (("title", "create_time", "mapping", "current_node"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        if is_chat_html(head):
            return 0.95
        return recognized(head, _is_conversation, _beside)

    def read(self, file: LogFile) -> Iterator[Event]:
        document = file
        if is_chat_html(file.head()):
            if _json_neighbours(file):
                yield Skipped(SAME_AS_JSON)
                return
            if file.size_bytes > DOCUMENT_BYTES_MAX:
                yield Skipped(HTML_TOO_LARGE, problem=True)
                return
            document = _embedded(file)

        def events(value: dict[str, Any], number: int) -> Iterator[Event]:
            return _Conversation(file, value, number).events()

        yield from export_events(document, _is_conversation, _beside, events, NO_CONVERSATION)

    def companions(self, file: LogFile) -> Iterator[LogFile]:
        """The JSON files next to chat.html, which is skipped if there are any."""
        if is_chat_html(file.head()):
            yield from _json_neighbours(file)[:1]


def is_chat_html(head: bytes) -> bool:
    """Whether a head is that of the chat.html of ChatGPT's export.

    Example:
        >>> is_chat_html(b"<html><head><title>ChatGPT Data Export</title>")
        True
        >>> is_chat_html(b"<html><title>Notes</title>")
        False
    """
    page = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if page[:1] != b"<":
        return False
    return _HTML_TITLE in page or (_HTML_DATA in page and b'"mapping"' in page)


class _Conversation:
    """One tree of messages, which is one source."""

    def __init__(self, file: LogFile, value: dict[str, Any], number: int) -> None:
        tree = value["mapping"]
        self._nodes = {key: node for key, node in tree.items() if isinstance(node, dict)}
        self._others = len(tree) - len(self._nodes)
        self._parent_of = {key: as_text(node.get("parent")) for key, node in self._nodes.items()}
        self._active = path_to_root(self._parent_of, self._leaf(value.get("current_node")))
        self._blocks = BlockReader()
        name = as_text(value.get("conversation_id")) or as_text(value.get("id"))
        name = name or next(filter(is_uuid, self._nodes), None)
        self._source = Source(
            f"{ChatGpt.name}/{printable(name) if name else f'{file_key(file)}#{number}'}",
            ChatGpt.name,
            title=one_line(value.get("title")),
            origin=file.label,
        )

    def events(self) -> Iterator[Event]:
        if not self._nodes and not self._others:
            yield Skipped(EMPTY_CONVERSATION)
        yield from (Skipped(NOT_AN_OBJECT) for _ in range(self._others))
        keys = tree_order(self._parent_of, self._active)
        yield from events_of(keys, lambda _, key: self._message(key), lambda _: self._source)

    def _message(self, key: str) -> Message | str:
        """The message of a node, or the reason to skip it."""
        value = self._nodes[key].get("message")
        if value is None:
            return EMPTY_NODE
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        author = author_of(value)
        if author is None:
            return NO_SPEAKER
        if (content_type := is_bookkeeping(value)) is not None:
            return no_message(content_type)
        external_id = as_text(value.get("id")) or key
        call = self._call_of(key) if author.role == "tool" else None
        content = content_of(value, author, self._blocks, external_id, call)
        if content.is_empty:
            return EMPTY
        return content.message(
            author.role,
            author=author.name if author.role != "tool" else None,
            # Only in a chat of several people has the user a name.
            origin="person" if author.role == "user" and author.name else None,
            sent_at=sent_at(value.get("create_time")),
            external_id=external_id,
            kind=kind_of(value, author.role),
            unique_id=is_uuid(external_id),
            active=key in self._active,
        )

    def _call_of(self, key: str) -> str | None:
        """The id of the call that a tool's message answers: the nearest ancestor that is not itself
        an answer."""
        at = self._parent_of.get(key)
        for _ in range(_TOOL_ANSWERS_MAX):
            message = as_dict(self._nodes.get(at or "", {}).get("message"))
            if at is None or not message:
                return None
            if tool_called(message) is not None:
                return as_text(message.get("id")) or at
            author = author_of(message)
            if author is None or author.role != "tool":
                return None
            at = self._parent_of.get(at)
        return None

    def _leaf(self, current: object) -> str | None:
        """The current node; if it is missing, the newest node without children."""
        if isinstance(current, str) and current in self._nodes:
            return current
        parents = set(self._parent_of.values())
        leaves = [key for key in self._nodes if key not in parents]
        # Subtle: max() returns the first of equals, so the order is reversed to get the last.
        return max(reversed(leaves or list(self._nodes)), key=self._time, default=None)

    def _time(self, key: str) -> float:
        time = as_dict(self._nodes[key].get("message")).get("create_time")
        return time if isinstance(time, int | float) and time == time else 0.0


def _is_conversation(value: object) -> bool:
    tree = value.get("mapping") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(tree, dict):
        return False
    nodes = islice((node for node in tree.values() if isinstance(node, dict)), _LOOKED_AT)
    if any({"message", "parent", "children"} & node.keys() for node in nodes):
        return True
    return "current_node" in value or (not tree and bool(_CONVERSATION_KEYS & value.keys()))


def _beside(value: dict[str, Any]) -> str | None:
    return next((reason for keys, reason in _BESIDE if keys <= value.keys()), None)


def _json_neighbours(file: LogFile) -> list[LogFile]:
    """The JSON files with conversations next to chat.html."""
    return [
        other
        for other in file.neighbours()
        if other.name.startswith("conversations") and other.suffix == ".json"
    ]


def _embedded(file: LogFile) -> LogFile:
    """The JSON embedded in chat.html; the script after it is not read."""
    with file.open() as stream:
        _, _, data = stream.read().partition(_HTML_DATA)
    return LogFile(file.label, data=data)


# -- content ---------------------------------------------------------------------------


class Author(NamedTuple):
    """A role, and a name: the tool's, or the export's name for an unknown role."""

    role: Role
    name: str | None


def author_of(message: dict[str, Any]) -> Author | None:
    """The author of a message; None if the export names none."""
    author = message.get("author")
    role = as_text(as_dict(author).get("role")) or as_text(author)
    if role is None:
        return None
    name = as_text(as_dict(author).get("name"))
    known = ROLE_OF.get(role.lower(), "other")
    return Author(known, name or role if known == "other" else name)


def tool_called(message: dict[str, Any]) -> str | None:
    """The tool that an assistant's message is addressed to."""
    author = author_of(message)
    recipient = as_text(message.get("recipient"))
    if author is None or author.role != "assistant" or recipient in _EVERYBODY:
        return None
    return recipient


def kind_of(message: dict[str, Any], role: Role) -> MessageKind:
    """Classifies a message; custom instructions and memories are hidden messages of the user or
    system."""
    metadata = as_dict(message.get("metadata"))
    if _content_type(message).endswith("_editable_context"):
        return "injected"
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    is_instruction = metadata.get("is_user_system_message") is True
    return "injected" if is_instruction or (hidden and role in ("user", "system")) else "said"


def is_bookkeeping(message: dict[str, Any]) -> str | None:
    """The content type of a record that is not a message, such as the model's thinking time."""
    content_type = _content_type(message)
    return content_type if content_type in _BOOKKEEPING else None


def content_of(
    message: dict[str, Any],
    author: Author,
    reader: BlockReader,
    use_id: str,
    call_id: str | None,
) -> Content:
    """The content of a message.

    use_id: the id that its tool results will refer to. call_id: the call that a tool's message
    answers.
    """
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
    """The content as texts and blocks for a BlockReader."""
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
    return blocks + _attachments(metadata, blocks)


def _other(content: dict[str, Any]) -> list[object]:
    """Reads code, output and unknown types: the first text, else all of it as JSON."""
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
    """Reads a piece of a message: text, a transcription, or a reference to a file."""
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


def _attachments(metadata: dict[str, Any], blocks: list[object]) -> list[object]:
    """Markers for uploaded files and pictures drawn by code, unless a block already shows them."""
    linked = " ".join(str(block.get("url")) for block in blocks if isinstance(block, dict))
    markers: list[object] = []
    for file in as_list(metadata.get("attachments")):
        name, file_id = as_text(as_dict(file).get("name")), as_text(as_dict(file).get("id"))
        if (name or file_id) and not (file_id and file_id in linked):
            markers.append({"type": "file", "path": name or file_id})
    drawn = map(as_dict, as_list(as_dict(metadata.get("aggregate_result")).get("messages")))
    urls = [as_text(item.get("image_url")) for item in drawn if item.get("message_type") == "image"]
    return markers + [{"type": "image", "url": url} for url in urls if url]
