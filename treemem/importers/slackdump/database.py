"""Reads slackdump's database, where each answer of Slack is a chunk and nothing is overwritten.

A message that was fetched again has several rows, of which the one of the newest chunk counts.

Tested in tests/importers/test_slackdump.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import repeat
from typing import Any

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, json_or_none
from treemem.importers.common.records import DAMAGED
from treemem.importers.common.sqlite_files import Tables
from treemem.importers.slack.people import Directory, directory_of
from treemem.importers.slackdump.lists import Lists
from treemem.importers.slackdump.pages import COPY

SEARCHED = "no message: result of a search"

_MESSAGE = frozenset({"ID", "CHUNK_ID", "CHANNEL_ID", "TS", "DATA"})
# Rows of the newest chunk of each, by SQLite's rule for columns beside max().
_USERS = "SELECT DATA, max(CHUNK_ID) FROM S_USER GROUP BY ID"
_CHANNELS = "SELECT DATA, max(CHUNK_ID) FROM CHANNEL GROUP BY ID"
_ENTITY = frozenset({"ID", "CHUNK_ID", "DATA"})
_TEAM = "SELECT TEAM_ID FROM WORKSPACE ORDER BY ID DESC LIMIT 1"
_MEMBERS = "SELECT DISTINCT CHANNEL_ID, {user} FROM CHANNEL_USER ORDER BY 1, 2"
_MESSAGES = """
SELECT ID, max(CHUNK_ID), count(*) FROM MESSAGE WHERE CHANNEL_ID IS ? GROUP BY ID ORDER BY ID
"""
_DATA = "SELECT DATA FROM MESSAGE WHERE ID IS ? AND CHUNK_ID IS ? AND CHANNEL_ID IS ?"


def is_database(columns: dict[str, frozenset[str]]) -> bool:
    """Whether tables are those of slackdump."""
    has_messages = columns.get("MESSAGE", frozenset()) >= _MESSAGE
    return has_messages and "CHUNK" in columns and "WORKSPACE" in columns


class Database:
    """An open database. Holds the times of one channel's messages, and one message at a time."""

    def __init__(self, tables: Tables) -> None:
        self._rows = tables.rows
        self._columns = tables.columns()

    def names(self) -> Directory:
        """The names of people and channels, and the workspace."""
        lists = Lists()
        if self._has("WORKSPACE", {"ID", "TEAM_ID"}):
            for (team,) in self._rows(_TEAM):
                lists.add({"w": {"team_id": team}})
        for table, key, select in (("S_USER", "u", _USERS), ("CHANNEL", "ch", _CHANNELS)):
            if self._has(table, _ENTITY):
                for data, _ in self._rows(select):
                    lists.add({key: [json_or_none(data)]})
        # The first databases had the user in ID.
        user = "USER_ID" if self._has("CHANNEL_USER", {"USER_ID"}) else "ID"
        if self._has("CHANNEL_USER", {"CHANNEL_ID", user}):
            for channel, member in self._rows(_MEMBERS.format(user=user)):
                lists.add({"id": channel, "cu": [member]})
        return lists.names(directory_of((), ()))

    def channels(self) -> list[Any]:
        """The ids of the channels that have messages."""
        if not is_database(self._columns):
            return []
        return [row[0] for row in self._rows("SELECT DISTINCT CHANNEL_ID FROM MESSAGE ORDER BY 1")]

    def messages(self, channel: object) -> Iterator[dict[str, Any] | Skipped]:
        """The messages of a channel, the oldest first."""
        for message_id, chunk_id, count in list(self._rows(_MESSAGES, (channel,))):
            yield from repeat(Skipped(COPY), count - 1)
            for (data,) in self._rows(_DATA, (message_id, chunk_id, channel)):
                value = json_or_none(data)
                if isinstance(value, dict):
                    yield as_dict(value)
                else:
                    detail = f"message {message_id}"[:80]
                    yield Skipped(DAMAGED, problem=True, detail=detail)

    def searched(self) -> Iterator[Skipped]:
        """The results of searches, which lack what a channel's message has."""
        if "SEARCH_MESSAGE" in self._columns:
            for (count,) in self._rows("SELECT count(*) FROM SEARCH_MESSAGE"):
                yield from repeat(Skipped(SEARCHED), count)

    def _has(self, table: str, columns: AbstractSet[str]) -> bool:
        return self._columns.get(table, frozenset()) >= columns
