"""Decides whether the memory file has a message: as it is, in an older version, or not at all.

A message is known by its id, a hash over its words (ids.py). A known message gets a different id if

- its secrets were redacted under another policy: it is found by its alias;
- its author was renamed: it is found by its identity;
- it was only half written when the log was last read: see torn_records.py.

Writes nothing. Redacts each message once, and computes each of its ids once.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, cached_property
from typing import NamedTuple

from treemem import ids, times
from treemem.forgetting.tombstones import Tombstones
from treemem.importers.streams.marks import key_of
from treemem.ingest.growth import KnownLog
from treemem.ingest.torn_records import TornRecordMatcher
from treemem.origins.marking import mark
from treemem.privacy.policy import Redaction
from treemem.privacy.redactor import labels_added, markers_in
from treemem.store import messages
from treemem.store.database import Database
from treemem.store.messages import Member, PreparedMessage
from treemem.types import PARENT_AGENT, Message, Source


class _Header(NamedTuple):
    """The properties of a message that redaction does not change: source, identity and time."""

    source_id: str
    identity: str | None
    sent_at: str | None
    sent_at_ms: int | None

    @classmethod
    def of(cls, message: Message, source_id: str) -> _Header:
        identity = ids.message_identity(message, source_id)
        return cls(source_id, identity, *times.parse(message.sent_at))


class MessageMatcher:
    """Matches the messages of a log, in order, with those in the memory file. Use one per reading.

    aliases_in: the memory file to look aliases up in; None for the same file. before: of a log that
    is read on from a mark, what stands before that.
    """

    def __init__(
        self,
        database: Database,
        redaction: Redaction,
        aliases_in: Database | None = None,
        before: KnownLog | None = None,
    ) -> None:
        self._before = before
        self.last_ids = {} if before is None else dict(before.before.last_ids)
        # Of every message without an id of its own, in order, to tell repetitions after a mark.
        self.keys = array("q")
        self._database = database
        self._aliases_in = aliases_in or database
        self._redaction = redaction
        self._repetitions: Counter[str] = Counter()
        self._torn_records: dict[str, TornRecordMatcher] = {}
        self._tombstones = Tombstones(self._aliases_in)

    def match(self, message: Message, source: Source) -> PreparedMessage | None:
        """Redacts the log's next message and gives it its stored id, or a new one if it is unknown.
        None if it was forgotten. Raises UsageError for values that cannot be stored."""
        told = messages.storable(message)
        message = mark(told)
        is_reassigned = _speaker(message) != _speaker(told)
        redacted = self._redaction.redact(message)
        header = _Header.of(message, source.id)
        item = None
        if source.parent_id is not None and _is_task(message):
            item = self._stored_copy(message, redacted, header)
            message, redacted = _from_parent(message), _from_parent(redacted)
        item = item or self._prepare(message, redacted, header)
        if self.was_forgotten(item):
            return None
        if is_reassigned and item.identity is None:
            item = self._replacing(item, told, header)
        if source.snapshot:  # retire_missing has replaced the torn one
            return item
        if source.id not in self._torn_records:
            self._torn_records[source.id] = TornRecordMatcher.of(
                self._database, source.id, self._redaction, self.last_ids.get(source.id)
            )
        self.last_ids[source.id] = item.id
        return self._torn_records[source.id].match(item, message.text)

    def identify(self, message: Message, redacted: Message, source_id: str) -> PreparedMessage:
        """Gives a storable message with an id of its own its stored id, or a new one if it is
        unknown. redacted: the message without secrets; equal to message if it has none."""
        return self._prepare(message, redacted, _Header.of(message, source_id))

    def was_forgotten(self, item: PreparedMessage) -> bool:
        """Whether a message is kept out, in this or another version."""
        return bool(self._tombstones) and self._tombstones.has_message(
            item, self._redaction.alias(item.log_id or item.id)
        )

    def match_again(
        self, items: Sequence[PreparedMessage], source_id: str
    ) -> list[PreparedMessage]:
        """Matches the messages that are not stored again, since another process may have stored
        them under another policy in the meantime."""
        known = messages.seqs_by_id(self._database, [item.id for item in items])
        return [
            item if item.id in known else self._known_under_other_policy(item, source_id)
            for item in items
        ]

    def next_repetition(
        self, message: Message, source_id: str, source_seq: int, taken: Container[str]
    ) -> PreparedMessage:
        """Prepares a redacted message without an id of its own as a new message. Its id is that of
        the first repetition that is neither in the source nor in taken.

        Repetitions are numbered without gaps, so a galloping binary search finds it.
        """
        sent_at, sent_at_ms = times.parse(message.sent_at)

        @cache
        def id_of(occurrence: int) -> str:
            return ids.anonymous_id(message, source_id, sent_at, occurrence)

        def is_taken(occurrence: int) -> bool:
            candidate = id_of(occurrence)
            return (
                candidate in taken
                or messages.is_member(self._database, source_seq, candidate)
                or self._tombstones.has_id(candidate)
            )

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
        return PreparedMessage(message, id_of(high - 1), None, sent_at, sent_at_ms)

    def _prepare(self, message: Message, redacted: Message, header: _Header) -> PreparedMessage:
        source_id, identity, sent_at, sent_at_ms = header
        is_clean = redacted == message
        log_id = self._id(message, header, is_clean=is_clean)
        if is_clean:
            item = PreparedMessage(message, log_id, identity, sent_at, sent_at_ms)
            return self._known_under_other_policy(item, source_id) if self._has_aliases else item
        item = PreparedMessage(
            redacted,
            self._id(redacted, header),
            identity,
            sent_at,
            sent_at_ms,
            redacted=tuple(labels_added(message, redacted)),
            log_id=log_id,
        )
        return self._known_under_other_policy(item, source_id)

    def _replacing(self, item: PreparedMessage, told: Message, header: _Header) -> PreparedMessage:
        """The message as a new version of the one that an earlier version of treemem, which did not
        know the tools' wrappers, stored as said by the user. told: the message as in the log."""
        old = replace(item.message, role=told.role, author=told.author, kind=told.kind)
        old_id = self._id(old, header)
        seq = messages.seqs_by_id(self._database, [old_id]).get(old_id)
        return item if seq is None else replace(item, replaces=seq)

    def _id(self, message: Message, header: _Header, *, is_clean: bool = True) -> str:
        """The id of a message. Equal messages without a log id are numbered. is_clean: whether it
        has no secrets."""
        if header.identity is not None:
            return ids.version_id(message, header.identity)
        first = ids.anonymous_id(message, header.source_id, header.sent_at, 0)
        # Of a message with secrets, only a keyed hash may be stored.
        key = key_of(first if is_clean else self._redaction.alias(first))
        self.keys.append(key)
        if self._before is not None and first not in self._repetitions:
            self._repetitions[first] = self._before.seen.count(key)
        occurrence = self._repetitions[first]
        self._repetitions[first] += 1
        if occurrence == 0:
            return first
        return ids.anonymous_id(message, header.source_id, header.sent_at, occurrence)

    @cached_property
    def _has_aliases(self) -> bool:
        return messages.has_aliases(self._aliases_in)

    def _known_under_other_policy(self, item: PreparedMessage, source_id: str) -> PreparedMessage:
        """Returns the message with its stored id if it was stored with different redactions.

        If fewer secrets are redacted now than in the stored message, because a value has been
        allowed since, it is a new version. A scrubbed message never gets its secrets back.
        """
        log_id = item.log_id or item.id
        alias = self._redaction.alias(log_id)
        if item.log_id is not None and messages.is_stored_unredacted(
            self._aliases_in, log_id, alias, source_id
        ):
            return replace(item, id=log_id)
        stored = messages.by_alias(self._aliases_in, alias, source_id, item.id)
        if stored is None or stored.id == item.id:
            return item if item.id == log_id else replace(item, alias=alias)
        before = markers_in(stored.text, stored.author)
        if not stored.is_scrubbed and markers_in(item.message.text, item.message.author) < before:
            return replace(item, alias=alias, replaces=stored.seq)
        return replace(item, id=stored.id)

    def _stored_copy(
        self, message: Message, redacted: Message, header: _Header
    ) -> PreparedMessage | None:
        """The message if it is already stored, for example from the parent agent's log; else
        None."""
        if not message.unique_id:
            return None
        item = self._prepare(message, redacted, header)
        return item if messages.seqs_by_id(self._database, [item.id]) else None


