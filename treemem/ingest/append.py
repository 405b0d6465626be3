"""From messages in hand to stored ones: what Memory.append does.

It takes secrets out, tells repetitions of the same words apart, and stores everything with the
job that will seal it in one transaction.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from treemem import ids, times
from treemem.privacy.policy import Redaction
from treemem.store import messages
from treemem.store.database import Database
from treemem.text.tokens import count_many
from treemem.times import Clock
from treemem.types import Message, Source
from treemem.worker import source_jobs


def append(
    database: Database,
    clock: Clock,
    source: Source,
    added: Sequence[Message],
    redaction: Redaction,
) -> list[str]:
    given = [messages.cleaned(message) for message in added]
    redacted = [redaction.redact(message) for message in given]
    counts = count_many([message.text for message in redacted])
    source = replace(source, title=redaction.text(source.title))
    with database.transaction():
        source_seq = messages.ensure_source(database, source, clock())
        prepared: list[messages.Prepared] = []
        tokens: dict[str, int] = {}
        for before, message, count in zip(given, redacted, counts, strict=True):
            if message.external_id is None:
                occurrence = _first_free(database, source_seq, source.id, message, tokens)
                item = messages.prepare(message, source.id, occurrence)
            else:
                item = redaction.prepare(before, source.id, lambda _: 0)
            prepared.append(item)
            tokens[item.id] = count
        messages.add(database, source_seq, prepared, tokens)
        source_jobs.admit_seal(database, source.id, clock())
    return [item.id for item in prepared]


_IS_MEMBER = """
SELECT 1 FROM message m JOIN source_message sm ON sm.message_seq = m.seq
WHERE m.id = ? AND sm.source_seq = ?
"""


def _first_free(
    database: Database, source_seq: int, source_id: str, message: Message, taken: Container[str]
) -> int:
    """Which repetition of the same words this is: the first that the source does not have.

    Repetitions are numbered without gaps, so it is found by doubling and halving.
    """
    sent_at, _ = times.parse(message.sent_at)

    def is_taken(occurrence: int) -> bool:
        found = ids.message_id(message, source_id, sent_at, occurrence)
        return found in taken or database.row(_IS_MEMBER, (found, source_seq)) is not None

    high = 1
    while is_taken(high - 1):
        high *= 2
    low = high // 2
    while low < high - 1:
        middle = (low + high) // 2
        if is_taken(middle - 1):
            low = middle
        else:
            high = middle
    return high - 1
