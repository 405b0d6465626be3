"""Reads trajectories of software agents: SWE-agent, mini-swe-agent and OpenHands.

An agent works on one task and runs commands; what they print comes back in the role of the user.
Only the task is the user's: everything behind the first action is the agent's or a tool's. A file
is one task, or has one in each line or in each attempt.

Tested in tests/importers/test_trajectory.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, id_text, json_or_none
from treemem.importers.common.json_members import JsonMember, has_several_values, read_members
from treemem.importers.common.records import TOO_DEEP, read_records
from treemem.importers.common.sniffing import head_objects, head_value
from treemem.importers.common.source_ids import file_key, one_line, printable
from treemem.importers.trajectory.openhands import EventReader, is_event
from treemem.importers.trajectory.swe_agent import EntryReader, is_entry, is_step
from treemem.types import Message, Source

REPEATED = "step of the history, repeated"
NOT_AN_OBJECT = "no message: not an object"
NO_TASK = "no message: no trajectory in it"

# The lists of a document: the whole conversation, and the steps, which repeat part of it.
_HISTORIES = ("history", "messages")
_STEPS = "trajectory"
_ATTEMPTS = "attempts"
_LOOKED_AT = 20
# Fields of the "info" that mini-swe-agent writes before the messages.
_MINI_INFO = frozenset({"model_stats", "mini_version", "exit_status", "submission"})
_REPOSITORY_KEYS = ("path", "github_url", "repo_name")
_ID_KEYS = ("instance_id", "id")


class Trajectory(Importer):
    """Imports trajectories; a source is one task."""

    name = "trajectory"
    version = 1
    description = "trajectories of SWE-agent, mini-swe-agent and OpenHands (JSON, JSON Lines)"
    kept = "task, thoughts, actions, what tools printed, demonstrations as injected text"
    dropped = "steps that repeat the history, states of the machine, costs, settings"
    marks = (
        ("action", "observation", "thought"),
        ("id", "source", "action", "args"),
        ("info", "messages"),
    )

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        value = head_value(head)
        values = head_objects(head)[0] if value is None else [value]
        return 0.92 if any(map(_is_trajectory, values)) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        reading = _Reading(file)
        is_document = head_value(file.head()) is not None and not has_several_values(file)
        return reading.document() if is_document else reading.lines()


class _Reading:
    """One pass over a file; yields a Source before the first message of each task."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._id = f"{Trajectory.name}/{file_key(file)}"
        self._project: str | None = None
        self._begin(self._id)

    def _begin(self, source_id: str) -> None:
        self._source_id = source_id
        self._source: Source | None = None
        self._entries = EntryReader()
        self._events = EventReader()

    def lines(self) -> Iterator[Event]:
        with self._file.open() as stream:
            for item in read_records(stream):
                if isinstance(item, Skipped):
                    yield item
                    continue
                fields = as_dict(item.value)
                own_id = next(
                    filter(None, (id_text(fields.get(key)) for key in _ID_KEYS)), item.line
                )
                self._begin(f"{self._id}#{printable(str(own_id))}")
                yield from self._task(item.value, item.line)

    def document(self) -> Iterator[Event]:
        """Reads the elements of the outermost list or lists, one at a time."""
        keys: set[str | None] = set()
        for member in read_members(self._file):
            if not isinstance(member, Skipped):
                keys |= {member.key} if member.is_element else set()
                self._project = self._project or _project(member)
        has_history = not keys.isdisjoint(_HISTORIES)
        for number, member in enumerate(read_members(self._file), 1):
            if isinstance(member, Skipped):
                yield member
            elif member.is_element and member.key == _ATTEMPTS:
                self._begin(f"{self._id}#attempt-{number}")
                yield from self._task(member.value, None)
            elif member.is_element and (member.key in (None, *_HISTORIES)):
                yield from self._element(member.value, None)
            elif member.is_element and member.key == _STEPS:
                if has_history:
                    yield Skipped(REPEATED)
                else:
                    yield from self._element(member.value, None)

    def _task(self, value: object, line: int | None) -> Iterator[Event]:
        """Reads a task that was parsed as a whole."""
        entries = _history(value)
        if not entries:
            yield Skipped(NO_TASK, line)
        for entry in entries:
            yield from self._element(entry, line)

    def _element(self, value: object, line: int | None) -> Iterator[Event]:
        # The first versions of OpenHands logged pairs of an action and what it led to.
        for entry in value if isinstance(value, list) and value else [value]:
            try:
                events = self._messages(entry)
            except RecursionError:
                events = [Skipped(TOO_DEEP, problem=True)]
            for event in events:
                if isinstance(event, Skipped):
                    yield Skipped(event.reason, line, event.problem)
                    continue
                if self._source is None:
                    self._source = Source(
                        self._source_id,
                        Trajectory.name,
                        title=one_line(event.text) if event.role == "user" else None,
                        origin=self._file.label,
                        project=self._project,
                    )
                    yield self._source
                elif self._source.title is None and event.role == "user" and event.kind == "said":
                    self._source = _titled(self._source, event.text)
                    yield self._source
                yield event

    def _messages(self, value: object) -> list[Message | Skipped]:
        if not isinstance(value, dict):
            return [Skipped(NOT_AN_OBJECT)]
        if is_event(value):
            return [self._events.read(value)]
        return self._entries.read(value)


def _titled(source: Source, text: str) -> Source:
    return replace(source, title=one_line(text))


def _project(member: JsonMember) -> str | None:
    """The repository in SWE-agent's settings, or the folder in those of mini-swe-agent."""
    if member.key == "replay_config":
        config = as_dict(json_or_none(member.value) or member.value)
        repository = as_dict(as_dict(config.get("env")).get("repo"))
        names = (as_text(repository.get(key)) for key in _REPOSITORY_KEYS)
        return next(filter(None, names), None)
    if member.key == "info":
        environment = as_dict(as_dict(as_dict(member.value).get("config")).get("environment"))
        return as_text(environment.get("cwd"))
    return None


# -- recognizing -------------------------------------------------------------------------


def _is_trajectory(value: object) -> bool:
    """Whether a JSON value is, or begins, the trajectory of an agent."""
    fields = as_dict(value)
    attempts = as_list(fields.get(_ATTEMPTS))[:1]
    if attempts and any(_is_trajectory(attempt) for attempt in attempts):
        return True
    if as_text(fields.get("trajectory_format")) is not None and "messages" in fields:
        return True
    if len(_MINI_INFO & as_dict(fields.get("info")).keys()) > 1 and "messages" in fields:
        return True
    steps = as_list(fields.get(_STEPS))[:_LOOKED_AT]
    if any(map(is_step, steps)):
        return True
    entries = [entry for key in (*_HISTORIES, _STEPS) for entry in as_list(fields.get(key))]
    entries = (value if isinstance(value, list) else entries)[:_LOOKED_AT]
    flat = [item for entry in entries for item in (entry if isinstance(entry, list) else [entry])]
    return any(map(is_entry, flat)) or any(map(is_event, flat))


def _history(value: object) -> list[Any]:
    """The entries of a task: the whole conversation or, without one, its steps."""
    if isinstance(value, list):
        return value
    fields = as_dict(value)
    lists = (as_list(fields.get(key)) for key in (*_HISTORIES, _STEPS))
    return next(filter(None, lists), [])
