"""Decides who speaks in a record of Claude Code, and which texts the tool injected.

Pure. Slash commands, their output, reminders and notices are logged as user turns and recognized by
their tags (origins/wrappers.py). A prompt typed while the model is working is logged as an
attachment, not as a turn.

Tested in tests/importers/test_claude_code.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treemem.importers.common.coerce import as_dict, as_text, no_message
from treemem.importers.common.source_ids import one_line
from treemem.origins.wrappers import is_continuation, is_injected
from treemem.types import MessageKind, Role

# The origins of a turn that the user typed; any other is another agent's or a program's.
_TYPED_ORIGINS = (None, "human", "user")
_NOTIFICATION = "task-notification"


class Speech(NamedTuple):
    """Role and content of a record. injected: whether the tool wrote it in that role's name."""

    role: Role
    blocks: object
    injected: bool = False


def speech_of(value: dict[str, Any], is_queued: Callable[[str], bool]) -> Speech | str:
    """The speech of a record, or the reason to skip it.

    is_queued: whether a text is also logged as a queued command, and so occurs twice.
    """
    record_type, message = value.get("type"), value.get("message")
    if record_type in ("user", "assistant"):
        blocks = message.get("content") if isinstance(message, dict) else message
        return Speech(record_type, blocks, value.get("isApiErrorMessage") is True)
    if record_type is None and isinstance(message, dict):
        role = message.get("role")
        if role in ("user", "assistant"):
            return Speech(role, message.get("content"))
    if record_type == "system":
        return _notice(value)
    if record_type == "attachment":
        return _queued_command(value.get("attachment"))
    if record_type == "queue-operation" and value.get("reason") == "absorbed_mid_turn":
        text = value.get("content")
        if isinstance(text, str) and not is_queued(text):
            return Speech("user", text)
    return no_message(record_type)


def kind_of(
    value: dict[str, Any], speech: Speech, role: Role, spoken: Sequence[str]
) -> MessageKind:
    """Classifies a message as said, injected or summary. spoken: the pieces of its plain text."""
    if value.get("isCompactSummary") is True or (role == "user" and is_continuation(spoken)):
        return "summary"
    if speech.injected:
        return "injected"
    if role != "user":
        return "said"
    notified = as_dict(value.get("origin")).get("kind") == _NOTIFICATION
    is_injected_text = value.get("isMeta") is True or notified or is_injected(spoken)
    return "injected" if is_injected_text else "said"


def is_spoken(spoken: Sequence[str]) -> bool:
    """Whether a record of tool results also contains text that the user typed."""
    return not all(map(str.isspace, spoken)) and not is_injected(spoken)


def agent_of(value: dict[str, Any]) -> str | None:
    """The author of a turn in the user's role that a record says somebody else wrote."""
    origin = as_dict(value.get("origin")) or as_dict(as_dict(value.get("attachment")).get("origin"))
    kind = as_text(origin.get("kind"))
    if kind in _TYPED_ORIGINS or kind == _NOTIFICATION:
        return None
    names = (one_line(origin.get(key)) for key in ("name", "from", "server", "kind"))
    return next(filter(None, names), None)


def _notice(value: dict[str, Any]) -> Speech | str:
    """The text of a notice. Most other system records are bookkeeping, even those with text."""
    subtype, text = value.get("subtype"), value.get("content")
    if subtype in (None, "local_command") and isinstance(text, str):
        return Speech("system", text, injected=True)
    return no_message("system", subtype)


def _queued_command(attachment: object) -> Speech | str:
    """The prompt that the user typed while the model was working."""
    if not isinstance(attachment, dict):
        return no_message("attachment")
    if attachment.get("type") != "queued_command":
        return no_message("attachment", attachment.get("type"))
    is_typed = attachment.get("commandMode") in (None, "prompt") and not attachment.get("isMeta")
    return Speech("user", attachment.get("prompt"), injected=not is_typed)
