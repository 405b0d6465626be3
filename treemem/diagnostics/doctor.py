"""Checks that a memory file is consistent, and repairs what can be computed again.

Trusts no stored id: every hash of a message or node is recomputed from its content. diagnose()
only reads; repair() rebuilds views and changes no message, node or statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from treemem import ids
from treemem.diagnostics import ledger_check, proof_check, session_check
from treemem.diagnostics.encodings import damaged_texts
from treemem.errors import (
    DatabaseError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DatabaseReplacedError,
    DiskFullError,
    Hint,
    Notice,
)
from treemem.queue import jobs
from treemem.reports import count_of
from treemem.store import event_days, messages, settings, vectors
from treemem.store.database import Database, Row
from treemem.store.proof.surprises import SURPRISES
from treemem.topics import census
from treemem.tree import everything
from treemem.types import Message, Span, TreeShape
from treemem.worker import collection_jobs, embed_jobs, source_jobs
from treemem.worker.worker import TREE_KINDS

# One check returns at most this many findings.
FINDINGS_MAX = 20
# One repair cancels at most this many dead jobs.
DEAD_JOBS_MAX = 100_000
# At most this many repetitions of one message without an id are tried.
REPETITIONS_MAX = 1_000_000
# This many ids of repetitions are computed at a time.
REPETITIONS_STEP = 1_000
_FULL_TEXT = "full text against content"
# Errors that say nothing about the content of the file.
_UNREACHABLE = (DatabaseLockedError, DatabaseReadOnlyError, DiskFullError)
_REPAIR = Hint("Repair it: memory.repair()", "Repair it: treemem doctor --repair")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. looked_at: the number of items checked. findings: a sentence for
    each item that is wrong, at most FINDINGS_MAX. not_checked: why the rest could not be looked
    at; None if all was."""

    name: str
    looked_at: int
    findings: tuple[str, ...]
    not_checked: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the check found nothing."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The results of all checks. healthy: none of them has a finding; complete: all could be
    made."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether no check has a finding."""
        return all(check.ok for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether all checks could be made."""
        return all(check.not_checked is None for check in self.checks)


def diagnose(database: Database, shape: TreeShape) -> Diagnosis:
    """Runs every check in one read transaction. shape: the sizes of leaves and groups.

    A file that is locked or cannot be written is no damaged one: what could not be checked says
    so. Raises DatabaseReplacedError.
    """
    with database.reading():
        checks = [_run(database, name, check) for name, check in _checks(shape)]
    # FTS5 runs its check by an INSERT, which a read transaction refuses.
    try:
        with database.transaction():
            checks.append(_run(database, _FULL_TEXT, _full_text))
    except DatabaseReplacedError:
        raise
    except _UNREACHABLE as error:
        checks.append(Check(_FULL_TEXT, 0, (), str(error)))
    except DatabaseError as error:  # a damaged page may surface only at the commit
        checks.append(Check(_FULL_TEXT, 0, (str(error),)))
    return Diagnosis(tuple(checks))


def _run(database: Database, name: str, check: Callable[[Database], Iterator[str]]) -> Check:
    looked_at = 0
    findings: list[str] = []
    try:
        for finding in check(database):
            looked_at += 1
            if finding and len(findings) < FINDINGS_MAX:
                findings.append(finding)
    except DatabaseReplacedError:
        raise
    except _UNREACHABLE as error:
        return Check(name, looked_at, tuple(findings), str(error))
    except DatabaseError as error:
        findings.append(str(error))
    except SURPRISES as error:
        findings.append(f"rows have what no row can have ({type(error).__name__}: {error})")
    return Check(name, looked_at, tuple(findings))


# Every check yields "" for an item that is right, and a sentence for one that is wrong.


def _pages(database: Database) -> Iterator[str]:
    for (answer,) in database.rows("PRAGMA integrity_check"):
        yield "" if answer == "ok" else f"integrity_check: {answer}"


def _references(database: Database) -> Iterator[str]:
    yield ""
    for table, rowid, parent, _ in database.rows("PRAGMA foreign_key_check"):
        yield f"{table} row {rowid} refers to a missing row of {parent}"


class Reader(Protocol):
    """What a check of messages reads from: a memory file, or a copy of one."""

    def execute(self, sql: str, parameters: Row = ()) -> Any:
        """Runs a query and gives its rows one by one."""

    def rows(self, sql: str, parameters: Row = ()) -> list[Row]:
        """The rows of a query."""


def message_findings(database: Reader) -> Iterator[str]:
    """Recomputes message ids, and yields "" or a sentence for each message. The id of one without
    an identity also depends on the number of the repetition and, without a time, on the source. A
    scrubbed message records the id that its present text has."""
    sql = (f"SELECT m.seq, m.identity, m.chars, {messages.IS_SCRUBBED}, "  # noqa: S608
           f"{messages.COLUMNS} FROM message m ORDER BY m.seq")  # fmt: skip
    repetitions: dict[str, set[str]] = {}
    for seq, identity, chars, scrubbed, *row in database.execute(sql):
        message = messages.message_from(tuple(row))
        is_global = message.unique_id and identity is not None
        source_ids = [""] if is_global else _source_ids(database, seq)
        if len(message.text) != chars:
            length = count_of(len(message.text), "character")
            yield f"message {message.id} has {length}, but {chars:,} are recorded"
        elif not any(
            id_is_right(message, scrubbed or row[0], source_id, identity, repetitions)
            for source_id in source_ids
        ):
            yield f"message {message.id} has content that does not match its id"
        else:
            yield ""


def _source_ids(database: Reader, message_seq: int) -> list[str]:
    sql = ("SELECT s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq "
           "WHERE sm.message_seq = ?")  # fmt: skip
    return [source_id for (source_id,) in database.rows(sql, (message_seq,))]


def id_is_right(
    message: Message,
    message_id: str,
    source_id: str,
    identity: str | None,
    repetitions: dict[str, set[str]],
) -> bool:
    """repetitions: the ids computed so far, by the id of the first repetition. Repetitions are
    numbered without gaps and messages come in order, so every id is computed once."""
    sent_at = None if message.sent_at is None else str(message.sent_at)
    first = ids.message_id(message, source_id, sent_at, 0)
    if first == message_id or identity is not None:
        return first == message_id
    known = repetitions.setdefault(first, {first})
    while message_id not in known and len(known) < REPETITIONS_MAX:
        known.add(ids.message_id(message, source_id, sent_at, len(known)))
        if len(known) % REPETITIONS_STEP == 0:
            break
    return message_id in known


_SPANS = """
SELECT m.id, ls.start, ls."end", ls.tokens, m.chars FROM leaf_span ls
JOIN message m ON m.seq = ls.message_seq WHERE ls.node_seq = ? ORDER BY ls.ordinal
"""
_CHILD_IDS = """
SELECT n.id, n.level, n.tokens FROM node_child nc JOIN node n ON n.seq = nc.child_seq
WHERE nc.node_seq = ? ORDER BY nc.ordinal
"""


def _node_hashes(database: Database, shape: TreeShape) -> Iterator[str]:
    sql = "SELECT seq, id, level, tokens, provisional FROM node ORDER BY seq"
    for seq, node_id, level, tokens, provisional in database.execute(sql):
        if level == 0:
            yield _leaf_finding(database, seq, node_id, tokens, shape.leaf_tokens_max)
        else:
            fanout = None if provisional else shape.fanout
            yield _group_finding(database, seq, node_id, level, tokens, fanout)


def _leaf_finding(database: Database, seq: int, node_id: str, tokens: int, tokens_max: int) -> str:
    rows = database.rows(_SPANS, (seq,))
    spans = [Span(*row[:4]) for row in rows]
    if ids.leaf_id(spans) != node_id:
        return f"leaf {node_id} has spans that do not match its id"
    if sum(span.tokens for span in spans) != tokens:
        return f"leaf {node_id} has a token count that is not the sum of its spans"
    if tokens > tokens_max:
        return f"leaf {node_id} has {count_of(tokens, 'token')}, over the limit of {tokens_max:,}"
    if any(not 0 <= start <= end <= chars for _, start, end, _, chars in rows):
        return f"leaf {node_id} has a span beyond the end of its message"
    return ""


def _group_finding(
    database: Database, seq: int, node_id: str, level: int, tokens: int, fanout: int | None
) -> str:
    """fanout: the number of children; None for a provisional node, which may have any."""
    rows = database.rows(_CHILD_IDS, (seq,))
    if ids.group_id(level, [row[0] for row in rows]) != node_id:
        return f"node {node_id} has children that do not match its id"
    if sum(row[2] for row in rows) != tokens:
        return f"node {node_id} has a token count that is not the sum of its children"
    if fanout is not None and (len(rows) != fanout or any(row[1] != level - 1 for row in rows)):
        return f"node {node_id} does not have {count_of(fanout, 'child')} on the level below"
    return ""


_LEVELS = """
SELECT t.seq, t.scope, t.key, tn.level, count(*), max(tn.position) + 1
FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq GROUP BY t.seq, tn.level
"""
_MISGROUPED = """
SELECT count(*) FROM tree_node up
JOIN node_child nc ON nc.node_seq = up.node_seq
LEFT JOIN tree_node below ON below.tree_seq = up.tree_seq AND below.level = up.level - 1
  AND below.position = up.position * :fanout + nc.ordinal
WHERE up.tree_seq = :tree AND up.level = :level AND up.level > 0
  AND below.node_seq IS NOT nc.child_seq
"""


def _trees(database: Database, shape: TreeShape) -> Iterator[str]:
    """Every member has exactly one parent on each level, at the right position."""
    sizes: dict[tuple[int, int], int] = {}
    for tree, scope, key, level, number, end in database.rows(_LEVELS):
        sizes[tree, level] = number
        name = f"the {scope} tree {key}".rstrip()
        if number != end:
            yield f"{name} has a gap on level {level}"
        elif level > 0 and sizes.get((tree, level - 1), 0) // shape.fanout != number:
            groups = count_of(number, "group")
            yield f"{name} has {groups} on level {level}, which does not match the level below"
        elif database.value(_MISGROUPED, {"tree": tree, "level": level, "fanout": shape.fanout}):
            yield f"{name} has groups on level {level} with the wrong children"
        else:
            yield ""


_COVER = """
SELECT s.id, m.id, m.chars, sm.open_from, sm.state,
  (SELECT coalesce(sum(ls."end" - ls.start), 0) FROM leaf_span ls
   JOIN tree_node tn ON tn.node_seq = ls.node_seq AND tn.level = 0
   JOIN tree t ON t.seq = tn.tree_seq AND t.scope = 'source' AND t.key = s.id
   WHERE ls.message_seq = m.seq),
  sm.position < s.open_position AND sm.open_from IS NOT NULL AND sm.state = 'active'
FROM source_message sm JOIN source s ON s.seq = sm.source_seq
JOIN message m ON m.seq = sm.message_seq
"""


def _coverage(database: Database) -> Iterator[str]:
    """Sealed characters are in exactly one leaf of the source, and open ones in none."""
    for source_id, message_id, chars, open_from, _, covered, hidden in database.execute(_COVER):
        if hidden:
            yield f"message {message_id} of {source_id} is open, but sealing would skip it"
        elif covered != (chars if open_from is None else open_from):
            yield (f"leaves of {source_id} contain {count_of(covered, 'character')} of message "
                   f"{message_id}, which has {chars:,}; its history says otherwise")  # fmt: skip
        else:
            yield ""


_ORPHANS = """
SELECT 'message ' || id || ' belongs to no source' FROM message m
  WHERE NOT EXISTS (SELECT 1 FROM source_message sm WHERE sm.message_seq = m.seq)
UNION ALL SELECT 'node ' || id || ' belongs to no tree' FROM node n
  WHERE NOT EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = n.seq)
    AND NOT EXISTS (SELECT 1 FROM tree t WHERE t.root_seq = n.seq OR t.tail_seq = n.seq)
    AND NOT EXISTS (SELECT 1 FROM node_child up WHERE up.child_seq = n.seq)
    AND NOT EXISTS (SELECT 1 FROM topic_leaf tl WHERE tl.node_seq = n.seq)
