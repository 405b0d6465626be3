"""How much of what is asked for later do the summaries of the leaves keep?

An evidence message is kept where a statement that fits the budget cites it; it counts as often
as questions name it. Beside the statements stand simple ways to pick whole messages.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.samples import Question, leaf_ids
from benchmarks.wording import content_stems, telling_signs
from treemem import Memory, Message, Statement
from treemem.text.tokens import count_many

SHARES = (0.10, 0.20, 0.33)
# Random picks are drawn so often, and their mean is told.
DRAWS = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """Something a leaf can be told by: a message, or a statement with what it cites.

    ids: the messages that it keeps, as the log names them.
    """

    ids: tuple[str, ...]
    text: str
    tokens: int
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf with its messages and its shown statements."""

    tokens: int
    messages: tuple[Piece, ...]
    statements: tuple[Piece, ...]


Score = Callable[[Piece], float]


def leaves(memory: Memory, source: str) -> list[Leaf]:
    """The leaves of a source, the open tail too, with the views that readers get."""
    found = []
    for leaf_id in leaf_ids(memory, source):
        node = memory.node(leaf_id)
        said = [each for each in memory.expand(leaf_id) if isinstance(each, Message)]
        messages = _pieces(((m.external_id or "",), m.text, 0.0) for m in said)
        statements = _pieces((_ids(each), each.text, each.importance) for each in node.statements)
        found.append(Leaf(node.tokens, messages, statements))
    return found


def _ids(statement: Statement) -> tuple[str, ...]:
    return tuple(message.external_id or "" for message in statement.messages)


def _pieces(rows: Iterable[tuple[tuple[str, ...], str, float]]) -> tuple[Piece, ...]:
    listed = list(rows)
    counts = count_many([text for _, text, _ in listed])
    return tuple(
        Piece(ids, text, tokens, score)
        for (ids, text, score), tokens in zip(listed, counts, strict=True)
    )


@dataclass(slots=True)
class Kept:
    """Evidence entries that were kept, of how many."""

    kept: float = 0.0
    of: int = 0

    @property
    def share(self) -> float | None:
        return self.kept / self.of if self.of else None

    def add(self, other: Kept) -> None:
        self.kept += other.kept
        self.of += other.of


Table = dict[str, dict[float, Kept]]


def evidence_kept(found: Sequence[Leaf], questions: Sequence[Question]) -> Table:
    """For each way to pick and each share of a leaf's tokens, the evidence that was kept."""
    weights = Counter(each for question in questions for each in question.evidence)
    rows: Table = {}
    idf = _idf(found)
    ways: dict[str, Score] = {
        "messages by sum of idf": lambda piece: sum(idf[s] for s in content_stems(piece.text)),
        "messages by names, numbers, time words": lambda piece: telling_signs(piece.text),
    }
    rows["statements"] = _row(
        [(leaf.tokens, leaf.statements, leaf.messages) for leaf in found], weights,
        lambda piece: piece.score,
    )  # fmt: skip
    pools = [(leaf.tokens, leaf.messages, leaf.messages) for leaf in found]
    for name, score in ways.items():
        rows[name] = _row(pools, weights, score)
    rows["messages at random"] = _at_random(pools, weights)
    return rows


Pool = tuple[int, tuple[Piece, ...], tuple[Piece, ...]]


def _row(pools: Sequence[Pool], weights: Counter[str], score: Score) -> dict[float, Kept]:
    ranked = [(tokens, sorted(pool, key=score, reverse=True), held) for tokens, pool, held in pools]
    row = {}
    for share in SHARES:
        kept = {id_ for tokens, pool, _ in ranked for id_ in _fill(pool, share * tokens)}
        there = {id_ for _, _, held in pools for piece in held for id_ in piece.ids}
        row[share] = Kept(sum(weights[id_] for id_ in kept), sum(weights[id_] for id_ in there))
    return row


def _fill(ranked: Sequence[Piece], room: float) -> set[str]:
    """What the best pieces keep; one that does not fit any more is passed over."""
    kept: set[str] = set()
    for piece in ranked:
        if piece.tokens <= room:
            room -= piece.tokens
            kept.update(piece.ids)
    return kept


def _at_random(pools: Sequence[Pool], weights: Counter[str]) -> dict[float, Kept]:
    total = {share: Kept() for share in SHARES}
    for draw in range(DRAWS):
        for share, kept in _row(pools, weights, _chance(draw)).items():
            total[share].kept += kept.kept / DRAWS
            total[share].of = kept.of
    return total


def _chance(seed: int) -> Score:
    rng = random.Random(seed)
    return lambda _: rng.random()


def _idf(found: Sequence[Leaf]) -> dict[str, float]:
    texts = [content_stems(piece.text) for leaf in found for piece in leaf.messages]
    counts = Counter(stem for stems in texts for stem in stems)
    return {stem: math.log(len(texts) / count) for stem, count in counts.items()}


def add_up(total: Table, table: Table) -> None:
    """Adds one conversation's table to a data set's."""
    for name, row in table.items():
        for share, kept in row.items():
            total.setdefault(name, {}).setdefault(share, Kept()).add(kept)
