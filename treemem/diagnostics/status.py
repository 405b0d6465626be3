"""Reports what a memory file contains, which jobs are waiting, and what would improve it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from treemem.checkers import opening
from treemem.checkers.calibration import Calibration
from treemem.diagnostics.space import Space
from treemem.errors import Hint, Notice
from treemem.forgetting import copies
from treemem.ledger import reading
from treemem.models import embedders
from treemem.models.own import registry
from treemem.packages import install_command
from treemem.queue import jobs
from treemem.reports import count_of
from treemem.store import settings, vectors
from treemem.store.database import Database, json_list
from treemem.store.file import memo
from treemem.summarize import by_name
from treemem.summarize.exam import ExamResult
from treemem.tree import remembered, tally
from treemem.types import EntryKind, Scope, ServedModel


@dataclass(frozen=True, slots=True)
class ProducerStatus:
    """One producer of summaries.

    nodes: how many it has summarized. usable: how many of these summaries can be shown.
    offered: the statements it proposed. refused: how many were not stored, by reason.
    """

    name: str
    nodes: int
    usable: int
    offered: int
    refused: dict[str, int]


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """One embedder that has vectors here.

    nodes: how many have a vector; of: how many there are. windows: the number of vectors for
    parts of leaves. in_use: whether new nodes get its vectors.
    """

    name: str
    dimensions: int
    nodes: int
    of: int
    windows: int
    in_use: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one memory file.

    abandoned: those of the messages that are in no history any more: of branches that were left,
    and earlier versions. No tree has them.
    leaves_without_topic: leaves and open tails that are similar to too few others. ledger: the
    entries of each kind that hold.
    checker: the model that checks notes, None if none does. calibration: its measured precision,
    also where it is not good enough to be used.
    summarizer, embedder, reranker: the models in use. chat: the model that answers, if another one
    than the summarizer was chosen, or "none". served: the servers of the summarizer's
    model, None for a local one. missing: what would improve the memory, in sentences. space: what
    the bytes of the file are used for; None if not asked for, and for a memory without a file.
    """

    path: str
    size_bytes: int
    sqlite_version: str
    sources: int
    messages: int
    tokens: int
    leaves: int
    groups: int
    open_messages: int
    producers: tuple[ProducerStatus, ...]
    jobs: dict[str, dict[str, int]]
    paused: dict[str, str]
    summarizer: str | None
    embedder: str | None
    served: ServedModel | None
    missing: tuple[str, ...]
    exam: ExamResult | None = None
    upgradable: int = 0
    embedders: tuple[EmbedderStatus, ...] = ()
    topics: int = 0
    leaves_without_topic: int = 0
    ledger: dict[EntryKind, int] = field(default_factory=dict)
    checker: str | None = None
    reranker: str | None = None
    chat: str | None = None
    calibration: Calibration | None = None
    abandoned: int = 0
    space: Space | None = None


_COUNTS = """
SELECT (SELECT count(*) FROM source),
  (SELECT count(*) FROM node WHERE level = 0 AND provisional = 0),
  (SELECT count(*) FROM node WHERE level > 0 AND provisional = 0),
  (SELECT count(*) FROM source s JOIN source_message sm ON sm.source_seq = s.seq
     AND sm.position >= s.open_position WHERE sm.state = 'active' AND sm.open_from IS NOT NULL),
  (SELECT count(*) FROM topic),
  (SELECT count(*) FROM node n WHERE n.level = 0
     AND NOT EXISTS (SELECT 1 FROM topic_leaf tl WHERE tl.node_seq = n.seq)
     AND (EXISTS (SELECT 1 FROM tree_node tn WHERE tn.node_seq = n.seq)
       OR EXISTS (SELECT 1 FROM tree t WHERE t.scope = 'source' AND t.tail_seq = n.seq)))
"""
_SOURCES = "SELECT seq FROM source"
_INACTIVE = """
SELECT source_seq, message_seq FROM source_message
WHERE source_seq IN (SELECT value FROM json_each(?)) AND state <> 'active'
"""
_ABANDONED = """
SELECT count(DISTINCT j.value) FROM json_each(?) j WHERE NOT EXISTS (
  SELECT 1 FROM source_message sm WHERE sm.message_seq = j.value AND sm.state = 'active')
"""
_PRODUCERS = """
SELECT p.seq, p.name, count(*), sum(s.usable), sum(s.offered)
FROM summary s JOIN producer p ON p.seq = s.producer_seq GROUP BY p.seq ORDER BY p.rank DESC
"""
_REFUSED = """
SELECT r.value ->> 'reason', count(*) FROM summary s
JOIN json_each(CASE WHEN json_valid(s.rejections) THEN s.rejections ELSE '[]' END) r
WHERE s.producer_seq = ? GROUP BY 1 ORDER BY 2 DESC
"""


