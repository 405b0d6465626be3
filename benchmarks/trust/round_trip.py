"""Measures whether the answer to a question is still in what is kept of its evidence.

Counts whether all, and whether at least half, of the gold answer's content words (stemmed, without
stop words and the question's own words) appear in a text: what the ledger holds of the evidence's
leaf, the same with what is shown on the path to the root, what is shown alone, or two cheap
substitutes for the leaf.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data.samples import Question
from benchmarks.retrieval.measures import ADVERSARIAL
from benchmarks.trust.picking import picked
from benchmarks.trust.statements import SCRAP_TOKENS
from benchmarks.wording import content_stems, sentences
from treemem import Memory, Message, Node, Scope
from treemem.text.tokens import count_many, count_tokens
from treemem.types import ENTRY_STATES

ROUNDS = 3
# What the ledger holds of a leaf counts up to this share of its tokens, the most salient first.
LEDGER_SHARE = 1 / 3
LEAF, PATH = "the ledger of the leaf", "the ledger of the leaf, and the path to the root"
SHOWN_LEAF, SHOWN_PATH = "shown: the leaf", "shown: the path, leaf to root"
LEAD = "lead sentences, as long as the leaf's ledger"
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
    texts: dict[str, dict[str, Text]] = {kind: {} for kind in (LEAF, PATH, SHOWN_LEAF, SHOWN_PATH)}
    for leaf in leaves:
        path = [leaf]
        while path[-1].id in parents:
            path.append(parents[path[-1].id])
        shown = {str(row.id): row.text for node in path for row in node.statements}
        above = {str(row.id): row.text for node in path[1:] for row in node.statements}
        ledger = _ledger(memory, leaf)
        texts[LEAF][leaf.id] = _text(ledger)
        texts[PATH][leaf.id] = _text(ledger | above)
        texts[SHOWN_LEAF][leaf.id] = _text({str(row.id): row.text for row in leaf.statements})
        texts[SHOWN_PATH][leaf.id] = _text(shown)
    room = {leaf.id: sum(texts[LEAF][leaf.id].tokens.values()) for leaf in leaves}
    lead = {leaf.id: _lead(memory, leaf, room[leaf.id]) for leaf in leaves}
    return {**texts, LEAD: lead, MELTED: _melted(memory, leaves)}


def _ledger(memory: Memory, leaf: Node) -> dict[str, str]:
    """What the ledger holds of a leaf, by entry, while there is room."""
    entries = picked(memory, leaf.id)
    room = max(SCRAP_TOKENS, LEDGER_SHARE * leaf.tokens)
    chosen: dict[str, str] = {}
    for entry, tokens in zip(entries, count_many([row.text for row in entries]), strict=True):
        if tokens <= room:
            chosen[entry.id] = entry.text
            room -= tokens
    return chosen


def _text(texts: dict[str, str]) -> Text:
    """texts: by piece."""
    counts = count_many(list(texts.values()))
    stems = frozenset().union(*map(content_stems, texts.values()))
    return Text(stems, dict(zip(texts, counts, strict=True)))


def _lead(memory: Memory, leaf: Node, room: int) -> Text:
    """The leaf's first sentences, with at most this many tokens."""
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


def _melted(memory: Memory, leaves: Sequence[Node]) -> dict[str, Text]:
    """Extracts entries from the leaves' entries again and again, stored as messages."""
    said = {
        leaf.id: [(entry.speaker, entry.text) for entry in picked(memory, leaf.id)]
        for leaf in leaves
    }
    for _ in range(ROUNDS):
        with (
            tempfile.TemporaryDirectory(prefix="treemem-bench-") as folder,
            Memory.open(Path(folder) / "again.sqlite3") as again,
        ):
            for leaf_id, rows in said.items():
                again.append(leaf_id, [Message(author=who, text=text) for who, text in rows])
            again.work(max_calls=0)
            said = {leaf_id: _kept(again, leaf_id) for leaf_id, rows in said.items() if rows}
    return {
        leaf.id: _text({str(at): text for at, (_, text) in enumerate(said.get(leaf.id, ()))})
        for leaf in leaves
    }


def _kept(memory: Memory, source: str) -> list[tuple[str | None, str]]:
    entries = memory.ledger(Scope.source(source), states=ENTRY_STATES, order="time")
    return [(entry.speaker, entry.text) for entry in entries]
