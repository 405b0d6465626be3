"""Vectors in the file: one table for each embedder, keyed by node, and searching them exactly.

A node has a vector of its own (ordinal 0), a leaf also one for each of its windows. Two
embedders never meet: each has its own table, number of dimensions and coverage. Where
sqlite-vec loads, SQLite computes the cosines, else numpy does over the same bytes.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from treemem.errors import ModelError, NotFoundError
from treemem.models import embedders
from treemem.store.database import Database, Row
from treemem.store.migrations import VECTORS, VECTORS_BY_DIGEST, VECTORS_OF_NODES
from treemem.store.quantization import mean, packed, unpacked

if TYPE_CHECKING:
    from treemem.store.quantization import Vector

# Rows that numpy looks at in one go.
ROWS_A_BATCH = 4_096
DIGESTS_A_QUERY = 500


class WindowScore(NamedTuple):
    """A window of a leaf, see windows.Window, and its cosine with the query."""

    node_seq: int
    ordinal: int
    first_span: int
    start: int
    last_span: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """An embedder that has vectors here. setting: what opens it, see embedders.opened.

    embedded, total: the nodes that have a vector, of those that there are.
    """

    seq: int
    name: str
    setting: str
    dimensions: int
    embedded: int
    total: int

    @property
    def is_complete(self) -> bool:
        return self.embedded == self.total


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder to search with. missing: what would make it better, in a sentence."""

    seq: int
    name: str
    setting: str
    dimensions: int
    embedded: int
    total: int
    missing: str | None


@dataclass(frozen=True, slots=True)
class WindowVector:
    """One window of a leaf, ready to be stored. digest: of the text that was embedded."""

    ordinal: int
    first_span: int
    start: int
    last_span: int
    end: int
    digest: bytes
    vector: bytes


# -- which embedders there are ---------------------------------------------------------

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


def ensure(database: Database, name: str, setting: str, dimensions: int) -> int:
    """An embedder's number; its table is made at the first call, in a transaction."""
    with database.transaction():
        seq = int(database.value(_ENSURE, (name, setting, dimensions)))
        for sql in (VECTORS, VECTORS_BY_DIGEST, VECTORS_OF_NODES):
            database.execute(sql.format(table=table_of(seq)))
    return seq


def dimensions_of(database: Database, name: str) -> int | None:
    """The dimensions of an embedder that has vectors here, else None."""
    found: int | None = database.value("SELECT dimensions FROM embedder WHERE name = ?", (name,))
    return found


def seq_of(database: Database, name: str) -> int | None:
    """The number of an embedder that has vectors here, else None."""
    found: int | None = database.value("SELECT seq FROM embedder WHERE name = ?", (name,))
    return found


def exists(database: Database, embedder_seq: int) -> bool:
    """Whether the embedder's vectors were not pruned meanwhile."""
    sql = "SELECT 1 FROM embedder WHERE seq = ?"
    return database.value(sql, (embedder_seq,)) is not None


def stored(database: Database) -> list[StoredEmbedder]:
    """The embedders that have vectors here, with their coverage, oldest first."""
    total = int(database.value("SELECT count(*) FROM node"))
    return [
        StoredEmbedder(seq, name, setting, dimensions,
                       int(database.value(_EMBEDDED.format(table=table_of(seq)))), total)
        for seq, name, setting, dimensions in database.rows(_EMBEDDERS)
    ]  # fmt: skip


def choose(database: Database, setting: str | None) -> EmbedderChoice | None:
    """Which stored vectors to search by: those of the embedder in use if they cover all nodes,
    else those of the one that covers most and can be opened; of equals the one in use.

    setting: the choice of embedder, None for none. Returns None where none is chosen or
    nothing can be searched.
    """
    if setting is None:
        return None
    in_use = embedders.identity_of(setting)
    usable = [
        each for each in stored(database)
        if each.embedded and embedders.identity_of(each.setting) == each.name
    ]  # fmt: skip
    best = max(usable, key=lambda each: (each.embedded, each.name == in_use), default=None)
    if best is None:
        return None
    lacking = missing(database, setting)
    if best.name != in_use:
        lacking = f"{lacking}; until then the vectors of {best.name} are searched"
    return EmbedderChoice(
        best.seq, best.name, best.setting, best.dimensions, best.embedded, best.total, lacking
    )


def missing(database: Database, setting: str | None) -> str | None:
    """What the embedder in use lacks, in a sentence; None where it covers every node, or none
    is in use."""
    if setting is None:
        return None
    label, name = embedders.label(setting), embedders.identity_of(setting)
    if name is None:
        return (f"The embedder {label} is not installed, or damaged: treemem model pull {label}, "
                "or choose another: treemem model list")  # fmt: skip
    found = {each.name: each for each in stored(database)}.get(name)
    total = int(database.value("SELECT count(*) FROM node"))
    embedded = 0 if found is None else found.embedded
    if embedded == total:
        return None
    return f"{embedded:,} of {total:,} nodes are embedded under {label}: treemem work"


