"""Estimates what logs would cost, by ingesting them into a temporary memory file.

Messages and nodes that the user's file already contains are recognized by their ids, which are
hashes of their content, and cost nothing. The summarizer in use prepares its calls for the
others, and a meter counts their tokens instead of a model. The user's file is only read.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from treemem.errors import ModelError
from treemem.importers.common.base import Importer, LogFile
from treemem.ingest.files import Options, file_reports
from treemem.ingest.walk import find_files
from treemem.privacy.policy import Redact, Redaction
from treemem.queue.budget import Budget, Limits
from treemem.reports import FileProgress, FileReport
from treemem.store import settings, usage
from treemem.store.database import Database
from treemem.store.file.sidecars import is_own
from treemem.summarize import Summarizer, backends, extractive_views
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.text.tokens import count_tokens
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker import summary_jobs
from treemem.worker.worker import Worker

if TYPE_CHECKING:
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation

# The tokens of an answer if none was measured: half of what a model may write.
TOKENS_OUT_DEFAULT = 160
# The tokens of a note of one sentence.
NOTE_TOKENS = 20
# The speed is measured over at most this many of the latest calls.
SPEED_CALLS_MAX = 200


@dataclass(frozen=True, slots=True)
class Speed:
    """The measured speed of a summarizer on this machine: medians of its latest calls, and the
    mean length of their answers. calls: how many were measured."""

    seconds_per_call: float
    tokens_per_second: float
    tokens_out_per_call: float
    calls: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What files would add, and the model work that they would cause.

    files: the report that ingest would return for each. tokens: of the new messages.
    leaves, groups, roots: new nodes to summarize; each is one job.
    leaf_calls: model calls for the leaves; a leaf that exceeds a window takes several.
    upper_calls: model calls for groups and roots.
    tokens_in: cl100k tokens, without the fixed beginning of prompts, which is computed once.
    tokens_out: an estimate.
    model: the summarizer in use; None if there is none or it is not installed. Then the calls are
    those of a model that writes notes in windows of the usual size.
    speed: as measured on this machine; None if it was not.
    checker: judges the notes; None if there is none. checks: about how many notes it is asked
    about at most, each a call of its own beside those above; seconds are without them.
    """

    files: tuple[FileReport, ...]
    sources: int
    sources_new: int
    messages_new: int
    messages_known: int
    tokens: int
    leaves: int
    groups: int
    roots: int
    leaf_calls: int
    upper_calls: int
    tokens_in: int
    tokens_out: int
    model: str | None
    speed: Speed | None
    checker: str | None = None
    checks: int = 0

    @property
    def jobs(self) -> int:
        """The jobs of all nodes."""
        return self.leaves + self.groups + self.roots

    @property
    def calls(self) -> int:
        """The model calls of all jobs."""
        return self.leaf_calls + self.upper_calls

    @property
    def jobs_per_leaf(self) -> float | None:
        """Jobs per new leaf; None if there is none."""
        return self.jobs / self.leaves if self.leaves else None

    @property
    def windows_per_leaf(self) -> float | None:
        """Model calls per new leaf; None if there is none."""
        return self.leaf_calls / self.leaves if self.leaves else None

    @property
    def tokens_per_token(self) -> float | None:
        """Model tokens, in and out, for each ingested token; None if none is ingested."""
        return (self.tokens_in + self.tokens_out) / self.tokens if self.tokens else None

    @property
    def seconds(self) -> float | None:
        """How long the calls would take one after another; None if no speed is known."""
        return None if self.speed is None else self.calls * self.speed.seconds_per_call


