"""Turns the messages of a LangGraph state into messages of a memory. Pure.

Tested in tests/integrations/test_langgraph_saver.py.
"""

from __future__ import annotations

import hashlib
from collections import Counter
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


def messages_in(values: Iterable[Any]) -> list[tuple[str, BaseMessage]]:
    """The messages in the values of channels, or in writes to them, each with the id by which it
    is known: its own, or one made of its words and of how often they were said before it."""
    said: list[tuple[str, BaseMessage]] = []
    times: Counter[str] = Counter()
    for value in values:
        inner = getattr(value, "value", value)  # a delta channel's snapshot has its value inside
        for message in inner if isinstance(inner, list) else [value]:
            if not isinstance(message, BaseMessage) or isinstance(message, RemoveMessage):
                continue
            own_id = message.id
            if own_id is None:
                digest = fingerprint("", message)
                own_id = f"{digest}.{times[digest]}"
                times[digest] += 1
            said.append((own_id, message))
    return said


def fingerprint(message_id: str, message: BaseMessage) -> str:
    """What tells a message from others and from its edited versions."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    said = repr((message.type, message_id, message.name, message.content, calls))
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


def to_message(
    message_id: str, message: BaseMessage, names: Mapping[str, str], sent_at: datetime
) -> Message | None:
    """The words of a message; None without any.

    A HumanMessage is what the user typed. One with a name is not: graphs of several agents pass
    what an agent says to the next one in that way.
    """
    said = _read(message, names)
    if said is None or not said.text.strip():
        return None
    if isinstance(message, HumanMessage) and message.name:
        said = replace(said, role="other", author=message.name, origin="agent")
    return replace(said, sent_at=sent_at, external_id=message_id, unique_id=False, session=None)


def _read(message: BaseMessage, names: Mapping[str, str]) -> Message | None:
    try:
        (raw,) = convert_to_openai_messages([message])
        return shapes.to_message(shapes.parse(raw, "openai"), names)
    except (UsageError, ValueError, KeyError, TypeError):  # blocks or a role that OpenAI has not
        role = "user" if isinstance(message, HumanMessage) else "assistant"
        return Message(role, str(message.text))
