"""A session of the OpenAI Agents SDK in a memory file: what is said in it is remembered.

    from treemem.integrations.openai_agents import TreememSession

The items that the SDK reads back are state: it takes some of them back when it repeats a turn, and
a program may clear them. What was said is a live session of the memory, where nothing is taken
back. Both are stored in one transaction. Needs the extra "openai-agents".

Tested in tests/integrations/test_openai_agents.py.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

try:
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings, resolve_session_limit
except ImportError as error:
    from treemem.integrations.absent import missing

    raise ImportError(missing("the OpenAI Agents SDK", "openai-agents")) from error

from treemem.errors import UsageError
from treemem.integrations.state import State, as_json
from treemem.memory import Memory
from treemem.privacy.policy import Redact
from treemem.sessions.session import Session

# The beginning of the ids of the live sessions with the words of conversations.
SOURCE_PREFIX = "openai-agents"
_KEY_DIGITS = 12
_TEXT_TYPES = ("input_text", "output_text", "text")
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class TreememSession(SessionABC):
    """A conversation of agents, for Runner.run(…, session=…).

    session_id: its name; the same name goes on with it, in any process. memory: an open memory,
    which must outlive the session. project: the folder or name to which it belongs. title: of its
    source. redact: as in Memory.append; the agents, too, get markers in place of secrets.
    session_settings: the SDK's, such as a limit of items.

    get_items() returns items as they were added. pop_item() and clear_session() take items from
    what agents are given next; the live session "openai-agents/SESSION_ID" and searches still have
    the words, since they were said.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        project: str | None = None,
        title: str | None = None,
        redact: Redact = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not session_id:
            raise UsageError("The id of a session is empty.")
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = State(memory, "openai-agents.item", redact)
        self._live: Session = memory.session(
            f"{SOURCE_PREFIX}/{session_id}", shape="openai", project=project, title=title,
            redact=redact,
        )  # fmt: skip
        self._lock = threading.Lock()

    @property
    def live(self) -> Session:
        """The live session with what was said: its blocks, contexts, pins and checkpoints."""
        return self._live

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in order, all or the last ones. limit: None for that of the settings."""
        last = resolve_session_limit(limit, self.session_settings)
        kept = await asyncio.to_thread(self._items.of_place, self.session_id, last)
        return [one.value for one in kept]

    async def add_items(self, items: list[Any]) -> None:
        """Stores items, and what is said in them. They are in the file when this returns. Raises
        UsageError for an item that is no JSON."""
        await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> Any | None:
        """Takes back the last item and returns it; None if there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Takes back all items. What was said stays in the memory."""
        await asyncio.to_thread(self._items.delete, self.session_id)

    def _add(self, items: Sequence[Any]) -> None:
        plain = [json.loads(as_json(item, _dumped)) for item in items]
        said = [message for item in plain for message in messages_of(item)]
        redaction = self._items.redaction()
        with self._lock, self._items.transaction():
            last = self._items.of_place(self.session_id, last=1)
            number = int(last[0].key) + 1 if last else 0
            for key, item in enumerate(plain, number):
                self._items.put(self.session_id, f"{key:0{_KEY_DIGITS}}", item, redaction=redaction)
            if said:
                self._live.append(said)

    def _pop(self) -> Any | None:
        with self._items.transaction():
            for kept in self._items.of_place(self.session_id, last=1):
                self._items.delete(self.session_id, kept.key)
                return kept.value
        return None


def messages_of(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is said in an item, as messages of a chat: words, calls of tools and their outputs.

    Other items, such as a model's encrypted reasoning, have no words.

    Example:
        >>> list(messages_of({"role": "user", "content": "Hi"}))
        [{'role': 'user', 'content': 'Hi'}]
    """
    kind = item.get("type", "message")
    if kind in _CALLS:
        function = {"name": item.get("name") or kind,
                    "arguments": item.get("arguments") or item.get("input") or ""}  # fmt: skip
        call = {"id": _id(item), "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
    elif kind in _OUTPUTS:
        yield {"role": "tool", "tool_call_id": _id(item), "content": _words(item.get("output"))}
    elif kind == "message" and item.get("role") in ("user", "assistant", "system", "developer"):
        words = _words(item.get("content"))
        if words.strip():
            yield {"role": item["role"], "content": words}


def _id(item: dict[str, Any]) -> str:
    return str(item.get("call_id") or item.get("id") or "call")


def _words(content: Any) -> str:
    """The text of an item's content; what is no text as a marker of its type."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content)
    lines = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _TEXT_TYPES:
            lines.append(str(part.get("text") or ""))
        elif kind == "refusal":
            lines.append(str(part.get("refusal") or ""))
        else:
            lines.append(f"[{kind or 'part'}]")
    return "\n".join(lines)


def _dumped(value: Any) -> Any:
    """An item's object of a library as JSON. Raises TypeError."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"it has a value of the type {type(value).__name__}")