def read_status(
    database: Database, now_ms: int, exam: ExamResult | None = None, upgradable: int = 0,
    space: Space | None = None,
) -> Status:  # fmt: skip
    """Reads the state of a memory file. exam: the result of the summarizer in use; None if it
    took no exam. upgradable: how many nodes could have a better summary."""
    from treemem.models import serving

    counts = memo.kept(database, _COUNTS, lambda: database.row(_COUNTS))
    assert counts is not None
    everything = tally.of_everything(database)
    (sources, leaves, groups, open_messages, topics,
     without_topic) = counts  # fmt: skip
    summarizer = settings.get(database, settings.SUMMARIZER)
    embedder = settings.get(database, settings.EMBEDDER)
    reranker = settings.get(database, settings.RERANKER)
    served = serving.from_setting(summarizer)
    chosen = settings.get(database, settings.CHECKER)
    used = opening.setting_in_use(chosen, summarizer)
    found = opening.calibration_of(used)
    return Status(
        path=str(database.path),
        size_bytes=database.path.stat().st_size if database.path.exists() else 0,
        sqlite_version=".".join(map(str, database.sqlite_version)),
        sources=sources,
        messages=everything.messages,
        abandoned=memo.kept(database, _ABANDONED, lambda: _abandoned(database)),
        tokens=everything.tokens,
        leaves=leaves,
        groups=groups,
        open_messages=open_messages,
        producers=tuple(
            ProducerStatus(name, nodes, usable, offered, dict(database.rows(_REFUSED, (seq,))))
            for seq, name, nodes, usable, offered in database.rows(_PRODUCERS)
        ),
        jobs=jobs.counts(database),
        paused=jobs.paused(database, now_ms),
        summarizer=_label(summarizer) if served is None else served.model,
        embedder=None if embedder is None else embedders.label(embedder),
        served=served,
        missing=(
            *_missing(database, summarizer, embedder, exam, upgradable),
            *_unchecked(used, found),
            *_refused(database),
        ),
        exam=exam,
        upgradable=upgradable,
        embedders=memo.kept(
            database, ("embedders", embedder), lambda: _embedders(database, embedder)
        ),
        topics=topics,
        leaves_without_topic=without_topic,
        ledger=dict(memo.kept(database, "ledger counts", lambda: _holding(database))),
        checker=opening.label(used) if found is not None and (chosen or found.usable) else None,
        calibration=found,
        space=space,
        reranker=None if reranker is None else embedders.label(reranker),
        chat=opening.label(_label(settings.get(database, settings.CHAT))),
    )


