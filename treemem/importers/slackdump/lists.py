"""Reads the lists of a folder of slackdump's: its people, its channels and its workspace.

Each run of slackdump, such as "slackdump resume", adds chunk files with its time in their names.

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

_KINDS = ("users", "channels", "workspace")
_SUFFIXES = (".json.gz", ".json")
_RUN = lazy_regex(r"_\d+(?=\.json)")
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
    """The lists in a file's folder: those of the same run of slackdump before others.

    Lists the folder only if a run has no list of people or no workspace, as a later run may, since
    each of a thousand channels asks for them.
    """
    if LIST_NAME.fullmatch(file.name):
        return []
    run = _RUN.search(file.name)
    runs = (run[0], "") if run else ("",)
    found = [
        beside
        for kind in _KINDS
        for time in runs
        for suffix in _SUFFIXES
        if (beside := file.neighbour(f"{kind}{time}{suffix}")) is not None
    ]
    kinds = {_kind(beside) for beside in found}
    if run is None or {"users", "workspace"} <= kinds:
        return found
    others = (other for other in file.neighbours() if _base_name(other).startswith(_KINDS))
    more = (other for other in others if LIST_NAME.fullmatch(other.name))
    newest = sorted(more, key=lambda other: (len(other.name), other.name), reverse=True)
    return [*found, *(other for other in newest if _kind(other) not in kinds)]


def _base_name(file: LogFile) -> str:
    """The file's name as it is stored; LogFile.name opens a file that may be compressed."""
    return file.label.replace("\\", "/").rpartition("/")[2].rpartition("!")[2]


def _kind(file: LogFile) -> str:
    """Which list a file is: its name without the time of the run and without suffixes."""
    return _base_name(file).partition(".")[0].partition("_")[0]


def names_beside(files: Iterable[LogFile]) -> Directory:
    """The names in such lists; damaged ones are ignored."""
    documents = []
    for file in files:
        if file.size_bytes <= _LIST_BYTES_MAX:
            with file.open() as stream:
                documents.append((_kind(file), stream.read()))
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
