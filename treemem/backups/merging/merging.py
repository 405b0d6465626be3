"""Merges another memory file into this one.

First what the other has forgotten is forgotten here. Then, in one transaction, messages come in
with their places, at whose end each must have the hash that its id is; then the jobs make trees,
ledger and topics. A process that is killed between goes on when the same file is merged again.

Tested in tests/backups/merging/test_merging.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from treemem.backups.merging import opening, planning, uniting
from treemem.backups.merging.planning import Plan
from treemem.backups.portable import rows, summaries, writing
from treemem.backups.portable.tables import BY_NAME
from treemem.backups.values import MergeReport
from treemem.diagnostics import doctor
from treemem.errors import BackupError, ConstraintError, Hint
from treemem.forgetting import condemning, tombstones, words
from treemem.forgetting.selection import Selection
from treemem.forgetting.tombstones import Tombstones
from treemem.ledger import update
from treemem.queue import jobs
from treemem.store import entries, entry_choices, imported_files, log_files, settings
from treemem.store.database import Database, json_list
from treemem.store.entry_choices import EntryChoice
from treemem.times import Clock
from treemem.topics import store as topic_store
from treemem.types import TreeShape
from treemem.worker import collection_jobs, run, source_jobs

_SHARED_MARKS = "SELECT mark FROM tombstone ORDER BY mark"
_IS_MARKED = "SELECT 1 FROM tombstone WHERE mark = ?"
_FILL = """
UPDATE source SET title = coalesce(title, :title), project = coalesce(project, :project),
  parent_id = coalesce(parent_id, :parent) WHERE id = :id
