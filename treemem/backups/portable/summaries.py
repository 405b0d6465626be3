"""Writes what models wrote about nodes, and takes it in again after the checks of new answers.

A statement is graded again on the messages that it cites. What the guards refuse is refused here,
too; of one that a checker had to accept, the guards are run again and the score is taken from the
line, since the model that gave it is not asked.

Tested in tests/backups/portable/test_summaries.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from treemem.origins.spans import origin_of_span, weakest
from treemem.proposals import ChildStatement, Draft, Excerpt, View
from treemem.store import json_text, messages, summaries
from treemem.store.database import Database, json_list
from treemem.summarize import extractive, prompts
from treemem.summarize.answers import PROVEN
from treemem.summarize.base import BINDING
from treemem.tree import builder
from treemem.types import Message, Rejection
from treemem.verify import grading

# The view of the extractive summarizer has rank 0, and is made again without a model.
_MADE_BY_MODELS = """
SELECT s.seq, n.id, p.name, p.rank, s.made_at_ms, s.offered, s.usable, s.tokens_in, s.tokens_out,
  s.seconds, s.rejections
FROM summary s JOIN producer p ON p.seq = s.producer_seq JOIN node n ON n.seq = s.node_seq
WHERE p.rank > 0 ORDER BY n.level, s.seq
"""
_OWN = """
SELECT seq, kind, text, speaker, importance, settles, kept_back, grade, score, checker
FROM stated WHERE summary_seq = ? ORDER BY seq
"""
_CITED = """
SELECT m.id FROM citation c JOIN message m ON m.seq = c.message_seq
WHERE c.statement_seq = ? ORDER BY c.ordinal
"""
_SHOWN = """
SELECT ss.statement_seq, st.text, n.id, p.name FROM summary_statement ss
JOIN stated st ON st.seq = ss.statement_seq JOIN summary s ON s.seq = st.summary_seq
JOIN node n ON n.seq = s.node_seq JOIN producer p ON p.seq = s.producer_seq
WHERE ss.summary_seq = ? ORDER BY ss.ordinal
"""
_REPEATED = """
SELECT st.seq, st.kind, st.text, st.speaker, st.importance, st.tokens, st.origin, st.grade
FROM stated st JOIN summary s ON s.seq = st.summary_seq JOIN producer p ON p.seq = s.producer_seq
WHERE s.node_seq = ? AND p.name = ? AND st.text = ? AND st.kept_back = 0 ORDER BY st.seq LIMIT 1
"""
_BELOW = """
SELECT DISTINCT message_seq FROM leaf_span WHERE node_seq IN (SELECT value FROM json_each(?))
"""
_IS_PICKED = """
SELECT 1 FROM statement st JOIN summary s ON s.seq = st.summary_seq
JOIN producer p ON p.seq = s.producer_seq JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq WHERE p.rank = 0 AND st.kind = ? AND m.id = ?
"""


def lines(database: Database, nodes: Set[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yields a line for each view of a model, those of leaves first. nodes: only of nodes with
    these ids; None for all."""
    for seq, node, producer, rank, made_at_ms, offered, usable, *spent, refused in database.rows(
        _MADE_BY_MODELS
    ):
        if nodes is not None and node not in nodes:
            continue
        own = {row[0]: row for row in database.rows(_OWN, (seq,))}
        number = {statement: index for index, statement in enumerate(own)}
        yield {
            "type": "summary", "node": node, "producer": producer, "rank": rank,
            "made_at_ms": made_at_ms, "offered": offered, "usable": usable,
            "tokens_in": spent[0], "tokens_out": spent[1], "seconds": spent[2],
            "statements": [
                {"kind": kind, "text": text, "speaker": speaker, "importance": importance,
                 "settles": settles, "kept_back": kept_back, "grade": grade, "score": score,
                 "checker": checker,
                 "messages": [one for (one,) in database.rows(_CITED, (statement,))]}
                for statement, kind, text, speaker, importance, settles, kept_back, grade, score,
                checker in own.values()
            ],
            # Of the statements above by number, or of another node.
            "shown": [
                number.get(statement, {"node": of_node, "producer": of_producer, "text": text})
                for statement, text, of_node, of_producer in database.rows(_SHOWN, (seq,))
            ],
            "refused": json_text.list_of(refused),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Score:
    """Gives the score that a checker has given."""

    name: str
    given: float
    threshold: float = 0.0

    def score(self, lines: Sequence[str], note: str) -> float:  # noqa: ARG002
        """The score of the line."""
        return self.given


def put(database: Database, line: dict[str, Any]) -> tuple[int, int]:
    """Stores a model's view of a node, in the caller's transaction, unless there is one. Returns
    how many of its statements passed, and how many were refused. Raises KeyError for a field that
    is missing."""
    node_seq = database.value("SELECT seq FROM node WHERE id = ?", (line["node"],))
    if node_seq is None or int(line["rank"]) < 1:
        return 0, len(line["statements"])
    producer = summaries.ensure_producer(database, str(line["producer"]), int(line["rank"]))
    if summaries.summary_by(database, node_seq, producer) is not None:
        return 0, 0
    below = _messages_below(database, node_seq)
    outcomes = [_draft(database, statement, below) for statement in line["statements"]]
    shown: list[Draft | ChildStatement] = []
    for one in line["shown"]:
        item = outcomes[one] if isinstance(one, int) else _repeated(database, one)
        if isinstance(item, Draft) and item.grade == "unproven":
            continue
        if isinstance(item, Draft | ChildStatement):
            shown.append(item)
    drafts = [one for one in outcomes if isinstance(one, Draft)]
    refused = [one for one in outcomes if isinstance(one, Rejection)]
    known = tuple(Rejection(**one) for one in line["refused"])
    view = View(
        shown, int(line["offered"]), (*known, *refused), usable=bool(line["usable"] and shown),
        tokens_in=int(line["tokens_in"]), tokens_out=int(line["tokens_out"]),
        seconds=float(line["seconds"]),
        kept_back=[draft for draft in drafts if not any(draft is item for item in shown)],
    )  # fmt: skip
    summaries.put(database, node_seq, producer, view, int(line["made_at_ms"]))
    return len(drafts), len(refused)


def _messages_below(database: Database, node_seq: int) -> dict[str, Message]:
    leaves = builder.leaves_below(database, node_seq)
    seqs = [seq for (seq,) in database.rows(_BELOW, (json_list(leaves),))]
    return {message.id or "": message for message in messages.by_seq(database, seqs).values()}


def _draft(
    database: Database, line: dict[str, Any], below: dict[str, Message]
) -> Draft | Rejection:
    """The statement of a line as if a model had just written it, or why it is refused."""
    text, kind = str(line["text"]), line["kind"]
    cited = [below[one] for one in line["messages"] if one in below]
    excerpts = [Excerpt(message, 0, len(message.text)) for message in cited]
    score = line["score"]
    checker = None if score is None else _Score(str(line["checker"]), float(score))
    if line["grade"] != "entailed":
        checker = None
    graded = grading.grade(text, excerpts, checker=checker, prompt=prompts.INSTRUCTIONS)
    if graded.grade is None or not graded.evidence:
        reason = graded.reason or "cites no message that supports it"
        return Rejection(kind, text, reason)
    ids = tuple(dict.fromkeys(excerpt.message.id or "" for excerpt in graded.evidence))
    origin = weakest(origin_of_span(one.message, one.start, one.end) for one in graded.evidence)
    is_unworded = not grading.may_be_entailed(kind) and graded.grade not in PROVEN
    is_unpicked = kind in BINDING and not any(database.row(_IS_PICKED, (kind, one)) for one in ids)
    if is_unworded or is_unpicked or kind in extractive.KINDS_BARRED.get(origin, ()):
        kind = "fact"
    return Draft(
        kind, text, line["speaker"] or None, ids, float(line["importance"]),
        settles=bool(line["settles"]), origin=origin, grade=graded.grade, score=graded.score,
        checker=graded.checker,
    )  # fmt: skip


def _repeated(database: Database, line: dict[str, Any]) -> ChildStatement | None:
    """A statement of another node that a view repeats; None if it is not there."""
    node_seq = database.value("SELECT seq FROM node WHERE id = ?", (line["node"],))
    row = database.row(_REPEATED, (node_seq, line["producer"], line["text"]))
    if row is None:
        return None
    seq, kind, text, speaker, importance, tokens, origin, grade = row
    return ChildStatement(seq, kind, text, speaker, importance, (), tokens,
                          origin or summaries.UNKNOWN, grade)  # fmt: skip
