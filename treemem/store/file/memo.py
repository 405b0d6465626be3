"""Keeps what was computed from a file for as long as the file does not change.

A server or a watcher answers many questions between two changes. What is read for each of them,
such as the rules in force, is then read once.
Tested in tests/store/file/test_memo.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from treemem.store.database import Database

# Values kept for one file; at the next one all are dropped.
VALUES_MAX = 2_000

# Changes by this connection, and a number that others change.
_STATE = "SELECT total_changes(), data_version FROM pragma_data_version"

Value = TypeVar("Value")
_kept: WeakKeyDictionary[Database, tuple[Any, dict[Hashable, Any]]] = WeakKeyDictionary()


def kept(database: Database, key: Hashable, compute: Callable[[], Value]) -> Value:
    """What compute returns, computed again only after a change of the file by any connection.

    key: names the value; it is the same for everything that compute depends on besides the file.
    Callers must not change the value. In a write transaction nothing is kept, since it may be
    rolled back.
    """
    if database.is_writing:
        return compute()
    state = database.row(_STATE)
    known, values = _kept.get(database, (None, {}))
    if known != state or len(values) >= VALUES_MAX:
        values = {}
        _kept[database] = state, values
    if key not in values:
        values[key] = compute()
    found: Value = values[key]
    return found
