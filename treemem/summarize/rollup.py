"""How a parent's summary comes from its children's: by reference, no word written anew.

Pure and deterministic. Rules and open points rise in their own words; of the rest the most
important rise as far as there is room. What is said twice rises once, with the citations of
both; an open point that a later child closes stays behind; what a later statement replaces
is marked so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from treemem.proposals import Child, ChildStatement, Relation, View
from treemem.summarize.base import BINDING, KIND_ORDER
from treemem.types import StatementKind
from treemem.verify import relations
from treemem.verify.words import stems

# Rules and open points may push it beyond, for then the rest keeps REST_SHARE of it.
PARENT_TOKENS_MAX = 1_000
REST_SHARE = 0.4
ROOM: tuple[tuple[StatementKind, float], ...] = (
    ("gist", 0.4), ("decision", 0.6), ("error", 0.6), ("fact", 1.0),
)  # fmt: skip
HELD_MAX = 200
NEAREST_MAX = 32
_REPLACEABLE: tuple[StatementKind, ...] = ("decision", "constraint", "fact")


@dataclass(frozen=True, slots=True)
class _Offered:
    """A statement with its place: the number of its child, and its rank in reading order."""

    item: ChildStatement
    child: int
    place: int


def summarize_group(children: Sequence[Child]) -> View:
    """A parent's statements: its children's, by reference, each once."""
    offered = [
        _Offered(item, number, 0)
        for number, child in enumerate(children)
        for item in child.statements
    ]
    offered = [replace(each, place=place) for place, each in enumerate(offered)]
    unique, found = _merged(offered)
    unique, closed = _without_closed(unique, children)
    older = _superseded(unique)
    found += closed + older
    chosen = _chosen(unique, children, frozenset(relation.seq for relation in older))
    shown = {each.item.seq for each in chosen}
    marks = tuple(r for r in found if r.kind == "closed" or r.seq in shown)
    return View([each.item for each in chosen], len(offered), relations=marks)


def _merged(offered: Sequence[_Offered]) -> tuple[list[_Offered], list[Relation]]:
    """Each saying once, at its first place. The same words as a rule and as something else
    are a rule."""
    groups: dict[object, list[_Offered]] = {}
    for each in offered:
        groups.setdefault(relations.key(each.item.text), []).append(each)
    unique, found = [], []
    for group in groups.values():
        kept = next((each for each in group if each.item.kind in BINDING), group[0])
        others = [each.item for each in group if each.item.seq != kept.item.seq]
        also = dict.fromkeys((*kept.item.also, *(n for o in others for n in (o.seq, *o.also))))
        also.pop(kept.item.seq, None)
        found += [Relation(kept.item.seq, "same", seq) for seq in also]
        unique.append(_Offered(replace(kept.item, also=tuple(also)), kept.child, group[0].place))
    return sorted(unique, key=lambda each: each.place), found


def _without_closed(
    offered: Sequence[_Offered], children: Sequence[Child]
) -> tuple[list[_Offered], list[Relation]]:
    """The statements but for the open points that something in a later child closes."""
    settling = [(number, item) for number, child in enumerate(children) for item in child.settling]
    holding = relations.index(item.text for _, item in settling)
    left, found = [], []
    for each in offered:
        by = _closing(each, settling, holding) if each.item.kind == "open" else None
        if by is None:
            left.append(each)
        else:
            found.append(Relation(each.item.seq, "closed", by.seq))
    return left, found


def _closing(
    open_point: _Offered,
    settling: Sequence[tuple[int, ChildStatement]],
    holding: dict[str, list[int]],
) -> ChildStatement | None:
    about = relations.subject_of(open_point.item.text)
    near = _sharing(about, holding, min(2, len(about)))
    later = [settling[at][1] for at in near if settling[at][0] > open_point.child]
    at = relations.closed_by(open_point.item.text, [item.text for item in later])
    return None if at is None else later[at]


def _sharing(wanted: Iterable[str], holding: dict[str, list[int]], least: int) -> list[int]:
    """Which texts hold at least so many of the stems: those that cannot matter are many.

    Of a great many statements the NEAREST_MAX that share most are looked at, and a stem that
    more than HELD_MAX of them hold tells none from the others: the work must not grow with the
    square of what a root over many sources says.
    """
    held = [holding[stem] for stem in wanted if stem in holding]
    telling = [at for at in held if len(at) <= HELD_MAX]
    least = max(1, least - (len(held) - len(telling)))
    counts = Counter(chain.from_iterable(telling))
    near = [(-count, at) for at, count in counts.items() if count >= least]
    return sorted(at for _, at in sorted(near)[:NEAREST_MAX])


def _superseded(offered: Sequence[_Offered]) -> list[Relation]:
    """Which statements a statement of a later child replaces; the newest one counts."""
    pool = [each for each in offered if each.item.kind in _REPLACEABLE]
    holding = relations.index(each.item.text for each in pool)
    found = []
    for each in pool:
        least = relations.fewest_shared(each.item.text)
        near = _sharing(stems(each.item.text), holding, least)
        newer = [pool[at] for at in near if _comes_later(pool[at], each)]
        fitting = [n for n in newer if relations.replaces(n.item.text, each.item.text)]
        if fitting:
            latest = max(fitting, key=lambda n: n.place).item.seq
        else:
            latest = each.item.superseded_by or 0
        if latest:
            found.append(Relation(each.item.seq, "superseded", latest))
    return found


def _comes_later(each: _Offered, than: _Offered) -> bool:
    """A child's statements of one kind are in the order in which they were said."""
    if each.child == than.child:
        return each.item.kind == than.item.kind and each.place > than.place
    return each.child > than.child


