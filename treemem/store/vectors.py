"""Stores vectors in one table per embedder, and searches them exhaustively.

Every node has a vector of its own (ordinal 0); a leaf also has one for each of its windows. Each
embedder has its own table, dimensions and coverage. SQLite computes the cosines if sqlite-vec can
be loaded; otherwise numpy does, from the same bytes.

A vector is stored as one signed byte per dimension. Only its direction matters, so each is scaled
until its largest component is 127. Compared with 32-bit floats, cosines change by at most 0.002;
for each of 40 questions about the demo's session, the best window and the best 20 were the same.
"""

from __future__ import annotations

import hashlib
import heapq
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from treemem.errors import Hint, ModelError, NotFoundError, Notice
from treemem.models import embedders
from treemem.models.own import registry
from treemem.reports import count_of
from treemem.store.database import Database, Row, json_list
from treemem.store.schema.spine import VECTORS, VECTORS_BY_DIGEST, VECTORS_OF_NODES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

# Rows that numpy scores at a time.
ROWS_A_BATCH = 4_096
DIGESTS_A_QUERY = 500


class WindowScore(NamedTuple):
    """A window of a leaf, see text.windows.Window, and its cosine with the query."""

    node_seq: int
    ordinal: int
    first_span: int
    start: int
    last_span: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """An embedder that has vectors in this file.

    setting: opens it, see embedders.opened. embedded: the nodes that have a vector. total: all
    nodes.
    """

    seq: int
    name: str
    setting: str
    dimensions: int
    embedded: int
    total: int


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder to search with. missing: a sentence for the user, see missing()."""

    seq: int
    name: str
    setting: str
    dimensions: int
    embedded: int
    total: int
    missing: Notice | None


@dataclass(frozen=True, slots=True)
class WindowVector:
    """A window of a leaf, to be stored. digest: of its text, see digest_of."""

    ordinal: int
    first_span: int
    start: int
    last_span: int
    end: int
    digest: bytes
    vector: bytes


# -- packing ---------------------------------------------------------------------------


def pack(vectors: Vector) -> list[bytes]:
    """Packs each row into bytes. No row may be all zeros.

    Example:
        >>> import numpy as np
        >>> pack(np.array([[0.6, -0.8]], dtype=np.float32))
        [b'_\\x81']
    """
    import numpy as np

    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.rint(vectors * (127 / largest)).astype(np.int8)]


def unpack(rows: Sequence[bytes]) -> Vector:
    """Unpacks rows into unit vectors. Needs at least one row, and rows of equal size."""
    import numpy as np

    raw = np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), -1).astype(np.float32)
    raw /= np.sqrt(np.einsum("ij,ij->i", raw, raw))[:, None]
    return raw


def _mean(rows: Sequence[bytes]) -> bytes:
    """The mean direction of several vectors; that of the first if they cancel out."""
    import numpy as np

    parts = unpack(rows)
    middle = parts.mean(axis=0, keepdims=True)
    return pack(middle if np.any(middle) else parts[:1])[0]


# -- embedders -------------------------------------------------------------------------

_EMBEDDERS = "SELECT seq, name, setting, dimensions FROM embedder ORDER BY seq"
_ENSURE = """
INSERT INTO embedder (name, setting, dimensions) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET setting = excluded.setting RETURNING seq
"""
_EMBEDDED = """
SELECT count(*) FROM node n
WHERE EXISTS (SELECT 1 FROM {table} v WHERE v.node_seq = n.seq AND v.ordinal = 0)
"""


def table_of(embedder_seq: int) -> str:
    """The name of an embedder's table."""
    return f"vector_{int(embedder_seq)}"


def embedder_of(table: str) -> int:
    """The seq of the embedder that has a table."""
    return int(table.removeprefix("vector_"))


def ensure(database: Database, name: str, setting: str, dimensions: int) -> int:
    """Returns the seq of an embedder, and creates its row and table if they are missing."""
    with database.transaction():
        seq = int(database.value(_ENSURE, (name, setting, dimensions)))
        for sql in (VECTORS, VECTORS_BY_DIGEST, VECTORS_OF_NODES):
            database.execute(sql.format(table=table_of(seq)))
        database.watch_tables()
    return seq


