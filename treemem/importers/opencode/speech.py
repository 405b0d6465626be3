"""Builds a message of opencode from its head and its parts.

Pure. Folder, database and export contain the same two objects. A fork copies messages under new ids
but with their times. Messages are therefore identified by role and time in milliseconds, so the
copies match.

Tested in tests/importers/test_opencode.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text
from treemem.importers.common.content import BlockReader, Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.common.source_ids import sent_at
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"
NO_ROLE = "no message: no role"

_ROLE_OF: dict[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_NO_MESSAGES = frozenset({"agent-switched", "model-switched", "location-switched", "idle"})
_BOOKKEEPING = frozenset(
    {"step-start", "step-finish", "snapshot", "patch", "retry", "compaction", "agent"}
)


class Speech:
    """Builds the messages of one session. Call in the session's order."""

    def __init__(self) -> None:
        self._blocks = BlockReader()
        self._count: Counter[str] = Counter()

    def message(
        self, head: dict[str, Any], parts: Iterable[object], *, active: bool
    ) -> Message | Skipped:
        """Builds a message from the layout with separate parts."""
        role = _ROLE_OF.get(as_text(head.get("role")))
        if role is None:
            return Skipped(NO_ROLE)
        content = Content()
        try:
            injected = [self._add_part(content, as_dict(part)) for part in parts]
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        kind: MessageKind = "said"
        if role == "assistant" and head.get("summary") is True:
            kind = "summary"
        elif role == "user" and any(injected) and not content.spoken:
            kind = "injected"
        return self._finished(content, head, role, kind, active=active)

    def entry(self, entry: dict[str, Any], *, active: bool) -> Message | Skipped:
        """Builds a message from the newer layout, in which one object contains all of it."""
        kind = as_text(entry.get("type"))
        content = Content()
        try:
            speaker = self._add_entry(content, entry, kind)
        except RecursionError:
            return Skipped(TOO_DEEP, problem=True)
        if speaker is None:
            known = kind if kind in _NO_MESSAGES else "unknown"
            return Skipped(f"no message: {known}")
        return self._finished(content, entry, *speaker, active=active)

    def _finished(
        self, content: Content, head: dict[str, Any], role: Role, kind: MessageKind, *, active: bool
    ) -> Message | Skipped:
        if content.is_empty:
            return Skipped(EMPTY)
        time = as_dict(head.get("time")).get("created")
        external_id = self._name(head, role, time)
        return content.message(
            role,
            sent_at=sent_at(time),
            external_id=external_id,
            kind=kind,
            unique_id=external_id is not None,
            active=active,
        )

    def _name(self, head: dict[str, Any], role: Role, time: object) -> str | None:
        """The id that all copies of a message share; repetitions in a session are numbered."""
        if not isinstance(time, int) or isinstance(time, bool) or time <= 0:
            own = as_text(head.get("id"))
            return f"opencode:{own}" if own else None
        name = f"opencode:{time}:{role}"
        self._count[name] += 1
        return f"{name}:{self._count[name]}"

    # -- parts -----------------------------------------------------------------------------

    def _add_part(self, content: Content, part: dict[str, Any]) -> bool:
        """Adds a part; returns whether the tool injected it."""
        kind = as_text(part.get("type"))
        text = as_text(part.get("text")) or ""
        if kind == "text":
            is_injected = part.get("synthetic") is True or part.get("ignored") is True
            content.add(text, *(("marker", "synthetic") if is_injected else ()))
            return is_injected
        if kind == "reasoning":
            content.add(text, "thinking")
        elif kind == "tool":
            self._add_tool(content, part)
        elif kind == "file":
            self._add_file(content, part)
        elif kind == "subtask":
            content.add(as_text(part.get("prompt")) or "", "marker", as_text(part.get("agent")))
            return True
        elif part and kind not in _BOOKKEEPING:
            self._blocks.add(content, part)
        return False

    def _add_tool(self, content: Content, part: dict[str, Any]) -> None:
        """Adds a call and its result, which share a part."""
        name = as_text(part.get("tool")) or as_text(part.get("name")) or "tool"
        call_id = as_text(part.get("callID")) or as_text(part.get("id"))
        state = as_dict(part.get("state"))
        arguments = json_text(state.get("input") or {}, content)
        content.add_tool_use(name, arguments, call_id, self._blocks.names)
        error = state.get("error")
        if isinstance(error, dict):
            error = error.get("message")
        outputs = [output for output in (state.get("output"), error) if as_text(output)]
        listed = as_list(state.get("content"))
        if outputs or listed:
            self._blocks.add_tool_result(content, [*outputs, *listed], call_id, name)
        for file in as_list(state.get("attachments")):
            self._add_file(content, as_dict(file))

    def _add_file(self, content: Content, part: dict[str, Any]) -> None:
        """Adds an attachment; the content of a text file is in a synthetic part beside it."""
        url = as_text(part.get("url")) or as_text(part.get("uri"))
        if url is not None:
            media_type = as_text(part.get("mime"))
            label = "image" if (media_type or "").startswith("image/") else "file"
            self._blocks.add(content, {"type": label, "url": url, "mime_type": media_type})

    # -- entries ---------------------------------------------------------------------------

    def _add_entry(
        self, content: Content, entry: dict[str, Any], kind: str | None
    ) -> tuple[Role, MessageKind] | None:
        """Adds the content of an entry; returns role and kind, or None if it is not a message."""
        text = as_text(entry.get("text")) or ""
        if kind == "user":
            content.add(text)
            for file in as_list(entry.get("files")):
                self._add_file(content, as_dict(file))
            return "user", "said"
        if kind in ("synthetic", "skill"):
            content.add(text)
            return "user", "injected"
        if kind == "system":
            content.add(text)
            return "system", "injected"
        if kind == "assistant":
            for part in as_list(entry.get("content")):
                self._add_part(content, as_dict(part))
            return "assistant", "said"
        if kind == "shell":
            call_id = as_text(entry.get("callID")) or as_text(entry.get("shellID"))
            command = as_text(entry.get("command")) or ""
            content.add_tool_use("shell", command, call_id, self._blocks.names)
            output = entry.get("output")
            if isinstance(output, dict):
                output = next((output[key] for key in ("output", "text") if key in output), None)
            self._blocks.add_tool_result(content, as_text(output), call_id, "shell")
            return "user", "said"
        if kind == "compaction":
            content.add(as_text(entry.get("summary")) or "")
            return "assistant", "summary"
        return None


class Reverted:
    """Decides which messages of a session were reverted: one message and all after it."""

    def __init__(self, session: dict[str, Any]) -> None:
        revert = as_dict(session.get("revert"))
        self._from = as_text(revert.get("messageID"))
        # Only parts of that message were reverted, so it stays active; those after it do not.
        self._keeps_it = as_text(revert.get("partID")) is not None
        self._is_reached = False

    def reaches(self, message_id: str) -> bool:
        """Whether a message was reverted. Call once per message, in the session's order."""
        if self._is_reached:
            return True
        self._is_reached = self._from is not None and message_id == self._from
        return self._is_reached and not self._keeps_it
