"""What can be asked of a memory file. Nothing here changes what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from treemem import times
from treemem.models.embedders import QueryEmbedder
from treemem.store.database import Database
from treemem.times import Clock, now_ms
from treemem.types import Include, Job, Message, Node, Scope, SearchResult, Tree

if TYPE_CHECKING:
    from treemem.diagnostics.doctor import Diagnosis
    from treemem.diagnostics.status import Status
    from treemem.search.engine import Mode, Rerank
    from treemem.store.usage import UsageKey, UsageRow
    from treemem.tree.browse import SourceView, UpgradableNode


class Reader:
    """The part of Memory that answers."""

    def __init__(self, database: Database, clock: Clock = now_ms) -> None:
        self._database = database
        self._clock = clock
        self._queries = QueryEmbedder()

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know about this file and this SQLite, in sentences."""
        return tuple(self._database.notices)

    def search(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        budget_tokens: int = 2_000,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        now: datetime | None = None,
        mode: Mode = "auto",
        fts: bool = False,
        tuning: Mapping[str, float] | None = None,
        rerank: Rerank | None = None,
        include: Iterable[Include] = (),
    ) -> SearchResult:
        """What answers a query, as a context of at most budget_tokens, in the order of time.

        since, until: both inclusive, a day, a time, or words such as "last week"; a day without
        a time means from its start, or to its end. Messages without a time are left out of a
        search by time. now: what such words count from, in the query too; the default is the
        clock's. mode: "verbatim" returns messages only, "summary" statements of summaries only,
        "auto" what the question wants. fts: the query is an FTS5 expression. tuning: weights
        in place of the tuned ones, see weights.Weights. rerank: see search.Rerank. include:
        what else than the histories is searched, see model.INCLUDES. A missing or failing model
        makes the answer poorer and is named in it. Raises UsageError, NotFoundError for the scope.
        """
        from treemem.search.engine import Query, search

        asked = Query(query, scope or Scope.everything(), now or times.local(self._clock()),
                      budget_tokens, since, until, mode, tuning or {}, fts, rerank,
                      frozenset(include))  # fmt: skip
        return search(self._database, asked, self.setting("embedder"), self._queries.vector)

    def tree(self, scope: Scope, *, cite: bool = True) -> Tree:
        """The tree of a scope as it stands.

        cite: without it the nodes' statements come without their messages, which saves much
        in a large tree.
        """
        from treemem.topics import store as topic_store
        from treemem.tree import browse

        with self._database.reading():
            if scope.kind == "topic":
                scope = Scope.topic(topic_store.resolve(self._database, scope.key or ""))
            return browse.tree(self._database, scope, cite=cite)

    def node(self, node_id: str, *, producer: str | None = None) -> Node:
        """A node by its id or an unambiguous beginning of it, with its statements.

        producer: whose view to show; the default is the best one.
        """
        from treemem.tree import browse

        with self._database.reading():
            return browse.node(self._database, node_id, producer)

    def upgradable(self, source: str | None = None) -> list[UpgradableNode]:
        """The nodes whose summary is only picked out, or made by a weaker model than the one
        in use; work(upgrade=True) lets that one summarize them."""
        from treemem.summarize import backends
        from treemem.tree import browse

        rank = backends.rank_of(self.setting("summarizer"))
        with self._database.reading():
            source_id = None if source is None else browse.source_row(self._database, source)[1]
            return browse.upgradable(self._database, rank, source_id)

    def expand(self, node_id: str) -> list[Node] | list[Message]:
        """What lies below a node: its children, or a leaf's messages word for word."""
        from treemem.tree import browse

        with self._database.reading():
            return browse.expand(self._database, node_id)

    def sources(self) -> list[SourceView]:
        """All sources, the most recent first."""
        from treemem.tree import browse

        with self._database.reading():
            return browse.sources(self._database)

    def source(self, name: str) -> SourceView:
        """One source, by its id or an unambiguous part of it."""
        from treemem.tree import browse

        with self._database.reading():
            return browse.source(self._database, name)

    def messages(self, source: str) -> list[Message]:
        """A source's history, word for word, in order."""
        from treemem.tree import browse

        with self._database.reading():
            row = browse.source_row(self._database, source)
            return browse.source_messages(self._database, row[0])

    def status(self) -> Status:
        """What is stored, what waits, and what is missing."""
        from treemem.diagnostics.status import status
        from treemem.summarize import backends

        setting = self.setting("summarizer")
        result = None if setting is None else backends.exam_of(setting)
        waiting = len(self.upgradable())
        with self._database.reading():
            return status(self._database, self._clock(), result, waiting)

    def diagnose(self) -> Diagnosis:
        """Proves the file whole, or says what is wrong with it. See doctor.py."""
        from treemem.diagnostics import doctor

        return doctor.diagnose(self._database)

    def usage(
        self,
        by: UsageKey = "day",
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[UsageRow]:
        """What model calls have cost, summed by local day, source, level, model or job. Limits
        are inclusive, in local time where they have no zone."""
        from treemem.store.usage import usage

        return usage(self._database, by, since, until)

    def jobs(self, states: Sequence[str], limit: int = 100) -> list[Job]:
        """The jobs in these states ("todo", "running", "done", "dead"), next ones first."""
        from treemem.queue import jobs

        return jobs.listing(self._database, states, limit)

    def is_behind(self, kind: str) -> bool:
        """Whether what such a job makes does not hold everything yet: "global", "topics"."""
        from treemem.queue import jobs

        return jobs.has_open(self._database, kind)

    def job(self, job_id: int) -> Job:
        """One job of the queue. Raises NotFoundError."""
        from treemem.queue import jobs

        return jobs.get(self._database, job_id)

    def setting(self, name: str) -> str | None:
        """A choice kept in this file, such as "summarizer", or None."""
        sql = "SELECT value FROM setting WHERE name = ?"
        found: str | None = self._database.value(sql, (name,))
        return found
