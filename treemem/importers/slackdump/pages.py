"""Puts the messages of channels in order of time, whatever order they were fetched in.

Slack tells the newest messages first, and slackdump keeps its answers as they come, with the
replies of threads between them. They are held in a temporary file, and their times in memory.

Tested in tests/importers/test_slackdump.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, NamedTuple

from treemem.importers.common.conversation import NOT_A_MESSAGE
from treemem.importers.common.records import parse_json
from treemem.importers.slack.speech import is_message

COPY = "copy of a message, fetched again"

_FRACTION_DIGITS = 9


class _Place(NamedTuple):
    """Where a message is in the file. is_beside: it was told beside a thread or a file."""

    at: int
    size_bytes: int
    is_beside: bool


class Pages:
    """The messages of any number of channels, each once: as they were fetched last. store: an empty
    file, open for reading and writing."""

    def __init__(self, store: IO[bytes]) -> None:
        self._store = store
        self._channels: dict[str, dict[str, _Place]] = {}

    def add(self, channel: str, value: object, *, is_beside: bool = False) -> str | None:
        """Adds a message. is_beside: it is told beside a thread or a file, and counts only if it
        is told nowhere else.

        Returns why a record leads to no message: COPY for one that was added before, then in its
        state of this time; NOT_A_MESSAGE. Raises RecursionError if it is nested too deeply.
        """
        if not isinstance(value, dict) or not is_message(value):
            return None if is_beside else NOT_A_MESSAGE
        places = self._channels.setdefault(channel, {})
        earlier = places.get(value["ts"])
        if earlier is not None and is_beside:
            return None
        data = json.dumps(value).encode()
        at = self._store.seek(0, 2)
        self._store.write(data)
        places[value["ts"]] = _Place(at, len(data), is_beside)
        return None if earlier is None or earlier.is_beside else COPY

    def channels(self) -> list[str]:
        """The channels, in the order in which they were begun."""
        return list(self._channels)

    def messages(self, channel: str) -> Iterator[dict[str, object]]:
        """The messages of a channel, the oldest first."""
        places = self._channels[channel]
        for ts in sorted(places, key=_time):
            self._store.seek(places[ts].at)
            value = parse_json(self._store.read(places[ts].size_bytes))
            assert isinstance(value, dict)
            yield value


def _time(ts: str) -> tuple[int, str]:
    seconds, _, fraction = ts.partition(".")
    return int(seconds), fraction.ljust(_FRACTION_DIGITS, "0")
