"""Recognizes a message that was only half written when its log was last read.

In logs with message ids, all versions of a message share an identity. Without ids, the cut-off
line would otherwise be kept next to the complete one forever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treemem.privacy.policy import Redaction
from treemem.store.database import Database
from treemem.store.messages import PreparedMessage

_LAST_TWO = """
SELECT m.seq, m.id, m.role, m.kind, m.author, m.sent_at, m.text, m.identity
FROM source s JOIN source_message sm ON sm.source_seq = s.seq
JOIN message m ON m.seq = sm.message_seq
WHERE s.id = ? AND sm.state = 'active' ORDER BY sm.position DESC LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class _Last:
    """The last stored message of a source. header: role, kind, author and time. texts: its text as
    stored, and redacted under the rules of now. previous_id: of the message before it; None if
    there is none."""

    seq: int
    id: str
    header: tuple[object, ...]
    texts: tuple[str, str]
    previous_id: str | None


class TornRecordMatcher:
    """Looks for the complete version of a source's last stored message, as its log is read."""

    def __init__(self, last: _Last | None, previous_id: str | None = None) -> None:
        self._last = last
        self._previous_id = previous_id

    @classmethod
    def of(
        cls,
        database: Database,
        source_id: str,
        redaction: Redaction,
        previous_id: str | None = None,
    ) -> TornRecordMatcher:
        """Returns a matcher for the last stored message of a source, whatever was redacted in it.
        previous_id: of the message before the first one that is read; None if there is none."""
        rows = database.rows(_LAST_TWO, (source_id,))
        if not rows or rows[0][-1] is not None:
            return cls(None)
        seq, message_id, *header, text, _ = rows[0]
        texts = (text, redaction.text(text) or "")
        last = _Last(seq, message_id, tuple(header), texts, rows[1][1] if rows[1:] else None)
        return cls(last, previous_id)

    def match(self, item: PreparedMessage, log_text: str) -> PreparedMessage:
        """Returns the log's next message. It replaces the last stored message if it has the same
        predecessor, role, kind, author and time, and its text begins with the stored text.
        log_text: its text before redaction."""
        last, previous_id, self._previous_id = self._last, self._previous_id, item.id
        if last is None or item.identity is not None:
            return item
        if item.id == last.id:
            self._last = None
            return item
        message = item.message
        header = (message.role, message.kind, message.author, item.sent_at)
        # Subtle: a log without times that was started afresh may begin with the same words as
        # the stored message, so its first message never counts as in place.
        is_in_place = previous_id == last.previous_id and (
            previous_id is not None or item.sent_at is not None
        )
        goes_on = message.text.startswith(last.texts) or log_text.startswith(last.texts)
        if item.replaces is not None or not (is_in_place and header == last.header and goes_on):
            return item
        self._last = None
        return replace(item, replaces=last.seq)