UNION ALL SELECT 'statement ' || seq || ' cites no message' FROM statement st
  WHERE NOT EXISTS (SELECT 1 FROM citation c WHERE c.statement_seq = st.seq)
UNION ALL SELECT 'statement ' || seq || ' is shown by no summary' FROM statement st
  WHERE kept_back = 0
    AND NOT EXISTS (SELECT 1 FROM summary_statement ss WHERE ss.statement_seq = st.seq)
"""


def _collections(database: Database, shape: TreeShape) -> Iterator[str]:
    """Computes the trees above the sources again from their members. A tree may
    differ while a job that will update it is waiting."""
    for kind, name, matches in collection_jobs.check_trees(database, shape):
        is_behind = any(jobs.has_open(database, waiting) for waiting in ("seal", "extract", kind))
        if matches or is_behind:
            yield ""
        else:
            yield Notice(f"{name} does not match its members.", _REPAIR)


def _orphans(database: Database) -> Iterator[str]:
    yield ""
    for (finding,) in database.rows(_ORPHANS):
        yield finding


_EMBED_UNFINISHED = "SELECT 1 FROM job WHERE kind = 'embed' AND state <> 'done'"


def _vectors(database: Database) -> Iterator[str]:
    """Vectors of deleted nodes are allowed while a job that will copy or remove them is waiting,
    or while no embedder is in use."""
    yield ""
    embedder_in_use = settings.get(database, settings.EMBEDDER) is not None
    settled = embedder_in_use and database.row(_EMBED_UNFINISHED) is None
    for embedder in vectors.stored(database):
        for node_seq, problem in _vector_faults(database, embedder):
            if problem and (settled or problem != _GONE):
                yield f"node number {node_seq} has vectors of {embedder.name}, but {problem}"
            else:
                yield ""


_GONE = "the node was deleted"
_VECTOR_FAULTS = """
SELECT v.node_seq, max(n.seq IS NULL),
  max(length(v.vector) <> :dimensions OR v.vector = zeroblob(:dimensions)),
  min(v.ordinal) = 0 AND (max(v.ordinal) + 1 <> count(*) OR (n.level = 0) <> (count(*) > 1)),
  max(v.ordinal > 0 AND n.seq IS NOT NULL AND (v.first_span > v.last_span OR NOT EXISTS (
    SELECT 1 FROM leaf_span ls WHERE ls.node_seq = v.node_seq AND ls.ordinal = v.last_span)))
