"""Places topics on a plane: related ones near each other, with names that do not collide.

Pure, and the same for the same topics. A spring layout of networkx says what belongs near what;
then circles and names are pushed apart as boxes until none covers another. Tested in
tests/web/test_topic_map.py.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treemem.topics.mapping import Related, TopicBrief

_SEED = 7
_SPRING_STEPS = 60
_PUSH_STEPS = 500
# Related topics that a topic is joined to by lines, the nearest ones.
_LINES_MAX = 2
_NEARNESS_MIN = 0.3
# Keeps unrelated topics from drifting out of the picture.
_GRAVITY = 0.02
_GAP = 6.0
_TOLERANCE = 0.5
# The share of the height of a letter that an average one is wide.
_LETTER_WIDTH = 0.58


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size of a picture, and how many topics it has room for. letter: height of letters.
    line_chars: characters of a line of a name. All lengths are in units of the picture."""

    name: str
    width: int
    height: int
    topics_max: int
    radius_max: float
    letter: float
    line_chars: int


WIDE = Canvas("wide", 1000, 520, 24, 38, 14.5, 18)
NARROW = Canvas("narrow", 360, 560, 12, 26, 13, 15)
_RADIUS_MIN = 7.0
# How far something reaches from its middle: to the left, to the right, up and down.
_Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a topic is. at: its position among the topics. x, y: the middle of its circle. lines:
    those of its name, below the circle; none where there is no room for it."""

    at: int
    x: float
    y: float
    radius: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two related topics. shared: the number of sources in which both occur."""

    first: Spot
    second: Spot
    shared: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A map of topics, ready to be drawn."""

    canvas: Canvas
    spots: tuple[Spot, ...]
    lines: tuple[Line, ...]


@functools.lru_cache(maxsize=16)
def picture(
    topics: tuple[TopicBrief, ...], related: tuple[Related, ...], canvas: Canvas
) -> Picture:
    """The picture of the largest topics that have room. related: by positions in topics."""
    shown = topics[: canvas.topics_max]
    largest = max((topic.messages for topic in shown), default=1)
    spots = [
        Spot(
            at, 0, 0,
            _RADIUS_MIN + (canvas.radius_max - _RADIUS_MIN) * math.sqrt(topic.messages / largest),
            name_lines(topic.name, canvas.line_chars),
        )
        for at, topic in enumerate(shown)
    ]  # fmt: skip
    pairs = [pair for pair in related if pair.second < len(shown)]
    nearness = {
        (pair.first, pair.second): pair.likeness
        + pair.shared / max(min(shown[pair.first].sources, shown[pair.second].sources), 1)
        for pair in pairs
    }
    placed = _without_covered_names(_apart(_spread(spots, nearness, canvas), canvas), canvas)
    lines = [
        Line(placed[pair.first], placed[pair.second], pair.shared)
        for pair in pairs
        if _is_drawn(pair.first, pair.second, nearness)
    ]
    return Picture(canvas, tuple(placed), tuple(lines))


def name_lines(name: str, chars: int) -> tuple[str, ...]:
    """At most two lines of a name, of about so many characters.

    Example:
        >>> name_lines("ticket · tablet · pickup of milk", 15)
        ('ticket · tablet', 'pickup of milk')
        >>> name_lines("Donaudampfschifffahrtsgesellschaft", 15)
        ('Donaudampfschi…',)
    """
    words = name.split()
    lines: list[str] = []
    while words and len(lines) < 2:
        line = words.pop(0)
        if line == "·":
            continue
        while words and _width(f"{line} {words[0]}") <= chars:
            line += f" {words.pop(0)}"
        lines.append(line.removesuffix(" ·"))
    if words and lines:
        lines[-1] += "…"
    return tuple(_cut(line, chars) for line in lines)


def _cut(line: str, chars: int) -> str:
    if _width(line) <= chars:
        return line
    while line and _width(line) > chars - 1:
        line = line[:-1]
    return f"{line.rstrip('… ')}…"


def _width(text: str) -> int:
    """How many average letters a text is wide."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _is_drawn(first: int, second: int, nearness: dict[tuple[int, int], float]) -> bool:
    """Whether one of two related topics is among the nearest of the other."""
    if nearness[first, second] < _NEARNESS_MIN:
        return False
    for at in (first, second):
        near = sorted(
            (pair for pair in nearness if at in pair), key=lambda pair: (-nearness[pair], pair)
        )
        if (first, second) in near[:_LINES_MAX]:
            return True
    return False


