"""Builds a message of Goose from its role, its time and its content blocks.

Pure. A message is identified by its time in seconds, its role and its words: its row changes when
Goose compacts a session, and an older file has no ids. Copies of a session share its messages.

Tested in tests/importers/test_goose.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, digest_of
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import sent_at
from treemem.types import PARENT_AGENT, Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"
NOT_AN_OBJECT = "no message: not an object"
REPEATED = "prompt, repeated after a compaction"

# Types of blocks that no other log has: messages with one are Goose's.
_OWN_TYPES = frozenset({
    "toolRequest", "toolResponse", "toolConfirmationRequest", "frontendToolRequest",
    "systemNotification", "redactedThinking", "actionRequired", "conversationCompacted",
    "contextLengthExceeded", "summarizationRequested",
})  # fmt: skip
_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
_NOTICES = frozenset(
    {"systemNotification", "conversationCompacted", "contextLengthExceeded",
     "summarizationRequested"}
)  # fmt: skip
# How the text begins that Goose puts behind a summary, which makes the text before it one.
_CONTINUATIONS = ("The previous message ", "Your context was compacted")
_MILLISECONDS_MIN = 10_000_000_000


def is_message(value: object) -> bool:
    """Whether a JSON value can only be a message of Goose: with its metadata, or a block of a type
    that no other log has."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return False
    created = value.get("created")
    if not isinstance(created, int) or not isinstance(value.get("content"), list):
        return False
    has_own = any(as_dict(block).get("type") in _OWN_TYPES for block in value["content"])
    return has_own or {"agentVisible", "userVisible"} <= as_dict(value.get("metadata")).keys()


@dataclass(frozen=True, slots=True)
class Session:
    """Who speaks as the user: another agent, a schedule, or (is_shell) also the shell, whose
    commands are logged. recipe_prompt: a prompt that comes from a file."""

    is_agents: bool = False
    is_scheduled: bool = False
    is_shell: bool = False
    recipe_prompt: str | None = None


