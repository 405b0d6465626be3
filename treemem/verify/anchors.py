"""Checks that the numbers, dates and names of a note stand beside the same words as in its source.

Pure. An exact term fits where its source has it near the words that it is near in the note. If
another term of its sort fits clearly better there, the note has probably exchanged the two.
Tested in tests/verify/test_anchors.py.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.verify import evidence
from treemem.verify.evidence import Leaf, NoteClause, Unit
from treemem.verify.terms import Sort, Term

# How much better another term must fit: in another sentence, and in the same one, where distances
# alone decide.
RIVAL_RATIO = 1.3
RIVAL_RATIO_BESIDE = 1.5
# The least share of an anchor's surroundings that such a term must have.
RIVAL_FIT_MIN = 0.3
# How much better two terms of a note must fit if they are exchanged.
EXCHANGED_RATIO = 1.3
# The distance in words at which a word counts half.
NEAR_WORDS = 4
# The shares of words in another clause of the sentence, and in the sentences around it.
OTHER_CLAUSE_SHARE = 0.6
AROUND_SHARE = 0.4
# The least number of words beside a term by which its place is known.
NEAR_KEYS_MIN = 2
_WEAK = frozenset("last next this past previous coming week weekend month year night time".split())


@dataclass(frozen=True, slots=True)
class _Anchor:
    """An exact term of a note. near: the weights of the words around it, less the further away.
    kind: only a term of the same kind can be exchanged for it. head: the word right behind it."""

    key: str
    sort: Sort
    kind: str
    head: str
    near: dict[str, float]
    clause: NoteClause


def misplaced(clauses: Sequence[NoteClause], leaf: Leaf) -> str:
    """Why an exact term of a note belongs to something else in its source, "" if none does."""
    anchors = [anchor for clause in clauses for anchor in _anchors(clause, leaf)]
    keys = {anchor.key for anchor in anchors}
    for anchor in anchors:
        if _has_rival(anchor, keys, leaf) or _is_before_another(anchor, leaf):
            return _reason(anchor)
    for one, other in itertools.combinations(anchors, 2):
        if one.kind == other.kind and one.key != other.key and _exchanged(one, other, leaf):
            return _reason(one)
    return ""


def _reason(anchor: _Anchor) -> str:
    return f"{'number' if anchor.sort == 'number' else 'name or date'} of something else"


def _anchors(clause: NoteClause, leaf: Leaf) -> list[_Anchor]:
    found = []
    for at, term in enumerate(clause.terms):
        sort = leaf.sort_of(term)
        if not sort:
            continue
        kind = _kind(clause.terms, at, sort)
        near: dict[str, float] = {}
        for other_at, other in enumerate(clause.terms):
            if other.key == term.key or (
                leaf.sort_of(other) == sort and _kind(clause.terms, other_at, sort) == kind
            ):
                continue
            weight = clause.wanted[other.key] / (1 + abs(at - other_at) / NEAR_WORDS)
            near[other.key] = max(weight, near.get(other.key, 0.0))
        if len(near) >= NEAR_KEYS_MIN:
            found.append(_Anchor(term.key, sort, kind, _head(clause.terms, at), near, clause))
    return found


def _head(content: Sequence[Term], at: int) -> str:
    """The key of the word that a term stands right before, "" if it is no word of content."""
    if at + 1 == len(content):
        return ""
    end = content[at].start + len(content[at].word.text)
    return content[at + 1].key if content[at + 1].start - end <= 1 else ""


def _kind(content: Sequence[Term], at: int, sort: Sort) -> str:
    """What a number may be exchanged for: a day of a month, a time, an identifier or an amount; of
    other terms, their sort."""
    if sort != "number":
        return sort
    key = content[at].key
    if ":" in key:
        return "time"
    beside = [term for term in content[max(0, at - 1) : at + 2] if term is not content[at]]
    if any(term.sort == "month" for term in beside):
        return "date"
    if key.startswith("0") or key.count(".") > 1:
        return "identifier"
    return "amount"


def _has_rival(anchor: _Anchor, keys: set[str], leaf: Leaf) -> bool:
    own, home = _best(anchor.key, anchor, leaf)
    if home is None:
        return False  # the guard of exact terms refuses it
    least = RIVAL_FIT_MIN * sum(anchor.near.values())
    reached = {at for key in anchor.near for at in leaf.by_key.get(key, ())}
    for at in sorted(reached):
        unit = leaf.units[at]
        ratio = RIVAL_RATIO_BESIDE if anchor.key in unit.keys else RIVAL_RATIO
        content = [term for term in unit.terms if term.key]
        if len(anchor.near.keys() & (unit.keys | unit.before_keys)) < NEAR_KEYS_MIN:
            continue
        for index, term in enumerate(content):
            sort = leaf.sort_of(term)
            if term.key in keys or not sort or _kind(content, index, sort) != anchor.kind:
                continue
            if anchor.sort == "when" and set(term.key.split()) & set(anchor.key.split()) - _WEAK:
                continue  # "this summer" and "summer" may be the same
            fit = _fit(term.key, anchor.near, unit, leaf)
            if fit > max(ratio * own, least) and _allowed(anchor, unit):
                return True
    return False


def _is_before_another(anchor: _Anchor, leaf: Leaf) -> bool:
    """Whether the word behind a date or a name has another one before it wherever its source has
    it among the same words: "the November duplicates" for "the October duplicates"."""
    if not anchor.head or anchor.sort == "number":
        return False
    befores: set[str] = set()
    for at in leaf.by_key.get(anchor.head, ()):
        unit = leaf.units[at]
        if len(anchor.near.keys() & unit.keys) < NEAR_KEYS_MIN:
            continue
        content = [term for term in unit.terms if term.key]
        befores |= {
            term.key for index, term in enumerate(content)
            if leaf.sort_of(term) == anchor.sort and _head(content, index) == anchor.head
        }  # fmt: skip
    return bool(befores) and anchor.key not in befores


def _exchanged(one: _Anchor, other: _Anchor, leaf: Leaf) -> bool:
    """Whether two terms of a note fit better in each other's place. Words near both say nothing."""
    common = one.near.keys() & other.near.keys()
    ours, theirs = (
        dataclasses.replace(
            anchor, near={key: w for key, w in anchor.near.items() if key not in common}
        )
        for anchor in (one, other)
    )
    if not ours.near or not theirs.near:
        return False
    straight = _best(one.key, ours, leaf)[0] + _best(other.key, theirs, leaf)[0]
    crossed = _best(other.key, ours, leaf)[0] + _best(one.key, theirs, leaf)[0]
    return crossed > EXCHANGED_RATIO * straight