def dimensions_of(database: Database, name: str) -> int | None:
    """The dimensions of an embedder; None if it has no vectors in this file."""
    sql = "SELECT dimensions FROM embedder WHERE name = ?"
    dimensions: int | None = database.value(sql, (name,))
    return dimensions


def seq_of(database: Database, name: str) -> int | None:
    """The seq of an embedder; None if it has no vectors in this file."""
    seq: int | None = database.value("SELECT seq FROM embedder WHERE name = ?", (name,))
    return seq


def name_of(database: Database, embedder_seq: int) -> str | None:
    """The name of an embedder; None if it has been removed."""
    name: str | None = database.value("SELECT name FROM embedder WHERE seq = ?", (embedder_seq,))
    return name


def exists(database: Database, embedder_seq: int) -> bool:
    """Whether the embedder still has a table in this file; it may be pruned at any time."""
    sql = "SELECT 1 FROM embedder WHERE seq = ?"
    return database.value(sql, (embedder_seq,)) is not None


def stored(database: Database) -> list[StoredEmbedder]:
    """The embedders that have vectors in this file, with their coverage, oldest first."""
    total = int(database.value("SELECT count(*) FROM node"))
    return [
        StoredEmbedder(seq, name, setting, dimensions,
                       int(database.value(_EMBEDDED.format(table=table_of(seq)))), total)
        for seq, name, setting, dimensions in database.rows(_EMBEDDERS)
    ]  # fmt: skip


def choose(database: Database, setting: str | None) -> EmbedderChoice | None:
    """Chooses the embedder to search with: among those that can be opened, the one that covers the
    most nodes. A tie goes to the embedder in use.

    setting: that of the embedder in use. Returns None if it is None, or if no embedder is usable.
    """
    if setting is None:
        return None
    in_use = embedders.identity_of(setting)
    usable = [
        embedder for embedder in stored(database)
        if embedder.embedded and embedders.identity_of(embedder.setting) == embedder.name
    ]  # fmt: skip
    best = max(
        usable, key=lambda embedder: (embedder.embedded, embedder.name == in_use), default=None
    )
    if best is None:
        return None
    lacking = missing(database, setting)
    if lacking is not None and best.name != in_use:
        meanwhile = f"Until then the vectors of {best.name} are searched."
        lacking = Notice(f"{lacking.message} {meanwhile}", lacking.hint)
    return EmbedderChoice(
        best.seq, best.name, best.setting, best.dimensions, best.embedded, best.total, lacking
    )


def missing(database: Database, setting: str | None) -> Notice | None:
    """A sentence about the vectors that the embedder in use lacks; None if it covers every node or
    setting is None."""
    if setting is None:
        return None
    label, name = embedders.label(setting), embedders.identity_of(setting)
    if name is None and registry.is_own(setting):
        return Notice(f"{registry.missing('embedder', setting)}.",
                      registry.hint("embedder", setting))  # fmt: skip
    if name is None:
        return Notice(
            f"The embedder {label} is not installed, or damaged.",
            Hint(
                f"Install it: treemem model pull {label}, or choose another: "
                'memory.use_model("embedder", name)',
                f"Install it: treemem model pull {label}, or choose another: treemem model list",
            ),
        )
    by_name = {embedder.name: embedder for embedder in stored(database)}
    total = int(database.value("SELECT count(*) FROM node"))
    embedded = by_name[name].embedded if name in by_name else 0
    if embedded == total:
        return None
    what = f"{label} has vectors for {embedded:,} of {count_of(total, 'node')}."
    if database.is_read_only:
        return Notice(what)
    return Notice(
        what,
        Hint("To compute the rest: memory.work()", "To compute the rest: treemem work"),
    )


def embed_again(name: str) -> Hint:
    """The way out where an embedder is another model than the one that made its vectors."""
    return Hint(
        f"Embed again: memory.prune_embeddings({name!r}), then memory.embed()",
        f"Embed again: treemem embed --prune {shlex.quote(name)}, then treemem embed",
    )


