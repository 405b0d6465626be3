"""Decides which sources a damaged memory had, and which message stood where in them.

The table that says it and its indexes say the same twice, so that one of them is enough, and a
number that was changed in one of them is seen. Pure.

Tested in tests/recovery/test_places.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from treemem.recovery.finding import Found
from treemem.recovery.layouts import Row

# The id of a source of which only the messages are left begins with it.
NAMELESS = "recovered/"
# Messages whose source is not known.
PLACELESS = "recovered/messages without a source"


class Member(NamedTuple):
    """A place of a message in a source. state: None if only an index says that it is there."""

    source_seq: int
    position: int
    message_seq: int
    state: str | None
    session: int | str | None


@dataclass(slots=True)
class Sources:
    """The sources. ids: by row number. rows: as in the table, of those whose rows can be read.
    others: ids of sources whose row numbers are not known."""

    ids: dict[int, str]
    rows: dict[int, Row]
    others: list[str] = field(default_factory=list)


def sources(found: Found) -> Sources:
    """The sources. Of two ids that the table and its index give, that of a tree is right."""
    in_trees = {row[2] for row in found.rows("tree")}
    rows = {row[0]: row for row in found.rows("source")}
    by_index = {seq: source_id for source_id, seq in found.rows("sqlite_autoindex_source_1")}
    ids: dict[int, str] = {}
    used: set[str] = set()
    for seq in sorted({*rows, *by_index}):
        said = [rows[seq][1]] if seq in rows else []
        said += [by_index[seq]] if seq in by_index else []
        free = [source_id for source_id in said if source_id not in used]
        if free:
            ids[seq] = max(free, key=lambda source_id: source_id in in_trees)
            used.add(ids[seq])
    kept = {seq: row for seq, row in rows.items() if seq in ids}
    return Sources(ids, kept, sorted(in_trees - {*ids.values()}))


def members(found: Found) -> list[Member]:
    """Every place of a message, at most one message at each, in order. That a message was there is
    known even if it cannot be read itself."""
    from_table = {row[:3]: row for row in found.rows("source_message")}
    from_index = {(source, position, message)
                  for message, source, position in found.rows("source_message_once")}  # fmt: skip
    sure = from_table.keys() & from_index
    taken = {claim[:2] for claim in sure}
    joined = {(claim[0], claim[2]) for claim in sure}
    unsure: dict[int, list[Row]] = defaultdict(list)
    for claim in [*sorted(from_table.keys() - sure), *sorted(from_index - sure)]:
        unsure[claim[2]].append(claim)
    chosen = set(sure)
    for claims in unsure.values():
        in_table = [claim for claim in claims if claim in from_table]
        rest = [claim for claim in claims if claim not in from_table]
        # Of two that contradict each other one is wrong: that which is next to no other place.
        contradict = in_table and rest
        ordered = sorted(
            claims, key=lambda claim: (-_neighbours(claim, taken), claim not in from_table)
        )
        for claim in ordered[:1] if contradict else ordered:
            if claim[:2] not in taken and (claim[0], claim[2]) not in joined:
                chosen.add(claim)
                taken.add(claim[:2])
                joined.add((claim[0], claim[2]))
    return [_member(claim, from_table.get(claim)) for claim in sorted(chosen)]


def _neighbours(claim: Row, taken: set[Row]) -> int:
    source, position, _ = claim
    return ((source, position - 1) in taken) + ((source, position + 1) in taken)


def _member(claim: Row, row: Row | None) -> Member:
    source_seq, position, message_seq = claim
    state, session = (None, None) if row is None else (row[3], row[5])
    return Member(source_seq, position, message_seq, state, session)


def known_seqs(found: Found, placed: list[Member]) -> set[int]:
    """The row numbers of all messages that anything in the file speaks of."""
    seqs = {member.message_seq for member in placed}
    for name in ("sqlite_autoindex_message_1", "message_identity"):
        seqs |= {row[-1] for row in found.rows(name)}
    return seqs


@dataclass(frozen=True, slots=True)
class Gap:
    """Positions of a source of which the messages are lost. last: inclusive."""

    first: int
    last: int


def gaps(positions: Mapping[int, bool], *, are_sure: bool = False) -> tuple[Gap, ...]:
    """The stretches of positions without a message, up to the last that is known.

    positions: of a source, and whether its message was recovered. are_sure: leaves out those that
    are not among the positions.

    Example:
        >>> gaps({0: True, 3: True, 4: False})
        (Gap(first=1, last=2), Gap(first=4, last=4))
    """
    found: list[Gap] = []
    for position in range(max(positions, default=-1) + 1):
        if positions.get(position, are_sure):
            continue
        if found and found[-1].last == position - 1:
            found[-1] = Gap(found[-1].first, position)
        else:
            found.append(Gap(position, position))
    return tuple(found)
