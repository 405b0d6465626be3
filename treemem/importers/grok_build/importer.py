"""Reads the sessions of xAI's Grok Build: a folder for each, with updates.jsonl and summary.json.

updates.jsonl has all that was shown, is only appended to, and has times. chat_history.jsonl is what
the model is sent, which the tool writes anew when it compacts or goes back: it is read without
updates.jsonl beside it, else it only tells which prompts the tool itself wrote.

Tested in tests/importers/test_grok_build.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.json_members import read_value
from treemem.importers.common.records import Record, events_of, read_records
from treemem.importers.common.sniffing import has_key, head_objects, head_value
from treemem.importers.common.source_ids import file_key, is_uuid, one_line, printable
from treemem.importers.grok_build.history import History, is_row, written_by_tool
from treemem.importers.grok_build.updates import Updates, survey_of, update_of
from treemem.types import Message, Source

WITH_SESSION = "read with its session"
RETOLD = "told by updates.jsonl as well"

_SUMMARY, _UPDATES, _HISTORY = "summary.json", "updates.jsonl", "chat_history.jsonl"
_AGENTS, _ABOUT_AGENT = "subagents", "meta.json"


class GrokBuild(Importer):
    """Imports the sessions below ~/.grok/sessions."""

    name = "grok-build"
    version = 1
    description = "sessions of xAI's Grok Build (JSON Lines)"
    kept = "turns, thinking, tool calls and results, rewound turns, sub-agents, images"
    dropped = "usage, model names, system prompts, plans, diffs, hooks, snapshots of files"
    marks = (("timestamp", "method", "params"), ("type", "content", "prompt_index"))
    beside = (".grok/sessions/*/*/summary.json",)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        objects, rest = head_objects(head)
        if any(update_of(value) for value in objects[:20]):
            return 0.95
        if is_row(objects):
            return 0.93
        if file.name == _SUMMARY and _is_summary(as_dict(head_value(head))):
            return 0.9
        is_long = not objects and has_key(rest, "method", "(?:_x.ai/)?session/update")
        return 0.9 if is_long and has_key(rest, "sessionUpdate") else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        if file.name == _SUMMARY:
            yield Skipped(WITH_SESSION)
            return
        session = Session.of(file)
        survey = survey_of(file)
        source = session.source(file, survey.session)
        with file.open() as stream:
            records = read_records(stream)
            if survey.session is not None or survey.has_updates:
                own = written_by_tool(file.neighbour(_HISTORY))
                updates = Updates(survey, own, is_agents=session.is_agents)
                yield from _behind_source(source, updates.events(records))
                return
            if self.retells(file):
                yield from events_of(records, _retold, lambda _: source)
                return
            history = History(is_agents=session.is_agents)
            yield from events_of(records, history.message, lambda _: source)

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        """What is known of the session, and which of its prompts the tool wrote."""
        if file.name == _SUMMARY:
            return
        for name in (_SUMMARY, _HISTORY):
            other = file.neighbour(name)
            if other is not None and other.name != file.name:
                yield other

    def retells(self, file: LogFile) -> bool:
        """Whether it is what the model was sent, beside what was shown."""
        return file.name == _HISTORY and file.neighbour(_UPDATES) is not None


@dataclass(frozen=True, slots=True)
class Session:
    """What summary.json tells of a session. parent: the session whose sub-agent this is."""

    id: str | None
    title: str | None
    project: str | None
    parent: str | None
    is_agents: bool

    @classmethod
    def of(cls, file: LogFile) -> Session:
        about = _about(file.neighbour(_SUMMARY))
        info = as_dict(about.get("info"))
        is_agents = (as_text(about.get("session_kind")) or "").startswith("subagent")
        parent = as_text(about.get("parent_session_id"))
        if parent is None and (is_agents or not about):
            parent = _parent_by_folders(file)
            is_agents = is_agents or parent is not None
        title = one_line(about.get("generated_title")) or one_line(about.get("session_summary"))
        return cls(
            as_text(info.get("id")),
            None if is_agents else title,
            as_text(info.get("cwd")),
            parent if is_agents else None,
            is_agents,
        )

    def source(self, file: LogFile, told: str | None) -> Source:
        """The source. told: the session's id in the log itself."""
        named = told or self.id or (file.folder if is_uuid(file.folder) else file_key(file))
        return Source(
            f"{GrokBuild.name}/{printable(named)}",
            GrokBuild.name,
            title=self.title,
            origin=file.label,
            parent_id=f"{GrokBuild.name}/{printable(self.parent)}" if self.parent else None,
            project=self.project,
        )


def _about(file: LogFile | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return as_dict(read_value(file))
    except ImportFileError:
        return {}


def _parent_by_folders(file: LogFile) -> str | None:
    """The session that has a folder for this one below its own; None without one."""
    if file.path is None or not is_uuid(file.folder):
        return None
    project = Path(file.path.resolve().parent.parent)
    for about in sorted(project.glob(f"*/{_AGENTS}/{file.folder}/{_ABOUT_AGENT}")):
        told = as_text(_about(LogFile(str(about), about)).get("parent_session_id"))
        return told or about.parents[2].name
    return None


def _is_summary(value: dict[str, Any]) -> bool:
    return "num_messages" in value and as_text(as_dict(value.get("info")).get("id")) is not None


def _behind_source(source: Source, events: Iterable[Event]) -> Iterator[Event]:
    is_told = False
    for event in events:
        if isinstance(event, Message) and not is_told:
            is_told = True
            yield source
        yield event


def _retold(_: int, __: Record) -> str:
    return RETOLD
