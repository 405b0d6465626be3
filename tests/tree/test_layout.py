"""A tree is the same however its members arrive, one by one or all at once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import ids
from treemem.tree.layout import Group, Growth, grow, layers, root_children
from treemem.types import TreeShape

FANOUT = TreeShape().fanout
UNHURRIED = settings(deadline=None, max_examples=40)
COUNTS = st.integers(0, 600)


def members(count: int) -> list[str]:
    return [f"member{number}" for number in range(count)]


def grown(count: int, stops: list[int]) -> Growth:
    """The tree of count members that arrived in batches, which end at the stops."""
    frontier: tuple[tuple[str, ...], ...] = ()
    groups: list[Group] = []
    start = 0
    for stop in sorted([*(stop for stop in stops if stop < count), count]):
        growth = grow(frontier, members(count)[start:stop], FANOUT)
        groups += growth.groups
        frontier, start = growth.frontier, stop
    return Growth(tuple(groups), frontier)


def log_ceiling(count: int) -> int:
    """⌈log₈ count⌉, without the errors of floats."""
    levels = 0
    while FANOUT**levels < count:
        levels += 1
    return levels


def without_empty(frontier: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    levels = list(frontier)
    while levels and not levels[-1]:
        levels.pop()
    return levels


@UNHURRIED
@given(count=COUNTS, stops=st.lists(COUNTS, max_size=10))
def test_any_batching_of_the_members_gives_the_same_groups(count: int, stops: list[int]) -> None:
    at_once = grown(count, [])
    in_batches = grown(count, stops)
    assert in_batches.groups == at_once.groups
    assert without_empty(in_batches.frontier) == without_empty(at_once.frontier)


@UNHURRIED
@given(count=COUNTS)
def test_every_node_is_in_exactly_one_group_or_in_the_frontier(count: int) -> None:
    tree = grown(count, [])
    nodes = [*members(count), *(group.id for group in tree.groups)]
    above = [child for group in tree.groups for child in group.child_ids]
    above += [node for level in tree.frontier for node in level]
    assert Counter(above) == Counter(nodes)
    assert max(Counter(above).values(), default=1) == 1


@UNHURRIED
@given(count=COUNTS)
def test_a_group_covers_eight_nodes_of_the_level_below_in_order(count: int) -> None:
    tree = grown(count, [])
    level_of = dict.fromkeys(members(count), 0)
    level_of |= {group.id: group.level for group in tree.groups}
    order = {node: at for at, node in enumerate(level_of)}
    for group in tree.groups:
        assert len(group.child_ids) == FANOUT
        assert {level_of[child] for child in group.child_ids} == {group.level - 1}
        assert all(order[a] < order[b] for a, b in pairwise(group.child_ids))
        assert group.id == ids.group_id(group.level, group.child_ids)


@UNHURRIED
@given(count=COUNTS)
def test_children_come_before_their_parents(count: int) -> None:
    known = set(members(count))
    for group in grown(count, []).groups:
        assert set(group.child_ids) <= known
        known.add(group.id)


@UNHURRIED
@given(count=COUNTS)
def test_the_frontier_has_fewer_than_eight_nodes_a_level(count: int) -> None:
    frontier = grown(count, []).frontier
    assert all(len(level) < FANOUT for level in frontier)
    assert sum(len(level) * FANOUT**height for height, level in enumerate(frontier)) == count


@UNHURRIED
@given(before=st.integers(0, 5_000))
def test_an_append_makes_at_most_one_group_a_level(before: int) -> None:
    frontier = grow([], members(before), FANOUT).frontier
    growth = grow(frontier, ["new"], FANOUT)
    assert len(growth.groups) <= log_ceiling(before + 1)
    assert len({group.level for group in growth.groups}) == len(growth.groups)


def test_the_most_expensive_append_to_4096_leaves_makes_four_groups() -> None:
    frontier = grow([], members(4_095), FANOUT).frontier
    assert [group.level for group in grow(frontier, ["last"], FANOUT).groups] == [1, 2, 3, 4]


@UNHURRIED
@given(COUNTS)
def test_a_tree_has_at_most_15_percent_more_nodes_than_leaves(count: int) -> None:
    nodes = count + len(grow([], members(count), FANOUT).groups)
    assert nodes <= count + count // (FANOUT - 1) <= 1.15 * count


@UNHURRIED
@given(COUNTS, st.none() | st.just("tail"))
def test_a_root_covers_the_nodes_in_no_group_oldest_first(count: int, tail: str | None) -> None:
    tree = grow([], members(count), FANOUT)
    below = {group.id: group.child_ids for group in tree.groups}

    def leaves(node: str) -> list[str]:
        if node not in below:
            return [node]
        return [leaf for child in below[node] for leaf in leaves(child)]

    covered = [leaf for node in root_children(tree.frontier, tail) for leaf in leaves(node)]
    assert covered == [*members(count), *([tail] if tail else [])]


def test_no_members_make_no_tree() -> None:
    assert grow([], [], FANOUT).groups == ()
    assert root_children(grow([], [], FANOUT).frontier, None) == ()


# -- members that are known all at once ------------------------------------------------


@UNHURRIED
@given(COUNTS)
def test_layers_are_grouped_as_in_a_tree_that_grew(count: int) -> None:
    tree = grow([], members(count), FANOUT)
    laid = layers([(member, 0) for member in members(count)], FANOUT)
    full = {group.id for group in laid if group.id in {grown.id for grown in tree.groups}}
    assert full == {group.id for group in tree.groups}
    above = [group.child_ids for group in laid if group.id not in full]
    covered = root_children(tree.frontier, None)
    assert above == ([covered] if len(covered) > 1 else [])


@UNHURRIED
@given(st.lists(st.integers(0, 5), max_size=200))
def test_a_group_is_one_level_above_its_highest_child_and_comes_after_its_children(
    levels: list[int],
) -> None:
    known = {f"member{at}": level for at, level in enumerate(levels)}
    below: list[str] = []
    for group in layers(list(known.items()), FANOUT):
        assert group.level == 1 + max(known[child] for child in group.child_ids)
        assert group.id == ids.group_id(group.level, group.child_ids)
        known[group.id] = group.level
        below += group.child_ids
    assert len(below) == len(set(below)) == max(0, len(known) - 1)


@UNHURRIED
@given(st.integers(2, 400), st.data())
def test_a_changed_member_changes_only_the_groups_above_it(count: int, data: st.DataObject) -> None:
    before = [(member, 0) for member in members(count)]
    at = data.draw(st.integers(0, count - 1))
    after = [*before[:at], ("changed", 0), *before[at + 1 :]]
    old = {group.id for group in layers(before, FANOUT)}
    new = {group.id for group in layers(after, FANOUT)} - old
    assert 1 <= len(new) <= log_ceiling(count) + 1
