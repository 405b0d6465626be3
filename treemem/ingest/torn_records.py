"""Knows a message again whose record was half written when its log was read last.

Where a log gives ids, versions share one. Where it gives none, a line that was cut off in the
middle of its words would stay beside the whole one for good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treemem.store.database import Database
from treemem.store.messages import Prepared

_LAST_TWO = """
SELECT m.seq, m.id, m.role, m.kind, m.author, m.sent_at, m.text, m.identity
FROM source s JOIN source_message sm ON sm.source_seq = s.seq
JOIN message m ON m.seq = sm.message_seq
WHERE s.id = ? AND sm.state = 'active' ORDER BY sm.position DESC LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class _Last:
    """The end of what is stored of a source. before: the id of the message before it."""

    seq: int
    id: str
    said: tuple[object, ...]
    text: str
    before: str | None


class HalfWritten:
    """What one reading of one source looks out for."""

    def __init__(self, database: Database, source_id: str) -> None:
        self._previous: str | None = None
        self._last: _Last | None = None
        rows = database.rows(_LAST_TWO, (source_id,))
        if rows and rows[0][-1] is None:
            seq, id_, *said, text, _ = rows[0]
            self._last = _Last(seq, id_, tuple(said), text, rows[1][1] if rows[1:] else None)

    def seen(self, item: Prepared, text: str) -> Prepared:
        """The next message of the log. One that stands where the last stored one stood, by the
        same person at the same time, and goes on where that one broke off, replaces it.
        text: its words with their secrets."""
        last, previous, self._previous = self._last, self._previous, item.id
        if last is None or item.identity is not None:
            return item
        if item.id == last.id:
            self._last = None
            return item
        message = item.message
        said = (message.role, message.kind, message.author, item.sent_at)
        # Subtle: a log without times that is begun anew may well begin as its end did.
        is_there = previous == last.before and (previous is not None or item.sent_at is not None)
        goes_on = message.text.startswith(last.text) or text.startswith(last.text)
        if item.replaces is not None or not (is_there and said == last.said and goes_on):
            return item
        self._last = None
        return replace(item, replaces=last.seq)
