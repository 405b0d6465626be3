"""Stores summaries with their statements and citations.

A summary is keyed by node and producer, so a better model adds one and overwrites none. A
statement is stored once, for the node it was written for; summaries above refer to it. Its words
are a stretch of a message that it cites if that has them; the view stated reads them there.

Tested in tests/worker/test_summary_jobs.py and tests/store/test_summaries.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

import orjson

from treemem import times
from treemem.origins.spans import origin_of_words
from treemem.proposals import Child, ChildStatement, Draft, Excerpt, View
from treemem.store import json_text, long_messages, messages
from treemem.store.database import Database, Row, json_list
from treemem.store.schema.additions import QUOTABLE
from treemem.text.tokens import count_many
from treemem.types import Later, Message, Origin, Rejection, Statement, Summary

Item = TypeVar("Item", Draft, ChildStatement, Draft | ChildStatement)

# Rejections that are stored with a summary, at most.
REJECTIONS_MAX = 50
REJECTION_CHARS_MAX = 400

# The origin of a statement that was stored before origins were: it binds nobody.
UNKNOWN: Origin = "pasted"

_PRODUCER = """
INSERT INTO producer (name, rank) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET rank = excluded.rank RETURNING seq
"""


def ensure_producer(database: Database, name: str, rank: int) -> int:
    """Returns the seq of a producer, and stores it if it is missing."""
    return int(database.value(_PRODUCER, (name, rank)))


# -- the input of a summarizer ---------------------------------------------------------

_SPANS = """
SELECT message_seq, start, "end", tokens FROM leaf_span WHERE node_seq = ? ORDER BY ordinal
"""
# A tail counts as open only below its own source's root; trees above the sources treat it like any
# other leaf.
_CHILDREN = """
SELECT nc.child_seq, EXISTS (
  SELECT 1 FROM tree t WHERE t.root_seq = nc.node_seq AND t.tail_seq = nc.child_seq)
FROM node_child nc WHERE nc.node_seq = ? ORDER BY nc.ordinal
"""
_CHILD_STATEMENTS = """
SELECT st.seq, st.kind, st.text, st.speaker, st.importance, st.tokens, st.origin, st.grade
FROM summary_statement ss JOIN stated st ON st.seq = ss.statement_seq
WHERE ss.summary_seq = ? ORDER BY ss.ordinal
"""
_SPARE = """
SELECT st.seq, st.kind, st.text, st.speaker, st.importance, st.tokens, st.origin, min(m.id),
  st.grade
FROM stated st JOIN citation c ON c.statement_seq = st.seq
JOIN message m ON m.seq = c.message_seq
WHERE st.summary_seq = ? AND st.kept_back = 1
GROUP BY st.seq ORDER BY st.importance DESC, st.seq
"""
_CHILD_STATEMENT_CITATIONS = """
SELECT c.statement_seq, m.id FROM summary_statement ss
JOIN citation c ON c.statement_seq = ss.statement_seq
JOIN message m ON m.seq = c.message_seq
WHERE ss.summary_seq = ? ORDER BY c.statement_seq, c.ordinal
"""


def excerpts(database: Database, leaf_seq: int) -> list[Excerpt]:
    """The messages of a leaf in order, or the parts of them that it contains. A long message has
    only the parts that overlap its stretch."""
    spans = database.rows(_SPANS, (leaf_seq,))
    missing = {seq for seq, start, end, _ in spans
               if long_messages.kept(database, seq, start, end) is None}  # fmt: skip
    read = messages.by_seq(database, missing) if missing else {}
    for seq, message in read.items():
        long_messages.keep(database, seq, message)
    return [
        Excerpt(long_messages.kept(database, seq, start, end) or read[seq], start, end, tokens)
        for seq, start, end, tokens in spans
    ]


def child_seqs(database: Database, node_seq: int) -> list[int]:
    """The children of a group, in order; empty for a leaf."""
    return [row[0] for row in database.rows(_CHILDREN, (node_seq,))]


def child_statements(database: Database, summary_seq: int) -> list[ChildStatement]:
    """The statements of a summary, as input for a parent's summary."""
    cited: dict[int, list[str]] = {}
    for statement_seq, message_id in database.rows(_CHILD_STATEMENT_CITATIONS, (summary_seq,)):
        cited.setdefault(statement_seq, []).append(message_id)
    rows = database.rows(_CHILD_STATEMENTS, (summary_seq,))
    return [
        ChildStatement(
            seq, kind, text, speaker, importance, tuple(cited.get(seq, ())), tokens,
            origin or UNKNOWN, grade,
        )
        for seq, kind, text, speaker, importance, tokens, origin, grade in rows
    ]  # fmt: skip


