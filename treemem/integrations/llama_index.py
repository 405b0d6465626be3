"""Memory and retriever of LlamaIndex on a memory file.

    from treemem.integrations.llama_index import TreememBlock, TreememMemory, TreememRetriever

A chat is a live session: get() returns the context that fits the model's window, with what the
memory knows about the last request, and get_all() all turns. The block is for who keeps
LlamaIndex's own Memory. Needs the extra "llama-index".

Tested in tests/integrations/test_llama_index.py.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable
from typing import Any, Self

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ContentBlock,
        ImageBlock,
        MessageRole,
        TextBlock,
        ToolCallBlock,
    )
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory.memory import BaseMemoryBlock
    from llama_index.core.memory.types import BaseMemory
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    from treemem.integrations.absent import missing

    raise ImportError(missing("LlamaIndex", "llama-index")) from error

from treemem.assistants import texts
from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.sessions.session import Session
from treemem.types import Passage, Scope

# The beginning of the ids of the live sessions with chats.
SOURCE_PREFIX = "llama-index"
# What a retriever returns at most, in tokens.
BUDGET_TOKENS = 2_000
_ROLES = {
    MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant",
    MessageRole.FUNCTION: "tool",
}  # fmt: skip
_DATA_URL = "data:"


class TreememMemory(BaseMemory):
    """A chat in a memory, for chat engines and agents.

    name: of the chat; the same name goes on with it, in any process. memory: an open memory, which
    must outlive this; None opens path. path: of the memory file; None is the default one. window:
    the tokens of the model's window, 32,000 at first; reserve: those kept for the answer, the
    tools and what the engine puts before the chat. project: the folder or name to which it belongs.

    get() may compact the chat: what it leaves out it tells in a digest, and everything stays in the
    live session "llama-index/NAME" and in searches. reset(), and set() of other messages, begin a
    new live session, "llama-index/NAME#2" and so on; the one before stays, since it was said.
    """

    name: str = Field(default="chat", description="Of the chat.")
    path: str | None = Field(default=None, description="Of the memory file.")
    window: int | None = Field(default=None, description="Tokens of the model's window.")
    reserve: int | None = Field(default=None, description="Tokens of it that are kept free.")
    project: str | None = Field(default=None, description="To which the chat belongs.")
    _memory: Memory = PrivateAttr()
    _live: Session = PrivateAttr()
    _lock: Any = PrivateAttr(default_factory=threading.RLock)

    def __init__(self, memory: Memory | None = None, **fields: Any) -> None:
        if memory is not None:
            fields["path"] = str(memory.path)
        super().__init__(**fields)
        self._memory = Memory.open(self.path) if memory is None else memory
        self._live = self._opened(self._source_ids()[-1])

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex stores it."""
        return "TreememMemory"

    @classmethod
    def from_defaults(cls, memory: Memory | None = None, **kwargs: Any) -> Self:
        """The same as the class itself."""
        return cls(memory, **kwargs)

    @property
    def live(self) -> Session:
        """The live session with the chat: its blocks, pins, folds and checkpoints."""
        return self._live

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002,ARG002
        """The messages to send now. input: what to search the memory for; None takes the last
        request. Raises UsageError if what must be shown does not fit the window."""
        with self._lock:
            return [to_chat_message(one) for one in self._live.context(input).messages]

    def get_all(self) -> list[ChatMessage]:
        """All messages of the chat, word for word but for secrets."""
        with self._lock:
            return [to_chat_message(one) for one in self._live.messages()]

    def put(self, message: ChatMessage) -> None:
        """Stores a message. It is in the file when this returns."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Stores messages, all or none."""
        with self._lock:
            self._live.append([from_chat_message(one) for one in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        """Goes on with these messages. If the chat begins with them they are not stored again."""
        with self._lock:
            wanted = [from_chat_message(one) for one in messages]
            before = [from_chat_message(one) for one in self.get_all()]
            turns = [one for one in wanted if one["role"] != "system"] if before else wanted
            if turns[: len(before)] != before:
                self.reset()
                turns, before = wanted, []
            self._live.append(turns[len(before) :])

    def reset(self) -> None:
        """Begins a new chat of this name. The one before stays in the memory."""
        with self._lock:
            if self._live.turn_count:
                number = len(self._source_ids()) + 1
                self._live = self._opened(f"{SOURCE_PREFIX}/{self.name}#{number}")

    def _opened(self, source_id: str) -> Session:
        return self._memory.session(
            source_id, window=self.window, reserve=self.reserve, project=self.project,
            shape="openai",
        )  # fmt: skip

    def _source_ids(self) -> list[str]:
        """The ids of the chats of this name, the first one first; it may not exist yet."""
        first = f"{SOURCE_PREFIX}/{self.name}"
        known = {view.source_id for view in self._memory.sessions()}
        ids = [first]
        while (following := f"{first}#{len(ids) + 1}") in known:
            ids.append(following)
        return ids


class TreememBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's own Memory, in memory_blocks.

    memory: an open memory, which must outlive the block. It shows what the memory knows about the
    last request, fenced, in at most budget_tokens. Messages that leave the short-term memory are
    appended to the live session "llama-index/CHAT"; until they leave it they are LlamaIndex's to
    keep. The framework adds all of it to a message that the user did not type, so it should not be
    put into another memory.
    """

    name: str = Field(default="treemem", description="Of the block in the prompt.")
    chat: str = Field(default="block", description="Where messages are appended.")
    budget_tokens: int = Field(default=BUDGET_TOKENS, description="Of what is shown.")
    _memory: Memory = PrivateAttr()
    _live: Session = PrivateAttr()

    def __init__(self, memory: Memory, **fields: Any) -> None:
        super().__init__(**fields)
        self._memory = memory
        self._live = memory.session(f"{SOURCE_PREFIX}/{self.chat}", shape="openai")

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        asked = [one.content for one in messages or () if one.role == MessageRole.USER]
        return await asyncio.to_thread(self._found, (asked or [None])[-1] or "")

    async def _aput(self, messages: list[ChatMessage]) -> None:
        turns = [from_chat_message(one) for one in messages]
        await asyncio.to_thread(self._live.append, turns)

    def _found(self, query: str) -> str:
        """What the memory knows about a question, fenced; "" if that is nothing."""
        if not query.strip():
            return ""
        budget = max(1, self.budget_tokens - texts.FENCE_TOKENS)
        result = self._memory.search(query, budget_tokens=budget)
        return texts.in_fence(result.text) if result.text else ""


class TreememRetriever(BaseRetriever):
    """Finds passages of a memory for a query engine.

    memory: an open memory. scope: where to search; None everywhere. budget_tokens: of all passages
    together. fence: whether each passage stands between marks which say that it is a record and no
    instruction; it is what somebody said once, or what a tool returned.

    Each passage is a node with its score. Its metadata has the ids of its source and messages, for
    Memory.message, the title, and the days.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope | None = None,
        budget_tokens: int = BUDGET_TOKENS,
        fence: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._memory = memory
        self._scope = scope
        self._budget = budget_tokens
        self._fence = fence

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self._memory.search(
            query_bundle.query_str, scope=self._scope, budget_tokens=self._budget, order="score"
        )
        return [self._node(passage) for passage in result.passages]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _node(self, passage: Passage) -> NodeWithScore:
        days = sorted(filter(None, (texts.day(one.sent_at) for one in passage.messages)))
        metadata = {
            "source_id": passage.source_id,
            "title": passage.title,
            "message_ids": [one.id for one in passage.messages],
            "days": list(dict.fromkeys(days)),
        }
        text = texts.in_fence(passage.text) if self._fence else passage.text
        # The model reads the text alone, which names the day and the title.
        node = TextNode(
            text=text, metadata=metadata, excluded_llm_metadata_keys=list(metadata),
            excluded_embed_metadata_keys=list(metadata),
        )  # fmt: skip
        return NodeWithScore(node=node, score=passage.score)


# -- messages --------------------------------------------------------------------------


def from_chat_message(message: ChatMessage) -> dict[str, Any]:
    """A message as OpenAI's shape has it. Texts, images, calls of tools and their ids are kept; of
    other blocks, such as audio, only what they are."""
    role = _ROLES.get(message.role, message.role.value)
    content = _content(message.blocks)
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    calls = calls or [_plain(one) for one in message.additional_kwargs.get("tool_calls") or ()]
    if role == "tool":
        use_id = str(message.additional_kwargs.get("tool_call_id") or "call")
        words = content if isinstance(content, str) else json.dumps(content)
        return {"role": role, "tool_call_id": use_id, "content": words}
    if calls and role == "assistant":
        return {"role": role, "content": content or None, "tool_calls": calls}
    return {"role": role, "content": content}


def to_chat_message(message: dict[str, Any]) -> ChatMessage:
    """A message of OpenAI's shape as LlamaIndex has it."""
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    blocks: list[ContentBlock] = [block for part in parts if (block := _block(part)) is not None]
    extra: dict[str, Any] = {}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        blocks.append(ToolCallBlock(
            tool_call_id=call.get("id"), tool_name=function.get("name") or "tool",
            tool_kwargs=function.get("arguments") or {},
        ))  # fmt: skip
    if "tool_call_id" in message:
        extra["tool_call_id"] = message["tool_call_id"]
    return ChatMessage(role=message["role"], blocks=blocks, additional_kwargs=extra)


def _content(blocks: Iterable[ContentBlock]) -> str | list[dict[str, Any]]:
    """The content of blocks: a text, or parts if there are images."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock):
            parts.append({"type": "image_url", "image_url": {"url": _url(block)}})
        elif not isinstance(block, ToolCallBlock):
            kind = getattr(block, "block_type", "part")
            parts.append({"type": "text", "text": f"[{kind}]"})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _url(block: ImageBlock) -> str:
    if block.url:
        return str(block.url)
    encoded = block.resolve_image(as_base64=True).read().decode()
    return f"{_DATA_URL}{block.image_mimetype or 'image/png'};base64,{encoded}"


def _block(part: dict[str, Any]) -> ContentBlock | None:
    if part.get("type") == "text":
        return TextBlock(text=part.get("text") or "")
    if part.get("type") != "image_url":
        return None
    url = str((part.get("image_url") or {}).get("url") or "")
    if not url.startswith(_DATA_URL):
        return ImageBlock(url=url)
    kind, _, encoded = url.removeprefix(_DATA_URL).partition(";base64,")
    return ImageBlock(image=encoded.encode(), image_mimetype=kind)


def _call(block: ToolCallBlock) -> dict[str, Any]:
    arguments = block.tool_kwargs
    words = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": block.tool_name, "arguments": words}
    return {"id": block.tool_call_id or "call", "type": "function", "function": function}


def _plain(call: Any) -> dict[str, Any]:
    """A call in the form of a client of OpenAI's. Raises UsageError."""
    plain = call.model_dump() if hasattr(call, "model_dump") else call
    if not isinstance(plain, dict):
        raise UsageError(f"A call of a tool is a dict, not {type(call).__name__}.")
    return plain
