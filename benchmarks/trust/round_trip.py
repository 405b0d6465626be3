"""Measures whether the answer to a question is still in the summaries above its evidence.

Counts whether all, and whether at least half, of the gold answer's content words (stemmed, without
stop words and the question's own words) appear in a text: the statements of the evidence's leaf,
those on the path from it to the root, or two cheap substitutes for the leaf.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data.samples import Question
from benchmarks.retrieval.measures import ADVERSARIAL
from benchmarks.wording import content_stems, sentences
from treemem import Memory, Message, Node, Scope, Statement
from treemem.text.tokens import count_many, count_tokens

ROUNDS = 3
LEAF, PATH, LEAD = "the leaf", "the path, leaf to root", "lead sentences, as long as the leaf's"
MELTED = f"summarized {ROUNDS} times (extraction from its own output)"

# By kind of text: questions, those answered whole and by half, and tokens of all texts.
Table = dict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Text:
    """A text that may contain answers. tokens: by piece, since texts can share pieces."""

    stems: frozenset[str]
    tokens: dict[str, int]


def round_trips(memory: Memory, source: str, questions: Sequence[Question]) -> Table:
    """Counts, for each kind of text, the questions with evidence in it that it answers."""
    nodes = {node.id: node for node in memory.tree(Scope.source(source)).nodes()}
    texts = _texts(memory, nodes)
    leaves_of: dict[str, set[str]] = {}
    for leaf_id in (node_id for node_id, node in nodes.items() if node.is_leaf):
        for message in memory.expand(leaf_id):
            assert isinstance(message, Message)
            leaves_of.setdefault(message.external_id or "", set()).add(leaf_id)
    table: Table = {kind: Counter() for kind in texts}
    for question in questions:
        wanted = content_stems(question.answer) - content_stems(question.text)
        leaf_ids = {leaf for name in question.evidence for leaf in leaves_of.get(name, ())}
        if not wanted or not leaf_ids or question.category == ADVERSARIAL:
            continue
        for kind, by_leaf in texts.items():
            chosen = [by_leaf[leaf_id] for leaf_id in sorted(leaf_ids)]
            shared = len(wanted & frozenset().union(*(text.stems for text in chosen)))
            tokens = {key: count for text in chosen for key, count in text.tokens.items()}
            table[kind].update(
                questions=1, whole=shared == len(wanted), half=2 * shared >= len(wanted),
                tokens=sum(tokens.values()),
            )  # fmt: skip
    return table


def _texts(memory: Memory, nodes: dict[str, Node]) -> dict[str, dict[str, Text]]:
    """Every kind of text, by leaf."""
    parents = {child: node for node in nodes.values() for child in node.child_ids}
    leaves = [node for node in nodes.values() if node.is_leaf]
    paths: dict[str, Text] = {}
    for leaf in leaves:
        path = [leaf]
        while path[-1].id in parents:
            path.append(parents[path[-1].id])
        unique = {statement.id: statement for node in path for statement in node.statements}
        paths[leaf.id] = _text(unique.values())
    return {
        LEAF: {leaf.id: _text(leaf.statements) for leaf in leaves},
        PATH: paths,
        LEAD: {leaf.id: _lead(memory, leaf) for leaf in leaves},
        MELTED: _melted(leaves),
    }


def _text(statements: Iterable[Statement]) -> Text:
    listed = list(statements)
    counts = count_many([statement.text for statement in listed])
    stems = frozenset().union(*(content_stems(statement.text) for statement in listed))
    ids = [str(statement.id) for statement in listed]
    return Text(stems, dict(zip(ids, counts, strict=True)))


def _lead(memory: Memory, leaf: Node) -> Text:
    """The leaf's first sentences, with as many tokens as its statements."""
    room = sum(_text(leaf.statements).tokens.values())
    chosen: list[str] = []
    used = 0
    messages = [row for row in memory.expand(leaf.id) if isinstance(row, Message)]
    for sentence in (line for message in messages for line in sentences(message.text)):
        tokens = count_tokens(sentence)
        if used + tokens > room:
            break
        chosen.append(sentence)
        used += tokens
    return Text(frozenset(content_stems("\n".join(chosen))), {leaf.id: used})


def _melted(leaves: Sequence[Node]) -> dict[str, Text]:
    """Extracts statements from the leaves' statements again and again, stored as messages."""
    statements = {leaf.id: list(leaf.statements) for leaf in leaves}
    for _ in range(ROUNDS):
        with (
            tempfile.TemporaryDirectory(prefix="treemem-bench-") as folder,
            Memory.open(Path(folder) / "again.sqlite3") as memory,
        ):
            for leaf_id, rows in statements.items():
                memory.append(leaf_id, [Message(author=row.speaker, text=row.text) for row in rows])
            memory.work(max_calls=0)
            statements = {
                leaf_id: list(memory.tree(Scope.source(leaf_id)).statements) if rows else []
                for leaf_id, rows in statements.items()
            }
    return {leaf_id: _text(rows) for leaf_id, rows in statements.items()}