# -- placing ---------------------------------------------------------------------------


def _spread(
    spots: Sequence[Spot], nearness: dict[tuple[int, int], float], canvas: Canvas
) -> list[Spot]:
    """The spots where springs between related topics pull them, over the whole picture."""
    import networkx  # type: ignore[import-untyped]

    graph = networkx.complete_graph(len(spots))
    for first, second in graph.edges:
        graph[first][second]["weight"] = _GRAVITY + nearness.get((first, second), 0.0)
    places = networkx.spring_layout(graph, seed=_SEED, iterations=_SPRING_STEPS)
    xs, ys = ([float(places[at][axis]) for at in range(len(spots))] for axis in (0, 1))
    return [
        replace(
            spot, x=_scaled(xs[at], xs, canvas.width), y=_scaled(ys[at], ys, canvas.height)
        )
        for at, spot in enumerate(spots)
    ]  # fmt: skip


def _scaled(value: float, values: Sequence[float], size: float) -> float:
    low, high = min(values), max(values)
    return size / 2 if high == low else size * (0.1 + 0.8 * (value - low) / (high - low))


def _apart(spots: list[Spot], canvas: Canvas) -> list[Spot]:
    """The spots, pushed apart until no box covers another, or for a while."""
    boxes = [_box(spot, canvas) for spot in spots]
    middles = [[spot.x, spot.y] for spot in spots]
    along_x = canvas.width > canvas.height
    for step in range(_PUSH_STEPS):
        # More and more along the longer side, where there is room in the end.
        bias = 1 + 12 * step / _PUSH_STEPS
        ways = (1 / bias, 1.0) if along_x else (1.0, 1 / bias)
        _keep_inside(middles, boxes, canvas)
        is_moved = False
        for first in range(len(spots)):
            for second in range(first + 1, len(spots)):
                is_moved |= _push(
                    middles[first], middles[second], boxes[first], boxes[second], ways
                )
        if not is_moved:
            break
    _keep_inside(middles, boxes, canvas)
    return [replace(spot, x=round(x, 1), y=round(y, 1))
            for spot, (x, y) in zip(spots, middles, strict=True)]  # fmt: skip


def _keep_inside(middles: list[list[float]], boxes: list[_Box], canvas: Canvas) -> None:
    for middle, (left, right, top, bottom) in zip(middles, boxes, strict=True):
        middle[0] = min(max(middle[0], left), canvas.width - right)
        middle[1] = min(max(middle[1], top), canvas.height - bottom)


def _box(spot: Spot, canvas: Canvas) -> _Box:
    """How far a circle with its name reaches to the left, to the right, up and down."""
    width = max((_width(line) for line in spot.lines), default=0) * canvas.letter * _LETTER_WIDTH
    half = max(spot.radius, width / 2) + _GAP
    below = len(spot.lines) * canvas.letter * 1.2 + (_GAP if spot.lines else 0)
    return half, half, spot.radius + _GAP, spot.radius + below + _GAP


def _push(
    first: list[float], second: list[float], one: _Box, other: _Box,
    ways: tuple[float, float] = (1.0, 1.0),
) -> bool:  # fmt: skip
    """Pushes two middles apart along the shorter way, if their boxes cover each other. ways: by how
    much a way along x and along y counts."""
    over_x = min(first[0] + one[1], second[0] + other[1]) - max(
        first[0] - one[0], second[0] - other[0]
    )
    over_y = min(first[1] + one[3], second[1] + other[3]) - max(
        first[1] - one[2], second[1] - other[2]
    )
    if over_x <= _TOLERANCE or over_y <= _TOLERANCE:
        return False
    axis, over = (0, over_x) if over_x * ways[0] < over_y * ways[1] else (1, over_y)
    sign = 1 if first[axis] <= second[axis] else -1
    first[axis] -= sign * over / 2
    second[axis] += sign * over / 2
    return True


def _without_covered_names(spots: list[Spot], canvas: Canvas) -> list[Spot]:
    """The spots, without the names that would still cover something: the smaller topic's."""
    kept: list[Spot] = []
    for spot in spots:  # the largest first
        others = [*kept, *(replace(one, lines=()) for one in spots[len(kept) + 1 :])]
        is_covered = any(
            _push([spot.x, spot.y], [one.x, one.y], _box(spot, canvas), _box(one, canvas))
            for one in others
        )
        kept.append(replace(spot, lines=()) if is_covered else spot)
    return kept