FROM {table} v LEFT JOIN node n ON n.seq = v.node_seq GROUP BY v.node_seq
"""


def _vector_faults(
    database: Database, embedder: vectors.StoredEmbedder
) -> Iterator[tuple[int, str]]:
    """Every node that has vectors, with a problem in them, or ""."""
    sql = _VECTOR_FAULTS.format(table=vectors.table_of(embedder.seq))
    for node_seq, gone, odd, miscounted, misplaced in database.execute(
        sql, {"dimensions": embedder.dimensions}
    ):
        if gone:
            yield node_seq, _GONE
        elif odd:
            yield node_seq, f"one does not have {embedder.dimensions} numbers, or is all zeros"
        elif miscounted:
            yield node_seq, "there are too few or too many of them"
        elif misplaced:
            yield node_seq, "a window is outside its leaf"
        else:
            yield node_seq, ""


_OTHER_FORMS = "SELECT seq, search_text, author, text FROM message"


def _other_forms(database: Database) -> Iterator[str]:
    """Recomputes the additional forms of words by which full-text search finds a text."""
    for seq, stored, author, text in database.execute(_OTHER_FORMS):
        is_right = stored == messages.search_text(author, text)
        yield "" if is_right else f"message row {seq} has search words of another text"


def _repair_other_forms(database: Database) -> None:
    rows = [
        (right, seq)
        for seq, stored, author, text in database.execute(_OTHER_FORMS)
        if (right := messages.search_text(author, text)) != stored
    ]
    database.many("UPDATE message SET search_text = ? WHERE seq = ?", rows)


_FTS_TABLES = ("message_fts",)
_FTS_CHECK = "INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)"
_FTS_REBUILD = "INSERT INTO {table} ({table}) VALUES ('rebuild')"


def _full_text(database: Database) -> Iterator[str]:
    """Lets FTS5 compare its index with the content, word by word."""
    for table in _FTS_TABLES:
        try:
            database.execute(_FTS_CHECK.format(table=table))
        except _UNREACHABLE:
            raise
        except DatabaseError as error:
            yield Notice(f"{table} does not match its content ({error}).", _REPAIR)
        else:
            yield ""


def _checks(shape: TreeShape) -> tuple[tuple[str, Callable[[Database], Iterator[str]]], ...]:
    return (
        ("pages of the file", _pages),
        ("references between tables", _references),
        ("text in UTF-8", damaged_texts),
        ("messages against their ids", message_findings),
        ("nodes against their ids", partial(_node_hashes, shape=shape)),
        ("trees: every node in its place", partial(_trees, shape=shape)),
        ("messages in exactly one leaf", _coverage),
        ("trees above the sources", partial(_collections, shape=shape)),
        ("nothing without an owner", _orphans),
        ("statements in the words of messages", ledger_check.words),
        ("entries of the ledger", ledger_check.findings),
        ("turns of live sessions", session_check.findings),
        ("vectors of nodes", _vectors),
        ("other forms of words", _other_forms),
        ("rows as they were written", proof_check.findings),
    )


def repair(database: Database, now_ms: int) -> None:
    """Rebuilds the full-text index, the ledger and the days of messages, removes wrong vectors, and
    admits jobs that seal, summarize and embed what is missing and update the trees above the
    sources.

    Messages, nodes and statements are not changed.
    """
    with database.transaction():
        proof_check.drop(database)
        _repair_other_forms(database)
        for table in _FTS_TABLES:
            database.execute(_FTS_REBUILD.format(table=table))
        # Their work is admitted again, here and by the sealing.
        for job in jobs.listing(database, ["dead"], DEAD_JOBS_MAX):
            if job.kind in TREE_KINDS:
                jobs.cancel(database, job.id)
        for (source_id,) in database.rows("SELECT id FROM source"):
            source_jobs.admit_seal(database, source_id, now_ms)
        ledger_check.make_again(database)
        event_days.rebuild(database)
        _repair_vectors(database)
        embed_jobs.admit_all(database, now_ms)
        everything.forget(database)
        census.forget(database)
        collection_jobs.admit(database, now_ms, at_once=True)


def _repair_vectors(database: Database) -> None:
    vectors.remove_gone(database)
    for embedder in vectors.stored(database):
        bad = [node_seq for node_seq, problem in _vector_faults(database, embedder) if problem]
        vectors.remove(database, bad, embedder.seq)
