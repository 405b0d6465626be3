"""Tasks of Cline and Roo Code: the model's history, and what the window showed of it.

A task is a source. Its folder tells each turn twice; the model's history is read, and the
window's only where there is no other. The newer sessions of Cline's SDK are a document with the
same messages, and beside it what a compaction made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from treemem.importers.base import Event, Importer, LogFile, Skipped
from treemem.importers.cline_speech import Speech
from treemem.importers.cline_window import Window, is_window_entry
from treemem.importers.json_members import JsonMember, read_members
from treemem.importers.naming import file_key, one_line, printable
from treemem.importers.shapes import list_in, object_in, text_in, unwrapped
from treemem.importers.sniffing import head_value
from treemem.model import Message, Source

COMPACTED = "message repeated by a compaction"
NO_MESSAGES = "no messages: the session's settings"
NOT_AN_OBJECT = "no message: not an object"
TOLD_BY_HISTORY = "told by the model's history"

HISTORY = "api_conversation_history.json"
WINDOW = "ui_messages.json"
_OLD_NAMES = {"claude_messages.json": "api_conversation_history", "api": WINDOW}
_MESSAGES_SUFFIX = ".messages.json"
_BLOCK_TYPES = frozenset(
    {"text", "tool_use", "tool_result", "image", "thinking", "tool-call", "tool-result",
     "reasoning"}
)  # fmt: skip
_LOOKED_AT = 20


class Cline(Importer):
    """The importer of Cline's and Roo Code's task folders and of Cline's sessions."""

    name = "cline"
    version = 1
    description = "tasks of Cline and Roo Code, sessions of Cline's SDK (JSON)"
    kept = "turns, thinking, tool calls and results, environment details, summaries, sub-agents"
    dropped = "usage, model names, checkpoints, the window's copy of the history, system prompts"
    places = (
        ".cline/data/sessions/*/*.messages.json",
        ".cline/data/tasks/*/api_conversation_history.json",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/*/"
        "api_conversation_history.json",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/"
        "api_conversation_history.json",
        "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/*/"
        "api_conversation_history.json",
        "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/"
        "api_conversation_history.json",
    )
