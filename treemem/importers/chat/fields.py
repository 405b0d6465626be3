"""The fields of a chat message, under the names that different tools give them.

Pure. Every function takes the JSON object of one message and returns what it says, or None.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.source_ids import one_line, sent_at
from treemem.types import Role

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


def speaker_of(value: dict[str, Any]) -> tuple[Role, str | None] | None:
    """Role and author; None where nobody is named.

    Example:
        >>> speaker_of({"role": "human", "name": "Ann"}), speaker_of({"from": "Bob"})
        (('user', 'Ann'), ('other', 'Bob'))
    """
    words = [word for key in _SPEAKER_KEYS if (found := value.get(key)) and (word := _word(found))]
    if not words:
        return None
    word = words[0]
    role = ROLE_OF.get(word.lower(), "other")
    names = [name for name in words if name is not word]
    if role != "tool" and (name := _word(value.get("name"))):
        names.insert(0, name)
    author = next((name for name in names if name.lower() not in ROLE_OF), None)
    return role, author or (word if role == "other" else None)


def _word(value: object) -> str | None:
    """A speaker's name or role: a string, or the first one in an object that describes them."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("name", "username", "role") if value.get(key)), None)
    return one_line(value)


def blocks_of(value: dict[str, Any]) -> object:
    """The first text field with anything in it; a message object is opened once."""
    for key in _TEXT_KEYS:
        found = value.get(key)
        if isinstance(found, dict) and "type" not in found:
            found = next((found[inner] for inner in _TEXT_KEYS if found.get(inner)), found)
        if found and isinstance(found, str | list | dict):
            return found
    return None


def has_text_key(value: dict[str, Any]) -> bool:
    return any(key in value for key in _TEXT_KEYS)


def id_of(value: dict[str, Any]) -> str | None:
    for key in _ID_KEYS:
        found = value.get(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if isinstance(found, str) and found:
            return found
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