# -- which of them ---------------------------------------------------------------------


def _chosen(
    offered: Sequence[_Offered], children: Sequence[Child], older: frozenset[int]
) -> list[_Offered]:
    """All rules and open points; of the rest what fits, and what was replaced only last."""
    total = sum(item.tokens for child in children for item in child.statements)
    chosen = [each for each in offered if each.item.kind in BINDING]
    room = min(PARENT_TOKENS_MAX, total)
    left = rest_budget(total, _tokens(chosen))
    for kind, share in ROOM:
        pool = [e for e in offered if e.item.kind == kind and e.item.seq not in older]
        space = min(max(0, left), int(room * share))
        picked = _first_of_each(pool, space) if kind == "gist" else _fill(pool, space)
        chosen += picked
        left -= _tokens(picked)
    return sorted(chosen, key=lambda each: (KIND_ORDER[each.item.kind], each.place))


def rest_budget(below: int, binding: int) -> int:
    """The most tokens of a parent's summary beside its rules and open points. However many of
    those there are, what it was about and what was decided is told too.

    below: the tokens of all that its children say. binding: of the rules and open points.

    Example:
        >>> rest_budget(5_000, 300), rest_budget(5_000, 2_000), rest_budget(500, 450)
        (700, 400, 50)
    """
    room = min(PARENT_TOKENS_MAX, below)
    return min(below - binding, max(room - binding, int(room * REST_SHARE)))


def _first_of_each(pool: Sequence[_Offered], room: int) -> list[_Offered]:
    """A gist of each child, in their order, while there is room."""
    chosen: list[_Offered] = []
    told: set[int] = set()
    for each in pool:
        if each.child not in told and each.item.tokens <= room:
            chosen.append(each)
            told.add(each.child)
            room -= each.item.tokens
    return chosen


def _fill(pool: Sequence[_Offered], room: int) -> list[_Offered]:
    """The most important that fit the room; of equal ones the earlier."""
    chosen: list[_Offered] = []
    for each in sorted(pool, key=lambda each: (-each.item.importance, each.place)):
        if each.item.tokens <= room:
            chosen.append(each)
            room -= each.item.tokens
    return chosen


def _tokens(chosen: Sequence[_Offered]) -> int:
    return sum(each.item.tokens for each in chosen)