"""
_TOPIC_WITH = """
SELECT t.id, t.name, t.named FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
JOIN node n ON n.seq = tl.node_seq WHERE n.id IN (SELECT value FROM json_each(?))
GROUP BY t.seq HAVING count(*) * 2 > ? ORDER BY count(*) DESC, t.id LIMIT 1
"""


def merged(
    database: Database, path: Path, clock: Clock, shape: TreeShape, *, dry_run: bool,
    views: Iterable[dict[str, Any]] | None = None,
) -> MergeReport:  # fmt: skip
    """Takes in what another memory file has. See Memory.merge. views: what models wrote, as
    summaries.lines; None for what the file has."""
    with opening.opened(database, path) as other, other.reading():
        opening.check(other)
        if dry_run:
            with database.reading():
                plan = planning.planned(database, other)
                plan.forgotten = planning.forgotten_there(database, other)
                grown = [
                    one
                    for one in plan.joined
                    if one not in plan.new_joined
                    and uniting.would_change(database, one, plan.histories[one])
                ]
            return _report(path, plan, grown=grown, dry_run=True)
        try:
            return _merged(database, other, path, clock, shape, views)
        except (KeyError, TypeError, ValueError, AttributeError, ConstraintError) as error:
            raise BackupError(
                f"{path} has what is no part of a memory ({type(error).__name__}: {error}).",
                hint=Hint("Check it: Memory.diagnose()", "Check it: treemem --db FILE doctor"),
            ) from error


def _merged(
    database: Database, other: Database, path: Path, clock: Clock, shape: TreeShape,
    views: Iterable[dict[str, Any]] | None,
) -> MergeReport:  # fmt: skip
    condemning.finish(database, clock, shape)
    forgotten = planning.forgotten_there(database, other)
    if forgotten:
        wanted = Selection(message_ids=tuple(forgotten))
        condemning.forget(database, clock, shape, wanted, by="merge")
    with database.transaction():
        before = database.value("SELECT count(*) FROM message")
        _share_key(database, other, clock())
        plan = planning.planned(database, other)
        plan.forgotten = forgotten
        grown = _put_truth(database, other, path, plan, clock(), shape)
        choices = _put_choices(database, other, plan)
        added = database.value("SELECT count(*) FROM message") - before
    run.Run(database, clock, shape, run.limits(0, None, None)).work()
    is_unfinished = any(jobs.has_open(database, kind) for kind in ("seal", "extract"))
    names = passed = refused = 0
    if not is_unfinished:
        with database.transaction():
            names = _put_names(database, other, plan)
            for line in summaries.lines(other) if views is None else views:
                if _is_here(database, line["node"]):
                    good, bad = summaries.put(database, line)
                    passed, refused = passed + good, refused + bad
    return _report(
        path, plan, grown=grown, messages=added, choices=choices, names=names, statements=passed,
        refused=refused, is_unfinished=is_unfinished,
    )  # fmt: skip


def _report(path: Path, plan: Plan, *, grown: Sequence[str], **facts: Any) -> MergeReport:
    counted = {"choices": 0, "names": 0, "statements": 0, "refused": 0, "dry_run": False,
               "is_unfinished": False, "messages": len(plan.needed)}  # fmt: skip
    return MergeReport(
        path=path, sources=len(plan.whole | plan.new_joined), grown=tuple(grown),
        known=plan.known, kept_out=len(plan.kept_out), forgotten=len(plan.forgotten),
        sessions=plan.sessions, **{**counted, **facts},
    )  # fmt: skip


def _is_here(database: Database, node_id: str) -> bool:
    return database.value("SELECT 1 FROM node WHERE id = ?", (node_id,)) is not None


# -- forgetting ------------------------------------------------------------------------


def _share_key(database: Database, other: Database, now_ms: int) -> None:
    """Takes the key of the other memory if this one has none. Under one key, what was forgotten
    there is also kept out if it was never here."""
    theirs = settings.get(other, settings.REDACTION_KEY)
    if theirs is None or settings.put_new(database, settings.REDACTION_KEY, theirs) != theirs:
        return
    marks = [mark for (mark,) in other.rows(_SHARED_MARKS)
             if database.value(_IS_MARKED, (mark,)) is None]  # fmt: skip
    if marks:
        seq = tombstones.record(database, now_ms, ["merge"], (0, 0, 0))
        database.many(tombstones.ADD, [(mark, seq) for mark in marks])
        tombstones.finish(database)


# -- messages --------------------------------------------------------------------------


def _put_truth(
    database: Database, other: Database, path: Path, plan: Plan, now_ms: int, shape: TreeShape
) -> list[str]:
    """Stores messages, sources and their places. Returns the ids of the sources here that have
    changed."""
    new = plan.whole | plan.new_joined
    writer = rows.Writer(database, new, plan.needed, shape)
    for line in writing.sources_of(other):
        writer.put_source({**line, "title": None})
    for line in writing.messages_of(other):
        writer.put_message(line)
    if settings.get(database, settings.REDACTION_KEY) == settings.get(
        other, settings.REDACTION_KEY
    ):
        for line in writing.aliases_of(other):
            writer.put_alias(line)
    for lines, put in (
        (writing.places_of(other), writer.put_place), (writing.leaves_of(other), writer.put_leaf),
    ):  # fmt: skip
        for line in lines:
            if line["source"] in plan.whole:
                put(line)
    for line in BY_NAME["source_end"].lines(other):
        writer.put_row(BY_NAME["source_end"], line)
    writer.finish()
    leaves = planning.leaves_of(other)
    grown = [
        source_id
        for source_id in plan.joined
        if uniting.unite(
            database, source_id, plan.histories[source_id], leaves[source_id], now_ms, shape
        )
    ]
    _fill_sources(database, other, plan)
    if plan.needed:
        for finding in doctor.message_findings(database):
            if finding:
                raise BackupError(f"{path} is damaged: {finding}. Nothing was stored.")
    changed = [*new, *grown]
    for source_id in sorted(changed):
        source_jobs.admit_seal(database, source_id, now_ms)
        imported_files.forget_states(database, source_id)
    if changed:
        imported_files.forget_looks(database)
        log_files.forget_marks(database)
        collection_jobs.admit(database, now_ms, at_once=True)
    return [one for one in grown if one not in new]


def _fill_sources(database: Database, other: Database, plan: Plan) -> None:
    """Gives sources the titles that they lack, unless these tell of what was forgotten here."""
    kept = Tombstones(database)
    lines = [line for line in writing.sources_of(other) if line["id"] in plan.histories]
    told = words.without(database, [line["title"] or "" for line in lines], plan.words)
    for line in lines:
        is_told = line["title"] in told and not kept.has_source(line["id"])
        database.execute(_FILL, {
            "title": line["title"] if is_told else None, "project": line["project"],
            "parent": line["parent"], "id": line["id"],
        })  # fmt: skip


# -- what the user chose ---------------------------------------------------------------


def _put_choices(database: Database, other: Database, plan: Plan) -> int:
    """Stores the choices about entries that are not here. Returns how many of them hold now."""
    lines = list(BY_NAME["choice"].lines(other))
    told = words.without(database, [line["text"] for line in lines], plan.words)
    changed = {
        (line["text"], line["project"])
        for line in lines
        if line["text"] in told
        and entry_choices.add(
            database,
            EntryChoice(line["text"], line["project"], line["state"], int(line["chosen_at_ms"])),
        )
    }
    entries.mark_dirty(database, sorted({text for text, _ in changed}))
    update.refresh(database)
    return len(changed)


def _put_names(database: Database, other: Database, plan: Plan) -> int:
    """Gives topics the names that the user gave the same ones there; of two such names, the first
    by the alphabet. Returns how many."""
    lines = [line for line in writing.topics_of(other) if line["named"] and line["name"]]
    told = words.without(database, [line["name"] for line in lines], plan.words)
    number = 0
    for line in lines:
        leaves = [leaf for leaf, _ in line["leaves"]]
        found = database.row(_TOPIC_WITH, (json_list(leaves), len(leaves)))
        if found is None or line["name"] not in told:
            continue
        topic_id, name, named = found
        if not named or line["name"] < name:
            topic_store.set_name(database, topic_id, line["name"], by_user=True)
            number += 1
    return number