def spare(database: Database, summary_seq: int) -> list[ChildStatement]:
    """The statements that did not fit into a summary, the most important first."""
    return [
        ChildStatement(
            seq, kind, text, speaker, importance, (message_id,), tokens,
            origin=origin or UNKNOWN, grade=grade,
        )
        for seq, kind, text, speaker, importance, tokens, origin, message_id, grade in (
            database.rows(_SPARE, (summary_seq,))
        )
    ]  # fmt: skip


def children(database: Database, node_seq: int, *, producer_seq: int | None = None) -> list[Child]:
    """The children of a group, as input for its summary. producer_seq: whose views to use; None
    for the shown ones."""
    group = []
    for child_seq, is_open in database.rows(_CHILDREN, (node_seq,)):
        if producer_seq is None:
            summary_seq = shown_summary(database, child_seq)
        else:
            summary_seq = summary_by(database, child_seq, producer_seq)
            assert summary_seq is not None, "children are summarized before their parents"
        statements = [] if summary_seq is None else child_statements(database, summary_seq)
        group.append(Child(statements, bool(is_open)))
    return group


# -- finding a view --------------------------------------------------------------------

_SHOWN = """
SELECT s.seq FROM summary s JOIN producer p ON p.seq = s.producer_seq
WHERE s.node_seq = ? AND s.usable = 1 ORDER BY p.rank DESC, s.seq DESC LIMIT 1
"""
_BY_PRODUCER = "SELECT seq FROM summary WHERE node_seq = ? AND producer_seq = ?"


def shown_summary(database: Database, node_seq: int) -> int | None:
    """The seq of a node's usable view with the highest rank; None if there is none."""
    seq: int | None = database.value(_SHOWN, (node_seq,))
    return seq


def summary_by(database: Database, node_seq: int, producer_seq: int) -> int | None:
    """The seq of a producer's view of a node, usable or not; None if there is none."""
    seq: int | None = database.value(_BY_PRODUCER, (node_seq, producer_seq))
    return seq


# -- writing ---------------------------------------------------------------------------

_SUMMARY_INSERT = """
INSERT INTO summary (node_seq, producer_seq, made_at_ms, offered, kept, usable, tokens,
  tokens_in, tokens_out, seconds, rejections)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Rank 0 is the extractive summarizer: the view of its new version replaces that of an earlier one,
# whose statements would be found twice.
_RETIRE = """
UPDATE summary SET usable = 0 WHERE node_seq = :node AND seq <> :summary
AND producer_seq IN (SELECT seq FROM producer WHERE rank = 0)
AND (SELECT p.rank FROM summary s JOIN producer p ON p.seq = s.producer_seq
     WHERE s.seq = :summary) = 0
"""
_DETACH = """
UPDATE statement SET entry_seq = NULL WHERE entry_seq IS NOT NULL AND summary_seq IN (
  SELECT seq FROM summary WHERE node_seq = ? AND usable = 0)
"""
_STATEMENT_INSERT = """
INSERT INTO statement (seq, summary_seq, kind, written, speaker, importance, tokens, settles,
  kept_back, origin, grade, score, checker, entry_seq)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEXT_STATEMENT = """
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'statement'), 0) + 1
"""
# The messages that statements cite; "" for the text of one in which no statement is a stretch.
_CITED = f"""
SELECT m.id, m.seq, iif({QUOTABLE}, m.text, '') FROM json_each(?) j JOIN message m ON m.id = j.value
"""  # noqa: S608
_SHOW_INSERT = """
INSERT INTO summary_statement (summary_seq, ordinal, statement_seq) VALUES (?, ?, ?)
"""
_CITE_INSERT = """
INSERT INTO citation (statement_seq, ordinal, message_seq, start, chars) VALUES (?, ?, ?, ?, ?)
"""


