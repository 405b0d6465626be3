"""Reads Slack exports: a folder per channel with a file per day, and lists of people and channels.

Reads a day at a time, with names from the lists in the export's root. Skips Slack's announcements.

Tested in tests/importers/test_slack.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.coerce import as_dict, dicts_in, text_or_empty
from treemem.importers.common.conversation import NOT_A_MESSAGE
from treemem.importers.common.json_members import JsonMember, read_members
from treemem.importers.common.sniffing import head_value
from treemem.importers.common.source_ids import place_key, printable
from treemem.importers.slack.people import CHANNEL_LISTS, PEOPLE_LISTS, Directory, directory
from treemem.importers.slack.speech import Speech, is_message
from treemem.patterns import lazy_regex
from treemem.types import Message, Source

WITH_THE_DAYS = "read with the days"

_LISTS = (*PEOPLE_LISTS, *CHANNEL_LISTS)
_OTHER_LISTS = ("integration_logs.json", "canvases.json", "lists.json", "file_conversations.json",
                "huddle_transcripts.json")  # fmt: skip
_LIST_BYTES_MAX = 256 * 1024**2
_LIST_ID = lazy_regex(r"[UWCGDB][A-Z0-9]*")
_LOOKED_AT = 20


class Slack(Importer):
    """Imports the days and lists of a Slack export; its sources are the channels."""

    name = "slack"
    version = 1
    spans_files = True
    description = "Slack exports: a ZIP or a folder of channels, with a file for every day"
    kept = "speaker, text, time, ids, threads, text of bots' attachments, names of files"
    dropped = "reactions, layout, joins and other notices, deleted messages, files themselves"
    marks = (("type", "user", "text", "ts"),)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        values = head_value(head)
        objects = dicts_in(values)[:_LOOKED_AT]
        if not objects or not isinstance(values, list):
            return 0.0
        if sum(map(is_message, objects)) * 2 >= len(objects):
            return 0.95
        if file.name in _LISTS:
            ids = [text_or_empty(item.get("id")) for item in objects]
            return 0.9 if all(map(_LIST_ID.fullmatch, ids)) else 0.0
        is_log = file.name in _OTHER_LISTS and file.neighbour("channels.json") is not None
        return 0.9 if is_log else 0.0

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        if file.name in _LISTS or file.name in _OTHER_LISTS:
            return ()
        beside = (file.neighbour("..", name) for name in _LISTS)
        return [neighbour for neighbour in beside if neighbour is not None]

    def read(self, file: LogFile) -> Iterator[Event]:
        return _Reading(file, self.companions(file)).events()


class _Reading:
    """One pass over a day."""

    def __init__(self, file: LogFile, lists: Iterable[LogFile]) -> None:
        self._file = file
        names = _directory(lists)
        folder, team = file.folder, names.team
        channel = names.channels.get(folder)
        known = channel.id if channel else None
        if team or known:
            name = "/".join(printable(part) for part in (team, known or folder) if part)
        else:
            # Subtle: without the file's name, since all days of a channel are one source.
            place = (file.place or "").removesuffix(file.name)
            name = place_key(folder, place) if place else printable(file.stem)
        title = channel.title if channel else folder or None
        self._source = Source(f"slack/{name}", Slack.name, title, origin=file.label)
        self._speech = Speech(names, known, self._source.id)

    def events(self) -> Iterator[Event]:
        is_open = False
        for member in read_members(self._file):
            if isinstance(member, JsonMember) and member.key is not None:
                yield Skipped(NOT_A_MESSAGE)  # a day is an array, not an object
                return
            event = member if isinstance(member, Skipped) else self._event(member.value)
            if isinstance(event, Message) and not is_open:
                is_open = True
                yield self._source
            yield event

    def _event(self, value: object) -> Message | Skipped:
        fields = as_dict(value)
        if _LIST_ID.fullmatch(text_or_empty(fields.get("id"))) or self._file.name in _OTHER_LISTS:
            return Skipped(WITH_THE_DAYS)
        return self._speech.read(fields)


def _directory(lists: Iterable[LogFile]) -> Directory:
    people: list[bytes] = []
    channels: list[bytes] = []
    for file in lists:
        if file.size_bytes <= _LIST_BYTES_MAX:
            with file.open() as stream:
                (people if file.name in PEOPLE_LISTS else channels).append(stream.read())
    return directory(tuple(people), tuple(channels))
