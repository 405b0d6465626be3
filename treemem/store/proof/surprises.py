"""Tells a damaged file from a fault of treemem, where work ends with an error nothing foresaw.

Rows that do not fit each other are found by whoever reads them, as a KeyError and the like. To ask
the digests of all rows then costs nothing while all is well.

Tested in tests/store/proof/test_surprises.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treemem.errors import DatabaseCorruptError
from treemem.store.file import sqlite_errors
from treemem.store.proof import digests

# What code raises that takes rows for what they were.
SURPRISES = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError)


def raise_if_damaged(connection: Any, path: Path, error: Exception) -> None:
    """Raises DatabaseCorruptError if rows are not as treemem wrote them, since the error came of
    them. Does nothing within a transaction, whose own rows have no digests yet."""
    if connection is None or connection.in_transaction:
        return
    try:
        found = (table.name_of(part) for table, part in digests.looked_at(connection)
                 if part is not None)  # fmt: skip
        rows = next(found, None)
    except Exception as other:  # pages that cannot be read, or text that is none
        rows = f"some table ({other})"
    if rows is not None:
        raise DatabaseCorruptError(
            f"{path} is damaged: rows of {rows} are not as they were written. It was not changed.",
            hint=sqlite_errors.recover_hint(path),
        ) from error
