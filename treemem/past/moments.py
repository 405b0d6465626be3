"""Decides what of a source's history had been said at a time, and which state it had then.

Pure. A log says when its messages were said, and how they are now; this says what follows from it
for an earlier time. What does not follow is taken as it is now.

Tested in tests/past/test_moments.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Place:
    """A message in the history of a source. sent_at_ms: in milliseconds since 1970 UTC; None if it
    has no time. identity: the same for all versions of a message; None without one. state:
    "active", "abandoned" or "replaced"."""

    position: int
    message_seq: int
    session_seq: int | None
    state: str
    sent_at_ms: int | None
    identity: str | None


def until(places: Iterable[Place], stored_at_ms: int, until_ms: int) -> list[Place]:
    """The history of a source as it was at a time, in order, with the positions that it then had.

    A message without a time was said with the one before it; if there is none, with the first that
    has one; where none has, when the source was stored. Of several versions of a message, the
    latest until then held. A message that is abandoned now was so from the next active one on; if
    none follows, always.

    Example:
        >>> one, two = (Place(at, at, None, "active", 10 * at, None) for at in range(2))
        >>> [place.message_seq for place in until([one, two], 0, 5)]
        [0]
    """
    given = sorted(places, key=lambda place: place.position)
    versions: dict[str | None, list[Place]] = defaultdict(list)
    for place in given:
        versions[place.identity].append(place)
    versions.pop(None, None)
    whole = _ordered(given, versions)
    said_ms = _said(whole, stored_at_ms)
    ended_ms = _ended(whole, said_ms)
    then = {
        place.message_seq: _with_state_then(place, ended_ms[place.message_seq], until_ms)
        for place in whole
        if said_ms[place.message_seq] <= until_ms
    }
    for of_one in versions.values():
        _let_one_hold(of_one, then, said_ms)
    ordered = sorted(then.values(), key=lambda place: place.position)
    return [replace(place, position=position) for position, place in enumerate(ordered)]


def _ordered(given: Sequence[Place], versions: dict[str | None, list[Place]]) -> list[Place]:
    """The history with all versions of a message where the first of them was."""
    first = {identity: of_one[0].position for identity, of_one in versions.items()}
    return sorted(
        given, key=lambda place: (first.get(place.identity, place.position), place.position)
    )


def _said(whole: Sequence[Place], stored_at_ms: int) -> dict[int, int]:
    """When each message was said."""
    timed = (place.sent_at_ms for place in whole if place.sent_at_ms is not None)
    last_ms = next(timed, stored_at_ms)
    said_ms = {}
    known: set[str | None] = {None}
    for place in whole:
        at_ms = last_ms if place.sent_at_ms is None else place.sent_at_ms
        said_ms[place.message_seq] = at_ms
        # What follows was said after the first version of a message, not after a later one.
        if place.identity is None or place.identity not in known:
            last_ms = at_ms
        known.add(place.identity)
    return said_ms


def _ended(whole: Sequence[Place], said_ms: dict[int, int]) -> dict[int, int | None]:
    """When the next active message after each was said; None if none follows."""
    ended_ms = {}
    next_ms: int | None = None
    for place in reversed(whole):
        ended_ms[place.message_seq] = next_ms
        if place.state == "active":
            next_ms = said_ms[place.message_seq]
    return ended_ms


def _with_state_then(place: Place, ended_ms: int | None, until_ms: int) -> Place:
    was_active = place.state == "abandoned" and ended_ms is not None and ended_ms > until_ms
    return replace(place, state="active") if was_active else place


def _let_one_hold(of_one: Sequence[Place], then: dict[int, Place], said_ms: dict[int, int]) -> None:
    """Puts the version of a message that held at a time where the first was, and the others after
    it, as if all had been stored at once. of_one: all versions."""
    known = sorted(
        (place.message_seq for place in of_one if place.message_seq in then),
        key=lambda seq: (said_ms[seq], seq),
    )
    now_holding = [place.message_seq for place in of_one if place.state != "replaced"]
    holding = [seq for seq in now_holding if seq in then]
    if known and now_holding and not holding:
        holding = known[-1:]
        then[holding[0]] = replace(then[holding[0]], state="active")
    ordered = holding + [seq for seq in known if seq not in holding]
    for seq, place in zip(ordered, of_one, strict=False):
        then[seq] = replace(then[seq], position=place.position)
