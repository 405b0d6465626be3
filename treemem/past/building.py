"""Makes the memory that there would be if only what was said until a time had been stored.

It is made in RAM and closed to writing; nothing of it comes to a disk. The rows of sources and
messages are those of the memory, with the same numbers; leaves are cut again, since where one ends
depends on what follows it; and the jobs that need no model make trees, ledger and topics. Leaves
that the memory has, too, keep their views, what models wrote about them, and their vectors.

Tested in tests/past/test_past.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treemem import times
from treemem.backups.portable import summaries
from treemem.digest import scopes
from treemem.errors import AmbiguousIdError, NotFoundError, UsageError
from treemem.past import moments
from treemem.past.moments import Place
from treemem.past.stored_leaves import StoredLeaves
from treemem.queue.budget import Budget, Limits
from treemem.reports import StepProgress
from treemem.store import entry_choices, messages, settings, sources, vectors
from treemem.store.database import IN_MEMORY, Database, json_list
from treemem.topics import store as topic_store
from treemem.types import Scope, TreeShape
from treemem.worker import collection_jobs, source_jobs
from treemem.worker.worker import Worker

# Rows that are copied at a time.
_BATCH = 1_000
# What search and digests go by; a model that writes is asked nothing.
_SETTINGS = (settings.EMBEDDER, settings.RERANKER)

_SOURCES = "SELECT seq, created_at_ms FROM source ORDER BY seq"
_PLACES = """
SELECT sm.position, sm.message_seq, sm.session_seq, sm.state, m.sent_at_ms, m.identity
FROM source_message sm JOIN message m ON m.seq = sm.message_seq WHERE sm.source_seq = ?
"""
_PUT_PLACE = """
INSERT INTO source_message (source_seq, position, message_seq, session_seq, state, open_from)
VALUES (?, ?, ?, ?, ?, 0)
"""
# The sources whose entries may be the same as those of these sources, or end them: those of the
# same project and their sub-agents; and where the user gave rules for all projects.
_AROUND = """
WITH placed AS (
  SELECT s.seq, coalesce(s.project, parent.project, '') AS project
  FROM source s LEFT JOIN source parent ON parent.id = s.parent_id)
SELECT seq FROM placed WHERE project IN (
  SELECT project FROM placed WHERE seq IN (SELECT value FROM json_each(:these)))
UNION
SELECT sm.source_seq FROM entry e JOIN statement st ON st.entry_seq = e.seq
JOIN citation c ON c.statement_seq = st.seq JOIN source_message sm ON sm.message_seq = c.message_seq
WHERE e.for_good = 1
"""
_BEGINNING = """
SELECT min(m.sent_at_ms) FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE :these IS NULL OR sm.source_seq IN (SELECT value FROM json_each(:these))
"""
_TOP = "SELECT seq FROM source WHERE parent_id IS NULL ORDER BY seq"
# Tables of which the rows of some messages or sources are taken over, with what they are named by.
_OF_MESSAGES = (("message", "seq"), ("event_day", "message_seq"))
# Of the turns of live sessions, those by which a message is private to an agent.
_OF_SESSIONS_HERE = "AND is_personal = 1 AND session_seq IN ({})"
_TOPIC_WITH = """
SELECT t.id FROM topic t JOIN topic_leaf tl ON tl.topic_seq = t.seq
JOIN node n ON n.seq = tl.node_seq WHERE n.id IN (SELECT value FROM json_each(?))
GROUP BY t.seq HAVING count(*) * 2 > (SELECT count(*) FROM topic_leaf o WHERE o.topic_seq = t.seq)
ORDER BY count(*) DESC, t.id LIMIT 1
"""
_NAMED = "SELECT seq, name FROM topic WHERE named = 1 AND name IS NOT NULL ORDER BY seq"
_LEAVES_OF_TOPIC = """
SELECT n.id FROM topic_leaf tl JOIN node n ON n.seq = tl.node_seq WHERE tl.topic_seq = ?
"""
_COPY_VECTORS = """
SELECT v.ordinal, v.first_span, v.start, v.last_span, v."end", v.digest, v.vector
FROM node n JOIN {table} v ON v.node_seq = n.seq WHERE n.id = ? ORDER BY v.ordinal
"""
_PUT_VECTOR = """
INSERT INTO {table} (node_seq, ordinal, first_span, start, last_span, "end", digest, vector)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


