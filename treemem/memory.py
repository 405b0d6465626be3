"""Provides Memory, the facade of treemem. Each method is a short call to the modules below it.

A Memory may be used from several threads; async callers wrap its methods in asyncio.to_thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args

from treemem import config, times
from treemem.arguments import checked
from treemem.assistant.api import AskMethods
from treemem.assistant.chat_model import KeptChat
from treemem.backups.api import BackupMethods
from treemem.browsing.api import BrowseMethods
from treemem.browsing.names import NameMethods
from treemem.browsing.on_day import DayMethods
from treemem.errors import UsageError
from treemem.forgetting.api import ForgetMethods
from treemem.models.embedders import QueryEmbedder
from treemem.models.rerankers import KeptReranker
from treemem.past.api import PastMethods
from treemem.queue_api import QueueMethods
from treemem.rule_api import RuleMethods
from treemem.store import lookup, settings
from treemem.store.access.keys import Key
from treemem.store.database import Database
from treemem.store.lookup import IdKind
from treemem.times import Clock, now_ms
from treemem.types import (
    Digest,
    Include,
    Message,
    Node,
    Origin,
    Scope,
    SearchResult,
    ServedModel,
    Source,
    Tree,
    TreeShape,
    one_or_more,
)

if TYPE_CHECKING:
    from treemem.diagnostics.doctor import Diagnosis
    from treemem.diagnostics.estimate import Plan
    from treemem.diagnostics.overview import Overview
    from treemem.diagnostics.status import Status
    from treemem.importers.common.base import Importer, LogFile
    from treemem.importers.common.own import ReadLog
    from treemem.ledger_api import Ledger
    from treemem.models.rerankers import Rerank
    from treemem.places.finding import Places
    from treemem.privacy.policy import Redact, Redactions
    from treemem.reports import (
        FileProgress,
        IngestReport,
        ScrubReport,
        StepProgress,
        WorkProgress,
        WorkReport,
    )
    from treemem.search.engine import Search
    from treemem.search.query import Query, SearchMode, SearchOrder
    from treemem.store.usage import UsageKey, UsageRow
    from treemem.topic_api import Topics
    from treemem.tree.browse import UpgradableNode
    from treemem.worker.model_choice import OwnModel


@checked
class Memory(
    BrowseMethods,
    DayMethods,
    ForgetMethods,
    RuleMethods,
    QueueMethods,
    AskMethods,
    NameMethods,
    BackupMethods,
    PastMethods,
):
    """One memory file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Memory.open(Path(folder) / "memory.sqlite3") as memory:
        ...         _ = memory.append("chat/1", [Message(text="We ship on Friday.")])
        ...         result = memory.search("when do we ship?")
        >>> [message.text for passage in result.passages for message in passage.messages]
        ['We ship on Friday.']
    """

    def __init__(
        self, database: Database, clock: Clock = now_ms, shape: TreeShape = TreeShape(),
        agent: str | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._shape = shape
        self._agent = agent
        self._queries, self._reranker, self._chat = QueryEmbedder(), KeptReranker(), KeptChat()

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        clock: Clock = now_ms,
        shape: TreeShape = TreeShape(),
        must_exist: bool = False,
        agent: str | None = None,
        key: str | None = None,
    ) -> Memory:
        """Opens a memory file, creating it if it is missing and migrating its schema.

        path: None means TREEMEM_DB, or a file in the user's data folder; ":memory:" a memory that
        is lost at its end. shape: must be the one that the file was created with. must_exist: a
        missing file is an error. agent: which of several assistants that share the file this is;
        the sessions that it begins are its own. key: of an encrypted file, see encrypt_file; None
        takes that of the environment. Raises DatabaseError or a subclass if the file cannot be
        used.
        """
        if path == "":
            raise UsageError("The path of the memory file is empty.")
        chosen = Path(path) if path is not None else config.default_database_path()
        secret = None if key is None else Key(key)
        database = Database(chosen, must_exist=must_exist, key=secret)
        if chosen == config.default_database_path() and not config.servers_path().exists():
            from treemem.worker.model_choice import adopt_servers

            adopt_servers(database)
        return cls(database, clock, shape, agent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. A closed memory cannot be used again.

        Raises DatabaseReplacedError if what was stored is not in the file at the path.
        """
        self._queries.close()
        self._reranker.close()
        self._chat.close()
        self._database.close()

    @property
    def path(self) -> Path:
        """The path of the memory file, as it was given to open()."""
        return self._database.path

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings about this file and this SQLite, in sentences."""
        return tuple(self._database.notices)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored."""
        return self._database.row("SELECT 1 FROM source LIMIT 1") is None

    # -- storing -------------------------------------------------------------------------

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        format_name: str | None = None,
        importer: Importer | ReadLog | None = None,
        progress: FileProgress | None = None,
        keep_blobs: str | Path | None = None,
        redact: Redact = True,
        as_mine: bool = False,
    ) -> IngestReport:
        """Stores the messages of log files, and of the files in folders, and builds their trees.
        Calls no model.

        A file that is not a log, or cannot be read, gets an error in its report and does not
        affect the others. Reading a file again adds only what is new in it. format_name: read all
        files as this format. importer: read them with your own, or with a function. keep_blobs: the
        folder for the bytes of attachments; None discards them. Secrets are replaced by markers
        before anything is stored: redact="pii" also replaces personal data, False nothing.
        as_mine: the user of a chat that may be anybody's, such as one from the net, is you.
        """
        from treemem.ingest.walk import find_files

        several = [paths] if isinstance(paths, str | Path) else paths
        return self.ingest_files(
            list(find_files(several)),
            format_name=format_name, importer=importer, progress=progress, keep_blobs=keep_blobs,
            redact=redact, as_mine=as_mine,
        )  # fmt: skip

    def ingest_files(
        self,
        files: Iterable[LogFile],
        *,
        format_name: str | None = None,
        importer: Importer | ReadLog | None = None,
        progress: FileProgress | None = None,
        keep_blobs: str | Path | None = None,
        redact: Redact = True,
        as_mine: bool = False,
        growing: bool = False,
    ) -> IngestReport:
        """Like ingest, for LogFile values: standard input, or bytes in memory.

        growing: the files will be read repeatedly. Only the latest state of each is
        remembered, and the trees above the sources are left to work().
        """
        from treemem.ingest import blobs
        from treemem.ingest.files import Options, chosen_importer, ingest_all
        from treemem.privacy.policy import Redaction
        from treemem.store.file import modes
        from treemem.worker import run
        from treemem.worker.leaf_pool import LeafPool

        if keep_blobs is not None:
            self._database.add_notices(modes.notices([], [Path(keep_blobs)]))
        with LeafPool() as pool:
            work = run.WhileReading(
                self._database, self._clock, self._shape, pool, lays_out=not growing
            )
            options = Options(
                Redaction.of(self._database, redact),
                importer=chosen_importer(format_name, importer), progress=progress,
                keep_blobs=None if keep_blobs is None else Path(keep_blobs),
                growing=growing, as_mine=as_mine, part_stored=work.part_stored,
            )  # fmt: skip
            report = ingest_all(self._database, files, self._clock, work.file_stored, options)
            work.end()
        if options.keep_blobs is not None:
            blobs.remember(self._database, options.keep_blobs)
        if not growing:
            self.work(max_calls=0)
        return report

    def append(
        self,
        source: str,
        messages: Sequence[Message],
        *,
        title: str | None = None,
        project: str | None = None,
        redact: Redact = True,
    ) -> list[str]:
        """Adds messages to the end of a source and returns their ids once they are stored.

        A message with an external_id is stored once, however often it is appended; a message
        without one is new each time. A dict is refused, since its keys have other names in each
        tool, and a wrong guess would lose words; so is a blank text. Sealing is left to work().
        project: the folder or the name under which several sources belong together, so that the
        user's rules in one hold in all of them; None for a source by itself. redact: as in ingest.
        """
        from treemem.ingest.append import append_messages, without_blank
        from treemem.privacy.policy import Redaction

        redaction = Redaction.of(self._database, redact)
        target = Source(source, "api", title, project=project)
        said = without_blank(messages)
        return append_messages(self._database, self._clock, target, said, redaction)

    def plan(
        self, paths: str | Path | Iterable[str | Path | LogFile], *,
        format_name: str | None = None, importer: Importer | ReadLog | None = None,
        progress: FileProgress | None = None, redact: Redact = True,
    ) -> Plan:  # fmt: skip
        """Estimates the cost of ingesting these files and of the model work after it. Stores
        nothing and loads no model. format_name, importer: as in ingest."""
        from treemem.diagnostics.estimate import plan
        from treemem.ingest.files import chosen_importer

        chosen = chosen_importer(format_name, importer)
        return plan(self._database, self._clock, self._shape, paths, chosen, progress, redact)

    # -- reading -------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        budget_tokens: int = 2_000,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        now: datetime | None = None,
        mode: SearchMode = "auto",
        fts: bool = False,
        tuning: Mapping[str, float] | None = None,
        rerank: Rerank | None = None,
        include: Iterable[Include] = (),
        project: str | Path | None = None,
        exclude: Iterable[Origin] = (),
        zone: tzinfo | str | None = None,
        order: SearchOrder = "time",
    ) -> SearchResult:
        """Returns the passages that answer a query, in at most budget_tokens.

        since, until: inclusive limits: a day, a time, or words such as "last week". A day means
        its start in since and its end in until. Messages without a time do not match a limit.
        now: the moment such words are relative to, also in the query; None means the clock's. zone:
        whose days these and those of the passages are; None means that of now, or the machine's.
        mode: "verbatim" returns messages only, "summary" statements of summaries only, "auto"
        chooses by the question. fts: query is an FTS5 expression. tuning: overrides weights by
        name, see search.weights. rerank: replaces the reranker in use. include: what is searched
        besides the current histories, see types.INCLUDES. project: the folder or project where the
        user is, whose standing instructions head a search of several projects. exclude: origins,
        see types.ORIGINS; messages of no other words are left out. order: "score" puts the best
        passage first, "auto" does so unless the question is broad. If a model is missing or fails,
        the search goes on and says so in missing.
        Raises UsageError, and NotFoundError.
        """
        from treemem.search.query import Query

        moment = times.of_reader(now or times.local(self._clock()), zone)
        request = Query(query, scope or Scope.everything(), moment, budget_tokens, since, until,
                        mode, tuning or {}, fts, rerank, frozenset(one_or_more(include)),
                        None if project is None else str(project), frozenset(one_or_more(exclude)),
                        order)  # fmt: skip
        return self._search_steps(request).result()

    def _search_steps(self, query: Query) -> Search:
        """A search of this file alone, or one of those of several.search_several."""
        from treemem.search.engine import Search

        rerank = query.rerank or self._reranker.of(self.setting(settings.RERANKER))
        query = replace(query, rerank=rerank, private=self._private())
        return Search(self._database, query, self.setting(settings.EMBEDDER), self._queries.vector)

    def tree(self, scope: Scope, *, cite: bool = True) -> Tree:
        """Returns the current tree of a scope; a filter must admit one session.

        cite: False leaves out the messages that statements cite, which is faster.
        """
        from treemem.digest import scopes
        from treemem.tree import browse

        with self._database.reading():
            found = scopes.with_tree(self._database, scope)
            return self._limited(browse.tree(self._database, found, cite=cite))

    def node(self, node_id: str, *, producer: str | None = None) -> Node:
        """Returns a node with its statements, by its id or an unambiguous prefix of it.

        producer: the one whose summary to show; None means the best one.
        """
        from treemem.tree import browse

        with self._database.reading():
            return self._limited(browse.node(self._database, node_id, producer))

    def upgradable(self, source: str | None = None) -> list[UpgradableNode]:
        """Returns the nodes whose summary is extractive, or made by a weaker model than the one
        in use; work(upgrade=True) summarizes them again."""
        from treemem.digest import scopes
        from treemem.summarize import backends
        from treemem.tree import browse

        rank = backends.rank_of(self.setting(settings.SUMMARIZER))
        with self._database.reading():
            source_id = None if source is None else scopes.source(self._database, source).id
            return browse.upgradable(self._database, rank, source_id)

    def message(self, message_id: str) -> Message:
        """Returns a message word for word, by its id or an unambiguous prefix of it."""
        from treemem.tree import browse

        with self._database.reading():
            return self._limited(browse.message(self._database, message_id))

    def ids(self, kind: IdKind, start: str = "", limit: int = 50) -> list[tuple[str, str]]:
        """Returns the ids of a kind that begin with `start`, with a few words about each, as a
        shell completes them. kind: "source", "session", "live session", "checkpoint", "topic",
        "merged topic", "node", "message", "entry", "job". Of sources, those that contain `start` if
        none begins with it. Raises UsageError."""
        if kind not in get_args(IdKind):
            raise UsageError(f"There are no ids of {kind!r}; use {', '.join(get_args(IdKind))}.")
        with self._database.reading():
            return lookup.ids(self._database, kind, start, limit)

    def titles(self, source_ids: Iterable[str] | None = None) -> dict[str, str]:
        """Returns the titles of these sources, or of all, by id."""
        from treemem.digest import reading

        with self._database.reading():
            return self._limited(reading.titles(self._database, source_ids))

    def headline(self, scope: Scope) -> str:
        """Returns one line that says what a source, a topic or everything is: who, when, how much,
        about what. Empty for a session, and if nothing is stored."""
        from treemem.digest import reading, scopes

        with self._database.reading():
            return self._private().headline(
                scopes.resolved(self._database, scope), reading.headline_of(self._database, scope)
            )

    @property
    def ledger(self) -> Ledger:
        """The ledger: rules, decisions, open points, errors and facts, to read, close and drop."""
        from treemem.ledger_api import Ledger

        return Ledger(self._database, self._clock, self._limited)

    @property
    def places(self) -> Places:
        """Where messages were said: files, lines, and how their sessions are continued."""
        from treemem.places.finding import Places

        return Places(self._database)

    def digest(self, scope: Scope) -> Digest:
        """Returns what to read first about a scope, within a ceiling of tokens."""
        from treemem.digest.compose import digest_of

        with self._database.reading():
            return self._limited(digest_of(self._database, scope))

    def setting(self, name: str) -> str | None:
        """Returns a setting stored in this file, such as "summarizer"; None if it is not set."""
        return settings.get(self._database, name)

    # -- secrets -------------------------------------------------------------------------

    @property
    def redactions(self) -> Redactions:
        """The rules by which this file recognizes secrets: to read and to change."""
        from treemem.privacy.policy import Redactions

        return Redactions(self._database)

    def scrub(
        self,
        *,
        pii: bool = False,
        dry_run: bool = False,
        progress: StepProgress | None = None,
    ) -> ScrubReport:
        """Removes secrets from stored messages and from everything derived from them.

        Trees are sealed again from the first leaf that contained a secret; message ids do not
        change. The file is rewritten at the end, so that no page still contains a secret. If the
        process is killed, the file is intact and the next call continues. pii: also removes
        personal data. dry_run: only reports what would change. progress: called with the number of
        messages done and their total. Raises DatabaseLockedError if another process uses the file.
        """
        from treemem.privacy.scrub import scrub_file

        return scrub_file(
            self._database, self._clock, self._shape, "pii" if pii else True,
            lambda: self.work(max_calls=0), dry_run=dry_run, progress=progress,
        )  # fmt: skip

    # -- working -------------------------------------------------------------------------

    def work(
        self,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        *,
        max_tokens: int | None = None,
        between: str | None = None,
        upgrade: bool = False,
        progress: WorkProgress | None = None,
        interrupted: threading.Event | None = None,
    ) -> WorkReport:
        """Runs the jobs of the queue until it is empty or a limit is reached.

        max_calls: limit of model calls; 0 runs only the jobs that need no model.
        between: local hours such as "22:00-07:00"; no model call starts outside them.
        upgrade: also summarizes again the nodes that a weaker model summarized.
        interrupted: set it from another thread to stop after the current step. progress is
        always called on this thread, even if several servers work at once.
        """
        from treemem.worker import run

        limits = run.limits(max_calls, max_tokens, max_seconds, between)
        target = (self._database, self._clock, self._shape)
        forgotten = self._forget_due()
        report = run.Run(*target, limits, progress, interrupted).work(upgrade=upgrade)
        report.forgotten = forgotten
        return report

    def embed(
        self,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        *,
        retry: bool = False,
        progress: WorkProgress | None = None,
        interrupted: threading.Event | None = None,
    ) -> WorkReport:
        """Computes the missing vectors of the embedder in use, within the limits; work() does it
        too. retry: also while a circuit breaker is open.

        Raises UsageError if no embedder is in use, ModelError if it cannot be opened.
        """
        from treemem.worker import run

        limits = run.limits(max_calls, None, max_seconds)
        target = (self._database, self._clock, self._shape)
        return run.Run(*target, limits, progress, interrupted).embed(retry=retry)

    def prune_embeddings(self, name: str) -> str:
        """Deletes an embedder's vectors and returns its full name. Raises NotFoundError."""
        from treemem.worker import run

        return run.prune_embedder(self._database, name)

    # -- models, topics ------------------------------------------------------------------

    def use_model(
        self, role: str, choice: str | ServedModel | OwnModel, *, name: str | None = None
    ) -> None:
        """Sets the model of a role, "summarizer", "embedder", "checker", "reranker" or "chat".

        choice: the name of an installed model, "none", the address of a model server, or a
        ServedModel; servers are asked which models they have. "hashing" is an embedder without
        a model, for tests. A checker may also be a folder with an ONNX model, or "summarizer", the
        default: the summarizer's model, and so can the chat model, which answers questions; "none"
        is neither. Summaries and vectors of other models are kept.

        Every role but the checker's also takes your own function or object, see OwnModel. The file
        stores its name alone, so pass it again in each process. name: identifies it; another
        version needs another name. None means its attribute `name`, or that of the function.

        Raises ModelError if the model is not available, UsageError if the choice does not fit.
        """
        from treemem.worker import model_choice

        model_choice.use(self._database, role, choice, self._clock(), name)

    @property
    def topics(self) -> Topics:
        """The topics: to list, show, rename, pin, merge, unmerge and rebuild."""
        from treemem.topic_api import Topics

        return Topics(self._database, self._clock, lambda: self.work(max_calls=0))

    # -- the file's health ---------------------------------------------------------------

    def status(self, *, space: bool = False) -> Status:
        """Returns what is stored and queued, and what would improve the memory. space: also count
        the bytes of the file by table, which takes some 1.3 seconds a gigabyte."""
        from treemem.diagnostics.space import read_space
        from treemem.diagnostics.status import read_status
        from treemem.store.file import memo
        from treemem.summarize import backends

        setting = self.setting(settings.SUMMARIZER)
        result = None if setting is None else backends.exam_of(setting)
        used = read_space(self._database) if space else None
        with self._database.reading():
            key = ("upgradable", setting)
            waiting = memo.kept(self._database, key, lambda: len(self.upgradable()))
            return read_status(self._database, self._clock(), result, waiting, used)

    def overview(self, logs: Iterable[tuple[str, Path]] | None = None) -> Overview:
        """Returns shortly what is stored, and how many logs of this machine's tools are not. logs:
        the format and the path of each to look at; None for those that are found in a moment."""
        from treemem.diagnostics.overview import read_overview

        with self._database.reading():
            return read_overview(self._database, logs=logs)

    def usage(
        self, by: UsageKey = "day", since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[UsageRow]:  # fmt: skip
        """Returns what model calls have cost, summed by local day, source, level, model or job.
        since, until: as in search, in local time unless they have a zone."""
        from treemem.search import date_filter
        from treemem.store import usage

        limits = date_filter.bounds(since, until, times.local(self._clock()))
        return usage.sums(self._database, by, *limits)

    def diagnose(self) -> Diagnosis:
        """Checks that the file is intact. See diagnostics.doctor."""
        from treemem.diagnostics import doctor

        return doctor.diagnose(self._database, self._shape)

    def repair(self) -> None:
        """Rebuilds derived data that is missing or inconsistent; messages are never changed."""
        from treemem.diagnostics import doctor

        doctor.repair(self._database, self._clock())
        self.work(max_calls=0)