def _speaker(message: Message) -> tuple[str, str | None, str]:
    return message.role, message.author, message.kind


def _is_task(message: Message) -> bool:
    return message.role == "user" and message.kind == "said"


def _from_parent(message: Message) -> Message:
    """Attributes a sub-agent's task to its parent agent: rules in it are not the user's."""
    return replace(message, role="other", author=message.author or PARENT_AGENT, origin="agent")


# -- whole batches ---------------------------------------------------------------------


def unknown_of(database: Database, items: Sequence[PreparedMessage]) -> list[PreparedMessage]:
    """The messages whose ids are not stored."""
    known = messages.seqs_by_id(database, [item.id for item in items])
    return [item for item in items if item.id not in known]


def renamed(database: Database, unknown: Iterable[PreparedMessage]) -> dict[str, str]:
    """Maps the ids of unknown messages to stored ones that differ only in the author's name.

    When a person is renamed, an export shows all their messages under the new name. That is not
    an edit: the message keeps its stored id and the name it was stored with.
    """
    named = [item for item in unknown if item.identity is not None and item.message.author]
    identities = [item.identity for item in named if item.identity is not None]
    stored = {
        (version.identity, version.role, version.kind, version.text): version.id
        for version in messages.versions_with_author(database, identities)
    }
    stored_ids: dict[str, str] = {}
    for item in named:
        words = (item.identity, item.message.role, item.message.kind, item.message.text)
        if words in stored:
            stored_ids[item.id] = stored[words]
    return stored_ids


class LogMessage(NamedTuple):
    """A message of a log, without its text. replaces: the row number of the stored message that
    it is a new version of; None if there is none."""

    id: str
    identity: str | None
    replaces: int | None


def has_news(history: Sequence[Member], in_log: AbstractSet[LogMessage]) -> bool:
    """Whether a log contains a message that the history has no version of."""
    message_ids = {member.id for member in history}
    identities = {member.identity for member in history} - {None}
    return any(
        entry.id not in message_ids and entry.identity not in identities and entry.replaces is None
        for entry in in_log
    )


def stored_seqs(database: Database, in_log: AbstractSet[LogMessage]) -> set[int]:
    """The row numbers of the log's messages that are stored."""
    return set(messages.seqs_by_id(database, [entry.id for entry in in_log]).values())