class PastDatabase(Database):
    """A database in RAM that is filled once and then only read."""

    def __init__(self) -> None:
        super().__init__(Path(IN_MEMORY))
        self._digests = None  # no disk can change it

    def _begin(self) -> None:
        if self.is_read_only:
            raise UsageError(
                "A memory as of a past time is only read. Change the memory that it was made of."
            )
        super()._begin()


def built(
    database: Database, until_ms: int, scope: Scope | None, shape: TreeShape,
    progress: StepProgress | None = None, *, above: bool = True,
) -> PastDatabase:  # fmt: skip
    """The memory as of a time, as far as questions about a scope need it. See Memory.as_of.

    above: also make the trees above the sources, if the scope is more than some sources.
    """
    past = PastDatabase()
    try:
        with database.reading():
            _fill(past, database, until_ms, scope, shape, progress, above=above)
        past.is_read_only = True
    except BaseException:
        past.close()
        raise
    return past


def _fill(
    past: Database, database: Database, until_ms: int, scope: Scope | None, shape: TreeShape,
    progress: StepProgress | None, *, above: bool,
) -> None:  # fmt: skip
    asked = _sources_of(database, scope, until_ms)
    chosen = None if asked is None else _with_others(database, asked)
    histories = _histories(database, chosen, until_ms)
    if histories.keys().isdisjoint(histories if asked is None else asked):
        _say_beginning(past, database, until_ms, scope, asked)
    with past.transaction():
        _copy(past, database, histories)
        _put_choices(past, database, until_ms)
        for name in _SETTINGS:
            settings.put(past, name, settings.get(database, name))

    def clock() -> int:
        return until_ms

    with StoredLeaves(database) as leaves:
        worker = Worker(past, clock, shape, budget=Budget(Limits(0)), leaf_pool=leaves)
        for source_seq in histories:
            source_jobs.admit_seal(past, sources.id_of(past, source_seq), until_ms)
        worker.run(("seal",))
        done, total = 0, sum(map(len, histories.values()))
        for places in histories.values():
            worker.step(("extract",))
            done += len(places)
            if progress is not None:
                progress(done, total)
        if above and chosen is None:
            collection_jobs.admit(past, until_ms, at_once=True)
            worker.run(collection_jobs.KINDS)
            with past.transaction():
                _put_names(past, database)
    nodes = {node_id for (node_id,) in past.rows("SELECT id FROM node")}
    with past.transaction():
        for line in summaries.lines(database, nodes):
            summaries.put(past, line)
    _copy_vectors(past, database)


# -- what is needed --------------------------------------------------------------------


def _sources_of(database: Database, scope: Scope | None, until_ms: int) -> Sequence[int] | None:
    """The sources of a scope; None for all. A name that does not tell is left to those who ask the
    past memory for it."""
    if scope is None or scope.kind in ("everything", "topic") or scope.topic_id is not None:
        return None
    if scope.kind == "source" and scope.key == scopes.LATEST:
        return _latest(database, until_ms) or None
    try:
        return scopes.source_seqs(database, scope)
    except (NotFoundError, AmbiguousIdError):
        return None


def _with_others(database: Database, asked: Sequence[int]) -> list[int]:
    """These sources, and those whose entries belong together with theirs."""
    return [seq for (seq,) in database.rows(_AROUND, {"these": json_list(asked)})]


def _say_beginning(
    past: Database, database: Database, until_ms: int, scope: Scope | None,
    asked: Sequence[int] | None,
) -> None:  # fmt: skip
    """Adds a notice that nothing had been said, and when that began."""
    of_asked = {"these": None if asked is None else json_list(asked)}
    began_ms = database.value(_BEGINNING, of_asked)
    if began_ms is not None:
        what, it = (
            ("that is stored here", "this memory") if asked is None else (f"of {scope}", "it")
        )
        past.add_notices([
            f"Nothing {what} was said by {_shown(until_ms)}: {it} begins at {_shown(began_ms)}."
        ])  # fmt: skip


def _shown(at_ms: int) -> str:
    """A time for the user, in the zone of this machine, without seconds."""
    return times.local(at_ms).isoformat(" ", "minutes")[:16]


