"""Tests that values are kept exactly as long as their file does not change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treemem.store.database import Database
from treemem.store.file import memo


def _counter(database: Database) -> Callable[[], int]:
    return lambda: int(database.value("SELECT count(*) FROM source"))


def _add(database: Database, name: str) -> None:
    database.execute(
        "INSERT INTO source (id, format, created_at_ms) VALUES (?, 'generic', 0)", (name,)
    )


def test_a_value_is_computed_once_while_nothing_changes(database: Database) -> None:
    calls = []
    for _ in range(3):
        assert memo.kept(database, "one", lambda: calls.append(1) or len(calls)) == 1
    assert calls == [1]
    assert memo.kept(database, "other", lambda: "another key") == "another key"


def test_a_change_by_this_or_by_another_connection_is_seen(tmp_path: Path) -> None:
    first, second = Database(tmp_path / "m.sqlite3"), Database(tmp_path / "m.sqlite3")
    assert memo.kept(first, "count", _counter(first)) == 0
    _add(first, "a")
    assert memo.kept(first, "count", _counter(first)) == 1
    assert memo.kept(second, "count", _counter(second)) == 1
    _add(second, "b")
    assert memo.kept(first, "count", _counter(first)) == 2
    with first.reading():
        assert memo.kept(first, "count", _counter(first)) == 2
        _add(second, "c")
        assert memo.kept(first, "count", _counter(first)) == 2, "as in the rest of the transaction"
    assert memo.kept(first, "count", _counter(first)) == 3
    first.close()
    second.close()


def test_what_was_rolled_back_is_not_kept(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            _add(database, "gone")
            assert memo.kept(database, "count", _counter(database)) == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert memo.kept(database, "count", _counter(database)) == 0


def test_the_values_are_limited(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "VALUES_MAX", 2)
    for key in range(5):
        assert memo.kept(database, key, lambda key=key: key) == key
    assert memo.kept(database, 4, lambda: "again") == 4