def window_count(database: Database, embedder_seq: int) -> int:
    """How many windows have a vector of this embedder, those of gone leaves included."""
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
    """By what a window's text is known again, in another leaf or a later tail."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def known(database: Database, embedder_seq: int, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    """The vectors of texts that were embedded before, by their digests."""
    found: dict[bytes, bytes] = {}
    wanted = list(digests)
    for start in range(0, len(wanted), DIGESTS_A_QUERY):
        part = tuple(wanted[start : start + DIGESTS_A_QUERY])
        marks = ",".join("?" * len(part))
        found.update(database.rows(_KNOWN.format(table=table_of(embedder_seq), marks=marks), part))
    return found


def put_windows(
    database: Database, embedder_seq: int, node_seq: int, rows: Iterable[WindowVector]
) -> None:
    """Stores windows of a leaf, in the caller's transaction; the same ones are replaced."""
    values = [
        (node_seq, row.ordinal, row.first_span, row.start, row.last_span, row.end, row.digest,
         row.vector)
        for row in rows
    ]  # fmt: skip
    database.many(_PUT.format(table=table_of(embedder_seq)), values)


def put_node(database: Database, embedder_seq: int, node_seq: int, parts: Sequence[bytes]) -> None:
    """Stores a node's own vector, the mean of its parts, in the caller's transaction. The node
    counts as embedded from then on."""
    digest = hashlib.blake2b(b"".join(parts), digest_size=16).digest()
    row = (node_seq, 0, 0, 0, 0, 0, digest, mean(parts))
    database.execute(_PUT.format(table=table_of(embedder_seq)), row)


def remove(database: Database, node_seqs: Iterable[int], embedder_seq: int | None = None) -> None:
    """Deletes the vectors of nodes under one embedder, None for every one, in the caller's
    transaction."""
    wanted = orjson.dumps(list(node_seqs)).decode()
    every = [row[0] for row in database.rows(_EMBEDDERS)]
    for seq in every if embedder_seq is None else [embedder_seq]:
        database.execute(_OF_NODES.format(table=table_of(seq)), (wanted,))


def remove_gone(database: Database) -> int:
    """Deletes the vectors of nodes that are gone, under every embedder, in the caller's
    transaction. Returns how many."""
    return sum(
        database.changed(_GONE.format(table=table_of(seq))) for seq, *_ in database.rows(_EMBEDDERS)
    )


def drop(database: Database, embedder_seq: int) -> None:
    """Deletes all vectors of an embedder, in the caller's transaction."""
    database.execute(f"DROP TABLE IF EXISTS {table_of(embedder_seq)}")
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
    """The windows of these leaves, None for all, with their cosines with the query.

    limit: only so many, the best, best first; None returns all of them in no certain order.
    """
    rows = _scored(database, embedder_seq, query_vector, leaf_seqs, limit)
    return [WindowScore(*row) for row in rows]


def node_vectors(
    database: Database, embedder_seq: int, node_seqs: Sequence[int]
) -> dict[int, Vector]:
    """The vectors of whole nodes, of length 1; what has none is left out."""
    found = node_bytes(database, embedder_seq, node_seqs)
    return dict(zip(found, unpacked(list(found.values())), strict=True)) if found else {}


def node_bytes(database: Database, embedder_seq: int, node_seqs: Sequence[int]) -> dict[int, bytes]:
    """As node_vectors, as they are stored."""
    sql = (f"SELECT v.node_seq, v.vector FROM {table_of(embedder_seq)} v "  # noqa: S608
           f"WHERE v.ordinal = 0 AND {_THESE}")  # fmt: skip
    return dict(database.rows(sql, {"nodes": orjson.dumps(list(node_seqs)).decode()}))


def _scored(
    database: Database,
    embedder_seq: int,
    query_vector: Vector,
    node_seqs: Sequence[int] | None,
    limit: int | None,
) -> list[Row]:
    """Rows of the six columns and the cosine."""
    _check_query(database, embedder_seq, query_vector)
    source = f"FROM {table_of(embedder_seq)} v WHERE v.ordinal > 0 AND " + (
        _ANY if node_seqs is None else _THESE
    )
    parameters: dict[str, Any] = {
        "nodes": "[]" if node_seqs is None else orjson.dumps(list(node_seqs)).decode(),
        "query": packed(query_vector[None, :])[0],
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
        raise NotFoundError(f"The embedder number {embedder_seq} has no vectors here any more.")
    name, dimensions = row
    if query_vector.shape != (dimensions,):
        raise ModelError(
            f"The query has {query_vector.size} numbers where the vectors of {name} have "
            f"{dimensions}: it is another model now. Embed again under it: treemem embed --prune "
            f"{name}; treemem embed",
            recoverable=False,
        )


def _by_numpy(cursor: Any, query: bytes, limit: int | None) -> list[Row]:
    """What sqlite-vec does, batch by batch, so that memory is bounded by the limit."""
    wanted = unpacked([query])[0]
    found: list[Row] = []
    least = -2.0  # what a cosine has to reach
    while batch := cursor.fetchmany(ROWS_A_BATCH):
        cosines = (unpacked([row[6] for row in batch]) @ wanted).tolist()
        scored = zip(batch, cosines, strict=True)
        found += [(*row[:6], cosine) for row, cosine in scored if cosine >= least]
        if limit is not None and len(found) > limit:
            found = heapq.nsmallest(limit, found, key=_best_first)
            least = found[-1][6] if found else 2.0
    return found if limit is None else sorted(found, key=_best_first)


def _best_first(row: Row) -> tuple[float, int, int]:
    return -row[6], row[0], row[1]
