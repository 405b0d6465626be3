"""Reads content blocks of the AI SDK and of agents that write similar ones.

Pure. Such logs write the same tool call or result under several names; this module converts them to
the blocks that content.BlockReader reads.

Tested in tests/importers/test_cursor.py and test_cline.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.coerce import as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.patterns import lazy_regex

_THINKING_TYPES = frozenset({"reasoning", "thinking"})
_CALL_TYPES = frozenset({"tool-call", "tool_call", "tool_use"})
_RESULT_TYPES = frozenset({"tool-result", "tool_result"})
_TEXT_OF_ITEM = ("query", "result", "error")
_REFERENCE = lazy_regex(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def text_in_tag(text: str, names: Iterable[str]) -> str | None:
    r"""The text inside a tag with one of the names; None unless it encloses the whole text.

    Example:
        >>> text_in_tag("<task>\nShip it.\n</task>", ["task"]), text_in_tag("<task> ", ["task"])
        ('Ship it.', None)
    """
    body = text.strip()
    for name in names:
        opening = re.match(rf"<{name}(?: [^<>\n]*)?>", body)
        end = f"</{name}>"
        if opening is not None and body.endswith(end) and body.count(end) == 1:
            return body[opening.end() : -len(end)].removeprefix("\n").removesuffix("\n")
    return None


def json_text(value: object, content: Content) -> str:
    """A value as JSON; its attachments become markers, and blobs of the content."""
    if isinstance(value, str):
        return value
    shown, blobs = without_base64(value)
    content.blobs += blobs
    return compact_json(shown)


# -- blocks ------------------------------------------------------------------------------


def add_block(reader: BlockReader, content: Content, block: object) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str):
        reader.add(content, block)
    elif kind in _THINKING_TYPES:
        thought = as_text(block.get("text")) or as_text(block.get("thinking"))
        content.add(thought or "", "thinking")
    elif kind in _CALL_TYPES and (name := _tool_name(block)) is not None:
        arguments: object = next(
            (block[key] for key in ("input", "args", "arguments") if key in block), {}
        )
        content.add_tool_use(name, json_text(arguments, content), _call_id(block), reader.names)
    elif kind in _RESULT_TYPES:
        output = next((block[key] for key in ("output", "result", "content") if key in block), None)
        reader.add_tool_result(content, result_blocks(output), _call_id(block), _tool_name(block))
    else:
        reader.add(content, _attachment(block))


def result_blocks(output: object) -> object:
    """The result of a tool as blocks, without the objects wrapped around them.

    Example:
        >>> result_blocks({"type": "text", "value": "ok"})
        'ok'
        >>> result_blocks([{"query": "a", "result": "b"}])
        ['a', 'b']
        >>> result_blocks({"rows": 2})
        ['{"rows":2}']
    """
    if isinstance(output, list):
        return list(_items(output))
    if not isinstance(output, dict) or _is_block(output):
        return output if output is None or isinstance(output, str | dict) else compact_json(output)
    if "value" in output and isinstance(output.get("type"), str):
        return result_blocks(output["value"])
    return list(_items([output]))


def _items(items: list[Any]) -> Iterator[object]:
    for item in items:
        if isinstance(item, dict) and not _is_block(item):
            words = [item[key] for key in _TEXT_OF_ITEM if as_text(item.get(key))]
            yield from words if words else [compact_json(without_base64(item)[0])]
        else:
            yield _attachment(item) if isinstance(item, dict) else item


def _is_block(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and "value" not in value


def _tool_name(block: dict[str, Any]) -> str | None:
    return as_text(block.get("toolName")) or as_text(block.get("name"))


def _call_id(block: dict[str, Any]) -> str | None:
    keys = ("toolCallId", "tool_use_id", "tool_call_id", "id")
    return next((call_id for key in keys if (call_id := as_text(block.get(key)))), None)


def _attachment(block: dict[str, Any]) -> dict[str, Any]:
    """An attachment block in a shape that read_attachment knows."""
    kind = str(block.get("type"))
    payload = block.get("data") if kind in ("file", "media") else block.get(kind)
    if kind not in ("image", "file", "media") or not isinstance(payload, str):
        return block
    if _REFERENCE.match(payload):
        return {"type": "image" if kind == "image" else "file", "url": payload}
    media_type = block.get("mediaType") or block.get("mimeType")
    source = {"type": "base64", "media_type": media_type, "data": payload}
    return {"type": "image" if kind == "image" else "file", "source": source}