def _latest(database: Database, until_ms: int) -> list[int]:
    """The source that scopes.LATEST means then; none if there was none."""
    tops = [seq for (seq,) in database.rows(_TOP)]
    ended = [
        (max((place.position, place.sent_at_ms or 0) for place in said)[1], seq)
        for seq, places in _histories(database, tops, until_ms).items()
        if (said := [place for place in places if place.state == "active"])
    ]
    return [max(ended)[1]] if ended else []


def _histories(
    database: Database, chosen: Sequence[int] | None, until_ms: int
) -> dict[int, list[Place]]:
    """What had been said in each of these sources, by their row numbers."""
    wanted = None if chosen is None else set(chosen)
    histories = {}
    for seq, stored_at_ms in database.rows(_SOURCES):
        if wanted is None or seq in wanted:
            places = [Place(*row) for row in database.rows(_PLACES, (seq,))]
            if said := moments.until(places, stored_at_ms, until_ms):
                histories[seq] = said
    return histories


# -- rows ------------------------------------------------------------------------------


def _copy(past: Database, database: Database, histories: dict[int, list[Place]]) -> None:
    """Stores sources, their messages, and what says whose these are."""
    _copy_rows(past, database, "log_session", None)
    _copy_rows(past, database, "source", "seq", list(histories))
    _copy_rows(past, database, "live_session", "source_seq", list(histories))
    seqs = sorted({place.message_seq for places in histories.values() for place in places})
    for table, column in _OF_MESSAGES:
        _copy_rows(past, database, table, column, seqs)
    _copy_rows(past, database, "turn", "message_seq", seqs, _OF_SESSIONS_HERE.format(
        ", ".join(str(seq) for (seq,) in past.rows("SELECT seq FROM live_session"))
    ))  # fmt: skip
    if seqs:
        past.execute(messages.INDEX_WORDS, (seqs[0], seqs[-1]))
    for source_seq, places in histories.items():
        past.many(_PUT_PLACE, [
            (source_seq, place.position, place.message_seq, place.session_seq, place.state)
            for place in places
        ])  # fmt: skip
    past.execute("UPDATE source SET open_position = 0")


def _copy_rows(
    past: Database, database: Database, table: str, column: str | None,
    values: Sequence[int] = (), condition: str = "",
) -> None:  # fmt: skip
    """Stores the rows of a table whose column has one of these values, as they are."""
    names = [row[1] for row in database.rows(f"PRAGMA table_info({table})")]
    put = (f"INSERT INTO {table} ({', '.join(names)}) "  # noqa: S608
           f"VALUES ({', '.join('?' * len(names))})")  # fmt: skip
    sql = f"SELECT {', '.join(names)} FROM {table}"  # noqa: S608
    if column is None:
        past.many(put, database.rows(sql))
        return
    sql += f" WHERE {column} IN (SELECT value FROM json_each(?)) {condition} ORDER BY {column}"  # noqa: S608
    for start in range(0, len(values), _BATCH):
        past.many(put, database.rows(sql, (json_list(values[start : start + _BATCH]),)))


def _put_choices(past: Database, database: Database, until_ms: int) -> None:
    for choice in entry_choices.choices(database, until_ms):
        entry_choices.add(past, choice)


def _put_names(past: Database, database: Database) -> None:
    """Gives topics the names that the user gave those with most of the same leaves."""
    for topic_seq, name in database.rows(_NAMED):
        leaves = [leaf for (leaf,) in database.rows(_LEAVES_OF_TOPIC, (topic_seq,))]
        if found := past.value(_TOPIC_WITH, (json_list(leaves),)):
            topic_store.set_name(past, found, name, by_user=True)


def _copy_vectors(past: Database, database: Database) -> None:
    """Stores the vectors of the nodes that the memory has, too."""
    nodes = past.rows("SELECT seq, id FROM node ORDER BY seq")
    for embedder in vectors.stored(database):
        seq = vectors.ensure(past, embedder.name, embedder.setting, embedder.dimensions)
        read = _COPY_VECTORS.format(table=vectors.table_of(embedder.seq))
        put = _PUT_VECTOR.format(table=vectors.table_of(seq))
        with past.transaction():
            for node_seq, node_id in nodes:
                past.many(put, [(node_seq, *row) for row in database.rows(read, (node_id,))])
