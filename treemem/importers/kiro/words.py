"""Builds messages of Kiro's, and tells what its programs put into the user's name.

Tested in tests/importers/test_kiro.py.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from treemem.importers.common.attachments import compact_json, read_attachment, without_base64
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.conversation import marker
from treemem.importers.common.source_ids import is_uuid
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind

EMPTY = "empty message"
NOT_AN_OBJECT = "no message: not an object"
FORMAT = "kiro"

# What the command line sends around a prompt: entries of context, and marks around the prompt.
_AROUND = lazy_regex(
    r"--- CONTEXT ENTRY BEGIN ---\n.*?--- CONTEXT ENTRY END ---(?:\n\n|\Z)"
    r"|--- USER MESSAGE (?:BEGIN ---\n|END ---(?:\n\n)?)",
    re.DOTALL,
)
# How messages begin that the editor or the command line sends in the user's name.
_INJECTED = (
    "# System Prompt", "# Identity", "<identity>", "## Included Rules", "<key_kiro_features>",
    "<EnvironmentContext>", "<steering-reminder>", "You are operating in a workspace",
    "[SYSTEM NOTE:",
)  # fmt: skip
_WRAPPER = lazy_regex(r"\s*<kiro-ide-message>\n?(.*?)\n?</kiro-ide-message>\s*", re.DOTALL)
_UUID_CHARS = 36
_BYTES_MAX = 32 * 1024**2


class Words:
    """Adds what Kiro's logs hold to messages, and remembers the names of tools."""

    def __init__(self) -> None:
        self.blocks = BlockReader()

    def add_prompt(self, content: Content, text: object) -> None:
        """Adds what the user typed; marks what is around it."""
        if not isinstance(text, str) or not text:
            return
        inner = _WRAPPER.fullmatch(text)
        text = inner[1] if inner is not None else text
        start = content.add(text)
        for around in _AROUND.finditer(text):
            content.mark(start + around.start(), start + around.end(), "injected", "context")

    def add_call(self, content: Content, name: object, arguments: object, call_id: object) -> None:
        shown = arguments if isinstance(arguments, str) else compact_json(arguments)
        content.add_tool_use(as_text(name) or "unnamed", shown, call_id, self.blocks.names)

    def add_result(self, content: Content, blocks: object, call_id: object) -> None:
        """Adds what a tool answered: texts, or values."""
        self.blocks.add_tool_result(content, _plain(blocks), call_id)


def message_of(
    content: Content,
    role: str,
    name: str | None,
    sent_at: str | None,
    *,
    kind: MessageKind = "said",
) -> Message | None:
    """The message; None if it is empty. name: its id."""
    if content.is_empty:
        return None
    return content.message(
        role,  # type: ignore[arg-type]
        external_id=name,
        unique_id=name is not None and is_uuid(name[:_UUID_CHARS]),
        sent_at=sent_at,
        kind=kind,
    )


def kind_of_prompt(content: Content) -> MessageKind:
    """Whether the user said a prompt, or one of Kiro's programs."""
    text = content.text.lstrip()
    return "injected" if text.startswith(_INJECTED) else "said"


def add_image(content: Content, image: Mapping[str, Any]) -> None:
    """Adds an image of the command line: its format, and its bytes as numbers or in base64."""
    source = as_dict(image.get("source"))
    data = source.get("Bytes", source.get("bytes", source.get("data", image.get("data"))))
    numbers = as_list(data)
    is_bytes = all(isinstance(byte, int) and 0 <= byte < 256 for byte in numbers)
    if numbers and is_bytes and len(numbers) <= _BYTES_MAX:
        data = base64.b64encode(bytes(numbers)).decode()
    media_type = f"image/{as_text(image.get('format')) or 'png'}"
    held = {"type": "base64", "media_type": media_type, "data": data}
    attachment = None
    if isinstance(data, str):
        attachment = read_attachment({"type": "image", "source": held})
    shown = marker("image", media_type) if attachment is None else attachment.marker
    content.add(shown, "marker", media_type)
    content.blobs += [attachment.blob] if attachment is not None and attachment.blob else []


def _plain(blocks: object) -> object:
    """Results as blocks: Kiro's are {"Text": …}, {"Json": …}, or of a kind with data."""
    if isinstance(blocks, list):
        return [{"type": "text", "text": _text(block)} for block in blocks if block is not None]
    return blocks if isinstance(blocks, str) or blocks is None else _text(blocks)


def _text(block: object) -> str:
    if isinstance(block, str):
        return block
    fields = as_dict(block)
    value: object = fields
    for key in ("Text", "text", "Json", "json", "data"):
        if key in fields:
            value = fields[key]
            break
    if isinstance(value, str):
        return value
    return compact_json(without_base64(value if fields else block)[0])
