"""Reads the messages of a chat of Open WebUI: a tree of messages by their ids.

An answer has its thinking and its calls in `output`, or in elements of HTML in its text.

Tested in tests/importers/test_open_webui.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from treemem.importers.chat.messages import ROLE_OF
from treemem.importers.common.attachments import compact_json
from treemem.importers.common.branches import path_to_root, tree_order
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none, texts_of
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.source_ids import is_uuid, sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message, MessageKind, Origin, Role

EMPTY = "empty message"
NO_SPEAKER = "no message: no speaker"
NOT_AN_OBJECT = "no message: not an object"

_DETAILS = lazy_regex(
    r'\n?<details type="(reasoning|tool_calls|code_interpreter)"([^>]*)>\n?'
    r"(?:<summary>[^<]*</summary>\n?)?(.*?)\n?</details>\n?",
    re.DOTALL,
)
_ATTRIBUTE = lazy_regex(r'(\w+)="([^"]*)"')
_CONTENT_TYPES = frozenset({"message", "reasoning"})


class Chat:
    """The messages of one chat. tree: the messages by their ids. leaf: the id of the last message
    of the branch that is shown. origin: whose words the user's are, None for yours."""

    def __init__(self, tree: Mapping[str, object], leaf: object, origin: Origin | None) -> None:
        self._tree = tree
        self._origin: Origin | None = origin
        self._blocks = BlockReader()
        self._parent_of = {
            key: as_text(as_dict(value).get("parentId")) for key, value in tree.items()
        }
        known = leaf if isinstance(leaf, str) and leaf in tree else next(reversed(list(tree)), None)
        self._active = path_to_root(self._parent_of, known)

    def keys(self) -> Iterator[str]:
        """The ids, each after its parent."""
        return tree_order(self._parent_of, self._active)

    def message(self, key: str) -> Message | str:
        """The message of an id, or the reason to skip it."""
        value = self._tree[key]
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        sender = as_text(value.get("role"))
        if sender is None:
            return NO_SPEAKER
        role: Role = ROLE_OF.get(sender.lower(), "other")
        content, kind = self._content(value, role)
        if content.is_empty:
            return EMPTY
        return content.message(
            role,
            author=sender if role == "other" else None,
            origin=self._origin if role == "user" else None,
            sent_at=sent_at(value.get("timestamp")),
            external_id=key,
            unique_id=is_uuid(key),
            kind=kind,
            active=key in self._active,
        )

    def _content(self, value: dict[str, Any], role: Role) -> tuple[Content, MessageKind]:
        content, kind = Content(), "said"
        for item in as_list(value.get("output")):
            self._add_output(content, as_dict(item))
        if content.is_empty:
            content = Content()
            words = value.get("content")
            if role == "assistant" and isinstance(words, str):
                self._add_answer(content, words)
            else:
                self._blocks.add(content, words if words is not None else [])
        if content.is_empty and (error := _error_of(value.get("error"))):
            content.add(error)
            kind = "injected"
        for file in map(as_dict, as_list(value.get("files"))):
            name = as_text(file.get("name")) or as_text(as_dict(file.get("file")).get("filename"))
            url = as_text(file.get("url")) or ""
            if file.get("type") == "image" and url.startswith("data:"):
                self._blocks.add(content, [{"type": "image_url", "image_url": {"url": url}}])
            elif name or url:
                label = "image" if file.get("type") == "image" else "file"
                self._blocks.add(content, [{"type": label, "path": name or url}])
        return content, "injected" if kind == "injected" else "said"

    def _add_output(self, content: Content, item: dict[str, Any]) -> None:
        """Adds an item as OpenAI's Responses API has them."""
        item_type = as_text(item.get("type"))
        if item_type in _CONTENT_TYPES:
            texts = texts_of(item.get("content") or []) or texts_of(item.get("summary") or [])
            content.add("\n\n".join(texts), "thinking" if item_type == "reasoning" else None)
        elif item_type == "function_call":
            name = as_text(item.get("name")) or "unnamed"
            content.add_tool_use(
                name, _arguments(item.get("arguments")), item.get("call_id"), self._blocks.names
            )
        elif item_type == "function_call_output":
            output = item.get("output")
            blocks = texts_of(output) or ([] if output in (None, "", []) else [output])
            self._blocks.add_tool_result(content, blocks, item.get("call_id"))
        elif item:
            content.add(compact_json(item), "tool_use", item_type)

    def _add_answer(self, content: Content, words: str) -> None:
        """Adds an answer that has its thinking and its calls in elements of HTML."""
        at = 0
        for found in _DETAILS.finditer(words):
            content.add(words[at : found.start()])
            at = found.end()
            attributes = {name: html.unescape(text) for name, text in _ATTRIBUTE.findall(found[2])}
            if found[1] == "reasoning":
                content.add(_unquoted(found[3]), "thinking")
            elif found[1] == "tool_calls":
                self._add_call(content, attributes, found[3])
            else:
                content.add(f"[tool use: code_interpreter] {found[3]}", "tool_use", found[1])
                if output := attributes.get("output"):
                    self._blocks.add_tool_result(content, output, None, found[1])
        content.add(words[at:])

    def _add_call(self, content: Content, attributes: dict[str, str], inner: str) -> None:
        name = attributes.get("name") or "unnamed"
        use_id = attributes.get("id")
        arguments = _decoded(attributes.get("arguments", ""))
        content.add_tool_use(name, arguments, use_id, self._blocks.names)
        result = attributes.get("result") or html.unescape(inner).strip()
        if result:
            self._blocks.add_tool_result(content, _decoded(result), use_id, name)


def _arguments(value: object) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _decoded(text: str) -> str:
    r"""The text in a string of JSON, or the text itself.

    Example:
        >>> _decoded('"2 passed"'), _decoded('{"a": 1}'), _decoded("plain")
        ('2 passed', '{"a": 1}', 'plain')
    """
    value = json_or_none(text)
    return value if isinstance(value, str) else text


def _unquoted(text: str) -> str:
    r"""Thinking without the "> " in front of each line, which newer versions escape with the rest.

    Example:
        >>> _unquoted("> Look.\n>\n> Then ask."), _unquoted("&gt; It&#x27;s")
        ('Look.\n\nThen ask.', "It's")
    """
    if text.startswith("&gt;"):
        text = html.unescape(text)
    lines = (line.removeprefix(">").removeprefix(" ") for line in text.split("\n"))
    return "\n".join(lines) if text.startswith(">") else text


def _error_of(value: object) -> str:
    error = value if isinstance(value, str) else as_dict(value).get("content")
    return as_text(error) or ""
