"""Is the answer to a question still in the summaries above its evidence?

Of the gold answer's content words (stemmed, without stop words and the question's own words)
it is counted whether all, and whether at least half, stand in a text: the statements of the
evidence's leaf, of the nodes above it, or one of two cheap stand-ins of the leaf.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.samples import Question
from benchmarks.wording import content_stems, sentences
from treemem import Memory, Message, Node, Scope, Statement
from treemem.text.tokens import count_many, count_tokens

ADVERSARIAL = "adversarial"  # these ask for what was never said
ROUNDS = 3
LEAF, PATH, LEAD = "the leaf", "the path, leaf to root", "lead sentences, as long as the leaf's"
MELTED = f"summarized {ROUNDS} times (the picker on its own output)"
CUT = "the leaf, cut to the length of that"
ROOT = "the root"


@dataclass(frozen=True, slots=True)
class Found:
    """A text that may hold answers. pieces: token counts by what they are of, so that what
    several texts share counts once."""

    stems: frozenset[str]
    pieces: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Trips:
    """How many questions a kind of text answers. tokens: of all texts that were looked at."""

    questions: int = 0
    whole: int = 0
    half: int = 0
    tokens: int = 0

    def add(self, other: Trips) -> None:
        for name in ("questions", "whole", "half", "tokens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


Table = dict[str, Trips]


def round_trips(memory: Memory, source: str, questions: Sequence[Question]) -> Table:
    """For each kind of text, how many of the questions with evidence in it it answers."""
    nodes = {node.id: node for node in memory.tree(Scope.source(source)).nodes()}
    root_id = memory.tree(Scope.source(source), cite=False).root_id
    texts = _texts(memory, nodes, root_id)
    leaves_of: dict[str, set[str]] = {}
    for node_id, node in nodes.items():
        if node.is_leaf:
            for message in memory.expand(node_id):
                assert isinstance(message, Message)
                leaves_of.setdefault(message.external_id or "", set()).add(node_id)
    table: Table = {}
    for question in questions:
        wanted = content_stems(question.answer) - content_stems(question.text)
        leaf_ids = {leaf for each in question.evidence for leaf in leaves_of.get(each, ())}
        if wanted and leaf_ids and question.category != ADVERSARIAL:
            _ask(table, texts, wanted, leaf_ids)
    return table


def _ask(
    table: Table, texts: dict[str, dict[str, Found]], wanted: set[str], leaf_ids: set[str]
) -> None:
    for kind, by_leaf in texts.items():
        found = [by_leaf[leaf_id] for leaf_id in sorted(leaf_ids) if leaf_id in by_leaf]
        if not found:
            continue
        shared = len(wanted & frozenset().union(*(each.stems for each in found)))
        row = table.setdefault(kind, Trips())
        row.questions += 1
        row.whole += shared == len(wanted)
        row.half += 2 * shared >= len(wanted)
        row.tokens += sum(dict(piece for each in found for piece in each.pieces).values())


# -- the texts -------------------------------------------------------------------------


def _texts(
    memory: Memory, nodes: dict[str, Node], root_id: str | None
) -> dict[str, dict[str, Found]]:
    """Every kind of text, by the leaf for which it stands."""
    parents = {child: node for node in nodes.values() for child in node.child_ids}
    leaves = [node for node in nodes.values() if node.is_leaf]
    texts: dict[str, dict[str, Found]] = {LEAF: {}}
    for leaf in leaves:
        path = [leaf]
        while path[-1].id in parents:
            path.append(parents[path[-1].id])
        for node in path:
            is_root = node.id == root_id and len(path) > 1
            kind = LEAF if node is leaf else ROOT if is_root else f"level {node.level}"
            texts.setdefault(kind, {})[leaf.id] = _of(node.statements)
        every = {statement.id: statement for node in path for statement in node.statements}
        texts.setdefault(PATH, {})[leaf.id] = _of(every.values())
    texts[LEAD] = {leaf.id: _lead(memory, leaf) for leaf in leaves}
    texts[MELTED] = _melted(leaves)
    texts[CUT] = {leaf.id: _cut(leaf, texts[MELTED][leaf.id]) for leaf in leaves}
    return texts


def _of(statements: Iterable[Statement]) -> Found:
    listed = list(statements)
    counts = count_many([statement.text for statement in listed])
    stems = [content_stems(statement.text) for statement in listed]
    pieces = [(str(each.id), count) for each, count in zip(listed, counts, strict=True)]
    return Found(frozenset().union(*stems), tuple(pieces))


def _lead(memory: Memory, leaf: Node) -> Found:
    """The leaf's first sentences, as many tokens as its statements have."""
    room = sum(count for _, count in _of(leaf.statements).pieces)
    chosen: list[str] = []
    used = 0
    for message in memory.expand(leaf.id):
        assert isinstance(message, Message)
        for sentence in sentences(message.text):
            tokens = count_tokens(sentence)
            if used + tokens > room:
                return _plain(leaf, chosen, used)
            chosen.append(sentence)
            used += tokens
    return _plain(leaf, chosen, used)


def _plain(leaf: Node, texts: Sequence[str], tokens: int) -> Found:
    return Found(frozenset(content_stems("\n".join(texts))), ((leaf.id, tokens),))


def _cut(leaf: Node, like: Found) -> Found:
    """The leaf's most important statements, at most as many tokens as another text."""
    room = sum(count for _, count in like.pieces)
    chosen = []
    for statement in sorted(leaf.statements, key=lambda each: -each.importance):
        tokens = count_tokens(statement.text)
        if tokens <= room:
            chosen.append(statement)
            room -= tokens
    return _of(chosen)


def _melted(leaves: Sequence[Node]) -> dict[str, Found]:
    """What is left of the leaves' statements when they are summarized again and again: they
    are stored as messages, and the picker's choice of them is what goes into the next round."""
    said = {leaf.id: list(leaf.statements) for leaf in leaves}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="treemem-bench-") as place:
            said = _again(Path(place) / "again.sqlite3", said)
    return {leaf_id: _of(statements) for leaf_id, statements in said.items()}


def _again(path: Path, said: dict[str, list[Statement]]) -> dict[str, list[Statement]]:
    with Memory.open(path) as memory:
        for leaf_id, statements in said.items():
            messages = [Message(author=s.speaker, text=s.text) for s in statements]
            memory.append(leaf_id, messages)
        memory.work(max_calls=0)
        return {
            leaf_id: list(memory.tree(Scope.source(leaf_id)).statements) if statements else []
            for leaf_id, statements in said.items()
        }


def add_up(total: Table, table: Table) -> None:
    """Adds one conversation's table to a data set's."""
    for kind, trips in table.items():
        total.setdefault(kind, Trips()).add(trips)


def in_order(table: Table) -> Iterator[tuple[str, Trips]]:
    """The kinds of text from the leaf up, then what stands beside them."""
    levels = sorted(kind for kind in table if kind.startswith("level "))
    for kind in (LEAF, *levels, ROOT, PATH, LEAD, MELTED, CUT):
        if kind in table:
            yield kind, table[kind]
