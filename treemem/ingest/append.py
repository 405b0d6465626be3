"""Appends a caller's messages to a source, for Memory.append.

Redacts secrets and counts tokens first, then stores the messages and the job that seals them in
one transaction.

Tested in tests/store/test_messages.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from treemem import times
from treemem.errors import UsageError
from treemem.ingest.matching import MessageMatcher
from treemem.origins.marking import mark
from treemem.privacy.policy import Redaction
from treemem.store import messages, sources
from treemem.store.database import Database
from treemem.store.messages import PreparedMessage
from treemem.text.tokens import count_many
from treemem.times import Clock
from treemem.types import Message, Source
from treemem.worker import source_jobs


def _valid(given: Message) -> Message:
    """The message, if it can be stored. Raises UsageError."""
    if not isinstance(given.text, str):
        raise UsageError(f"A message's text is a str, not {type(given.text).__name__}.")
    is_time = (
        isinstance(given.sent_at, str | datetime) and times.parse(given.sent_at)[1] is not None
    )
    if given.sent_at not in (None, "") and not is_time:
        # A log may have any time, and its messages are kept; a program can say a right one.
        raise UsageError(
            "A message's sent_at is a datetime or ISO 8601 text such as 2026-11-27T09:30:00+01:00, "
            f"not {str(given.sent_at)[:40]!r}. Leave it out if the time is not known."
        )
    return given


def without_blank(given: Iterable[Message]) -> list[Message]:
    """The messages. Raises UsageError if the text of one is blank, which a caller can leave out;
    those of a log, and the turns of a session, are kept as they are."""
    said = list(given)
    for message in said:
        if isinstance(message.text, str) and not message.text.strip():
            raise UsageError(
                f"A message's text is blank: {message.text[:20]!r}. There is nothing in it to "
                "remember; leave the message out."
            )
    return said


def append_messages(
    database: Database,
    clock: Clock,
    source: Source,
    added: Sequence[Message],
    redaction: Redaction,
) -> list[str]:
    """Stores the messages and returns their ids. A message with an external_id is stored once, and
    not again once it was forgotten; one without is new each time. Raises UsageError for values that
    cannot be stored."""
    originals = [mark(messages.storable(_valid(message))) for message in added]
    sources.check_id(source.id)
    if sources.seq_of(database, source.id) is None:
        redaction.check_name("The source's id", source.id)
    for message in originals:
        redaction.check_name("A message's external_id", message.external_id)
    redacted = [redaction.redact(message) for message in originals]
    counts = count_many([message.text for message in redacted])
    title, project = redaction.text(source.title), redaction.text(source.project)
    source = replace(source, title=title, project=project)
    matcher = MessageMatcher(database, redaction)
    with database.transaction():
        source_seq = sources.seq_of(database, source.id) or 0  # no row has 0
        named: list[str] = []
        batch: list[PreparedMessage] = []
        tokens: dict[str, int] = {}
        for original, message, count in zip(originals, redacted, counts, strict=True):
            if message.external_id is None:
                item = matcher.next_repetition(message, source.id, source_seq, tokens)
            else:
                item = matcher.identify(original, message, source.id)
            named.append(item.id)
            if message.external_id is None or not matcher.was_forgotten(item):
                batch.append(item)
                tokens[item.id] = count
        if added and not batch:
            return named
        source_seq = sources.ensure(database, source, clock())
        messages.add(database, source_seq, batch, tokens)
        source_jobs.admit_seal(database, source.id, clock())
    return named
