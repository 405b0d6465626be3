"""A made-up log with rules and open points planted in it, and what of them reaches the root.

Half of the open points are closed some leaves later; for each of the others something is said
later that only seems to close it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks import talk
from benchmarks.planted_words import (
    CLOSED,
    OPENED,
    QUESTIONS,
    SEEMING,
    TASKS,
    WAITS,
    Loop,
    rules,
    worded,
)
from benchmarks.wording import folded
from treemem import Message, Statement

LEAVES, PLANTED = 40, 60
MESSAGES_PER_LEAF, MESSAGE_CHARS = 20, (200, 900)
LATER = (0.05, 0.15)  # of the log, between an open point and what closes it
BINDING = ("constraint", "open")
_BEGAN = datetime(2026, 3, 2, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """said: its words. later: the words that close it, or those that only seem to.

    seeming: the way in which they only seem to, "" for a point that is closed.
    """

    said: str
    later: str
    seeming: str


@dataclass(frozen=True, slots=True)
class PlantedLog:
    """The messages, and what was planted in them."""

    messages: list[Message] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    points: list[OpenPoint] = field(default_factory=list)


def planted_log(leaves: int = LEAVES, count: int = PLANTED, seed: int = 1) -> PlantedLog:
    """A log of about so many leaves with count rules and count open points; the same again
    for the same arguments."""
    rng = random.Random(seed)
    log = PlantedLog(constraints=rules(count), points=_points(count))
    total = leaves * MESSAGES_PER_LEAF + MESSAGES_PER_LEAF // 2  # so that the last leaf seals
    planted: dict[int, list[str]] = {}
    for rule in log.constraints:
        planted.setdefault(rng.randrange(total), []).append(rule)
    for point in log.points:
        gap = max(1, int(total * rng.uniform(*LATER)))
        at = rng.randrange(max(1, total - gap))
        planted.setdefault(at, []).append(point.said)
        planted.setdefault(at + gap, []).append(point.later)
    for index in range(total):
        log.messages.append(_message(rng, index, planted.get(index, ())))
    return log


def _points(count: int) -> list[OpenPoint]:
    """Every other one is closed. The sorts are mixed, so that any count has all of them."""
    rest = {"task": list(TASKS), "wait": list(WAITS), "question": list(QUESTIONS)}
    points: list[OpenPoint] = []
    turns = dict.fromkeys(rest, 0)
    order = ("task", "wait", "task", "question")
    while len(points) < count and any(rest.values()):
        for sort in order:
            if rest[sort] and len(points) < count:
                turn = turns[sort]
                points.append(_point(rest[sort].pop(0), turn, closed=turn % 2 == 0))
                turns[sort] += 1
    return points


def _point(loop: Loop, turn: int, *, closed: bool) -> OpenPoint:
    said = worded(_nth(OPENED[loop.sort], turn), loop)
    if closed:
        return OpenPoint(said, worded(_nth(CLOSED[loop.sort], turn // 2), loop), "")
    ways = list(SEEMING[loop.sort])
    way = ways[(turn // 2) % len(ways)]
    templates = SEEMING[loop.sort][way]
    return OpenPoint(said, worded(_nth(templates, turn // 2 // len(ways)), loop), way)


def _nth(templates: Sequence[str], turn: int) -> str:
    return templates[turn % len(templates)]


def _message(rng: random.Random, index: int, planted: Iterable[str]) -> Message:
    """A turn of ordinary talk, with what is planted somewhere in it."""
    said = talk.message(rng, rng.randrange(*MESSAGE_CHARS))
    for sentence in planted:
        said.insert(rng.randrange(len(said) + 1), sentence)
    is_user = index % 2 == 0
    return Message(
        role="user" if is_user else "assistant",
        author="Jure" if is_user else None,
        text=" ".join(said),
        sent_at=(_BEGAN + timedelta(minutes=3 * index)).isoformat(),
        external_id=f"m{index}",
    )


# -- what became of it -----------------------------------------------------------------


def survival(
    log: PlantedLog, root: Sequence[Statement], leaves: Sequence[Statement]
) -> dict[str, Any]:
    """What of the planted things stands among a root's statements, with the misses listed.

    leaves: the statements of all leaves. A point that no leaf lists as open cannot be closed,
    so those are counted by themselves.
    """
    said = _bare_texts(root)
    binding = _bare_texts(statement for statement in root if statement.kind in BINDING)
    listed = binding | _bare_texts(s for s in leaves if s.kind in BINDING)
    picked = _bare_texts(leaves)
    still_open = [point for point in log.points if point.seeming]
    closed = [point for point in log.points if not point.seeming]
    known = [point for point in closed if _stands(point.said, listed)]
    lost = [rule for rule in log.constraints if not _stands(rule, said)]
    gone = [point for point in still_open if not _stands(point.said, said)]
    stale = [point for point in known if _stands(point.said, binding)]
    present = {*log.constraints, *(p.said for p in still_open)} - {*lost, *(p.said for p in gone)}
    return {
        "constraints": len(log.constraints),
        "constraints_lost": [f"{rule}{_where(rule, picked)}" for rule in lost],
        "still_open": len(still_open),
        "still_open_lost": [
            f"{p.said}{_where(p.said, picked)} [{p.seeming}: {p.later}]" for p in gone
        ],
        "closed": len(known), "closed_but_listed": [f"{p.said} [{p.later}]" for p in stale],
        "closed_never_listed": [p.said for p in closed if p not in known],
        "under_another_kind": sorted(text for text in present if not _stands(text, binding)),
        "root_statements": len(root),
    }  # fmt: skip


def _bare_texts(statements: Iterable[Statement]) -> set[str]:
    return {_bare(statement.text) for statement in statements}


def _where(planted: str, picked: Iterable[str]) -> str:
    """Whether it was lost at once or on the way."""
    return " (picked in a leaf)" if _stands(planted, picked) else " (never picked)"


def _stands(planted: str, said: Iterable[str]) -> bool:
    """Whether a sentence stands there, in its own words."""
    wanted = _bare(planted)
    return any(wanted in text for text in said)


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", folded(text)).strip()
