"""What producers' statements are worth: offered and kept, borne out or not, how long.

For each level and each producer of a source's tree. Statements are counted where they were
made; what is carried up is not counted again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from benchmarks.checker import Cited, Find, unsupported, wrong_speaker
from treemem import Memory, Node, Scope, Statement, Summary

RATIO_MAX = 1 / 3
SCRAP_TOKENS = 64
EXTRACTIVE = "extractive"


@dataclass(slots=True)
class Figures:
    """One producer's statements on one level of one set.

    usable: nodes whose summary holds anything. offered: statements, before the checks; for
    extractive ones, sentences to choose from. written: statements that were made here and
    kept. ratios: each summary's tokens by
    those of its leaf, or of its children's summaries together. over: summaries that are longer
    than they may be. finds: what is not borne out.
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
    finds: list[dict[str, Any]] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Finds of a kind; "unsupported" means all that are not about the speaker."""
        is_speaker = [found["kind"] == "speaker" for found in self.finds]
        return sum(is_speaker) if kind == "speaker" else len(is_speaker) - sum(is_speaker)

    def told(self) -> dict[str, Any]:
        """All of it, as values that JSON knows."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return told | {"rejected": dict(self.rejected)}


def figures(memory: Memory, source: str, dataset: str, *, models: bool) -> list[Figures]:
    """The figures of a source, the leaves' first.

    models: of the models' views, else of those made without one.
    """
    tree = memory.tree(Scope.source(source), cite=False)
    speakers = {message.speaker for message in memory.messages(source)}
    nodes = sorted(tree.nodes(), key=lambda node: node.level)
    shown: dict[tuple[str, str], int] = {}
    rows: dict[tuple[int, str], Figures] = {}
    seen: set[int] = set()
    for each in nodes:
        node = memory.node(each.id)
        is_root = node.id == tree.root_id and node.level > 0
        level = "root" if is_root else "leaf" if node.is_leaf else f"level {node.level}"
        for summary in node.summaries:
            shown[(node.id, summary.producer)] = summary.tokens
            if summary.producer.startswith(EXTRACTIVE) == models:
                continue
            key = (100 if is_root else node.level, summary.producer)
            row = rows.setdefault(key, Figures(dataset, level, summary.producer))
            _add(row, memory, node, summary, speakers, seen)
            if (ratio := _ratio(node, summary, shown)) is not None:
                row.ratios.append(ratio)
                row.over += ratio > _allowed(node)
    return [rows[key] for key in sorted(rows)]


def _add(
    row: Figures, memory: Memory, node: Node, summary: Summary, speakers: set[str], seen: set[int]
) -> None:
    """Adds one summary, each statement checked once, where it was made."""
    row.nodes += 1
    row.usable += summary.kept > 0
    row.offered += summary.offered
    row.rejected.update(rejection.reason for rejection in summary.rejections)
    for statement in memory.node(node.id, producer=summary.producer).statements:
        if statement.producer == summary.producer and statement.id not in seen:
            seen.add(statement.id)
            row.written += 1
            row.finds += [_told(found, statement) for found in check(statement, speakers)]


def check(statement: Statement, speakers: set[str]) -> list[Find]:
    """What a statement says and its messages do not say.

    What was picked out has to stand in a message in the same words. What a model wrote is read
    by the independent checker. Either is said by whom it is credited to.
    """
    cited = [Cited(message.speaker, message.text, message.role) for message in statement.messages]
    names = {name for each in cited for name in (each.speaker, each.role)} | {"tool"}
    names |= {part.name for message in statement.messages for part in message.parts if part.name}
    found = []
    if statement.speaker is not None and statement.speaker not in names:
        found.append(Find("speaker", f"{statement.speaker}, who did not say it"))
    if statement.producer.startswith(EXTRACTIVE):
        said = _flat(statement.text)
        if not any(said in _flat(each.text) for each in cited):
            found.append(Find("quotation", "the whole sentence"))
        return found
    found += unsupported(statement.text, cited, speakers)
    return found + wrong_speaker(statement.text, cited, speakers)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _told(found: Find, statement: Statement) -> dict[str, Any]:
    cited = [f"{message.speaker}: {message.text[:300]}" for message in statement.messages]
    return asdict(found) | {"statement": statement.text, "cited": cited}


def _allowed(node: Node) -> float:
    """The longest that a summary may be: a third of a leaf, or 64 tokens of a scrap; of a
    parent's children all that they say."""
    return max(RATIO_MAX, SCRAP_TOKENS / max(1, node.tokens)) if node.is_leaf else 1.0


def _ratio(node: Node, summary: Summary, shown: dict[tuple[str, str], int]) -> float | None:
    """How long a summary is for what it covers; None where it is empty or covers nothing.

    A child whose view by this producer is missing or empty counts with its extractive one.
    """
    below = node.tokens
    if not node.is_leaf:
        below = sum(_child_tokens(child, summary.producer, shown) for child in node.child_ids)
    return summary.tokens / below if below and summary.tokens else None


def _child_tokens(child: str, producer: str, shown: dict[tuple[str, str], int]) -> int:
    others = [tokens for (node_id, name), tokens in shown.items()
              if node_id == child and name.startswith(EXTRACTIVE)]  # fmt: skip
    return shown.get((child, producer)) or max(others, default=0)
