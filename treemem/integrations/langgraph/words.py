"""Turns the messages of a LangGraph state into messages of a memory. Pure.

Tested in tests/integrations/test_langgraph_saver.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    convert_to_openai_messages,
)

from treemem.errors import UsageError
from treemem.sessions import shapes
from treemem.types import Message


def messages_in(channels: Iterable[Any]) -> list[BaseMessage]:
    """The messages in the values of channels: the elements of those that are lists of messages."""
    return [
        message
        for value in channels
        if isinstance(value, list)
        for message in value
        if isinstance(message, BaseMessage) and not isinstance(message, RemoveMessage)
    ]


def fingerprint(message: BaseMessage) -> str:
    """What tells a message from others and from its edited versions."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    said = repr((message.type, message.id, message.name, message.content, calls))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def tool_names(messages: Iterable[BaseMessage]) -> dict[str, str]:
    """The tool by the id of its call."""
    return {
        call["id"]: call["name"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }


def to_message(message: BaseMessage, names: Mapping[str, str], sent_at: datetime) -> Message | None:
    """The words of a message; None without any.

    A HumanMessage is what the user typed. One with a name is not: graphs of several agents pass
    what an agent says to the next one in that way. A message without an id gets one from its words.
    """
    said = _read(message, names)
    if said is None or not said.text.strip():
        return None
    if isinstance(message, HumanMessage) and message.name:
        said = replace(said, role="other", author=message.name, origin="agent")
    words = "\0".join((said.role, said.author or "", said.text))
    own_id = message.id or hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(
        said, sent_at=sent_at, external_id=own_id, unique_id=False, session=None,
    )  # fmt: skip


def _read(message: BaseMessage, names: Mapping[str, str]) -> Message | None:
    try:
        (raw,) = convert_to_openai_messages([message])
        return shapes.to_message(shapes.parse(raw, "openai"), names)
    except (UsageError, ValueError, KeyError, TypeError):  # blocks or a role that OpenAI has not
        role = "user" if isinstance(message, HumanMessage) else "assistant"
        return Message(role, str(message.text))
