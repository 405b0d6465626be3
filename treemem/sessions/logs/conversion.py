"""Turns messages that an importer read into messages of a provider, with calls and their results.

Pure. Tested in tests/sessions/logs/test_conversion.py.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from treemem.types import Message, Part

Json = dict[str, Any]

_TOOLS = ("tool_use", "tool_result", "thinking")


class Converter:
    """Converts messages in the order of a log, since a result may not say which call it answers."""

    def __init__(self) -> None:
        self._open: deque[str] = deque()
        self._made = 0

    def convert(self, message: Message) -> list[Json]:
        """The messages of a provider, in Anthropic's shape, for one of a log: the assistant's words
        and calls, then the results of tools. None for a message without words."""
        spans = _spans(message)
        if message.role in ("user", "tool", "other", "system"):
            words = _speech(message, spans)
            if message.author and message.role == "other":
                words = f"{message.author}: {words}"
            blocks = [*self._results(message, spans), *_text(words)]
            calls = self._calls(message, spans)
            made = [("assistant", calls), ("user", blocks)]
        else:
            own = [*_thinking(message, spans), *_text(_speech(message, spans))]
            made = [
                ("assistant", [*own, *self._calls(message, spans)]),
                ("user", self._results(message, spans)),
            ]
        return [{"role": role, "content": _plain(blocks)} for role, blocks in made if blocks]

    def _calls(self, message: Message, spans: Iterable[Part]) -> list[Json]:
        blocks = []
        ids = deque(message.tool_use_ids)
        for span in spans:
            if span.kind != "tool_use":
                continue
            name = span.name or "tool"
            text = message.text[span.start : span.end].removeprefix(f"[tool use: {name}] ")
            use_id = ids.popleft() if ids else self._new_id()
            self._open.append(use_id)
            blocks.append({"type": "tool_use", "id": use_id, "name": name, "input": _input(text)})
        return blocks

    def _results(self, message: Message, spans: Iterable[Part]) -> list[Json]:
        texts = [
            message.text[span.start : span.end] for span in spans if span.kind == "tool_result"
        ]
        ids = list(message.tool_result_ids)
        if not ids and texts:
            ids = [self._open.popleft() if self._open else self._new_id()]
        if len(ids) != len(texts):  # several texts of one result, or a result without any
            texts = ["\n\n".join(texts), *("" for _ in ids[1:])]
        for use_id in ids:
            if use_id in self._open:
                self._open.remove(use_id)
        return [
            {"type": "tool_result", "tool_use_id": use_id, "content": text}
            for use_id, text in zip(ids, texts, strict=False)
        ]

    def _new_id(self) -> str:
        self._made += 1
        return f"call_{self._made}"


def speech(message: Message) -> str:
    """The words of a message without calls, results and thinking."""
    return _speech(message, _spans(message))


def _spans(message: Message) -> list[Part]:
    """The parts that are calls, results or thinking, in order, none within another."""
    spans: list[Part] = []
    for part in sorted(message.parts, key=lambda one: (one.start, -one.end)):
        if part.kind in _TOOLS and (not spans or part.start >= spans[-1].end):
            spans.append(part)
    return spans


def _speech(message: Message, spans: Iterable[Part]) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces.append(message.text[at : span.start].strip("\n"))
        at = span.end
    pieces.append(message.text[at:].strip("\n") if at else message.text)
    return "\n\n".join(filter(str.strip, pieces))


def _thinking(message: Message, spans: Iterable[Part]) -> list[Json]:
    return [
        {"type": "thinking", "thinking": message.text[span.start : span.end], "signature": ""}
        for span in spans if span.kind == "thinking"
    ]  # fmt: skip


def _text(words: str) -> list[Json]:
    return [{"type": "text", "text": words}] if words.strip() else []


def _plain(blocks: list[Json]) -> str | list[Json]:
    """Blocks as a message has them: a text alone is no list."""
    return blocks[0]["text"] if [one["type"] for one in blocks] == ["text"] else blocks


def _input(text: str) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": text}
