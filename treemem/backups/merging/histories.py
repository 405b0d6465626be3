"""Unites two histories of one source so that the result does not depend on who merges whom.

Pure. Each message is placed below the last one before it that is later (by time, then id; one
without a time is earlier than all with one), and those below the same message are in the order of
their times. Any sequence has exactly one such tree, and reading the tree gives the sequence back.
So to unite two histories is to unite two sets of places: in any order of merges the result is the
same, each history keeps its own order, and one that has only grown stays the beginning. A message
that is placed differently in the two goes below the later one of both.

Tested in tests/backups/merging/test_histories.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

# By which messages are ordered.
_Key = tuple[int, int, str]
_RANKS = {"active": 0, "abandoned": 1, "replaced": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """A message in the history of a source. identity: the same for all versions of a message;
    None without one. state: "active", "abandoned" or "replaced"."""

    message_id: str
    sent_at_ms: int | None
    identity: str | None
    state: str
    session: str | None = None


def united(ours: Sequence[Place], theirs: Sequence[Place]) -> list[Place]:
    """The history that has the messages of both, those that are replaced last.

    What one of both has abandoned or replaced is so in the result. Of several versions of a
    message, the latest holds.

    Example:
        >>> one, two, three = (Place(name, at, None, "active") for at, name in enumerate("abc"))
        >>> [place.message_id for place in united([one, three], [one, two])]
        ['a', 'b', 'c']
    """
    places: dict[str, Place] = {}
    for place in (*ours, *theirs):
        places[place.message_id] = _joined(places.get(place.message_id, place), place)
    keys = {one: _key(place) for one, place in places.items()}
    _keep_one_version(places, keys, (*ours, *theirs))
    above: dict[str, str | None] = {}
    for history in (ours, theirs):
        ids = [place.message_id for place in history]
        live = [one for one in ids if places[one].state != "replaced"]
        for one, parent in _parents(live, keys):
            above[one] = _later(above[one], parent, keys) if one in above else parent
    ordered = [places[one] for one in _read(above, keys)]
    replaced = sorted(keys[one] for one, place in places.items() if place.state == "replaced")
    return ordered + [places[key[-1]] for key in replaced]


def live(history: Iterable[Place]) -> list[tuple[str, str]]:
    """(message id, state) of what is not replaced, in order."""
    return [(one.message_id, one.state) for one in history if one.state != "replaced"]


def _key(place: Place) -> _Key:
    if place.sent_at_ms is None:
        return (0, 0, place.message_id)
    return (1, place.sent_at_ms, place.message_id)


def _joined(one: Place, other: Place) -> Place:
    state = max(one.state, other.state, key=_RANKS.__getitem__)
    times = [place.sent_at_ms for place in (one, other) if place.sent_at_ms is not None]
    sessions = [place.session for place in (one, other) if place.session is not None]
    return replace(
        one, state=state, sent_at_ms=min(times, default=None),
        session=min(sessions, default=None),
    )  # fmt: skip


def _keep_one_version(
    places: dict[str, Place], keys: Mapping[str, _Key], given: Iterable[Place]
) -> None:
    """Lets the latest active version of each message hold; where each of the two histories has
    replaced the other's version, the latest of these."""
    versions: dict[str, set[str]] = defaultdict(set)
    for place in given:
        if place.identity is not None and place.state == "active":
            versions[place.identity].add(place.message_id)
    taken_back = {place.identity for place in places.values() if place.state == "abandoned"}
    for identity, ids in versions.items():
        holding = [one for one in ids if places[one].state == "active"]
        if not holding and identity in taken_back:
            continue
        latest = max(holding or ids, key=keys.__getitem__)
        for one in ids:
            if one == latest or places[one].state == "active":
                state = "active" if one == latest else "replaced"
                places[one] = replace(places[one], state=state)


def _parents(ids: Iterable[str], keys: Mapping[str, _Key]) -> Iterable[tuple[str, str | None]]:
    """Yields each message with the last one before it that is later; None without one."""
    later: list[str] = []
    for one in ids:
        while later and keys[later[-1]] < keys[one]:
            later.pop()
        yield one, later[-1] if later else None
        later.append(one)


def _later(one: str | None, other: str | None, keys: Mapping[str, _Key]) -> str | None:
    """The later of two parents; none at all is later than any."""
    return None if one is None or other is None else max(one, other, key=keys.__getitem__)


def _read(above: Mapping[str, str | None], keys: Mapping[str, _Key]) -> Iterable[str]:
    """Yields the messages of the tree: each before those below it, those by time."""
    below: dict[str | None, list[str]] = defaultdict(list)
    for one, parent in above.items():
        below[parent].append(one)
    for ids in below.values():
        ids.sort(key=keys.__getitem__, reverse=True)
    waiting = list(below[None])
    while waiting:
        one = waiting.pop()
        yield one
        waiting += below.get(one, ())
