"""sqlite-vec and numpy find the same vectors, and each embedder has its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from treemem import Memory, ModelError, NotFoundError
from treemem.store import vectors
from treemem.store.database import Database
from treemem.store.vectors import WindowVector, pack, unpack

DIMENSIONS = 384
LEAVES, WINDOWS = 40, 25

Matrix = NDArray[np.float32]


def random_unit(count: int, dimensions: int = DIMENSIONS, seed: int = 1) -> Matrix:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    units: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


@pytest.fixture
def database(memory: Memory, database: Database) -> Database:
    return database


@pytest.fixture
def known(database: Database) -> Matrix:
    """Vectors of all windows, leaf after leaf, as they were before they were stored."""
    units = random_unit(LEAVES * WINDOWS)
    sql = ("INSERT INTO node (seq, id, level, tokens, message_count, provisional) "
           "VALUES (?, ?, 0, 1, 1, 0)")  # fmt: skip
    with database.transaction():
        database.many(sql, [(leaf + 1, f"{leaf:032x}") for leaf in range(LEAVES)])
        put(database, vectors.ensure(database, "one@1", "one", DIMENSIONS), units)
    return units


def put(database: Database, seq: int, units: Matrix) -> None:
    rows = pack(units)
    for leaf in range(LEAVES):
        part = rows[leaf * WINDOWS : (leaf + 1) * WINDOWS]
        stored = [
            WindowVector(at, at - 1, 0, at - 1, 9, vectors.digest_of(f"{leaf} {at}"), row)
            for at, row in enumerate(part, 1)
        ]
        vectors.put_windows(database, seq, leaf + 1, stored)
        vectors.put_node(database, seq, leaf + 1, part)


def with_numpy(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    monkeypatch.setattr(database, "_vector_functions", False)


@pytest.mark.parametrize("leaves", [None, [1], list(range(3, 30)), [], [9_999]])
@pytest.mark.parametrize("limit", [None, 20])
def test_sqlite_vec_and_numpy_find_the_same(
    database: Database,
    known: Matrix,
    monkeypatch: pytest.MonkeyPatch,
    leaves: list[int] | None,
    limit: int | None,
) -> None:
    if not database.has_vector_functions():
        pytest.skip("this SQLite loads no extension")
    monkeypatch.setattr(vectors, "ROWS_A_BATCH", 64)
    query = random_unit(1, seed=2)[0]
    by_sqlite = vectors.scores(database, 1, query, leaves, limit=limit)
    with_numpy(monkeypatch, database)
    by_numpy = vectors.scores(database, 1, query, leaves, limit=limit)
    if limit is None:
        by_sqlite, by_numpy = sorted(by_sqlite), sorted(by_numpy)
    assert [row[:6] for row in by_sqlite] == [row[:6] for row in by_numpy]
    assert np.allclose([row.cosine for row in by_sqlite], [row.cosine for row in by_numpy],
                       rtol=0, atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("numpy_only", [False, True])
def test_scores_are_the_cosines_of_the_stored_vectors(
    database: Database, known: Matrix, monkeypatch: pytest.MonkeyPatch, numpy_only: bool
) -> None:
    if numpy_only:
        with_numpy(monkeypatch, database)
    query = random_unit(1, seed=3)[0]
    best_rows = vectors.scores(database, 1, query, None, limit=10)
    cosines = [row.cosine for row in best_rows]
    assert cosines == sorted(cosines, reverse=True)
    exact = np.sort(known @ query)[::-1][:10]
    assert np.allclose(cosines, exact, atol=0.005)
    best = int(np.argmax(known @ query))
    assert (best_rows[0].node_seq, best_rows[0].ordinal) == (
        best // WINDOWS + 1,
        best % WINDOWS + 1,
    )
    means = {leaf + 1: known[leaf * WINDOWS : (leaf + 1) * WINDOWS].mean(axis=0)
             for leaf in range(LEAVES)}  # fmt: skip
    for seq, vector in vectors.node_vectors(database, 1, [*range(1, LEAVES + 1), 777]).items():
        assert vector @ means[seq] / np.linalg.norm(means[seq]) > 0.999
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_vectors_of_deleted_nodes_are_not_found_and_can_be_removed(
    database: Database, known: Matrix
) -> None:
    with database.transaction():
        database.execute("DELETE FROM node WHERE seq <= 10")
    query = known[0]
    assert min(row.node_seq for row in vectors.scores(database, 1, query, None)) == 11
    with database.transaction():
        assert vectors.remove_gone(database) == 10 * (WINDOWS + 1)
        vectors.remove(database, [11, 12])
    assert len(vectors.scores(database, 1, query, None)) == (LEAVES - 12) * WINDOWS
    (stored,) = vectors.stored(database)
    assert (stored.embedded, stored.total) == (LEAVES - 12, LEAVES - 10)


@pytest.mark.parametrize("numpy_only", [False, True])
def test_the_vectors_of_two_embedders_never_mix(
    database: Database, known: Matrix, monkeypatch: pytest.MonkeyPatch, numpy_only: bool
) -> None:
    if numpy_only:
        with_numpy(monkeypatch, database)
    other = random_unit(LEAVES * WINDOWS, 64, seed=5)
    seq = vectors.ensure(database, "two@2", "two", 64)
    with database.transaction():
        put(database, seq, other)
    assert len(vectors.scores(database, seq, other[0], None)) == LEAVES * WINDOWS
    with pytest.raises(ModelError, match="another model now"):
        vectors.scores(database, seq, known[0], None)
    with database.transaction():
        vectors.drop(database, seq)
    with pytest.raises(NotFoundError):
        vectors.scores(database, seq, other[0], None)
    assert vectors.ensure(database, "three@3", "three", 64) > seq
    assert len(vectors.scores(database, 1, known[0], None)) == LEAVES * WINDOWS


def test_a_file_written_with_the_extension_is_read_without_it(
    database: Database, known: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(database.path)
    database.close()
    monkeypatch.setattr(Database, "can_load_extensions", lambda self: False)
    again = Database(path)
    try:
        assert not again.has_vector_functions()
        (best,) = vectors.scores(again, 1, known[26], None, limit=1)
        assert (best.node_seq, best.ordinal) == (2, 2)
    finally:
        again.close()


@given(st.integers(0, 10_000), st.sampled_from([2, 64, 384, 1024]))
def test_packing_changes_a_cosine_by_little(seed: int, dimensions: int) -> None:
    one, other = random_unit(2, dimensions, seed)
    rows = pack(np.stack([one, other]))
    assert [len(row) for row in rows] == [dimensions] * 2
    again = unpack(rows)
    assert again[0] @ again[1] == pytest.approx(one @ other, abs=0.01)