def window_count(database: Database, embedder_seq: int) -> int:
    """The number of windows with a vector of this embedder, including those of deleted leaves."""
    sql = f"SELECT count(*) FROM {table_of(embedder_seq)} WHERE ordinal > 0"  # noqa: S608
    return int(database.value(sql))


# -- writing ---------------------------------------------------------------------------

_PUT = """
INSERT OR REPLACE INTO {table}
  (node_seq, ordinal, first_span, start, last_span, "end", digest, vector)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_KNOWN = "SELECT digest, vector FROM {table} WHERE ordinal > 0 AND digest IN ({marks})"
_GONE = "DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.seq = node_seq)"
_OF_NODES = "DELETE FROM {table} WHERE node_seq IN (SELECT value FROM json_each(?))"


def digest_of(text: str) -> bytes:
    """The digest of a window's text, which finds its vector again for another leaf or tail."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def known(database: Database, embedder_seq: int, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    """The packed vectors of texts that are already embedded, by digest."""
    packed: dict[bytes, bytes] = {}
    remaining = list(digests)
    for start in range(0, len(remaining), DIGESTS_A_QUERY):
        part = tuple(remaining[start : start + DIGESTS_A_QUERY])
        marks = ",".join("?" * len(part))
        packed.update(database.rows(_KNOWN.format(table=table_of(embedder_seq), marks=marks), part))
    return packed


def put_windows(
    database: Database, embedder_seq: int, node_seq: int, rows: Iterable[WindowVector]
) -> None:
    """Inserts or replaces windows of a leaf, in the caller's transaction."""
    values = [
        (node_seq, row.ordinal, row.first_span, row.start, row.last_span, row.end, row.digest,
         row.vector)
        for row in rows
    ]  # fmt: skip
    database.many(_PUT.format(table=table_of(embedder_seq)), values)


def put_node(database: Database, embedder_seq: int, node_seq: int, parts: Sequence[bytes]) -> None:
    """Stores a node's own vector, the mean of its packed parts, in the caller's transaction. Call
    it last, since the node counts as embedded from then on."""
    digest = hashlib.blake2b(b"".join(parts), digest_size=16).digest()
    row = (node_seq, 0, 0, 0, 0, 0, digest, _mean(parts))
    database.execute(_PUT.format(table=table_of(embedder_seq)), row)


def remove(database: Database, node_seqs: Iterable[int], embedder_seq: int | None = None) -> None:
    """Deletes the vectors of nodes, in the caller's transaction. embedder_seq: None for all
    embedders."""
    nodes = json_list(node_seqs)
    all_seqs = [row[0] for row in database.rows(_EMBEDDERS)]
    for seq in all_seqs if embedder_seq is None else [embedder_seq]:
        database.execute(_OF_NODES.format(table=table_of(seq)), (nodes,))


def remove_gone(database: Database) -> int:
    """Deletes all vectors of deleted nodes, in the caller's transaction. Returns their number."""
    return sum(
        database.changed(_GONE.format(table=table_of(seq))) for seq, *_ in database.rows(_EMBEDDERS)
    )


def drop(database: Database, embedder_seq: int) -> None:
    """Deletes an embedder and all its vectors, in the caller's transaction."""
    database.execute(f"DROP TABLE IF EXISTS {table_of(embedder_seq)}")
    database.execute("DELETE FROM proof WHERE name = ?", (table_of(embedder_seq),))
    database.execute("DELETE FROM embedder WHERE seq = ?", (embedder_seq,))


# -- searching -------------------------------------------------------------------------

_COLUMNS = 'v.node_seq, v.ordinal, v.first_span, v.start, v.last_span, v."end"'
_COSINE = "1.0 - vec_distance_cosine(vec_int8(v.vector), vec_int8(:query))"
_THESE = "v.node_seq IN (SELECT value FROM json_each(:nodes))"
_ANY = "EXISTS (SELECT 1 FROM node n WHERE n.seq = v.node_seq)"
_BEST = "ORDER BY 7 DESC, 1, 2 LIMIT :limit"


