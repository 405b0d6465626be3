"""Groups an ordered list of members into a tree, level by level, with fanout children per group.

Pure; the rule is the same for every scope. A source grows only at its end, so a group is created
when it is full and never changes. The nodes in no full group are the frontier, fewer than fanout on
each level. The members of topics and of the global tree also change in the middle, so these trees
are laid out from all members each time; unchanged groups get the same ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from treemem import ids

Id = TypeVar("Id")


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its level, one above its highest child; its id; and its children in order."""

    level: int
    id: str
    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """The full groups that new members add to a tree, children before parents, and its frontier
    afterwards, lowest level first."""

    groups: tuple[Group, ...]
    frontier: tuple[tuple[str, ...], ...]


def grow(frontier: Sequence[Sequence[str]], members: Sequence[str], fanout: int) -> Growth:
    """Appends leaves to a tree with this frontier, which is given lowest level first.

    Creates fewer than members / (fanout - 1) + levels groups.

    Example:
        >>> growth = grow([], [str(n) for n in range(9)], 8)
        >>> [(g.level, g.child_ids) for g in growth.groups]
        [(1, ('0', '1', '2', '3', '4', '5', '6', '7'))]
        >>> [len(level) for level in growth.frontier]
        [1, 1]
    """
    levels = [list(level) for level in frontier] or [[]]
    groups: list[Group] = []
    for member in members:
        _add(levels, groups, member, fanout)
    return Growth(tuple(groups), tuple(tuple(level) for level in levels))


def _add(levels: list[list[str]], groups: list[Group], member: str, fanout: int) -> None:
    """Adds one member to the lowest level and creates every group that it fills."""
    rising: str | None = member
    height = 0
    while rising is not None:
        if height == len(levels):
            levels.append([])
        levels[height].append(rising)
        rising = None
        if len(levels[height]) == fanout:
            level = height + 1
            group = Group(level, ids.group_id(level, levels[height]), tuple(levels[height]))
            groups.append(group)
            levels[height] = []
            rising = group.id
        height += 1


def root_children(frontier: Sequence[Sequence[Id]], tail: Id | None) -> tuple[Id, ...]:
    """The children of a root, oldest first: the frontier from the highest level down, then the
    open tail. tail: None if there is none.

    Example:
        >>> root_children([["leaf9"], ["group1"]], "tail")
        ('group1', 'leaf9', 'tail')
    """
    ordered = [node for level in reversed(frontier) for node in level]
    return tuple(ordered) if tail is None else (*ordered, tail)


def layers(members: Sequence[tuple[str, int]], fanout: int) -> tuple[Group, ...]:
    """The groups of a tree over all its members, children before parents and the root last; empty
    for fewer than two members, which need no root.

    members: (id, level) in order, with unique ids. Levels may differ; a group is one above its
    highest child. Groups members as grow and root_children do.

    Example:
        >>> [len(group.child_ids) for group in layers([(str(n), 0) for n in range(18)], 8)]
        [8, 8, 4]
    """
    return layers_after((), members, fanout)[0]


def layers_after(
    before: Sequence[Sequence[tuple[str, int]]], members: Sequence[tuple[str, int]], fanout: int
) -> tuple[tuple[Group, ...], str | None]:
    """Goes on with a tree whose first members are grouped already: the groups that these members
    add, as for layers, and the id of the root; None for an empty tree.

    before: (id, level) of the nodes before these members that are in no full group, the members
    among them first, then those one group above them, and so on.

    Example:
        >>> groups, root = layers_after([[("8", 0)], [("0-7", 1)]], [("9", 0)], 8)
        >>> [(group.level, group.child_ids) for group in groups]
        [(2, ('0-7', '8', '9'))]
    """
    groups: list[Group] = []

    def group(children: Sequence[tuple[str, int]]) -> tuple[str, int]:
        level = 1 + max(level for _, level in children)
        child_ids = tuple(child_id for child_id, _ in children)
        groups.append(Group(level, ids.group_id(level, child_ids), child_ids))
        return groups[-1].id, level

    below = list(members)
    frontier: list[list[tuple[str, int]]] = []
    while below or len(frontier) < len(before):
        if len(frontier) < len(before):
            below = [*before[len(frontier)], *below]
        full = len(below) - len(below) % fanout
        frontier.append(below[full:])
        below = [group(below[start : start + fanout]) for start in range(0, full, fanout)]
    top = root_children(frontier, None)
    root = group(top) if len(top) > 1 else next(iter(top), None)
    return tuple(groups), None if root is None else root[0]


def root_id(members: Sequence[tuple[str, int]], fanout: int) -> str | None:
    """The id of the root of a tree over these members, as for layers; None without members."""
    groups = layers(members, fanout)
    if groups:
        return groups[-1].id
    return members[0][0] if members else None