def put(
    database: Database,
    node_seq: int,
    producer_seq: int,
    view: View,
    now_ms: int,
    entry_seqs: Sequence[int] = (),
) -> None:
    """Stores a producer's view of a node unless it has one, in the caller's transaction.
    entry_seqs: the entries of its new statements; without them they have none."""
    if summary_by(database, node_seq, producer_seq) is not None:
        return
    rejections = [
        {"kind": item.kind, "text": item.text[:REJECTION_CHARS_MAX], "reason": item.reason}
        for item in view.rejections[:REJECTIONS_MAX]
    ]
    items = _counted(view.items)
    tokens = sum(item.tokens for item in items)
    summary_seq = database.insert(
        _SUMMARY_INSERT,
        (node_seq, producer_seq, now_ms, view.offered, len(items), int(view.usable), tokens,
         view.tokens_in, view.tokens_out, view.seconds, orjson.dumps(rejections).decode()),
    )  # fmt: skip
    if database.changed(_RETIRE, {"summary": summary_seq, "node": node_seq}):
        database.execute(_DETACH, (node_seq,))
    _put_statements(database, summary_seq, items, _counted(view.kept_back), entry_seqs)


def drafts_of(view: View) -> list[Draft]:
    """The new statements of a view, in the order in which they are stored."""
    return [item for item in (*view.items, *view.kept_back) if isinstance(item, Draft)]


def delete(database: Database, node_seqs: Sequence[int]) -> None:
    """Deletes all views of nodes, with their statements, in the caller's transaction."""
    sql = "DELETE FROM summary WHERE node_seq IN (SELECT value FROM json_each(?))"
    database.execute(sql, (json_list(node_seqs),))


def _counted(items: Sequence[Item]) -> list[Item]:
    """The statements, with tokens counted where they are missing."""
    numbers = iter(count_many([item.text for item in items if not item.tokens]))
    return [item if item.tokens else replace(item, tokens=next(numbers)) for item in items]


def _put_statements(
    database: Database,
    summary_seq: int,
    items: Sequence[Draft | ChildStatement],
    hidden: Sequence[Draft],
    entry_seqs: Sequence[int],
) -> None:
    next_seq = int(database.value(_NEXT_STATEMENT))
    drafts = [item for item in (*items, *hidden) if isinstance(item, Draft)]
    shown = len(drafts) - len(hidden)
    seq_of_draft = {id(draft): next_seq + index for index, draft in enumerate(drafts)}
    statements, citations = [], []
    cited = json_list(sorted({key for draft in drafts for key in draft.message_ids}))
    stored = {key: (seq, text) for key, seq, text in database.rows(_CITED, (cited,))}
    for at, (d, entry) in enumerate(zip_longest(drafts, entry_seqs)):
        seq, written = next_seq + at, _clean(d.text)
        start = -1
        for ordinal, (message_seq, text) in enumerate(map(stored.__getitem__, d.message_ids)):
            found = -1 if start >= 0 else text.find(written)
            start = max(start, found)
            stretch = (None, None) if found < 0 else (found, len(written))
            citations.append((seq, ordinal, message_seq, *stretch))
        statements.append(
            (seq, summary_seq, d.kind, written if start < 0 else None, _clean(d.speaker),
             d.importance, d.tokens, int(d.settles), int(at >= shown), d.origin, d.grade, d.score,
             d.checker, entry)
        )  # fmt: skip
    database.many(_STATEMENT_INSERT, statements)
    database.many(_CITE_INSERT, citations)
    database.many(
        _SHOW_INSERT,
        [(summary_seq, ordinal, seq_of_draft[id(item)] if isinstance(item, Draft) else item.seq)
         for ordinal, item in enumerate(items)],
    )  # fmt: skip


def _clean(text: str | None) -> str:
    """The text without lone surrogates, which SQLite cannot store."""
    return (text or "").encode("utf-8", "replace").decode()


# -- reading a view --------------------------------------------------------------------

