"""Counts what producers' statements are worth: offered, stored, unsupported, and how long.

The figures are by level and producer of a source's tree. A statement counts where it was made, not
again where a parent carries it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.trust.checker import Cited, Finding, unsupported, wrong_speaker
from benchmarks.trust.picking import picked
from treemem import Memory, Node, Scope, Statement, Summary

# A leaf's summary may have this share of its tokens and at most so many, or a few for a short open
# tail; a group's may have so many, and no more than its children's together.
RATIO_MAX = 0.15
LEAF_TOKENS_MAX, GROUP_TOKENS_MAX = 400, 500
SCRAP_TOKENS = 64
EXTRACTIVE = "extractive"
# The id of entries in the place of statements.
NOT_SHOWN = -1


@dataclass(slots=True)
class Figures:
    """One producer's statements on one level of one set.

    usable: nodes with a summary that is not empty. offered: statements before the checks; for the
    extractive producer, sentences to choose from. written: statements made here, shown or in the
    ledger. ratios: a summary's tokens by those of its leaf, or of its children's summaries
    together. over: summaries that are too long. unproven: statements that are shown although no
    check proves them. findings: unsupported items.
    """

    dataset: str
    level: str
    producer: str
    nodes: int = 0
    usable: int = 0
    offered: int = 0
    written: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    over: int = 0
    unproven: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def wrong_speakers(self) -> int:
        return sum(finding["kind"] == "speaker" for finding in self.findings)

    @property
    def unsupported(self) -> int:
        return len(self.findings) - self.wrong_speakers


def figures(memory: Memory, source: str, dataset: str, *, models: bool) -> list[Figures]:
    """The figures of a source, the leaves' first.

    models: of the views that models made, else of those made without one.
    """
    tree = memory.tree(Scope.source(source), cite=False)
    speakers = {message.speaker for message in memory.messages(source)}
    tokens: dict[tuple[str, str], int] = {}
    rows: dict[tuple[int, str], Figures] = {}
    seen: set[int | str] = set()
    for node_id in (node.id for node in sorted(tree.nodes(), key=lambda node: node.level)):
        node = memory.node(node_id)
        is_root = node.id == tree.root_id and node.level > 0
        level = "root" if is_root else "leaf" if node.is_leaf else f"level {node.level}"
        for summary in node.summaries:
            tokens[(node.id, summary.producer)] = summary.tokens
            if summary.producer.startswith(EXTRACTIVE) == models:
                continue
            key = (100 if is_root else node.level, summary.producer)
            row = rows.setdefault(key, Figures(dataset, level, summary.producer))
            _add(row, memory, node, summary, speakers, seen)
            if (ratio := _ratio(node, summary, tokens)) is not None:
                row.ratios.append(ratio)
                row.over += _is_over(node, summary, ratio)
    return [rows[key] for key in sorted(rows)]


def _add(
    row: Figures,
    memory: Memory,
    node: Node,
    summary: Summary,
    speakers: set[str],
    seen: set[int | str],
) -> None:
    row.nodes += 1
    row.usable += summary.kept > 0
    row.offered += summary.offered
    row.rejected.update(rejection.reason for rejection in summary.rejections)
    shown = memory.node(node.id, producer=summary.producer).statements
    row.unproven += sum(statement.grade == "unproven" for statement in shown)
    found: dict[int | str, Statement] = {
        statement.id: statement for statement in shown if statement.producer == summary.producer
    }
    if node.is_leaf and summary.producer.startswith(EXTRACTIVE):
        found |= _of_ledger(memory, node, summary.producer)
    for key, statement in found.items():
        if key not in seen:
            seen.add(key)
            row.written += statement.id == NOT_SHOWN or statement.entry_id is None
            cited = [f"{message.speaker}: {message.text[:300]}" for message in statement.messages]
            row.findings += [
                asdict(finding) | {"statement": statement.text, "cited": cited}
                for finding in check(statement, speakers)
            ]


def _of_ledger(memory: Memory, node: Node, producer: str) -> dict[int | str, Statement]:
    """The entries of a leaf as statements that cite its messages."""
    return {
        entry.id: Statement(
            NOT_SHOWN, "fact", entry.text, producer, entry.speaker, entry.messages,
            entry_id=entry.id,
        )
        for entry in picked(memory, node.id)
    }  # fmt: skip


def check(statement: Statement, speakers: set[str]) -> list[Finding]:
    """Items of a statement that its messages do not support.

    An extracted statement has to appear in a message word for word; one that a model wrote is read
    by the independent checker. Either has to have a speaker of the cited messages.
    """
    cited = [Cited(message.speaker, message.text, message.role) for message in statement.messages]
    names = {name for message in cited for name in (message.speaker, message.role)} | {"tool"}
    names |= {part.name for message in statement.messages for part in message.parts if part.name}
    findings = []
    if statement.speaker is not None and statement.speaker not in names:
        findings.append(Finding("speaker", f"{statement.speaker}, who did not say it"))
    if statement.producer.startswith(EXTRACTIVE):
        text = _flat(statement.text)
        if not any(text in _flat(message.text) for message in cited):
            findings.append(Finding("quotation", "the whole sentence"))
        return findings
    findings += unsupported(statement.text, cited, speakers)
    return findings + wrong_speaker(statement.text, cited, speakers)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _is_over(node: Node, summary: Summary, ratio: float) -> bool:
    if node.is_leaf:
        room = min(LEAF_TOKENS_MAX, RATIO_MAX * node.tokens)
        return summary.tokens > max(SCRAP_TOKENS, room)
    return summary.tokens > GROUP_TOKENS_MAX or ratio > 1


def _ratio(node: Node, summary: Summary, tokens: dict[tuple[str, str], int]) -> float | None:
    """A summary's tokens by those below it; None where either is empty.

    A child without a view by this producer counts with its extractive one.
    """
    below = node.tokens
    if not node.is_leaf:
        below = sum(_child_tokens(child, summary.producer, tokens) for child in node.child_ids)
    return summary.tokens / below if below and summary.tokens else None


def _child_tokens(child: str, producer: str, tokens: dict[tuple[str, str], int]) -> int:
    extractive = [count for (node_id, name), count in tokens.items()
                  if node_id == child and name.startswith(EXTRACTIVE)]  # fmt: skip
    return tokens.get((child, producer)) or max(extractive, default=0)
