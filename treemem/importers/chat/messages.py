"""Reads a chat message in any generic shape, and recognizes conversations in JSON values.

The shapes are OpenAI's, ShareGPT's, and plain speaker and text.

Tested in tests/importers/test_chat.py and test_chat_documents.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treemem.importers.common.attachments import compact_json
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.source_ids import is_uuid, one_line, sent_at
from treemem.types import Message, Role

EMPTY = "empty message"
NO_SPEAKER = "no message: no speaker"
NO_TEXT = "no message: no text"
NOT_AN_OBJECT = "no message: not an object"

# Fields of data sets of other people's chats.
_DATASET_KEYS = frozenset(
    {"country", "hashed_ip", "lang", "language", "message_tree_id", "toxic", "toxicity"}
)
CONVERSATION_KEYS = ("messages", "conversations", "conversation")
# An object with a speaker and a text may also be a commit, a log line or a review.
_FOREIGN_KEYS = frozenset({"sha", "commit", "level", "logger", "title", "rating", "subject"})
_MESSAGE_SHARE_MIN = 0.5
_NAMED_SHARE_MIN = 0.8
_MESSAGES_LOOKED_AT = 10
_SPEAKER_KEYS = ("role", "author", "sender", "from", "speaker")
_TEXT_KEYS = ("text", "content", "message", "body", "value")
_ID_KEYS = ("id", "uuid", "message_id")
_TIME_KEYS = ("timestamp", "sent_at", "created_at", "time", "date", "ts")
_SESSION_KEYS = ("session", "session_id", "conversation_id")
ROLE_OF: dict[str, Role] = {
    "user": "user", "human": "user", "prompter": "user",
    "assistant": "assistant", "ai": "assistant", "bot": "assistant", "model": "assistant",
    "gpt": "assistant", "chatgpt": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool",
}  # fmt: skip


class MessageReader:
    """Turns objects into messages; remembers tool names from call to result.

    names: tools by the ids of calls whose results are to be read.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._blocks = BlockReader()
        for use_id, name in (names or {}).items():
            self._blocks.names.remember(use_id, name)

    def read(self, value: object) -> Message | str:
        """Reads the message in an object; returns the reason if it has to be skipped."""
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        speaker = speaker_of(value)
        if speaker is None:
            return NO_SPEAKER
        role, author = speaker
        content = Content()
        if isinstance(thought := value.get("reasoning_content"), str):
            content.add(thought, "thinking")
        blocks = blocks_of(value)
        if role == "tool":
            name = value.get("name")
            tool = name if isinstance(name, str) else None
            self._blocks.add_tool_result(content, blocks, value.get("tool_call_id"), tool)
        else:
            self._blocks.add(content, blocks)
        has_calls = self._add_calls(content, value)
        if content.is_empty:
            return EMPTY if blocks is not None or has_calls or has_text_key(value) else NO_TEXT
        external_id = id_of(value)
        time = time_of(value)
        is_mine = time is not None and author is None and is_own_shape(value)
        return content.message(
            role,
            author=author,
            origin="person" if role == "user" and not is_mine else None,
            sent_at=time,
            external_id=external_id,
            session=session_of(value),
            unique_id=external_id is not None and is_uuid(external_id),
        )

    def _add_calls(self, content: Content, value: dict[str, Any]) -> bool:
        """Adds OpenAI's tool calls; their arguments are JSON in a string and stay unchanged."""
        calls = value.get("tool_calls")
        legacy = value.get("function_call")
        if not calls and not legacy:
            return False
        for call in [*(calls if isinstance(calls, list) else []), {"function": legacy}]:
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                continue
            arguments = function.get("arguments")
            text = arguments if isinstance(arguments, str) else compact_json(arguments)
            content.add_tool_use(function["name"], text, call.get("id"), self._blocks.names)
        return True


def messages_of(value: object) -> list[object]:
    """The messages in a conversation: an object's list of them, or the list itself."""
    return _list_in(value) or []


def _list_in(value: object) -> list[object] | None:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for key in CONVERSATION_KEYS:
            if isinstance(items := value.get(key), list):
                return items
    return None


