"""Hypothesis strategies for the messages of a real agent's loop, in the shape of either provider.

`histories(shape)` draws what a program appends: system messages, questions with images, answers
with thinking and several calls, results that fail, are empty or never come, words that the user
types while a tool runs, blocks of unknown types, and ids that a careless server uses again.
`histories(shape, tidy=True)` draws only what the provider accepts as it stands.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from treemem.sessions.shapes import Shape

Json = dict[str, Any]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
)
TOOLS = ("read_file", "bash", "mcp__docs__search")
words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(
    lambda text: bool(text.strip())
)
texts = words | st.sampled_from(
    ["Fix the parser.", "Never touch prod.\n\n- why?", "Готово 👍", "Done.\n"]
)
blanks = st.sampled_from(["", " ", "\n\n"])
arguments = st.dictionaries(
    st.sampled_from(["path", "command", "limit"]),
    texts | st.integers(-9, 9_999) | st.none() | st.lists(texts, max_size=2),
    max_size=3,
)


@st.composite
def histories(
    draw: st.DrawFn,
    shape: Shape,
    *,
    tidy: bool = False,
    thinking: bool = False,
    exchanges_max: int = 4,
) -> list[Json]:
    """A list of messages. tidy: accepted by the provider as it stands. thinking: Anthropic's
    thinking is enabled, so each loop of calls begins with it."""
    loop = _Loop(draw, shape, tidy, thinking)
    if shape == "openai" and draw(st.booleans()):
        role = draw(st.sampled_from(["system", "developer"]))
        loop.messages.append({"role": role, "content": draw(texts)})
    for _ in range(draw(st.integers(1, exchanges_max))):
        loop.exchange()
    return loop.messages


class _Loop:
    def __init__(self, draw: st.DrawFn, shape: Shape, tidy: bool, thinking: bool) -> None:
        self.draw, self.shape, self.tidy, self.thinking = draw, shape, tidy, thinking
        self.messages: list[Json] = []
        self.calls = 0

    def rarely(self) -> bool:
        """Whether something goes wrong."""
        return not self.tidy and self.draw(st.integers(0, 7)) == 0

    def exchange(self) -> None:
        """A question, a loop of calls, an answer; each may be missing."""
        if not self.rarely():
            self.question()
        is_running = False
        for _ in range(self.draw(st.integers(0, 3))):
            is_running = self.round(is_running)
        if not self.rarely():
            self.answer()

    def text(self) -> str:
        return self.draw(blanks) if self.rarely() else self.draw(texts)

    def question(self) -> None:
        form = self.draw(st.integers(0, 3))
        content: Any = self.text()
        if form >= 2:
            content = [{"type": "text", "text": self.text()}]
            if form == 3:
                content.append(self.image())
            if not self.tidy and self.shape == "anthropic" and self.draw(st.booleans()):
                content[-1]["cache_control"] = {"type": "ephemeral"}
        message = {"role": "user", "content": content}
        if self.shape == "openai" and self.rarely():
            message["name"] = self.draw(st.sampled_from(["ann", "Ann Lee", "<b>"]))
        self.messages.append(message)

    def image(self) -> Json:
        is_link = self.draw(st.booleans())
        if self.shape == "openai":
            url = "https://example.org/a.png" if is_link else f"data:image/png;base64,{PIXEL}"
            return {"type": "image_url", "image_url": {"url": url}}
        if self.rarely():
            return self.draw(st.sampled_from([
                {"type": "image", "source": {"type": "base64", "media_type": "image/tiff",
                                             "data": PIXEL}},
                {"type": "document", "title": "notes",
                 "source": {"type": "text", "media_type": "text/plain", "data": "the notes"}},
                {"type": "search_result", "source": "https://a.b", "title": "found", "content": []},
            ]))  # fmt: skip
        if is_link:
            return {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
        }

    def use_id(self) -> str:
        self.calls += 1
        if self.rarely():
            return self.draw(st.sampled_from(["", "call_0", "call.1|x", "c" * 60]))
        return f"{'call' if self.shape == 'openai' else 'toolu'}_{self.calls:04d}"

    def round(self, is_running: bool) -> bool:
        """An assistant's message with calls, and their results. Returns whether all came, alone."""
        uses = [(self.use_id(), self.draw(st.sampled_from(TOOLS)), self.draw(arguments))
                for _ in range(self.draw(st.integers(1, 3)))]  # fmt: skip
        thinks = (self.thinking and not is_running) or self.draw(st.booleans())
        if self.shape == "openai":
            self.openai_calls(uses, thinks)
        else:
            self.anthropic_calls(uses, thinks)
        if self.rarely():
            self.question()
            is_running = False
        else:
            is_running = True
        ids = [use_id for use_id, _, _ in uses]
        kept = [use_id for use_id in ids if not self.rarely()]
        if self.rarely():
            kept.append(self.draw(st.sampled_from([*ids, "call_unknown"])))
        is_whole = self.openai_results(kept) if self.shape == "openai" else self.results(kept)
        return is_running and is_whole and kept == ids and len(set(ids)) == len(ids)

    def openai_calls(self, uses: list[tuple[str, str, Json]], thinks: bool) -> None:
        message: Json = {"role": "assistant"}
        if thinks:
            message["reasoning_content"] = self.draw(texts)
        message["content"] = self.draw(st.none() | texts | st.just(""))
        message["tool_calls"] = []
        for use_id, name, value in uses:
            text = '{"path": "half' if self.rarely() else json.dumps(value)
            function = {"name": name, "arguments": text}
            message["tool_calls"].append({"id": use_id, "type": "function", "function": function})
        if self.draw(st.booleans()):
            message |= {"refusal": None, "annotations": []}
        self.messages.append(message)

    def anthropic_calls(self, uses: list[tuple[str, str, Json]], thinks: bool) -> None:
        blocks: list[Json] = []
        if thinks:
            blocks.append({"type": "thinking", "thinking": self.draw(texts), "signature": "c2ln"})
            if self.draw(st.booleans()):
                blocks.append({"type": "redacted_thinking", "data": "c2VjcmV0"})
            if self.rarely():
                self.messages.append({"role": "assistant", "content": blocks})
                blocks = []
        if self.draw(st.booleans()):
            blocks.append({"type": "text", "text": self.text()})
        if self.rarely():
            blocks.append({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                           "input": {"query": self.draw(texts)}})  # fmt: skip
        blocks += [{"type": "tool_use", "id": use_id, "name": name, "input": value}
                   for use_id, name, value in uses]  # fmt: skip
        message = {"role": "assistant", "content": blocks}
        if self.rarely():
            blocks[0] = {**blocks[0], "index": 0, "cache_control": {"type": "ephemeral"}}
        if self.rarely():
            blocks.append({"type": "text", "text": self.text()})
            message |= {"id": "msg_1", "model": "claude", "stop_reason": "tool_use"}
        self.messages.append(message)

    def openai_results(self, ids: list[str]) -> bool:
        for use_id in ids:
            content: Any = self.draw(texts | st.just(""))
            if self.draw(st.booleans()):
                content = [{"type": "text", "text": self.draw(texts)}]
            if self.rarely():
                content = None
            self.messages.append({"role": "tool", "tool_call_id": use_id, "content": content})
        return True

    def results(self, ids: list[str]) -> bool:
        blocks = [self.result(use_id) for use_id in ids]
        is_alone = True
        if self.draw(st.integers(0, 4)) == 0:
            typed = {"type": "text", "text": self.text()}
            blocks = [typed, *blocks] if self.rarely() else [*blocks, typed]
            is_alone = False
        if self.rarely():
            self.messages += [{"role": "user", "content": [block]} for block in blocks]
        elif blocks:
            self.messages.append({"role": "user", "content": blocks})
        return is_alone

    def result(self, use_id: str) -> Json:
        block: Json = {"type": "tool_result", "tool_use_id": use_id}
        form = self.draw(st.integers(0, 3))
        if form:
            block["content"] = self.draw(texts | st.just(""))
        if form >= 2:
            block["content"] = [{"type": "text", "text": self.text()}]
            if form == 3:
                block["content"].append(self.image())
        if self.draw(st.integers(0, 4)) == 0:
            block["is_error"] = not self.tidy or bool(block.get("content"))
        return block

    def answer(self) -> None:
        content: Any = self.text().rstrip() if self.tidy else self.text()
        if self.shape == "anthropic":
            blocks = [{"type": "text", "text": content}]
            if self.draw(st.booleans()):
                blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
            if self.rarely():
                blocks = blocks[:1]
            content = blocks if self.draw(st.booleans()) else content
        elif self.rarely():
            self.messages.append({"role": "assistant", "content": None, "refusal": "I cannot."})
            return
        self.messages.append({"role": "assistant", "content": content})
