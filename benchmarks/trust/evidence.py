"""Measures how much evidence of later questions is kept of the leaves.

An evidence message counts where an entry of the ledger, or a statement that is shown, cites it and
fits the budget, once for each question that names it. Simple ways to pick whole messages are
measured for comparison.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.data.samples import Question, leaf_ids
from benchmarks.trust.picking import picked
from benchmarks.wording import telling_signs
from treemem import Memory, Message
from treemem.text.tokens import count_many

# Budgets, as shares of a leaf's tokens.
SHARES = (0.10, 0.20, 0.33)
# Random draws, whose mean is shown.
DRAWS = 5
AT_RANDOM = f"messages at random ({DRAWS} draws)"

# By way of picking: the evidence entries picked at each share, and of how many ("of").
Table = dict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or an entry or a statement with the external ids of the messages that it cites."""

    ids: tuple[str, ...]
    text: str
    tokens: int
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf with its messages, what the ledger holds of it, and what it shows."""

    tokens: int
    messages: tuple[Piece, ...]
    entries: tuple[Piece, ...]
    shown: tuple[Piece, ...]


def leaves(memory: Memory, source: str) -> list[Leaf]:
    """The leaves of a source, the open tail included."""
    result = []
    for leaf_id in leaf_ids(memory, source):
        node = memory.node(leaf_id)
        messages = [row for row in memory.expand(leaf_id) if isinstance(row, Message)]
        result.append(Leaf(
            node.tokens,
            _pieces(((message.external_id or "",), message.text, 0.0) for message in messages),
            _pieces((_ids(one.of_leaf), one.text, one.weight) for one in picked(memory, leaf_id)),
            _pieces((_ids(row.messages), row.text, row.importance) for row in node.statements),
        ))  # fmt: skip
    return result


def _ids(messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(message.external_id or "" for message in messages)


def _pieces(rows: Iterable[tuple[tuple[str, ...], str, float]]) -> tuple[Piece, ...]:
    listed = list(rows)
    counts = count_many([text for _, text, _ in listed])
    return tuple(
        Piece(ids, text, tokens, score)
        for (ids, text, score), tokens in zip(listed, counts, strict=True)
    )


def evidence_kept(leaves: Sequence[Leaf], questions: Sequence[Question]) -> Table:
    """Counts evidence entries for each way of picking and each share of a leaf's tokens."""
    weights = Counter(name for question in questions for name in question.evidence)
    entries = [(leaf.tokens, leaf.entries) for leaf in leaves]
    shown = [(leaf.tokens, leaf.shown) for leaf in leaves]
    messages = [(leaf.tokens, leaf.messages) for leaf in leaves]
    ids = {name for leaf in leaves for piece in leaf.messages for name in piece.ids}
    table: Table = {
        "entries of the ledger": _row(entries, weights, lambda piece: piece.score),
        "statements that are shown": _row(shown, weights, lambda piece: piece.score),
    }
    table["messages by names, numbers, time words"] = _row(
        messages, weights, lambda piece: telling_signs(piece.text)
    )
    table[AT_RANDOM] = Counter()
    for draw in range(DRAWS):
        rng = random.Random(draw)
        table[AT_RANDOM] += _row(messages, weights, lambda _, rng=rng: rng.random())  # type: ignore[misc]
    for way, row in table.items():
        draws = DRAWS if way == AT_RANDOM else 1
        row["of"] = draws * sum(weights[name] for name in ids)
    return table


def _row(
    pools: Sequence[tuple[int, Sequence[Piece]]],
    weights: Counter[str],
    score: Callable[[Piece], float],
) -> Counter[str]:
    ranked = [(tokens, sorted(pool, key=score, reverse=True)) for tokens, pool in pools]
    row: Counter[str] = Counter()
    for share in SHARES:
        picked = {name for tokens, pool in ranked for name in _fill(pool, share * tokens)}
        row[str(share)] = sum(weights[name] for name in picked)
    return row


def _fill(ranked: Sequence[Piece], room: float) -> set[str]:
    """The ids of the best pieces that fit; one that does not fit is passed over."""
    ids: set[str] = set()
    for piece in ranked:
        if piece.tokens <= room:
            room -= piece.tokens
            ids.update(piece.ids)
    return ids