# What a model wrote that the guards let through, and that no checker accepted.
_UNPROVEN = """
SELECT st.seq, st.kind, st.text, p.name, st.speaker, st.importance, st.origin, st.grade, st.score,
  st.checker, NULL, 'holds', NULL, NULL
FROM summary s JOIN stated st ON st.summary_seq = s.seq JOIN producer p ON p.seq = s.producer_seq
WHERE s.node_seq = ? AND st.grade = 'unproven' ORDER BY p.rank DESC, st.seq
"""
_UNPROVEN_CITATIONS = """
SELECT st.seq, c.message_seq FROM summary s JOIN statement st ON st.summary_seq = s.seq
JOIN citation c ON c.statement_seq = st.seq
WHERE s.node_seq = ? AND st.grade = 'unproven' ORDER BY st.seq, c.ordinal
"""
_STATEMENTS = """
SELECT st.seq, st.kind, st.text, p.name, st.speaker, st.importance, st.origin, st.grade, st.score,
  st.checker, e.id, coalesce(e.state, 'holds'), later.seq, later.text
FROM summary_statement ss
JOIN stated st ON st.seq = ss.statement_seq
JOIN summary made ON made.seq = st.summary_seq
JOIN producer p ON p.seq = made.producer_seq
LEFT JOIN entry e ON e.seq = st.entry_seq LEFT JOIN entry by ON by.seq = e.by_seq
LEFT JOIN stated later ON later.seq = by.statement_seq
WHERE ss.summary_seq = ? ORDER BY ss.ordinal
"""
_CITATIONS = """
SELECT ss.statement_seq, c.message_seq FROM summary_statement ss
JOIN citation c ON c.statement_seq = ss.statement_seq
WHERE ss.summary_seq = ? ORDER BY ss.statement_seq, c.ordinal
"""
_CITED_IDS = """
SELECT m.id FROM citation c JOIN message m ON m.seq = c.message_seq
WHERE c.statement_seq = ? ORDER BY c.ordinal
"""
_SUMMARIES = """
SELECT s.seq, p.name, s.made_at_ms, s.offered, s.kept, s.tokens, s.tokens_in, s.tokens_out,
  s.seconds, s.rejections
FROM summary s JOIN producer p ON p.seq = s.producer_seq
WHERE s.node_seq = ? ORDER BY p.rank DESC, s.seq DESC
"""


def statements(
    database: Database, summary_seq: int | None, *, cite: bool = True
) -> tuple[Statement, ...]:
    """The statements of a summary, in order. cite: includes the messages that they cite."""
    if summary_seq is None:
        return ()
    return _read(database, _STATEMENTS, _CITATIONS if cite else None, summary_seq)


def unproven(database: Database, node_seq: int) -> tuple[Statement, ...]:
    """The statements of models about a node that are stored but never shown unasked."""
    return _read(database, _UNPROVEN, _UNPROVEN_CITATIONS, node_seq)


def _read(
    database: Database, statements_sql: str, citations_sql: str | None, seq: int
) -> tuple[Statement, ...]:
    cited: dict[int, list[int]] = {}
    message_of: dict[int, Message] = {}
    if citations_sql is not None:
        for statement_seq, message_seq in database.rows(citations_sql, (seq,)):
            cited.setdefault(statement_seq, []).append(message_seq)
        message_of = messages.by_seq(database, {seq for seqs in cited.values() for seq in seqs})
    return tuple(
        _statement_from(
            database, row, tuple(message_of[seq] for seq in dict.fromkeys(cited.get(row[0], ())))
        )
        for row in database.rows(statements_sql, (seq,))
    )


def _statement_from(database: Database, row: Row, cited: tuple[Message, ...]) -> Statement:
    (seq, kind, text, producer, speaker, importance, origin, grade, score, checker, entry, state,
     later_seq, later_text) = row  # fmt: skip
    later = None
    if later_seq is not None:
        ids = (message_id for (message_id,) in database.rows(_CITED_IDS, (later_seq,)))
        later = Later(later_text, tuple(ids))
    return Statement(
        seq, kind, text, producer, speaker or None, cited, importance,
        origin or origin_of_words(text, cited), later if state == "closed" else None,
        later if state != "closed" else None, grade, score, checker, entry, state,
    )  # fmt: skip


def views_of(database: Database, node_seq: int) -> tuple[Summary, ...]:
    """The views of a node by all producers, the highest rank first."""
    shown = shown_summary(database, node_seq)
    return tuple(_summary_from(row, shown) for row in database.rows(_SUMMARIES, (node_seq,)))


def _summary_from(row: Row, shown: int | None) -> Summary:
    seq, producer, made_at, offered, kept, tokens, tokens_in, tokens_out, seconds, rejections = row
    return Summary(
        producer=producer, made_at=times.from_ms(made_at) or "", offered=offered, kept=kept,
        tokens=tokens, tokens_in=tokens_in, tokens_out=tokens_out, seconds=seconds,
        shown=seq == shown,
        rejections=tuple(
            Rejection(**item) for item in json_text.list_of(rejections) if isinstance(item, dict)
        ),
    )  # fmt: skip
