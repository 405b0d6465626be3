"""Resolves the names of people and channels in a Slack export, from the lists in its root.

Pure. An unknown id stays unchanged.

Tested in tests/importers/test_slack.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from treemem.importers.common.coerce import as_dict, dicts_in, id_text
from treemem.importers.common.conversation import first_nonempty
from treemem.importers.common.records import parse_json, strip_padding
from treemem.patterns import lazy_regex

PEOPLE_LISTS = ("users.json", "org_users.json")
CHANNEL_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")

_BOT_OF_SLACK = "USLACKBOT"
_REFERENCE = lazy_regex(
    r"<(?:@([UWB][A-Z0-9]*)|#([CG][A-Z0-9]*)|!([a-z]+)(?:\^[^|>]*)?)(?:\|([^>]*))?>"
)
_BROADCASTS = ("here", "channel", "everyone")
_ENTITY = lazy_regex(r"&(lt|gt|amp);")
_CHAR_OF = {"lt": "<", "gt": ">", "amp": "&"}


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel. id: None if the lists do not contain the folder."""

    id: str | None
    title: str


@dataclass(frozen=True, slots=True)
class Directory:
    """Names by id, and channels by the name of their folder. team: the workspace's id."""

    team: str | None
    people: dict[str, str]
    channels: dict[str, Channel]
    channel_names: dict[str, str]

    def person(self, user_id: object) -> str | None:
        known = id_text(user_id)
        if known == _BOT_OF_SLACK:
            return self.people.get(known, "Slackbot")
        return self.people.get(known, known) if known else None

    def readable(self, text: str) -> str:
        """The text as people saw it: with references as @name and #channel, and "&lt;", "&gt;" and
        "&amp;" decoded. Links stay unchanged.
        """
        return _ENTITY.sub(lambda match: _CHAR_OF[match[1]], _REFERENCE.sub(self._named, text))

    def _named(self, match: re.Match[str]) -> str:
        user_id, channel_id, command, label = match.groups()
        if user_id:
            name = self.people.get(user_id) or label
            return f"@{name}" if name else match[0]
        if channel_id:
            name = label or self.channel_names.get(channel_id)
            return f"#{name}" if name else match[0]
        if command in _BROADCASTS:
            return f"@{command}"
        return label or match[0]


_NOBODY = Directory(None, {}, {}, {})


@lru_cache(maxsize=2)
def directory(people_lists: tuple[bytes, ...], channel_lists: tuple[bytes, ...]) -> Directory:
    """Reads the lists of one export; ignores damaged ones.

    Cached, since thousands of days share the lists; the key is their bytes, so that changed lists
    are read again.
    """
    return directory_of(_objects(people_lists), _objects(channel_lists))


def directory_of(
    users: Sequence[dict[str, object]],
    listed: Iterable[dict[str, object]],
    team: str | None = None,
    base: Directory = _NOBODY,
) -> Directory:
    """The names in lists of people and channels. team: the workspace, where a log tells it. base:
    names of other lists, to which these are added."""
    people = dict(base.people)
    for user in users:
        profile = as_dict(user.get("profile"))
        name = first_nonempty(profile.get("real_name"), user.get("real_name"), user.get("name"))
        for known in (id_text(user.get("id")), id_text(profile.get("bot_id"))):
            if known and name:
                people.setdefault(known, name)
    channels, names = dict(base.channels), dict(base.channel_names)
    _add_channels(listed, people, channels, names)
    return Directory(team or base.team or _team_of(users), people, channels, names)


def _team_of(users: Iterable[dict[str, object]]) -> str | None:
    """The workspace: that of Slack's bot, else that of most people, since the list also contains
    people from other workspaces that share a channel."""
    teams: Counter[str] = Counter()
    bots: str | None = None
    for user in users:
        if team := id_text(user.get("team_id")):
            teams[team] += 1
            bots = team if user.get("id") == _BOT_OF_SLACK else bots
    return bots or min(teams, key=lambda team: (-teams[team], team), default=None)


def _add_channels(
    listed: Iterable[dict[str, object]],
    people: dict[str, str],
    channels: dict[str, Channel],
    names: dict[str, str],
) -> None:
    for channel in listed:
        channel_id, name = id_text(channel.get("id")), first_nonempty(channel.get("name"))
        if channel_id is None:
            continue
        members = channel.get("members")
        ids = [id_text(member) for member in members] if isinstance(members, list) else []
        with_whom = ", ".join(people.get(member, member) for member in ids[:8] if member)
        if name:
            names[channel_id] = name
            channels[name] = Channel(channel_id, name if name.startswith("mpdm-") else f"#{name}")
        title = channels[name].title if name else with_whom or channel_id
        channels[channel_id] = Channel(channel_id, title)


def _objects(documents: tuple[bytes, ...]) -> list[dict[str, object]]:
    objects: list[dict[str, object]] = []
    for document in documents:
        try:
            objects += dicts_in(parse_json(strip_padding(document)))
        except (ValueError, RecursionError):
            continue
    return objects