def plan(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    paths: str | Path | Iterable[str | Path | LogFile],
    importer: Importer | None = None,
    progress: FileProgress | None = None,
    redact: Redact = True,
) -> Plan:
    """Estimates the cost of ingesting paths, as Memory.plan describes. importer: None to detect the
    format of each file. Raises UsageError for a path that does not exist."""
    with tempfile.TemporaryDirectory(prefix="treemem-plan-") as folder:
        trial = Database(Path(folder) / "trial.sqlite3", key=database.key)
        try:
            # Redaction uses the key of the user's file, so that known messages are recognized.
            redaction = Redaction.of(database, redact, keep=False)
            added = _Added()
            for file in _files(paths):
                if file.path is not None and is_own(database.path, file.path):
                    continue
                before = _last_message(trial)
                options = Options(
                    redaction, importer=importer, progress=progress, aliases_in=database
                )
                for report in file_reports(trial, file, clock, options):
                    added.count(report, _messages_after(trial, before), database)
                    Worker(trial, clock, shape, budget=Budget(Limits(max_calls=0))).run()
                    before = _last_message(trial)
            return _plan(database, trial, added)
        finally:
            trial.close()


def speed_of(database: Database, producer_name: str) -> Speed | None:
    """The speed of a summarizer in its latest calls for this file; None if it made none."""
    calls = usage.recent_calls(database, producer_name, SPEED_CALLS_MAX)
    if not calls:
        return None
    return Speed(
        seconds_per_call=statistics.median(seconds for _, _, seconds in calls),
        tokens_per_second=statistics.median(
            (tokens_in + tokens_out) / max(seconds, 0.001)
            for tokens_in, tokens_out, seconds in calls
        ),
        tokens_out_per_call=statistics.mean(tokens_out for _, tokens_out, _ in calls),
        calls=len(calls),
    )


def _speed_in_exam(setting: str) -> Speed | None:
    """The model's speed in its exam, in the mode that is used; None if it took none."""
    result = backends.exam_of(setting)
    if result is None or result.mode is None:
        return None
    part = result.retell if result.mode == "retell" else result.notes
    if not part.calls or not part.seconds:
        return None
    return Speed(
        seconds_per_call=part.seconds,
        tokens_per_second=(part.tokens_in + part.tokens_out) / (part.calls * part.seconds),
        tokens_out_per_call=part.tokens_out / part.calls,
        calls=part.calls,
    )


# -- the content of the files ----------------------------------------------------------

_KNOWN_MESSAGES = "SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?))"


def _files(paths: str | Path | Iterable[str | Path | LogFile]) -> Iterator[LogFile]:
    for path in [paths] if isinstance(paths, str | Path) else paths:
        if isinstance(path, LogFile):
            yield path
        else:
            yield from find_files([path])


def _last_message(trial: Database) -> int:
    return int(trial.value("SELECT coalesce(max(seq), 0) FROM message"))


def _messages_after(trial: Database, seq: int) -> dict[str, int]:
    """The tokens of the messages stored after seq, by message id."""
    return dict(trial.rows("SELECT id, tokens FROM message WHERE seq > ?", (seq,)))


@dataclass(slots=True)
class _Added:
    """The files ingested so far, compared with the user's file."""

    files: list[FileReport] = field(default_factory=list)
    tokens: int = 0

    def count(self, report: FileReport, stored: dict[str, int], database: Database) -> None:
        """Adds a file. stored: the tokens of the messages that it added to the trial, by id; those
        that the user's file contains count as known."""
        ids = orjson.dumps(list(stored)).decode()
        known = {message_id for (message_id,) in database.rows(_KNOWN_MESSAGES, (ids,))}
        self.files.append(
            replace(report, added=report.added - len(known), known=report.known + len(known))
        )
        self.tokens += sum(count for message_id, count in stored.items() if message_id not in known)


# -- the work of the model -------------------------------------------------------------

_HISTORY = """
SELECT m.id, sm.state FROM source_message sm JOIN source s ON s.seq = sm.source_seq
JOIN message m ON m.seq = sm.message_seq WHERE s.id = ?
"""
_NODES = """
SELECT n.id, n.seq, n.level, n.provisional FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq
JOIN node n ON n.seq = tn.node_seq WHERE t.scope = 'source' AND t.key = :source
UNION SELECT n.id, n.seq, n.level, n.provisional FROM tree t JOIN node n ON n.seq = t.root_seq
WHERE t.scope = 'source' AND t.key = :source
"""
# An open tail below a root has no job; it gets one when it is full.
_KNOWN_NODES = """
SELECT n.id FROM node n WHERE n.id IN (SELECT value FROM json_each(?))
  AND (n.provisional = 0 OR EXISTS (SELECT 1 FROM tree t WHERE t.root_seq = n.seq))
"""


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the trial that the user's file does not contain."""

    seq: int
    level: int
    is_root: bool

    @property
    def is_leaf(self) -> bool:
        return self.level == 0 and not self.is_root


