"""Reads the logs of executions that Kiro's editor keeps: what the agent did for one prompt.

A session names them, and has only a placeholder in their place. Each is a list of actions: what the
agent said, and the tools that it called.

Tested in tests/importers/test_kiro.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.attachments import compact_json, without_base64
from treemem.importers.common.base import LogFile
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import Content
from treemem.importers.common.json_members import read_value
from treemem.importers.common.source_ids import sent_at
from treemem.importers.kiro.words import Words, message_of
from treemem.patterns import lazy_regex
from treemem.types import Message

# Of the name of the folder that a workspace's executions are in.
FOLDER = "414d1636299d2b9e4ce7e17fb11f63e9"
_HASH_CHARS = 32
_NAMED = lazy_regex(rb'"executionId"\s*:\s*"([^"\\]{1,100})"')
_LOOKED_AT_BYTES = 2_048
_SAID = frozenset({"say", "displayError"})
_THOUGHT = frozenset({"reasoning", "thinking", "think"})
# Actions of the editor itself, which are no tools of the agent's.
_BOOKKEEPING = frozenset({
    "model", "intentClassification", "intentClassificationV2", "steering", "summarization",
    "contextUsage",
})  # fmt: skip
_RESULT_KEYS = ("message", "output", "response", "content", "result", "text", "error")


def is_execution(value: object) -> bool:
    """Whether a document is such a log."""
    fields = as_dict(value)
    return {"executionId", "actions"} <= fields.keys() and isinstance(fields["actions"], list)


def beside(file: LogFile, workspace: str | None, wanted: Iterable[str]) -> dict[str, LogFile]:
    """The logs of these executions, by their ids. file: a session. workspace: its folder."""
    names = set(wanted)
    if not workspace or not names:
        return {}
    place = hashlib.sha256(workspace.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    found = {}
    for log in file.neighbours("..", "..", place, FOLDER):
        try:
            with log.open() as stream:
                named = _NAMED.search(stream.read(_LOOKED_AT_BYTES))
        except ImportFileError:
            continue
        name = named[1].decode("utf-8", "replace") if named is not None else ""
        if name in names:
            found[name] = log
    return found


class Execution:
    """One execution. began: when, or None."""

    def __init__(self, value: object) -> None:
        self._fields = as_dict(value)
        self.id = as_text(self._fields.get("executionId"))
        self.session = as_text(self._fields.get("chatSessionId"))
        self.began = sent_at(self._fields.get("startTime"))

    @classmethod
    def read(cls, file: LogFile) -> Execution:
        """Reads a log. Raises ImportFileError if it is damaged."""
        return cls(read_value(file))

    def prompt(self, words: Words) -> Message | None:
        """What the execution was begun with: the last message that it was given."""
        data = as_dict(as_dict(self._fields.get("input")).get("data"))
        given = as_dict(next(reversed(as_list(data.get("messages"))), None))
        content = Content()
        blocks = given.get("content")
        for block in blocks if isinstance(blocks, list) else [blocks]:
            words.add_prompt(
                content, block if isinstance(block, str) else as_dict(block).get("text")
            )
        return message_of(content, "user", f"{self.id}/prompt" if self.id else None, self.began)

    def messages(self, words: Words) -> Iterator[Message]:
        """What the agent said and did, in order; the last state of each action."""
        actions: dict[str, dict[str, Any]] = {}
        for number, action in enumerate(map(as_dict, as_list(self._fields.get("actions")))):
            actions[as_text(action.get("actionId")) or str(number)] = action
        for name, action in actions.items():
            yield from self._action(words, name, action)

    def _action(self, words: Words, name: str, action: dict[str, Any]) -> Iterator[Message]:
        kind = as_text(action.get("actionType")) or "unnamed"
        given, output = action.get("input"), action.get("output")
        at = sent_at(action.get("emittedAt")) or self.began
        own = f"{self.id}/{name}" if self.id else None
        content, answer = Content(), Content()
        if kind in _BOOKKEEPING:
            return
        if kind in _SAID:
            error = as_text(action.get("errorMessage")) or ""
            content.add(_text(output) or "")
            content.add(error, "marker", "error")
        elif kind in _THOUGHT:
            content.add(_text(output) or "", "thinking")
        elif given or output:
            fields = {key: held for key, held in as_dict(given).items() if key != "originalContent"}
            tool = as_text(fields.get("toolName")) or kind
            arguments = fields.get("toolArgs", fields)
            words.add_call(content, tool, without_base64(arguments)[0], name)
            words.add_result(answer, _text(output), name)
        if (message := message_of(content, "assistant", own, at)) is not None:
            yield message
        result = message_of(answer, "tool", f"{own}/result" if own else None, at)
        if result is not None:
            yield result


def _text(output: object) -> str | None:
    """What an action gave, as text."""
    if not output or isinstance(output, str):
        return output if isinstance(output, str) else None
    fields = as_dict(output)
    held = [fields[key] for key in _RESULT_KEYS if isinstance(fields.get(key), str)]
    others = [key for key, value in fields.items() if isinstance(value, dict | list) and value]
    if held and not others:
        return next(filter(None, held), None)
    return compact_json(without_base64(output)[0])
