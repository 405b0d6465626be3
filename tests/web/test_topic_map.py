"""The map of topics is the same each time, and nothing on it covers anything else."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem.topics.mapping import Related, TopicBrief
from treemem.web import topic_map
from treemem.web.topic_map import NARROW, WIDE, Canvas, Picture, Spot, name_lines, picture


def some(count: int, seed: int) -> tuple[tuple[TopicBrief, ...], tuple[Related, ...]]:
    """Made-up topics with long names, of which some are related."""
    chance = random.Random(seed)
    topics = tuple(
        TopicBrief(
            f"t{at}", " · ".join("".join(chance.choices("abcdefghij 日", k=9)) for _ in range(3)),
            False, 1000 // (at + 1) + 1, chance.randint(1, 5), None, None,
        )
        for at in range(count)
    )  # fmt: skip
    related = tuple(
        Related(first, second, chance.choice([0, 0, 1, 2]), round(chance.random(), 3))
        for first, second in combinations(range(count), 2)
        if chance.random() < 0.3
    )
    return topics, related


def areas(spot: Spot, canvas: Canvas) -> list[tuple[float, float, float, float]]:
    """The left, right, upper and lower ends of a circle and of its name."""
    circle = (spot.x - spot.radius, spot.x + spot.radius,
              spot.y - spot.radius, spot.y + spot.radius)  # fmt: skip
    if not spot.lines:
        return [circle]
    half = max(map(topic_map._width, spot.lines)) * canvas.letter * 0.56 / 2
    height = len(spot.lines) * canvas.letter * 1.2
    below = spot.y + spot.radius
    return [circle, (spot.x - half, spot.x + half, below, below + height)]


def covered(shown: Picture) -> list[tuple[int, int]]:
    """The spots that cover each other's circles or names."""
    return [
        (one.at, other.at)
        for one, other in combinations(shown.spots, 2)
        if any(
            a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
            for a in areas(one, shown.canvas)
            for b in areas(other, shown.canvas)
        )
    ]


@pytest.mark.parametrize("canvas", [WIDE, NARROW], ids=lambda canvas: canvas.name)
@pytest.mark.parametrize("count", [1, 2, 5, 12, 24, 60])
def test_no_name_covers_another(count: int, canvas: Canvas) -> None:
    for seed in range(4):
        topics, related = some(count, seed)
        shown = picture(topics, related, canvas)
        assert len(shown.spots) == min(count, canvas.topics_max)
        assert covered(shown) == []
        for spot in shown.spots:
            for left, right, top, bottom in areas(spot, canvas):
                assert 0 <= left < right <= canvas.width
                assert 0 <= top < bottom <= canvas.height
        named = [spot for spot in shown.spots if spot.lines]
        assert len(named) > 0.7 * len(shown.spots)


def test_the_same_topics_are_in_the_same_places() -> None:
    topics, related = some(20, 1)
    first = picture(topics, related, WIDE)
    assert picture(topics, related, WIDE) is first, "it is kept"
    picture.cache_clear()
    assert picture(topics, related, WIDE) == first


def test_related_topics_are_near_each_other_and_joined() -> None:
    topics, _ = some(12, 2)
    related = (Related(0, 1, 2, 1.0), Related(5, 9, 0, 0.1))
    shown = picture(topics, related, WIDE)
    assert [(line.first.at, line.second.at, line.shared) for line in shown.lines] == [(0, 1, 2)]

    def apart(first: Spot, second: Spot) -> float:
        return ((first.x - second.x) ** 2 + (first.y - second.y) ** 2) ** 0.5

    others = [apart(shown.spots[0], spot) for spot in shown.spots[2:]]
    assert apart(shown.spots[0], shown.spots[1]) < sorted(others)[len(others) // 2]


def test_a_name_is_cut_into_two_lines() -> None:
    assert name_lines("ticket · tablet · pickup", 15) == ("ticket · tablet", "pickup")
    assert name_lines("a" * 40, 15) == ("a" * 14 + "…",)
    assert name_lines("one two three four five six seven", 9) == ("one two", "three…")
    assert name_lines("日本語の長い名前です", 10) == ("日本語の…",)
    assert name_lines("", 10) == ()
