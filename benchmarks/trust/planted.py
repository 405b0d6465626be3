"""Generates a log with planted rules and open points, and counts those that the ledger holds.

Half of the open points are closed some leaves later; for each of the others a later sentence only
seems to close it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from benchmarks.data import talk
from benchmarks.trust.planted_words import (
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
from treemem import Message

LEAVES, PLANTED = 40, 60
MESSAGES_PER_LEAF, MESSAGE_CHARS = 20, (200, 900)
# The distance between an open point and its closing, as shares of the log.
LATER = (0.05, 0.15)
BINDING = ("constraint", "open")
_BEGAN = datetime(2026, 3, 2, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """An open point, and a later sentence that closes it or only seems to.

    seeming: in which way it only seems to, "" for a point that is closed.
    """

    text: str
    later: str
    seeming: str


@dataclass(frozen=True, slots=True)
class PlantedLog:
    """The messages, and the rules and points planted in them."""

    messages: list[Message] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    points: list[OpenPoint] = field(default_factory=list)


def planted_log(leaves: int = LEAVES, count: int = PLANTED, seed: int = 1) -> PlantedLog:
    """A log of about this many leaves, with count rules and count open points."""
    rng = random.Random(seed)
    log = PlantedLog(constraints=rules(count), points=_points(count))
    total = leaves * MESSAGES_PER_LEAF + MESSAGES_PER_LEAF // 2  # so that the last leaf seals
    planted: dict[int, list[str]] = {}
    for rule in log.constraints:
        planted.setdefault(rng.randrange(total), []).append(rule)
    for point in log.points:
        gap = max(1, int(total * rng.uniform(*LATER)))
        at = rng.randrange(max(1, total - gap))
        planted.setdefault(at, []).append(point.text)
        planted.setdefault(at + gap, []).append(point.later)
    for index in range(total):
        log.messages.append(_message(rng, index, planted.get(index, ())))
    return log


def _points(count: int) -> list[OpenPoint]:
    """Open points, every other one closed, with all sorts mixed for any count."""
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
    text = worded(_nth(OPENED[loop.sort], turn), loop)
    if closed:
        return OpenPoint(text, worded(_nth(CLOSED[loop.sort], turn // 2), loop), "")
    ways = list(SEEMING[loop.sort])
    way = ways[(turn // 2) % len(ways)]
    templates = SEEMING[loop.sort][way]
    return OpenPoint(text, worded(_nth(templates, turn // 2 // len(ways)), loop), way)


def _nth(templates: Sequence[str], turn: int) -> str:
    return templates[turn % len(templates)]


def _message(rng: random.Random, index: int, planted: Iterable[str]) -> Message:
    """A turn of small talk, with the planted sentences somewhere in it."""
    sentences = talk.message(rng, rng.randrange(*MESSAGE_CHARS))
    for sentence in planted:
        sentences.insert(rng.randrange(len(sentences) + 1), sentence)
    is_user = index % 2 == 0
    return Message(
        role="user" if is_user else "assistant",
        author="Jure" if is_user else None,
        text=" ".join(sentences),
        sent_at=(_BEGAN + timedelta(minutes=3 * index)).isoformat(),
        external_id=f"m{index}",
    )


# -- survival --------------------------------------------------------------------------


class Said(Protocol):
    """An entry of the ledger, or a statement of a node."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...


def survival(
    log: PlantedLog,
    holding: Sequence[Said],
    picked: Sequence[Said],
    closed: Sequence[Said] | None = None,
) -> dict[str, Any]:
    """Counts the planted sentences among what holds in a scope, and lists the misses.

    picked: all that was ever picked in its leaves. A point that was never listed as open cannot be
    closed, so those are counted separately. closed: what is marked as closed; if it is given, a
    closed point has to be among it.
    """
    shown = _bare_texts(holding)
    binding = _bare_texts(row for row in holding if row.kind in BINDING)
    listed = binding | _bare_texts(row for row in picked if row.kind in BINDING)
    ever = _bare_texts(picked)
    ended = None if closed is None else _bare_texts(closed)
    still_open = [point for point in log.points if point.seeming]
    over = [point for point in log.points if not point.seeming]
    known = [point for point in over if _is_in(point.text, listed)]
    lost = [rule for rule in log.constraints if not _is_in(rule, shown)]
    gone = [point for point in still_open if not _is_in(point.text, shown)]
    stale = [
        point for point in known
        if _is_in(point.text, binding) or (ended is not None and not _is_in(point.text, ended))
    ]  # fmt: skip
    present = {*log.constraints, *(p.text for p in still_open)} - {*lost, *(p.text for p in gone)}
    return {
        "constraints": len(log.constraints),
        "constraints_lost": [f"{rule}{_where(rule, ever)}" for rule in lost],
        "still_open": len(still_open),
        "still_open_lost": [
            f"{p.text}{_where(p.text, ever)} [{p.seeming}: {p.later}]" for p in gone
        ],
        "closed": len(known), "closed_but_listed": [f"{p.text} [{p.later}]" for p in stale],
        "closed_never_listed": [p.text for p in over if p not in known],
        "under_another_kind": sorted(text for text in present if not _is_in(text, binding)),
        "listed": len(holding),
    }  # fmt: skip


def _bare_texts(rows: Iterable[Said]) -> set[str]:
    return {_bare(row.text) for row in rows}


def _where(planted: str, picked: Iterable[str]) -> str:
    """Whether it was lost in its leaf or later."""
    return " (picked in a leaf)" if _is_in(planted, picked) else " (never picked)"


def _is_in(planted: str, texts: Iterable[str]) -> bool:
    wanted = _bare(planted)
    return any(wanted in text for text in texts)


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", folded(text)).strip()
