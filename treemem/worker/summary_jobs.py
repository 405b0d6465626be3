"""Queues and runs the jobs in which a model summarizes a node.

Every answer is stored as soon as it arrives, so it is never paid for twice. One transaction stores
the summary, ends the job and queues the parents that became ready. No transaction is open while
the model runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treemem.config import ROOT_INTERVAL_MS
from treemem.errors import ModelError
from treemem.models.chat import Prompt
from treemem.proposals import Child, View
from treemem.queue import jobs
from treemem.queue.budget import Budget, BudgetSpentError
from treemem.queue.jobs import Claim
from treemem.store import messages, summaries, usage
from treemem.store.database import Database
from treemem.store.usage import Purpose
from treemem.summarize import EXTRACTIVE, extractive_views
from treemem.summarize.base import Client, GroupContent, LeafContent, Summarizer
from treemem.times import Clock
from treemem.tree import builder
from treemem.types import Job, Message, Rejection

if TYPE_CHECKING:
    from treemem.models.client import Generation
    from treemem.verify.grading import Checker

KIND = "summarize"
# The lowest rank of a model's summaries.
MODEL_RANK_MIN = EXTRACTIVE.rank + 1
ROOT_PRIORITY = 50
NODE_PRIORITY = 20
DEAD_JOBS_MAX = 10_000
# The reason under which a report counts statements that are stored but not shown.
UNPROVEN = "unproven"


def retry(database: Database, job_id: int, now_ms: int) -> Job:
    """See Memory.retry_job. Also deletes the record that the node could not be summarized."""
    with database.transaction():
        job = jobs.retry(database, job_id, now_ms)
        if job.kind == KIND:
            producer_name, _, node_id = job.dedupe_key.removeprefix(f"{KIND}:").rpartition(":")
            database.execute(_FORGET_FAILURE, {"producer": producer_name, "node": node_id})
        return job


class SummaryWork:
    """Does the summary jobs of one database with one summarizer.

    producer, extractive: the seqs of the summarizer and of the extractive one as producers.
    alive: called after a call has failed; returns whether the model can be used at all.
    upgrade: also covers nodes that a weaker model has summarized or failed to summarize. ready:
    False while the model cannot be used, for example because its file is missing.
    """

    def __init__(
        self,
        database: Database,
        summarizer: Summarizer,
        client: Client,
        clock: Clock,
        *,
        producer: int,
        extractive: int,
        alive: Callable[[], bool],
        upgrade: bool,
    ) -> None:
        self._database = database
        self._summarizer = summarizer
        self._client = client
        self._clock = clock
        self._producer = producer
        self._extractive = extractive
        self._alive = alive
        self._floor = summarizer.rank if upgrade else MODEL_RANK_MIN
        self.ready = True

    @classmethod
    def prepare(
        cls,
        database: Database,
        summarizer: Summarizer,
        client: Client,
        clock: Clock,
        *,
        alive: Callable[[], bool] = lambda: True,
        upgrade: bool = False,
    ) -> SummaryWork:
        """Stores both producers if they are missing."""
        with database.transaction():
            producer = summaries.ensure_producer(database, summarizer.name, summarizer.rank)
            extractive = extractive_views.ensure_producer(database)
        return cls(
            database, summarizer, client, clock,
            producer=producer, extractive=extractive, alive=alive, upgrade=upgrade,
        )  # fmt: skip

    # -- admitting ---------------------------------------------------------------------

    def admit_all(self) -> None:
        """Queues jobs for every node that has no summary by this model, children before parents."""
        self._mark_dead()
        sql = "SELECT scope, key FROM tree"
        for scope, key in self._database.rows(sql):
            with self._database.transaction():
                tree = builder.find_tree(self._database, scope, key)
                if tree is not None:
                    self.admit_tree(tree, self._clock())

    def _mark_dead(self) -> None:
        """Marks the nodes of dead jobs as failed, since a worker that died could not do so."""
        for job in jobs.listing(self._database, ["dead"], DEAD_JOBS_MAX):
            prefix, _, node_id = job.dedupe_key.rpartition(":")
            if prefix == f"{KIND}:{self._summarizer.name}":
                self._mark_failed(node_id, job.error or "no answer")

    def admit_tree(self, tree: builder.TreeRow, now_ms: int) -> None:
        """Queues jobs for the nodes of the tree that are ready, and for its root, which is due an
        interval after its last summary."""
        parameters = self._parameters(tree=tree.seq)
        for node_id, level in self._database.rows(_READY_IN_TREE, parameters):
            self._admit(node_id, NODE_PRIORITY + level, now_ms, now_ms)
        if tree.root_seq is not None:
            self._admit_root(tree.root_seq, now_ms)

    def _admit_root(self, node_seq: int, now_ms: int) -> None:
        row = self._database.row(_READY_ROOT, self._parameters(node=node_seq))
        if row is not None:
            node_id, last_ms = row
            self._admit(node_id, ROOT_PRIORITY, now_ms, max(now_ms, last_ms + ROOT_INTERVAL_MS))

    def _parameters(self, **row: int) -> dict[str, int]:
        return {
            **row, "producer": self._producer, "extractive": self._extractive,
            "floor": self._floor,
        }  # fmt: skip

    def _admit_parents(self, node_seq: int, now_ms: int) -> None:
        parameters = self._parameters(node=node_seq)
        for node_id, level in self._database.rows(_READY_PARENTS, parameters):
            self._admit(node_id, NODE_PRIORITY + level, now_ms, now_ms)
        for (root_seq,) in self._database.rows(_ROOTS_ABOVE, {"node": node_seq}):
            self._admit_root(root_seq, now_ms)

    def _admit(self, node_id: str, priority: int, now_ms: int, not_before_ms: int) -> None:
        key = f"{self._summarizer.name}:{node_id}"
        # A node never changes, so the running job suffices; a second one would pay again.
        if jobs.is_running(self._database, KIND, key):
            return
        jobs.admit(
            self._database, KIND, key, {"node": node_id}, now_ms,
            priority=priority, not_before_ms=not_before_ms,
        )  # fmt: skip

    # -- working -----------------------------------------------------------------------

    def run(self, claim: Claim, budget: Budget) -> None:
        """Does a job and marks it as done. Raises BudgetSpentError at a limit between two calls."""
        # Read first: the node and its place in a tree may be gone when an answer arrives.
        purpose = usage.purpose_of(self._database, claim.seq, claim.payload["node"])
        # The root may have been replaced in the meantime, and if a worker died, the same job may
        # have been admitted and done again before its lease expired.
        if purpose is None or self._is_summarized(purpose.node_seq):
            with self._database.transaction():
                jobs.finish(self._database, [claim], self._clock())
            return
        node_seq = purpose.node_seq
        view = self._view(purpose, budget)
        with self._database.transaction():
            if self._is_there(node_seq):
                self._store(node_seq, view)
            jobs.finish(self._database, [claim], self._clock())
        with budget.counting() as report:
            report.offered += view.offered
            unproven = len(view.kept_back)
            report.kept += view.offered - len(view.rejections) - unproven
            if unproven:
                report.rejected[UNPROVEN] = report.rejected.get(UNPROVEN, 0) + unproven
            for rejection in view.rejections:
                report.rejected[rejection.reason] = report.rejected.get(rejection.reason, 0) + 1

    def _view(self, purpose: Purpose, budget: Budget) -> View:
        from treemem.summarize.model_summarizer import ModelSummarizer  # not before a model works

        client = _PaidClient(
            self._database, self._client, self._summarizer.name, purpose, budget, self._clock
        )
        summarizer = self._summarizer
        if isinstance(summarizer, ModelSummarizer) and summarizer.checker is not None:
            paid = _PaidChecker(self._database, summarizer.checker, purpose.node_seq, budget)
            summarizer = summarizer.judged_by(paid)
        node_seq, level = purpose.node_seq, purpose.level
        try:
            return view_of(self._database, node_seq, level, self._extractive, summarizer, client)
        except ModelError as error:
            self.ready = error.recoverable and self._alive()
            raise

    def _is_summarized(self, node_seq: int) -> bool:
        return summaries.summary_by(self._database, node_seq, self._producer) is not None

    def _is_there(self, node_seq: int) -> bool:
        """Whether the node still exists: a root can be replaced while the model works on it. Row
        numbers are never reused."""
        sql = "SELECT 1 FROM node WHERE seq = ?"
        return self._database.value(sql, (node_seq,)) is not None

    def job_failed(self, claim: Claim, message: str) -> None:
        """Marks the node as failed after the last attempt: it keeps its extractive view, and its
        ancestors no longer wait for it."""
        if jobs.get(self._database, claim.seq).state == "dead":
            self._mark_failed(claim.payload["node"], message)

    def _mark_failed(self, node_id: str, message: str) -> None:
        sql = "SELECT seq FROM node WHERE id = ?"
        node_seq = self._database.value(sql, (node_id,))
        if node_seq is None or summaries.summary_by(self._database, node_seq, self._producer):
            return
        failed = View((), 0, (Rejection("", "", f"the model failed: {message}"),), usable=False)
        with self._database.transaction():
            self._store(node_seq, failed)

    def _store(self, node_seq: int, view: View) -> None:
        now_ms = self._clock()
        summaries.put(self._database, node_seq, self._producer, view, now_ms)
        self._database.execute("DELETE FROM model_output WHERE node_seq = ?", (node_seq,))
        self._database.execute(_MARK_ROOT, (now_ms, node_seq))
        self._admit_parents(node_seq, now_ms)


class _PaidClient:
    """A client that reuses answers stored in the file, and stores each new one at once."""

    def __init__(
        self,
        database: Database,
        client: Client,
        producer: str,
        purpose: Purpose,
        budget: Budget,
        clock: Clock,
    ) -> None:
        self._database = database
        self._client = client
        self._producer = producer
        self._purpose = purpose
        self._budget = budget
        self._clock = clock

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        from treemem.models.client import Generation

        key = _key(self._producer, prompt)
        row = self._database.row(_PAID, (key,))
        if row is not None:
            text, tokens_in, tokens_out, seconds = row
            return Generation(text, tokens_in, tokens_out, seconds, "stop")
        with self._budget.call():
            answer = self._client.answer(prompt, max_tokens=max_tokens, stop=stop)
            # SQLite stores no lone surrogates, so no statement may contain any.
            answer = replace(answer, text=answer.text.encode("utf-8", "replace").decode())
            self._store(key, answer)
            with self._budget.counting() as report:
                report.model_calls += 1
                report.tokens_in += answer.tokens_in
                report.tokens_out += answer.tokens_out
        return answer

    def _store(self, key: str, answer: Generation) -> None:
        parameters = {
            "key": key, "node": self._purpose.node_seq, "text": answer.text,
            "seconds": answer.seconds, "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
        }  # fmt: skip
        spent = (answer.tokens_in, answer.tokens_out, answer.seconds)
        with self._database.transaction():
            self._database.execute(_PAY, parameters)
            usage.record(self._database, self._purpose, self._producer, spent, self._clock())


class _PaidChecker:
    """A checker that reuses scores stored in the file, and stores each new one at once."""

    def __init__(self, database: Database, checker: Checker, node_seq: int, budget: Budget) -> None:
        self._database = database
        self._checker = checker
        self._node_seq = node_seq
        self._budget = budget

    @property
    def name(self) -> str:
        return self._checker.name

    @property
    def threshold(self) -> float:
        return self._checker.threshold

    def score(self, lines: Sequence[str], note: str) -> float:
        key = _hash("check", self.name, *lines, "", note)
        row = self._database.row(_PAID, (key,))
        if row is not None:
            return float(row[0])
        if self._budget.stop_reason() is not None:
            raise BudgetSpentError
        score = self._checker.score(lines, note)
        parameters = {"key": key, "node": self._node_seq, "text": repr(score), **_NOTHING}
        with self._database.transaction():
            self._database.execute(_PAY, parameters)
        return score


def _key(producer: str, prompt: Prompt) -> str:
    """The key under which an answer is stored."""
    examples = (words for example in prompt.examples for words in example)
    return _hash("call", producer, prompt.system, *examples, prompt.question, prompt.start)


def _hash(person: str, *parts: str) -> str:
    state = hashlib.blake2b(digest_size=16, person=person.encode())
    for part in parts:
        state.update(part.encode("utf-8", "replace") + b"\0")
    return state.hexdigest()


# -- the input of a summarizer ---------------------------------------------------------


def view_of(
    database: Database,
    node_seq: int,
    level: int,
    extractive_seq: int,
    summarizer: Summarizer,
    client: Client,
) -> View:
    """The summarizer's view of a node, which must have an extractive view. Stores nothing.
    extractive_seq: the extractive producer. Raises the client's ModelError."""
    if level == 0:
        return summarizer.summarize_leaf(_leaf(database, node_seq, extractive_seq), client)
    children = summaries.children(database, node_seq)
    group = GroupContent(children, _cited(database, children))
    return summarizer.summarize_group(group, client)