def is_conversation(value: object) -> bool:
    """Whether a value is or contains a list of messages; an empty list in an object counts."""
    messages = _list_in(value)
    if messages is None:
        return False
    if not messages and isinstance(value, dict):
        return speaker_of(value) is None
    looked_at = messages[:_MESSAGES_LOOKED_AT]
    return any(isinstance(message, dict) and speaker_of(message) for message in looked_at)


def share_of_chat(values: list[Any]) -> float:
    """Scores how certainly values are messages or conversations: 0.7, 0.4 or 0.

    0.7: half of them have a role such as user or assistant. 0.4: nearly all have speaker and text.
    """
    with_role = sum(_has_role(value) or _has_roles(value) for value in values)
    if values and with_role >= len(values) * _MESSAGE_SHARE_MIN:
        return 0.7
    named = sum(_has_speaker_and_text(value) for value in values)
    return 0.4 if values and with_role + named >= len(values) * _NAMED_SHARE_MIN else 0.0


def _has_roles(value: object) -> bool:
    """Whether at least half of the messages of a conversation have a role."""
    if not is_conversation(value):
        return False
    messages = messages_of(value)[:_MESSAGES_LOOKED_AT]
    return 2 * sum(map(_has_role, messages)) >= max(len(messages), 1)


def _has_role(value: object) -> bool:
    """Whether an object is a message of a user, an assistant, a system or a tool."""
    if not isinstance(value, dict) or (speaker := speaker_of(value)) is None:
        return False
    return speaker[0] != "other" and (has_text_key(value) or "tool_calls" in value)


def _has_speaker_and_text(value: object) -> bool:
    """Whether an object has a speaker and a text, and no field that is foreign to chats."""
    if not isinstance(value, dict) or _FOREIGN_KEYS & value.keys():
        return False
    return speaker_of(value) is not None and isinstance(blocks_of(value), str | list)


def is_own_shape(value: dict[str, Any]) -> bool:
    """Whether a message has the fields of a program's log, not those of a data set.

    Example:
        >>> is_own_shape({"role": "user", "content": "Hi."}), is_own_shape({"from": "human"})
        (True, False)
    """
    return "role" in value and value["role"] != "prompter" and not _DATASET_KEYS & value.keys()


# -- fields ----------------------------------------------------------------------------


def speaker_of(value: dict[str, Any]) -> tuple[Role, str | None] | None:
    """Role and author; None if there is no speaker.

    Example:
        >>> speaker_of({"role": "human", "name": "Ann"}), speaker_of({"from": "Bob"})
        (('user', 'Ann'), ('other', 'Bob'))
    """
    speakers = [
        speaker for key in _SPEAKER_KEYS if (field := value.get(key)) and (speaker := _word(field))
    ]
    if not speakers:
        return None
    speaker = speakers[0]
    role = ROLE_OF.get(speaker.lower(), "other")
    names = [name for name in speakers if name is not speaker]
    if role != "tool" and (name := _word(value.get("name"))):
        names.insert(0, name)
    author = next((name for name in names if name.lower() not in ROLE_OF), None)
    return role, author or (speaker if role == "other" else None)


def _word(value: object) -> str | None:
    """A speaker's name or role: a string, or the first of an object's name, username and role."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("name", "username", "role") if value.get(key)), None)
    return one_line(value)


def blocks_of(value: dict[str, Any]) -> object:
    """The first non-empty text field; looks into one level of a message object."""
    for key in _TEXT_KEYS:
        content = value.get(key)
        if isinstance(content, dict) and "type" not in content:
            content = next((content[inner] for inner in _TEXT_KEYS if content.get(inner)), content)
        if content and isinstance(content, str | list | dict):
            return content
    return None


def has_text_key(value: dict[str, Any]) -> bool:
    return any(key in value for key in _TEXT_KEYS)


def id_of(value: dict[str, Any]) -> str | None:
    for key in _ID_KEYS:
        own_id = value.get(key)
        if isinstance(own_id, int) and not isinstance(own_id, bool):
            return str(own_id)
        if isinstance(own_id, str) and own_id:
            return own_id
    return None


def time_of(value: dict[str, Any]) -> str | None:
    for key in _TIME_KEYS:
        if time := sent_at(value.get(key)):
            return time
    return None


def session_of(value: dict[str, Any]) -> str | None:
    for key in _SESSION_KEYS:
        if isinstance(word := value.get(key), str) and word:
            return word
    return None