class Speech:
    """Builds the messages of one session. Call in the session's order, and rest() at its end.

    A message that only the agent sees is held until the next one tells whether it is a summary.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._blocks = BlockReader()
        self._count: Counter[str] = Counter()
        self._held: Message | None = None
        self._replaced: str | None = None

    def read(self, value: dict[str, Any], line: int | None = None) -> Iterator[Message | Skipped]:
        """Yields the message that was held, and this one unless it is held."""
        try:
            message = self._message(value)
        except RecursionError:
            message = Skipped(TOO_DEEP, problem=True)
        if isinstance(message, Skipped):
            yield replace(message, line=line)
            return
        metadata = as_dict(value.get("metadata"))
        is_hidden = metadata.get("userVisible") is False
        is_past = is_hidden and metadata.get("agentVisible") is False
        continues = is_hidden and message.text.startswith(_CONTINUATIONS)
        if self._held is not None:
            yield replace(self._held, kind="summary") if continues else self._held
            self._held = None
        if is_past and message.role == "user":
            # The prompt at which the session was compacted: Goose writes it once more.
            self._replaced = message.text
        elif message.role == "user" and self._replaced == message.text:
            self._replaced = None
            yield Skipped(REPEATED, line)
            return
        elif is_hidden and not is_past and message.role in ("user", "assistant"):
            # Older versions joined the summary and the text behind it in one message.
            has_both = any(f"\n\n{start}" in message.text for start in _CONTINUATIONS)
            self._held = replace(message, kind="summary" if has_both else "injected")
            return
        yield message

    def rest(self) -> Iterator[Message]:
        """Yields the message that is held."""
        if self._held is not None:
            yield self._held
            self._held = None

    def _message(self, value: dict[str, Any]) -> Message | Skipped:
        said = value.get("role")
        if said not in ("user", "assistant"):
            return Skipped(NO_ROLE)
        content = Content()
        kinds = {self._add(content, block) for block in as_list(value.get("content"))}
        if content.is_empty:
            return Skipped(EMPTY)
        role, kind, author = self._speaker(said, content, kinds, as_dict(value.get("metadata")))
        created = value.get("created")
        external_id = self._name(content, str(said), created)
        return content.message(
            role,
            author=author,
            kind=kind,
            sent_at=sent_at(created),
            external_id=external_id,
            unique_id=external_id is not None,
        )

    def _speaker(
        self, said: object, content: Content, kinds: set[str], metadata: dict[str, Any]
    ) -> tuple[Role, MessageKind, str | None]:
        if content.is_answer and not content.spoken:
            return "tool", "said", None
        if kinds and kinds <= _NOTICES:
            return "system", "injected", None
        if said == "assistant":
            return "assistant", "said", None
        if self._session.is_agents:
            return "other", "said", PARENT_AGENT
        is_command = self._session.is_shell and metadata.get("agentVisible") is False
        prompt = self._session.recipe_prompt
        is_recipes = prompt is not None and prompt.strip() == content.text.strip()
        if self._session.is_scheduled or is_command or is_recipes:
            return "user", "injected", None
        return "user", "said", None

    def _name(self, content: Content, said: str, created: object) -> str | None:
        """The id that all copies of a message share; repetitions in a session are numbered."""
        if not isinstance(created, int) or isinstance(created, bool) or created <= 0:
            return None
        seconds = created // 1000 if created > _MILLISECONDS_MIN else created
        name = f"goose:{seconds}:{said}:{digest_of(content.text)}"
        self._count[name] += 1
        return f"{name}:{self._count[name]}"

    # -- blocks ----------------------------------------------------------------------------

    def _add(self, content: Content, value: object) -> str:
        """Adds a block; returns its type."""
        block = as_dict(value)
        kind = as_text(block.get("type")) or ("text" if as_text(block.get("text")) else "")
        if kind == "text":
            if _is_for(block, "assistant"):
                content.add(as_text(block.get("text")) or "")
        elif kind == "reasoning":
            content.add(as_text(block.get("text")) or "", "thinking")
        elif kind == "redactedThinking":
            content.add("[redacted thinking]", "marker")
        elif kind in _CALLS:
            self._add_call(content, block)
        elif kind == "toolResponse":
            self._add_result(content, block)
        elif kind in _NOTICES:
            content.add(as_text(block.get("msg")) or "", "marker", kind)
        elif kind == "actionRequired":
            self._add_question(content, as_dict(block.get("data")))
        elif kind != "toolConfirmationRequest":
            self._blocks.add(content, value)
        return kind

    def _add_call(self, content: Content, block: dict[str, Any]) -> None:
        """Adds a call; one that the model wrote wrongly has an error instead."""
        call = as_dict(block.get("toolCall"))
        wanted = as_dict(call.get("value"))
        name = as_text(wanted.get("name"))
        if name is None:
            content.add(as_text(call.get("error")) or "", "tool_use", "tool")
            return
        arguments = json_text(wanted.get("arguments") or {}, content)
        content.add_tool_use(name, arguments, block.get("id"), self._blocks.names)

    def _add_result(self, content: Content, block: dict[str, Any]) -> None:
        result = as_dict(block.get("toolResult"))
        value = result.get("value")
        items = value if isinstance(value, list) else as_list(as_dict(value).get("content"))
        # Tools return a text twice, for the model and for the screen.
        shown = [item for item in items if _is_for(as_dict(item), "assistant")] or items
        blocks: list[object] = [_resource(item) for item in shown]
        if not blocks and isinstance(value, dict) and value.get("structuredContent") is not None:
            blocks = [json_text(value["structuredContent"], content)]
        if error := as_text(result.get("error")):
            blocks.append(error)
        self._blocks.add_tool_result(content, blocks, block.get("id"))

    def _add_question(self, content: Content, data: dict[str, Any]) -> None:
        """Adds a form that an extension shows, and what was entered; a request to allow a tool
        tells nothing that its call does not."""
        kind = as_text(data.get("actionType"))
        if kind == "elicitation":
            content.add(as_text(data.get("message")) or "", "marker", kind)
        elif kind == "elicitationResponse":
            content.add(json_text(data.get("userData"), content), "marker", kind)


def _is_for(block: dict[str, Any], reader: str) -> bool:
    """Whether a block is meant for this reader; without an audience it is for everybody."""
    audience = as_dict(block.get("annotations")).get("audience", block.get("audience"))
    return not isinstance(audience, list) or not audience or reader in audience


def _resource(item: object) -> object:
    """The text of a resource in a result; any other block as it is."""
    inner = as_dict(as_dict(item).get("resource"))
    text = as_text(inner.get("text"))
    if text is not None:
        return text
    blob = as_text(inner.get("blob"))
    if blob is None:
        return item
    media_type = inner.get("mimeType")
    return {"type": "file", "source": {"type": "base64", "media_type": media_type, "data": blob}}
