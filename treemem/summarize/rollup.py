"""Summarizes a group from its children's statements, by reference and without new words.

Pure and deterministic. The view contains all rules and open points, and the most important other
statements that fit. A repeated statement is included once, with all its citations; an open point
that a later child closes is left out; a statement that a later one replaces is marked as
superseded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from treemem.proposals import Child, ChildStatement, Relation, View
from treemem.rules import succession, wording
from treemem.summarize.base import BINDING, KIND_ORDER
from treemem.types import StatementKind
from treemem.verify import relations
from treemem.verify.words import stems

# Tokens of a group's summary. Where rules and open points fill it, the rest still gets
# REST_SHARE of it.
PARENT_TOKENS_MAX = 1_000
REST_SHARE = 0.4
ROOM: tuple[tuple[StatementKind, float], ...] = (
    ("gist", 0.4), ("decision", 0.6), ("error", 0.6), ("fact", 1.0),
)  # fmt: skip
# A stem in more statements than this does not distinguish them.
STEM_STATEMENTS_MAX = 200
# The most statements compared with one: those that share most stems with it.
NEAREST_MAX = 32
_REPLACEABLE: tuple[StatementKind, ...] = ("decision", "constraint", "fact")


@dataclass(frozen=True, slots=True)
class _Offered:
    """A statement, the number of its child, and its place in reading order."""

    item: ChildStatement
    child: int
    place: int


def summarize_group(children: Sequence[Child]) -> View:
    """The view of a group: its children's statements, by reference and each once."""
    offered = [
        _Offered(item, number, 0)
        for number, child in enumerate(children)
        for item in child.statements
    ]
    offered = [replace(statement, place=place) for place, statement in enumerate(offered)]
    unique, same = _merged(offered)
    unique, closed = _without_closed(unique, children)
    superseded = _superseded(unique)
    chosen = _chosen(unique, children, frozenset(relation.seq for relation in superseded))
    shown = {statement.item.seq for statement in chosen}
    relations_shown = tuple(
        relation
        for relation in (*same, *closed, *superseded)
        if relation.kind == "closed" or relation.seq in shown
    )
    items = [statement.item for statement in chosen]
    return View(items, len(offered), relations=relations_shown)


def _merged(offered: Sequence[_Offered]) -> tuple[list[_Offered], list[Relation]]:
    """The statements without repetitions, each at its first place. If repetitions differ in kind,
    a rule or an open point is preferred."""
    groups: dict[object, list[_Offered]] = {}
    for statement in offered:
        groups.setdefault(relations.key(statement.item.text), []).append(statement)
    unique, same = [], []
    for group in groups.values():
        chosen = next((other for other in group if other.item.kind in BINDING), group[0])
        item = chosen.item
        others = [other.item for other in group if other.item.seq != item.seq]
        also = dict.fromkeys((*item.also, *(n for o in others for n in (o.seq, *o.also))))
        also.pop(item.seq, None)
        same += [Relation(item.seq, "same", seq) for seq in also]
        unique.append(_Offered(replace(item, also=tuple(also)), chosen.child, group[0].place))
    return sorted(unique, key=lambda statement: statement.place), same


def _without_closed(
    offered: Sequence[_Offered], children: Sequence[Child]
) -> tuple[list[_Offered], list[Relation]]:
    """The statements without the open points that a statement of a later child closes."""
    settling = [(number, item) for number, child in enumerate(children) for item in child.settling]
    index = relations.index(item.text for _, item in settling)
    left, closed = [], []
    for statement in offered:
        is_open = statement.item.kind == "open"
        closing = _closing(statement, settling, index) if is_open else None
        if closing is None:
            left.append(statement)
        else:
            closed.append(Relation(statement.item.seq, "closed", closing.seq))
    return left, closed


def _closing(
    open_point: _Offered,
    settling: Sequence[tuple[int, ChildStatement]],
    index: dict[str, list[int]],
) -> ChildStatement | None:
    """The first statement of a later child that closes an open point."""
    subject = relations.subject_of(open_point.item.text)
    near = _sharing(subject, index, min(2, len(subject)))
    later = [settling[at][1] for at in near if settling[at][0] > open_point.child]
    at = relations.closed_by(open_point.item.text, [item.text for item in later])
    return None if at is None else later[at]


