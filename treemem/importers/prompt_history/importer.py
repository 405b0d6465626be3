"""Reads history.jsonl of Claude Code and of Codex: every prompt that was typed, and no answer.

A session's own log has its prompts too, with all else. So this keeps only prompts of sessions whose
log is not there any more: the tools remove logs after some weeks, and not these lists.

Tested in tests/importers/test_prompt_history.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile, PartialSource, Skipped
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.content import Content
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects
from treemem.importers.common.source_ids import place_key, printable, sent_at
from treemem.patterns import lazy_regex
from treemem.types import Message

NO_PROMPT = "no message: not a prompt"
EMPTY = "empty message"
COMMAND = "no message: command"
IN_ITS_LOG = "prompt that is in the log of its session"

_CODEX_KEYS = frozenset({"session_id", "conversation_id", "ts", "text"})
_CLAUDE_KEYS = frozenset({"display", "timestamp", "project"})
_LOGS_OF = {"claude-code": (("projects",),), "codex": (("sessions",), ("archived_sessions",))}
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A command of the tool without anything that was said with it.
_COMMAND = lazy_regex(r"/[\w:.-]+\s*")
_PASTE_HASH = lazy_regex(r"[0-9a-f]{8,64}")
_PASTE_BYTES_MAX = 16 * 1024**2
_LOOKED_AT = 20


class PromptHistory(Importer):
    """Imports history.jsonl; a source is a session whose log is gone."""

    name = "prompt-history"
    version = 1
    description = "the prompts of Claude Code and Codex (history.jsonl)"
    kept = "prompts of sessions whose log is gone, pasted texts, times, projects"
    dropped = "prompts that are in a session's log, commands without words, images"
    marks = (("display", "pastedContents", "timestamp", "project"), ("session_id", "ts", "text"))

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        records = head_objects(head)[0][:_LOOKED_AT]
        known = sum(tool_of(record) is not None for record in records)
        return 0.95 if known and 2 * known >= len(records) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        reading = _Reading(file)
        current: str | None = None
        with file.open() as stream:
            for item in read_records(stream):
                if isinstance(item, Skipped):
                    yield item
                    continue
                try:
                    source, message = reading.prompt(item.value)
                except RecursionError:
                    yield Skipped(TOO_DEEP, item.line, problem=True)
                    continue
                if source is None or isinstance(message, str):
                    yield Skipped(str(message), item.line)
                    continue
                if source.id != current:
                    current = source.id
                    yield source
                yield message


def tool_of(record: object) -> str | None:
    """The tool whose list a record is from; None if it is not a prompt.

    Example:
        >>> tool_of({"session_id": "s", "ts": 1_767_600_000, "text": "Go on."})
        'codex'
    """
    value = as_dict(record)
    if isinstance(value.get("display"), str) and value.keys() >= _CLAUDE_KEYS:
        return "claude-code"
    is_codex = value.keys() <= _CODEX_KEYS and len(value) == 3 and {"ts", "text"} <= value.keys()
    return "codex" if is_codex and isinstance(value["text"], str) else None


class _Reading:
    """One pass over a file."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._sources: dict[str, PartialSource] = {}

    def prompt(self, record: object) -> tuple[PartialSource | None, Message | str]:
        """A prompt and the session that it is of, or why it is none."""
        tool, value = tool_of(record), as_dict(record)
        if tool is None:
            return None, NO_PROMPT
        text = value["display"] if tool == "claude-code" else value["text"]
        if _COMMAND.fullmatch(text):
            return None, COMMAND
        keys = ("sessionId", "session_id", "conversation_id")
        session = next(filter(None, (as_text(value.get(key)) for key in keys)), None)
        if session is not None and session.lower() in self._sessions:
            return None, IN_ITS_LOG
        content = Content()
        content.add(text)
        for name, pasted in self._pastes(value.get("pastedContents")):
            content.add(pasted, "text", name)
        if content.is_empty:
            return None, EMPTY
        when = sent_at(value.get("timestamp") if tool == "claude-code" else value.get("ts"))
        return self._source(tool, session, value), content.message("user", sent_at=when)

    def _source(self, tool: str, session: str | None, value: dict[str, Any]) -> PartialSource:
        project = as_text(value.get("project"))
        # The first versions of Claude Code name no session.
        where = project or "prompts"
        key = session or place_key(PurePath(where.replace("\\", "/")).name or "root", where)
        source_id = f"{PromptHistory.name}/{tool}/{printable(key)}"
        if source_id not in self._sources:
            self._sources[source_id] = PartialSource(
                source_id,
                PromptHistory.name,
                origin=self._file.label,
                project=project,
                whole=f"{tool}/{printable(session)}" if session else "",
            )
        return self._sources[source_id]

    @cached_property
    def _sessions(self) -> frozenset[str]:
        """The ids of the sessions whose logs are beside the list."""
        steps = [step for folders in _LOGS_OF.values() for step in folders]
        names = (name.lower() for step in steps for name in self._file.names_below(*step))
        return frozenset(session for name in names for session in _UUID.findall(name))

    def _pastes(self, value: object) -> Iterator[tuple[str, str]]:
        """The texts that were pasted into a prompt, which only refers to them, with names."""
        pastes = as_dict(value)
        for key in sorted(pastes, key=lambda key: (len(key), key)):
            paste = as_dict(pastes[key])
            text = as_text(paste.get("content")) or self._cached(paste.get("contentHash"))
            if paste.get("type") == "text" and text:
                yield f"Pasted text #{re.sub('[^0-9]', '', key)[:9]}", text

    def _cached(self, digest: object) -> str | None:
        """A long paste, which is in a file of its own."""
        if not isinstance(digest, str) or not _PASTE_HASH.fullmatch(digest):
            return None
        file = self._file.neighbour("paste-cache", f"{digest}.txt")
        if file is None or file.size_bytes > _PASTE_BYTES_MAX:
            return None
        with file.open() as stream:
            return stream.read().decode("utf-8", "surrogateescape")