def _best(key: str, anchor: _Anchor, leaf: Leaf) -> tuple[float, Unit | None]:
    """How well a term fits at an anchor's place, and the sentence where it fits best."""
    best, home = 0.0, None
    for at in leaf.by_key.get(key, ()):
        unit = leaf.units[at]
        if not _allowed(anchor, unit):
            continue
        fit = _fit(key, anchor.near, unit, leaf)
        if home is None or fit > best:
            best, home = fit, unit
    return best, home


def _allowed(anchor: _Anchor, unit: Unit) -> bool:
    return not anchor.clause.subjects or any(
        evidence.attributed(anchor.clause, unit, speaker, reports=False) >= 0
        for speaker in anchor.clause.subjects
    )


def _fit(key: str, near: dict[str, float], unit: Unit, leaf: Leaf) -> float:
    """How close a sentence has a term to the given words; words of the sentences around count in
    part."""
    best = 0.0
    content = [term for term in unit.terms if term.key]
    for at, term in enumerate(content):
        if term.key != key:
            continue
        closest: dict[str, float] = {}
        for other_at, other in enumerate(content):
            weight = near.get(other.key, 0.0)
            if weight:
                share = 1.0 if other.clause == term.clause else OTHER_CLAUSE_SHARE
                close = weight * share / (1 + abs(at - other_at) / NEAR_WORDS)
                closest[other.key] = max(close, closest.get(other.key, 0.0))
        best = max(best, sum(closest.values()))
    around = unit.before_keys | leaf.keys_after(unit)
    left = (weight for other, weight in near.items() if other in around and other not in unit.keys)
    return best + AROUND_SHARE * sum(left)
