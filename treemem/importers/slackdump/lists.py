"""Reads the lists of a folder of slackdump's: its people, its channels and its workspace.

Of chunk files the newest counts, since "slackdump resume" adds files with the time in their names.

Tested in tests/importers/test_slackdump.py.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from treemem.importers.common.base import LogFile
from treemem.importers.common.coerce import as_dict, as_list, as_text, dicts_in
from treemem.importers.common.records import Record, parse_json, read_records, strip_padding
from treemem.importers.slack.people import Directory, directory_of
from treemem.patterns import lazy_regex

LIST_NAME = lazy_regex(r"(?:users|channels|workspace)(?:_\d+)?\.json")

_LIST_BYTES_MAX = 256 * 1024**2


class Lists:
    """What chunks tell of people, channels and the workspace."""

    def __init__(self) -> None:
        self.team: str | None = None
        self._users: list[dict[str, object]] = []
        self._channels: list[dict[str, object]] = []
        self._members: dict[str, list[object]] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Adds what is in a chunk."""
        self._users += dicts_in(chunk.get("u"))
        self._channels += dicts_in([*as_list(chunk.get("ch")), chunk.get("ci")])
        if channel := as_text(chunk.get("id")):
            self._members.setdefault(channel, []).extend(as_list(chunk.get("cu")))
        self.team = self.team or as_text(as_dict(chunk.get("w")).get("team_id"))

    def names(self, base: Directory) -> Directory:
        """The names, added to those of the lists in the folder."""
        return directory_of(self._users, map(self._with_members, self._channels), self.team, base)

    def _with_members(self, channel: dict[str, object]) -> dict[str, object]:
        """A channel with its members; those of a direct message are the user and another one."""
        known = self._members.get(str(channel.get("id"))) or as_list(channel.get("members"))
        return {**channel, "members": known or [channel.get("user")]}


def lists_beside(file: LogFile) -> list[LogFile]:
    """The lists in a file's folder, the newest of each kind first."""
    if LIST_NAME.fullmatch(file.name):
        return []
    found = (other for other in file.neighbours() if LIST_NAME.fullmatch(other.name))
    return sorted(found, key=lambda other: other.name, reverse=True)


def names_beside(files: Iterable[LogFile]) -> Directory:
    """The names in such lists; damaged ones are ignored."""
    documents = []
    for file in files:
        if file.size_bytes <= _LIST_BYTES_MAX:
            with file.open() as stream:
                documents.append((file.name.partition(".")[0].partition("_")[0], stream.read()))
    return _names(tuple(documents))


# Cached, since the files of a thousand channels share the lists.
@lru_cache(maxsize=2)
def _names(documents: tuple[tuple[str, bytes], ...]) -> Directory:
    lists = Lists()
    for kind, data in documents:
        for chunk in _chunks(kind, data):
            lists.add(chunk)
    return lists.names(directory_of((), ()))


def _chunks(kind: str, data: bytes) -> list[dict[str, Any]]:
    """The chunks of a file; a list of a dump in the shape of a chunk."""
    try:
        value = parse_json(strip_padding(data))
    except (ValueError, RecursionError):
        records = read_records(io.BytesIO(data))
        return [as_dict(item.value) for item in records if isinstance(item, Record)]
    if isinstance(value, dict) and "t" in value:
        return [value]
    return [{{"users": "u", "channels": "ch"}.get(kind, "w"): value}]