def scores(
    database: Database,
    embedder_seq: int,
    query_vector: Vector,
    leaf_seqs: Sequence[int] | None,
    *,
    limit: int | None = None,
) -> list[WindowScore]:
    """Scores the windows of these leaves by their cosine with the query. leaf_seqs: None for all.

    limit: returns at most this many, best first; None returns all, in no defined order.
    Raises NotFoundError if the embedder was pruned, ModelError if the dimensions differ.
    """
    rows = _scored(database, embedder_seq, query_vector, leaf_seqs, limit)
    return [WindowScore(*row) for row in rows]


def node_vectors(
    database: Database, embedder_seq: int, node_seqs: Sequence[int]
) -> dict[int, Vector]:
    """The unit vectors of these nodes, by node; nodes without a vector are left out."""
    packed = packed_node_vectors(database, embedder_seq, node_seqs)
    return dict(zip(packed, unpack(list(packed.values())), strict=True)) if packed else {}


def packed_node_vectors(
    database: Database, embedder_seq: int, node_seqs: Sequence[int]
) -> dict[int, bytes]:
    """Like node_vectors, but packed."""
    sql = (f"SELECT v.node_seq, v.vector FROM {table_of(embedder_seq)} v "  # noqa: S608
           f"WHERE v.ordinal = 0 AND {_THESE}")  # fmt: skip
    return dict(database.rows(sql, {"nodes": json_list(node_seqs)}))


def _scored(
    database: Database,
    embedder_seq: int,
    query_vector: Vector,
    node_seqs: Sequence[int] | None,
    limit: int | None,
) -> list[Row]:
    """Rows of _COLUMNS, followed by the cosine."""
    _check_query(database, embedder_seq, query_vector)
    source = f"FROM {table_of(embedder_seq)} v WHERE v.ordinal > 0 AND " + (
        _ANY if node_seqs is None else _THESE
    )
    parameters: dict[str, Any] = {
        "nodes": json_list(node_seqs or ()),
        "query": pack(query_vector[None, :])[0],
        "limit": -1 if limit is None else limit,
    }
    if database.has_vector_functions():
        order = "" if limit is None else _BEST
        sql = f"SELECT {_COLUMNS}, {_COSINE} {source} {order}"
        return database.rows(sql, parameters)
    sql = f"SELECT {_COLUMNS}, v.vector {source}"
    with database.reading():
        return _by_numpy(database.execute(sql, parameters), parameters["query"], limit)


def _check_query(database: Database, embedder_seq: int, query_vector: Vector) -> None:
    row = database.row("SELECT name, dimensions FROM embedder WHERE seq = ?", (embedder_seq,))
    if row is None:
        raise NotFoundError(f"The vectors of embedder {embedder_seq} were deleted meanwhile.")
    name, dimensions = row
    if query_vector.shape != (dimensions,):
        raise ModelError(
            f"The query's vector has {query_vector.size} numbers, the vectors of {name} have "
            f"{dimensions}: it is another model now.",
            recoverable=False,
            hint=embed_again(name),
        )


def _by_numpy(cursor: Any, query: bytes, limit: int | None) -> list[Row]:
    """Scores as sqlite-vec does, in batches. With a limit, memory use is bounded."""
    query_vector = unpack([query])[0]
    best: list[Row] = []
    cosine_min = -2.0
    while batch := cursor.fetchmany(ROWS_A_BATCH):
        cosines = (unpack([row[6] for row in batch]) @ query_vector).tolist()
        scored = zip(batch, cosines, strict=True)
        best += [(*row[:6], cosine) for row, cosine in scored if cosine >= cosine_min]
        if limit is not None and len(best) > limit:
            best = heapq.nsmallest(limit, best, key=_best_first)
            cosine_min = best[-1][6] if best else 2.0
    return best if limit is None else sorted(best, key=_best_first)


def _best_first(row: Row) -> tuple[float, int, int]:
    return -row[6], row[0], row[1]