def _leaf(database: Database, node_seq: int, extractive_seq: int) -> LeafContent:
    excerpts = summaries.excerpts(database, node_seq)
    summary_seq = summaries.summary_by(database, node_seq, extractive_seq)
    if summary_seq is None:
        return LeafContent(excerpts)
    picked = summaries.child_statements(database, summary_seq)
    return LeafContent(excerpts, picked, summaries.spare(database, summary_seq))


def _cited(database: Database, children: Sequence[Child]) -> dict[str, Message]:
    """The messages that the children's statements cite, by id."""
    cited = {
        message_id
        for child in children
        for statement in child.statements
        for message_id in statement.message_ids
    }
    seqs = messages.seqs_by_id(database, sorted(cited))
    by_seq = messages.by_seq(database, seqs.values())
    return {message_id: by_seq[seq] for message_id, seq in seqs.items()}


# -- SQL -------------------------------------------------------------------------------

# A model's view of a node requires the node's extractive view, and views of its sealed children and
# of sources' roots by this model or one of at least rank :floor. Above the sources, models
# summarize only the roots.
_SEEN = """
EXISTS (SELECT 1 FROM summary s JOIN producer p ON p.seq = s.producer_seq
  WHERE s.node_seq = {node} AND (p.seq = :producer OR p.rank >= :floor))
"""
_UNSEEN = f"""
EXISTS (SELECT 1 FROM summary s WHERE s.node_seq = n.seq AND s.producer_seq = :extractive)
AND NOT {_SEEN.format(node="n.seq")}
AND NOT EXISTS (
  SELECT 1 FROM node_child nc JOIN node child ON child.seq = nc.child_seq
  WHERE nc.node_seq = n.seq AND NOT {_SEEN.format(node="nc.child_seq")}
    AND (child.provisional = 0
      OR EXISTS (SELECT 1 FROM tree t WHERE t.root_seq = child.seq AND t.scope = 'source')))
"""  # noqa: S608
_READY_IN_TREE = f"""
SELECT n.id, n.level FROM tree_node tn JOIN node n ON n.seq = tn.node_seq
WHERE tn.tree_seq = :tree AND {_UNSEEN}
"""  # noqa: S608
_READY_PARENTS = f"""
SELECT n.id, n.level FROM node_child up JOIN node n ON n.seq = up.node_seq
WHERE up.child_seq = :node AND n.provisional = 0 AND {_UNSEEN}
"""  # noqa: S608
_READY_ROOT = f"""
SELECT n.id, max(t.model_root_at_ms) FROM node n JOIN tree t ON t.root_seq = n.seq
WHERE n.seq = :node AND n.provisional = 1 AND {_UNSEEN} GROUP BY n.id
"""  # noqa: S608
_ROOTS_ABOVE = """
SELECT DISTINCT t.root_seq FROM node_child up JOIN tree t ON t.root_seq = up.node_seq
WHERE up.child_seq = :node
"""
_MARK_ROOT = "UPDATE tree SET model_root_at_ms = ? WHERE root_seq = ?"
_FORGET_FAILURE = """
DELETE FROM summary WHERE usable = 0
  AND node_seq = (SELECT seq FROM node WHERE id = :node)
  AND producer_seq = (SELECT seq FROM producer WHERE name = :producer)
"""
_PAID = "SELECT text, tokens_in, tokens_out, seconds FROM model_output WHERE key = ?"
_NOTHING = {"tokens_in": 0, "tokens_out": 0, "seconds": 0.0}
_PAY = """
INSERT OR REPLACE INTO model_output (key, node_seq, text, tokens_in, tokens_out, seconds)
SELECT :key, seq, :text, :tokens_in, :tokens_out, :seconds FROM node WHERE seq = :node
"""
