"""Summarizes a group from its children's statements, by reference and without new words.

Pure and deterministic. The view has gists of every child, and of the entries that its children show
those that hold and matter most, each once. What it leaves out is in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.proposals import Child, ChildStatement, View
from treemem.summarize.choosing import Offered, choose
from treemem.verify import relations

# Tokens of a group's summary.
GROUP_TOKENS_MAX = 500


def summarize_group(children: Sequence[Child]) -> View:
    """The view of a group: its children's statements, by reference."""
    total = sum(len(child.statements) for child in children)
    chosen = choose(offered(children), GROUP_TOKENS_MAX)
    return View([one.item for one in chosen], total)


def offered(children: Sequence[Child]) -> list[Offered[ChildStatement]]:
    """The children's statements that may be shown: those that hold, each once."""
    found: list[Offered[ChildStatement]] = []
    known: set[object] = set()
    for number, child in enumerate(children):
        for item in child.statements:
            key = item.entry if item.entry is not None else relations.key(item.text)
            if item.state == "holds" and key not in known:
                known.add(key)
                found.append(
                    Offered(item, item.kind, item.tokens, weight_of(item), number, len(found))
                )
    return found


def weight_of(item: ChildStatement) -> float:
    """How much a child's statement matters: the salience of its entry, or its importance."""
    return item.salience or item.importance