def _sharing(wanted: Iterable[str], index: dict[str, list[int]], least: int) -> list[int]:
    """The places of the texts that contain at least this many of the stems, in order.

    Only the NEAREST_MAX texts that share most stems are returned, and stems of more than
    STEM_STATEMENTS_MAX texts are ignored, so that the work does not grow with the square of the
    statements below a root over many sources. index: the places of texts by stem.
    """
    postings = [index[stem] for stem in wanted if stem in index]
    rare = [places for places in postings if len(places) <= STEM_STATEMENTS_MAX]
    least = max(1, least - (len(postings) - len(rare)))
    counts = Counter(chain.from_iterable(rare))
    near = [(-count, at) for at, count in counts.items() if count >= least]
    return sorted(at for _, at in sorted(near)[:NEAREST_MAX])


def _superseded(offered: Sequence[_Offered]) -> list[Relation]:
    """For each statement that a later one replaces, the latest that does."""
    pool = [statement for statement in offered if statement.item.kind in _REPLACEABLE]
    index = relations.index(statement.item.text for statement in pool)
    superseded = []
    for statement in pool:
        item = statement.item
        least = 1 if _is_rule(item) else relations.fewest_shared(item.text)
        near = _sharing(stems(item.text), index, least)
        newer = [pool[at] for at in near if _comes_later(pool[at], statement)]
        replacing = [other for other in newer if _replaces(other.item, item)]
        if replacing:
            latest = max(replacing, key=lambda other: other.place).item.seq
        else:
            latest = item.superseded_by or 0
        if latest:
            superseded.append(Relation(item.seq, "superseded", latest))
    return superseded


def _is_rule(item: ChildStatement) -> bool:
    """Whether the user gave the assistant this rule."""
    return item.kind == "constraint" and item.origin == "typed"


def _replaces(newer: ChildStatement, older: ChildStatement) -> bool:
    """Whether a later statement replaces an earlier one. A rule of the user's holds in its project
    until another one ends it there, or everywhere."""
    if not (_is_rule(newer) and _is_rule(older)):
        return relations.replaces(newer.text, older.text)
    is_near = newer.home == older.home or wording.holds_everywhere(newer.text)
    return is_near and succession.ends(newer.text, older.text)


def _comes_later(statement: _Offered, other: _Offered) -> bool:
    """Within a child only statements of one kind are in the order in which they were said."""
    if statement.child == other.child:
        return statement.item.kind == other.item.kind and statement.place > other.place
    return statement.child > other.child


# -- what fits -------------------------------------------------------------------------


def _chosen(
    offered: Sequence[_Offered], children: Sequence[Child], older: frozenset[int]
) -> list[_Offered]:
    """All rules and open points, and the other statements that fit and were not replaced.

    older: the numbers of the statements that were replaced.
    """
    total = sum(item.tokens for child in children for item in child.statements)
    chosen = [statement for statement in offered if statement.item.kind in BINDING]
    room = min(PARENT_TOKENS_MAX, total)
    left = rest_budget(total, _tokens(chosen))
    for kind, share in ROOM:
        pool = [o for o in offered if o.item.kind == kind and o.item.seq not in older]
        space = min(max(0, left), int(room * share))
        picked = _first_of_children(pool, space) if kind == "gist" else _fill(pool, space)
        chosen += picked
        left -= _tokens(picked)
    return sorted(chosen, key=lambda picked: (KIND_ORDER[picked.item.kind], picked.place))


def rest_budget(below: int, binding: int) -> int:
    """The most tokens of a group's summary beside its rules and open points, which leave room for
    gists and decisions however many they are.

    below: the tokens of the children's statements. binding: of the rules and open points.

    Example:
        >>> rest_budget(5_000, 300), rest_budget(5_000, 2_000), rest_budget(500, 450)
        (700, 400, 50)
    """
    room = min(PARENT_TOKENS_MAX, below)
    return min(below - binding, max(room - binding, int(room * REST_SHARE)))


def _first_of_children(pool: Sequence[_Offered], room: int) -> list[_Offered]:
    """The first statement of every child, in their order, while there is room."""
    chosen: dict[int, _Offered] = {}
    for statement in pool:
        if statement.child not in chosen and statement.item.tokens <= room:
            chosen[statement.child] = statement
            room -= statement.item.tokens
    return list(chosen.values())


def _fill(pool: Sequence[_Offered], room: int) -> list[_Offered]:
    """The most important statements that fit the room; of equal ones the earlier."""
    chosen: list[_Offered] = []
    for statement in sorted(pool, key=lambda pooled: (-pooled.item.importance, pooled.place)):
        if statement.item.tokens <= room:
            chosen.append(statement)
            room -= statement.item.tokens
    return chosen


def _tokens(chosen: Sequence[_Offered]) -> int:
    return sum(statement.item.tokens for statement in chosen)
