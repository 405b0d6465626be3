"""Summarizes a group from its children's statements, by reference and without new words.

Pure and deterministic: it does not know what later messages did to a statement, so a group has the
same view whenever it is made. The view has gists of every child, and the statements of its children
that matter most, each once. What it leaves out is in the ledger, which also knows what still holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.ledger import matching, salience
from treemem.proposals import Child, ChildStatement, View
from treemem.summarize.choosing import GIST_FLOOR, Offered, choose, main_words, telling_words
from treemem.text.quality import quality_of
from treemem.verify import relations

# Tokens of a group's summary.
GROUP_TOKENS_MAX = 500


def summarize_group(children: Sequence[Child]) -> View:
    """The view of a group: its children's statements, by reference."""
    total = sum(len(child.statements) for child in children)
    chosen = choose(offered(children), GROUP_TOKENS_MAX)
    return View([one.item for one in chosen], total)


def offered(children: Sequence[Child]) -> list[Offered[ChildStatement]]:
    """The children's statements that may be shown, each once. Poor gists are among them only if
    there is no other one."""
    said: dict[object, list[tuple[int, ChildStatement]]] = {}
    for number, child in enumerate(children):
        for item in child.statements:
            said.setdefault(relations.key(item.text), []).append((number, item))
    first = [alike[0] for alike in said.values()]
    words = [telling_words(item.text) for _, item in first]
    main = main_words(words, {item.speaker or "" for _, item in first})
    found: list[Offered[ChildStatement]] = []
    for alike, telling in zip(said.values(), words, strict=True):
        number, item = alike[0]
        if item.kind == "gist":
            about = len(main & telling)
            weight = quality_of(item.text, item.origin, item.speaker, about).gist
        else:
            weight = weight_of(item, len({child for child, _ in alike}))
        found.append(Offered(item, item.kind, item.tokens, weight, number, len(found)))
    good = [one for one in found if one.kind != "gist" or one.weight >= GIST_FLOOR]
    return good if any(one.kind == "gist" for one in good) else found


def weight_of(item: ChildStatement, children: int = 1) -> float:
    """How much a statement matters by itself. children: how many children say it."""
    kind = matching.entry_kind(item.kind, item.text, item.origin)
    features = salience.Features(
        kind, "holds", item.origin, item.text, item.importance, children, children,
        is_lasting=matching.is_for_good(kind, item.text, item.origin), speaker=item.speaker,
    )  # fmt: skip
    return salience.total(features)