def _abandoned(database: Database) -> int:
    """How many messages are in no history any more."""

    def read(seqs: Sequence[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {seq: [] for seq in seqs}
        for seq, message_seq in database.rows(_INACTIVE, (json_list(seqs),)):
            found[seq].append(message_seq)
        return found

    sources = [seq for (seq,) in database.rows(_SOURCES)]
    inactive = remembered.of_sources(database, _INACTIVE, sources, read).values()
    return int(database.value(_ABANDONED, (json_list(chain(*inactive)),)))


def _holding(database: Database) -> dict[EntryKind, int]:
    return reading.counts(database, Scope.everything(), reading.Filter(states=reading.HOLDING))


def _label(setting: str | None) -> str | None:
    return None if setting is None else registry.name_of(setting)


def _embedders(database: Database, setting: str | None) -> tuple[EmbedderStatus, ...]:
    in_use = None if setting is None else embedders.identity_of(setting)
    return tuple(
        EmbedderStatus(
            embedder.name, embedder.dimensions, embedder.embedded, embedder.total,
            vectors.window_count(database, embedder.seq), embedder.name == in_use,
        )
        for embedder in vectors.stored(database)
    )  # fmt: skip


def _refused(database: Database) -> Iterator[str]:
    """The servers in use that are not asked, since the user has not chosen them."""
    from treemem.models import serving

    roles = (settings.SUMMARIZER, settings.CHECKER, settings.EMBEDDER, settings.RERANKER,
             settings.CHAT)  # fmt: skip
    choices = {serving.from_setting(settings.get(database, role), role) for role in roles}
    refused = {serving.refused(one, url) for one in choices if one is not None for url in one.urls}
    yield from sorted(filter(None, refused))


def _unchecked(used: str | None, found: Calibration | None) -> Iterator[str]:
    """What would let a checker prove notes in a model's own words."""
    if used is None or by_name(used) is not None:
        return
    if registry.is_own(used) and not registry.is_plugin(used):
        return
    name = opening.label(used)
    if found is None:
        yield Notice(
            f"{name} has not been tested as checker, so notes in a model's own words are not "
            "proved.",
            Hint(
                f"Test it: treemem.model_api.calibrate({name!r})",
                "Test it: treemem model check --role checker",
            ),
        )
    elif not found.usable:
        yield Notice(
            f"{name} cannot tell true notes from false ones well enough to be the checker.",
            Hint(
                'A larger model may: memory.use_model("checker", name)',
                "A larger model may: treemem model use checker NAME",
            ),
        )


def _missing(
    database: Database,
    summarizer: str | None,
    embedder: str | None,
    exam: ExamResult | None,
    upgradable: int,
) -> tuple[str, ...]:
    """Sentences that say what would improve the memory, and how."""
    sentences: list[str] = []
    if summarizer is not None and exam is None and by_name(summarizer) is None:
        python = 'treemem.model_api.examine(memory.setting("summarizer"))'
        is_programs = registry.is_own(summarizer) and not registry.is_plugin(summarizer)
        shell = python if is_programs else "treemem model check"
        sentences.append(
            Notice(
                "The summarizer has taken no exam, so it only retells sentences.",
                Hint(f"Let it take one: {python}", f"Let it take one: {shell}"),
            )
        )
    elif exam is not None and exam.mode is None:
        sentences.append(
            f"{exam.model} adds nothing: in its exam it got {exam.retell.points} of "
            f"{exam.retell.total} sentences and {exam.notes.shown} of {exam.notes.total} notes "
            "right that would be shown. It is not used; summaries are extracted from the logs."
        )
    elif summarizer is not None and upgradable:
        better = "{}: {} replaces extracted ones, {} those of weaker models."
        sentences.append(
            Notice(
                f"{count_of(upgradable, 'node')} could have a better summary.",
                Hint(
                    better.format(
                        "See memory.upgradable()", "memory.work()", "memory.work(upgrade=True)"
                    ),
                    better.format(
                        "See treemem node list", "treemem work", "treemem work --upgrade"
                    ),
                ),
            )
        )
    if registry.is_own(summarizer) and registry.find("summarizer", str(summarizer)) is None:
        setting = str(summarizer)
        sentences[:] = [Notice(f"{registry.missing('summarizer', setting)}.",
                               registry.hint("summarizer", setting))]  # fmt: skip
    if summarizer is None:
        sentences.append(
            Notice(
                "No summarizer is in use: summaries are extracted from the logs.",
                Hint('Choose one: memory.use_model("summarizer", name)', "See: treemem model list"),
            )
        )
    if (lacking := vectors.missing(database, embedder)) is not None:
        sentences.append(lacking)
    return (*sentences, *_of_file(database))


def _of_file(database: Database) -> Iterator[str]:
    if (said := copies.notice(database)) is not None:
        yield said
    if not database.can_load_extensions():
        yield (
            "This Python's SQLite cannot load extensions, so vectors are searched with numpy, "
            f"which is slower. For sqlite-vec: {install_command('pysqlite3')}"
        )
