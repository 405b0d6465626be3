"""Counts all messages by the time they were sent, and adds up their tokens, each message once.

Messages are only ever added, so those that were counted are not read again while the file is open.
Callers read in one transaction. Tested in tests/tree/test_tally.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from treemem.store.database import Database

# All zones of today are whole quarters of an hour away from each other.
QUARTER_MS = 900_000
_QUARTER = f"sent_at_ms / {QUARTER_MS} - (sent_at_ms < 0 AND sent_at_ms % {QUARTER_MS} <> 0)"
_LAST = "SELECT coalesce(max(seq), 0) FROM message"
_ADDED = f"""
SELECT {_QUARTER}, count(*), sum(tokens), min(sent_at_ms), max(sent_at_ms)
FROM message WHERE seq > ? GROUP BY 1
"""  # noqa: S608
_OF_SOURCE = f"""
SELECT {_QUARTER}, count(*) FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sent_at_ms IS NOT NULL GROUP BY 1
"""  # noqa: S608
# A scrub is the only change of stored messages; it ends by rewriting the file, which counts as a
# change of the schema.
_REWRITTEN = "PRAGMA schema_version"


@dataclass(slots=True)
class Tally:
    """All messages of a file. quarters: how many were sent in each quarter of an hour, by its
    number since 1970 UTC; those without a time are in none. first_ms, last_ms: None without
    times."""

    messages: int = 0
    tokens: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    quarters: Counter[int] = field(default_factory=Counter)
    last_seq: int = 0
    rewritten: int = 0


_kept: WeakKeyDictionary[Database, Tally] = WeakKeyDictionary()


def of_everything(database: Database) -> Tally:
    """The tally of the whole file. Callers must not change it."""
    rewritten = int(database.value(_REWRITTEN))
    tally = None if database.is_writing else _kept.get(database)
    if tally is None or tally.rewritten != rewritten:
        tally = Tally(rewritten=rewritten)
    last_seq = int(database.value(_LAST))
    if last_seq > tally.last_seq:
        _add(database, tally, last_seq)
    if not database.is_writing:  # else it may be rolled back
        _kept[database] = tally
    return tally


def _add(database: Database, tally: Tally, last_seq: int) -> None:
    for quarter, messages, tokens, first_ms, last_ms in database.rows(_ADDED, (tally.last_seq,)):
        tally.messages += messages
        tally.tokens += tokens
        if quarter is not None:
            tally.quarters[quarter] += messages
            tally.first_ms = first_ms if tally.first_ms is None else min(first_ms, tally.first_ms)
            tally.last_ms = last_ms if tally.last_ms is None else max(last_ms, tally.last_ms)
    tally.last_seq = last_seq


def of_source(database: Database, seq: int) -> Counter[int]:
    """How many messages of a source were sent in each quarter of an hour."""
    return Counter(dict(database.rows(_OF_SOURCE, (seq,))))