def _plan(database: Database, trial: Database, added: _Added) -> Plan:
    name = settings.get(database, settings.SUMMARIZER)
    sources = list(dict.fromkeys(source for file in added.files for source in file.sources))
    summarizer = _summarizer(name, settings.get(database, settings.CHECKER))
    speed = None
    if summarizer is not None and name is not None:
        speed = speed_of(database, summarizer.name) or _speed_in_exam(name)
    nodes = _new_nodes(database, trial, sources)
    # Of a model that is not chosen yet: most, and all that cost money, write notes.
    calls = list(_calls(trial, summarizer or ModelSummarizer("", "", 0, mode="notes"), nodes))
    leaf_calls = sum(node.is_leaf for node, _ in calls)
    per_call = TOKENS_OUT_DEFAULT if speed is None else speed.tokens_out_per_call
    tokens_out = round(len(calls) * per_call)
    checker = summarizer.checker if isinstance(summarizer, ModelSummarizer) else None
    return Plan(
        files=tuple(added.files),
        sources=len(sources),
        sources_new=sum(not _has_source(database, source) for source in sources),
        messages_new=sum(file.added for file in added.files),
        messages_known=sum(file.known for file in added.files),
        tokens=added.tokens,
        leaves=sum(node.is_leaf for node in nodes),
        groups=sum(node.level > 0 and not node.is_root for node in nodes),
        roots=sum(node.is_root for node in nodes),
        leaf_calls=leaf_calls,
        upper_calls=len(calls) - leaf_calls,
        tokens_in=sum(tokens for _, tokens in calls),
        tokens_out=tokens_out,
        model=None if summarizer is None else name,
        speed=speed,
        checker=None if checker is None else checker.name,
        checks=0 if checker is None else round(tokens_out / NOTE_TOKENS),
    )


def _summarizer(name: str | None, checker: str | None) -> Summarizer | None:
    """The summarizer in use; None if there is none or its model is not installed."""
    try:
        return None if name is None else backends.summarizer_of(name, checker)
    except ModelError:
        return None


def _has_source(database: Database, source_id: str) -> bool:
    return database.value("SELECT 1 FROM source WHERE id = ?", (source_id,)) is not None


def _new_nodes(database: Database, trial: Database, source_ids: Sequence[str]) -> list[_Node]:
    """The nodes to summarize that the user's file does not contain. Forks share their nodes."""
    new: dict[str, _Node] = {}
    for source_id in source_ids:
        # An older state of a log that the file contains changes no tree.
        history = set(trial.rows(_HISTORY, (source_id,)))
        if history.difference(database.rows(_HISTORY, (source_id,))):
            for node_id, seq, level, provisional in trial.rows(_NODES, {"source": source_id}):
                new[node_id] = _Node(seq, level, bool(provisional))
    ids = orjson.dumps(list(new)).decode()
    for (node_id,) in database.rows(_KNOWN_NODES, (ids,)):
        del new[node_id]
    return list(new.values())


def _calls(
    trial: Database, summarizer: Summarizer, nodes: Iterable[_Node]
) -> Iterator[tuple[_Node, int]]:
    """The model calls that would be made: the node and the tokens of the prompt."""
    with trial.transaction():
        extractive_seq = extractive_views.ensure_producer(trial)
    for node in nodes:
        meter = _Meter()
        summary_jobs.view_of(trial, node.seq, node.level, extractive_seq, summarizer, meter)
        for tokens in meter.tokens:
            yield node, tokens


class _Meter:
    """A client that counts the tokens of prompts and answers nothing.

    tokens: of each prompt, without the fixed beginning, which is computed once.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        from treemem.models.client import Generation

        del max_tokens, stop
        tokens = count_tokens(prompt.question) + count_tokens(prompt.start)
        self.tokens.append(tokens)
        return Generation("", tokens, 0, 0.0, "length")
