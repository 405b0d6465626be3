"""Stores messages and the histories of sources, and reads them back.

Owns the tables message, message_alias and source_message. ingest/matching.py decides whether a
message is known, and tree/ when leaves are sealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from treemem.errors import UsageError
from treemem.store import event_days, json_text, long_messages, sources
from treemem.store.database import Database, Row, storable_text
from treemem.text.fts import extra_words
from treemem.types import MESSAGE_KINDS, ORIGINS, ROLES, Blob, Message, Origin, Part

# Messages with more characters than this are refused.
TEXT_CHARS_MAX = 256 * 1024 * 1024
_IN_CHUNK = 500
_PAGE_MESSAGES = 500
# An origin that is none, in a damaged file, makes no rule of a message.
_TOLD = frozenset({*ORIGINS, None})
_DAMAGED: Origin = "pasted"


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message with its ids and times, ready to be stored: see ingest/matching.py.

    id: its id in the memory file. log_id: the id before redaction; None if nothing was redacted.
    redacted: the labels of the redacted secrets. alias: a keyed hash of the log_id, stored with the
    message. replaces: the row number of the message that this one is a new version of.
    """

    message: Message
    id: str
    identity: str | None
    sent_at: str | None
    sent_at_ms: int | None
    alias: str | None = None
    replaces: int | None = None
    redacted: tuple[str, ...] = ()
    log_id: str | None = None


@dataclass(frozen=True, slots=True)
class AddCounts:
    """The numbers of new and of already known messages in one batch."""

    added: int
    known: int


def storable(message: Message) -> Message:
    """Returns the message without lone surrogates in its fields, which SQLite cannot store. The
    text is unchanged, since its exact bytes are stored as well.

    Raises UsageError for an unknown role or kind, and for a text that is too long.
    """
    if message.role not in ROLES:
        raise UsageError(f"A message's role is one of {', '.join(ROLES)}, not {message.role!r}.")
    if message.kind not in MESSAGE_KINDS:
        raise UsageError(f"A message's kind is one of {', '.join(MESSAGE_KINDS)}, "
                         f"not {message.kind!r}.")  # fmt: skip
    if message.origin not in (None, *ORIGINS):
        raise UsageError(f"A message's origin is one of {', '.join(ORIGINS)}, "
                         f"not {message.origin!r}.")  # fmt: skip
    if len(message.text) > TEXT_CHARS_MAX:
        raise UsageError(
            f"A message of {len(message.text):,} characters is over the limit of "
            f"{TEXT_CHARS_MAX:,}. Split it before it is stored."
        )
    changes: dict[str, object] = {}
    for name in ("external_id", "author", "session", "sent_at"):
        value = getattr(message, name)
        if isinstance(value, str) and not value.isascii():
            changes[name] = storable_text(value)[0]
    for name in ("tool_use_ids", "tool_result_ids"):
        tool_ids = getattr(message, name)
        if tool_ids and not all(map(str.isascii, tool_ids)):
            changes[name] = tuple(storable_text(tool_id)[0] for tool_id in tool_ids)
    if message.blobs:
        changes["blobs"] = tuple(
            replace(blob, media_type=storable_text(blob.media_type)[0]) for blob in message.blobs
        )
    if any(part.name and not part.name.isascii() for part in message.parts):
        changes["parts"] = tuple(
            replace(part, name=storable_text(part.name)[0]) if part.name else part
            for part in message.parts
        )
    return replace(message, **changes) if changes else message  # type: ignore[arg-type]


# -- adding ----------------------------------------------------------------------------

MESSAGE_INSERT = """
INSERT INTO message (seq, id, identity, external_id, role, author, kind, sent_at, sent_at_ms,
  text, exact, search_text, chars, tokens, extras, origin)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_MEMBER_INSERT = """
INSERT INTO source_message (source_seq, position, message_seq, session_seq, state, open_from)
VALUES (?, ?, ?, ?, ?, 0)
"""

# Subtle: the + keeps SQLite from scanning the source's whole history for each batch, which would
# take quadratic time for a long log.
_MEMBERS_OF = """
SELECT message_seq, position, state FROM source_message
WHERE +source_seq = ? AND message_seq IN ({marks})
"""
_OLDER_VERSIONS = """
SELECT m.identity, sm.position, sm.state = 'active' AND sm.open_from = 0 FROM message m
JOIN source_message sm ON sm.message_seq = m.seq
WHERE m.identity IN ({marks}) AND +sm.source_seq = ? AND sm.state <> 'replaced'
"""
_OLDER_VERSION = """
SELECT ?, position, state = 'active' AND open_from = 0 FROM source_message
WHERE +source_seq = ? AND message_seq = ? AND state <> 'replaced'
"""
_ALIAS = "INSERT OR IGNORE INTO message_alias (alias, message_seq) VALUES (?, ?)"
_STEP_BACK = """
UPDATE source_message SET state = 'replaced', position = ? WHERE source_seq = ? AND position = ?
"""
_SET_STATE = "UPDATE source_message SET state = ? WHERE source_seq = ? AND position = ?"
_REOPEN = "UPDATE source SET open_position = min(open_position, ?) WHERE seq = ?"


def seqs_by_id(database: Database, message_ids: Sequence[str]) -> dict[str, int]:
    """The row numbers of the messages that are stored, by id."""
    return dict(
        _chunked(database, "SELECT id, seq FROM message WHERE id IN ({marks})", message_ids)
    )


def add(
    database: Database,
    source_seq: int,
    batch: Sequence[PreparedMessage],
    tokens: dict[str, int],
    *,
    snapshot: bool = False,
) -> AddCounts:
    """Stores a batch of one source's messages, inside the caller's transaction.

    tokens: by message id, for every new message. snapshot: the batch comes from a complete
    document, so a replaced message that occurs in it becomes active again. A message that only
    another source has is added to this one's history and counts as known.
    """
    seq_of = seqs_by_id(database, [item.id for item in batch])
    new = list({item.id: item for item in batch if item.id not in seq_of}.values())
    next_seq = int(database.value("SELECT coalesce(max(seq), 0) + 1 FROM message"))
    for seq, item in enumerate(new, next_seq):
        seq_of[item.id] = seq
    rows = [_message_row(seq_of[item.id], item, tokens[item.id]) for item in new]
    database.many(MESSAGE_INSERT, rows)
    database.execute(INDEX_WORDS, (next_seq, next_seq + len(new) - 1))
    event_days.add(database, [_event_source(seq_of[item.id], item) for item in new])
    database.many(_ALIAS, [(item.alias, seq_of[item.id]) for item in new if item.alias])
    _join(database, source_seq, batch, seq_of, snapshot=snapshot)
    return AddCounts(len(new), len(batch) - len(new))


def _join(
    database: Database,
    source_seq: int,
    batch: Sequence[PreparedMessage],
    seq_of: dict[str, int],
    *,
    snapshot: bool,
) -> None:
    """Adds the messages that the source does not have to its history: in place of the unsealed
    versions that they replace, or else at the end. Updates the states of the others."""
    members = _members(database, source_seq, list(seq_of.values()))
    joining = {item.id: item for item in batch if seq_of[item.id] not in members}
    newest = {item.identity: item.id for item in joining.values() if item.identity is not None}
    older = _chunked(database, _OLDER_VERSIONS, list(newest), (source_seq,))
    for item in joining.values():
        if item.replaces is not None and item.identity is None:
            older += database.rows(_OLDER_VERSION, (item.id, source_seq, item.replaces))
    freed = _replace_older(database, source_seq, older)
    position = next_position(database, source_seq)
    session_seqs = sources.session_seqs(
        database, {item.message.session for item in joining.values()}
    )
    rows = []
    for item in joining.values():
        state, own_position = _state_of(item), position
        if item.identity is not None and newest[item.identity] != item.id:
            state = "replaced"
        else:
            own_position = freed.get(item.identity or item.id, position)
        session_seq = session_seqs.get(item.message.session)
        rows.append((source_seq, own_position, seq_of[item.id], session_seq, state))
        position += own_position == position
    database.many(_MEMBER_INSERT, rows)
    if freed:
        members = _members(database, source_seq, list(seq_of.values()))  # some were moved
    for item in batch:
        if item.id not in joining:
            position, before = members[seq_of[item.id]]
            if before != _state_of(item) and (snapshot or before != "replaced"):
                database.execute(_SET_STATE, (_state_of(item), source_seq, position))
                database.execute(_REOPEN, (position, source_seq))


def _state_of(item: PreparedMessage) -> str:
    return "active" if item.message.active else "abandoned"


def _members(
    database: Database, source_seq: int, seqs: Sequence[int]
) -> dict[int, tuple[int, str]]:
    """(position, state) of the messages that the source has, by row number."""
    rows = _chunked(database, _MEMBERS_OF, seqs, (), (source_seq,))
    return {seq: (position, state) for seq, position, state in rows}


def _replace_older(database: Database, source_seq: int, older: Sequence[Row]) -> dict[str, int]:
    """Marks older versions of messages as replaced. older: rows of (key, position, is unsealed),
    where the key is the identity, or the id of the new version if there is no identity.

    Unsealed versions move to the end of the history. Returns the positions that this frees for
    the new versions, by key.
    """
    freed: dict[str, int] = {}
    for identity, position, is_open in older:
        new_position = position
        if is_open:
            freed[identity] = position
            new_position = next_position(database, source_seq)
        database.execute(_STEP_BACK, (new_position, source_seq, position))
    return freed


def next_position(database: Database, source_seq: int) -> int:
    """The position after the last message of a source's history."""
    sql = "SELECT coalesce(max(position), -1) + 1 FROM source_message WHERE source_seq = ?"
    return int(database.value(sql, (source_seq,)))


def _message_row(seq: int, item: PreparedMessage, tokens: int) -> tuple[object, ...]:
    message = item.message
    text, exact = storable_text(message.text)
    return (
        seq, item.id, item.identity, message.external_id, message.role,
        message.author, message.kind, item.sent_at, item.sent_at_ms,
        text, exact, search_text(message.author, text), len(text), tokens, _extras(message),
        message.origin,
    )  # fmt: skip


def _event_source(seq: int, item: PreparedMessage) -> event_days.Source:
    message = item.message
    sent_at = None if item.sent_at_ms is None else item.sent_at
    return seq, message.role, message.kind, sent_at, message.text


def search_text(author: str | None, text: str) -> str | None:
    """The words to index besides a message's author and text; None if there are none."""
    return extra_words(f"{author}: {text}" if author else text)


_FORGET_WORDS = """
INSERT INTO message_fts (message_fts, rowid, text)
SELECT 'delete', seq, text FROM message_search WHERE seq = ?
"""
_REWRITE = """
UPDATE message SET author = :author, text = :text, exact = :exact, search_text = :search_text,
  chars = :chars, tokens = :tokens, extras = :extras, origin = :origin WHERE seq = :seq
"""
# Most messages have a text alone. The view would copy it, which for a long one takes much memory.
INDEX_WORDS = """
INSERT INTO message_fts (rowid, text)
SELECT m.seq, CASE WHEN m.author IS NULL AND m.search_text IS NULL THEN m.text ELSE s.text END
FROM message m JOIN message_search s ON s.seq = m.seq WHERE m.seq BETWEEN ? AND ?
"""


def rewrite(database: Database, seq: int, message: Message, tokens: int, scrubbed: str) -> None:
    """Replaces a message's content, in the caller's transaction. Its id does not change.

    scrubbed: the id that the new content would have, which doctor checks it against.
    """
    long_messages.forget(database, seq)
    database.execute(_FORGET_WORDS, (seq,))
    text, exact = storable_text(message.text)
    database.execute(
        _REWRITE,
        {"seq": seq, "author": message.author, "text": text, "exact": exact,
         "search_text": search_text(message.author, text), "chars": len(text), "tokens": tokens,
         "extras": _extras(message, scrubbed), "origin": message.origin},
    )  # fmt: skip
    database.execute(INDEX_WORDS, (seq, seq))
    sent_at = database.value("SELECT sent_at FROM message WHERE seq = ?", (seq,))
    event_days.replace(database, (seq, message.role, message.kind, sent_at, text))


_ORIGINS = "SELECT id, seq, origin, extras FROM message WHERE id IN ({marks})"
_SET_ORIGIN = "UPDATE message SET origin = ?, extras = ? WHERE seq = ?"


def renew_origins(database: Database, batch: Sequence[PreparedMessage]) -> list[int]:
    """Stores the origins of messages that are stored already but were judged differently, in the
    caller's transaction. Ids do not depend on origins. Returns the row numbers of those changed."""
    judged = {item.id: item.message for item in batch}
    rows = _chunked(database, _ORIGINS, list(judged))
    differing = {
        seq: judged[message_id]
        for message_id, seq, origin, extras in rows
        if (origin, extras) != (judged[message_id].origin, _extras(judged[message_id]))
    }
    changed: list[int] = []
    for seq, stored in by_seq(database, differing).items():
        message = differing[seq]
        is_same = (stored.origin, stored.parts) == (message.origin, message.parts)
        if is_same or stored.text != message.text:
            continue
        scrubbed = database.value(_SCRUBBED, (seq,))
        new = replace(stored, origin=message.origin, parts=message.parts)
        long_messages.forget(database, seq)
        database.execute(_SET_ORIGIN, (new.origin, _extras(new, scrubbed), seq))
        changed.append(seq)
    return changed


_SCRUBBED = "SELECT json_extract(extras, '$.scrubbed') FROM message WHERE seq = ?"


def set_origin(database: Database, seq: int, origin: Origin) -> None:
    """Says whose words the plain text of a message is, before anything was picked from it."""
    database.execute("UPDATE message SET origin = ? WHERE seq = ?", (origin, seq))


def rebuild_index(database: Database) -> None:
    """Rebuilds the full-text index. Before SQLite 3.42, its pages keep deleted words."""
    database.execute("INSERT INTO message_fts (message_fts) VALUES ('rebuild')")


def _extras(message: Message, scrubbed: str | None = None) -> str | None:
    extras: dict[str, object] = {} if scrubbed is None else {"scrubbed": scrubbed}
    if message.parts:
        extras["parts"] = [[p.kind, p.start, p.end, p.name] for p in message.parts]
    if message.tool_use_ids:
        extras["uses"] = message.tool_use_ids
    if message.tool_result_ids:
        extras["results"] = message.tool_result_ids
    if message.blobs:
        extras["blobs"] = [[b.media_type, b.size_bytes, b.digest] for b in message.blobs]
    if message.unique_id:
        extras["unique"] = True
    return orjson.dumps(extras).decode() if extras else None


# -- reading ---------------------------------------------------------------------------

COLUMNS = (
    "m.id, m.role, m.text, m.exact, m.author, m.sent_at, m.external_id, m.kind, m.extras, "
    "m.tokens, m.origin"
)
# As Message.speaker.
SPEAKER = "coalesce(nullif(m.author, ''), m.role)"
_MESSAGES_BY_SEQ = f"SELECT m.seq, {COLUMNS} FROM message m WHERE m.seq IN ({{marks}})"  # noqa: S608

_ALL = f"SELECT m.seq, {COLUMNS} FROM message m WHERE m.seq > ? ORDER BY m.seq LIMIT ?"  # noqa: S608
_SESSIONS = """
SELECT sm.message_seq, l.id FROM source_message sm JOIN log_session l ON l.seq = sm.session_seq
WHERE sm.source_seq = ? AND sm.message_seq IN ({marks})
"""
_NO_HISTORY = """
SELECT message_seq FROM source_message WHERE message_seq IN ({marks})
GROUP BY message_seq HAVING max(state = 'active') = 0
"""


def message_from(row: Row, session: str | None = None) -> Message:
    """Builds a Message from a row of COLUMNS. Marks one that was stored before origins were."""
    id_, role, text, exact, author, sent_at, external_id, kind, extras, tokens, origin = row
    more = json_text.object_of(extras)
    message = Message(
        role=role,
        text=_exact_text(text, exact),
        author=author,
        sent_at=sent_at,
        external_id=external_id,
        session=session,
        kind=kind,
        parts=tuple(Part(*part) for part in more.get("parts", ())),
        tool_use_ids=tuple(more.get("uses", ())),
        tool_result_ids=tuple(more.get("results", ())),
        blobs=tuple(Blob(*blob) for blob in more.get("blobs", ())),
        unique_id=bool(more.get("unique")),
        origin=origin if origin in _TOLD else _DAMAGED,
        id=id_,
        tokens=tokens,
    )
    if origin:
        return message
    from treemem.origins.marking import mark

    # The id is a hash over role, author and kind: they stay as stored.
    marked = mark(message)
    return replace(message, origin=marked.origin, parts=marked.parts)


def by_seq(database: Database, seqs: Iterable[int]) -> dict[int, Message]:
    """Messages, by row number."""
    rows = _chunked(database, _MESSAGES_BY_SEQ, list(seqs))
    return {row[0]: message_from(row[1:]) for row in rows}


def all_messages(database: Database) -> Iterator[tuple[int, Message]]:
    """Yields (row number, message) for every message in order, reading a page at a time."""
    last_seq = 0
    while rows := database.rows(_ALL, (last_seq, _PAGE_MESSAGES)):
        for seq, *row in rows:
            yield seq, message_from(tuple(row))
        last_seq = rows[-1][0]


def of_no_history(database: Database, seqs: Iterable[int]) -> list[int]:
    """The row numbers of the messages that are abandoned or replaced in all of their sources."""
    return [row[0] for row in _chunked(database, _NO_HISTORY, list(seqs))]


def sessions_of(database: Database, source_seq: int, seqs: Iterable[int]) -> dict[int, str]:
    """The sessions of messages in a source, by row number; without those that have none there."""
    rows = _chunked(database, _SESSIONS, list(seqs), (), (source_seq,))
    return {seq: str(session) for seq, session in rows}


class Member(NamedTuple):
    """A message in the history of a source. seq: its row number."""

    seq: int
    position: int
    is_active: bool
    id: str
    identity: str | None


_HISTORY = """
SELECT sm.message_seq, sm.position, sm.state = 'active', m.id, m.identity
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? ORDER BY sm.position
"""


def history(database: Database, source_seq: int) -> list[Member]:
    """The history of a source in order, including abandoned and replaced messages."""
    return [Member(*row) for row in database.rows(_HISTORY, (source_seq,))]


def set_state(database: Database, source_seq: int, positions: Iterable[int], state: str) -> None:
    """Sets the state of the messages at these positions of a source's history."""
    database.many(_SET_STATE, [(state, source_seq, position) for position in positions])


_IS_MEMBER = """
SELECT 1 FROM message m JOIN source_message sm ON sm.message_seq = m.seq
WHERE m.id = ? AND sm.source_seq = ?
"""


def is_member(database: Database, source_seq: int, message_id: str) -> bool:
    """Whether the source has the message, in any state."""
    return database.row(_IS_MEMBER, (message_id, source_seq)) is not None


# -- reopening what was sealed ---------------------------------------------------------

_REOPEN_MESSAGE = """
UPDATE source_message SET open_from = ? WHERE source_seq = ? AND message_seq = ?
"""
_REOPEN_SOURCE = """
UPDATE source SET open_position = min(open_position, coalesce(
  (SELECT min(position) FROM source_message WHERE source_seq = :source
   AND state = 'active' AND open_from IS NOT NULL), open_position)) WHERE seq = :source
"""


def reopen(database: Database, source_seq: int, starts: Iterable[tuple[int, int]]) -> None:
    """Marks messages of a source as unsealed, each from a given character on. starts: pairs of
    message row number and first unsealed character."""
    rows = [(start, source_seq, seq) for seq, start in starts]
    database.many(_REOPEN_MESSAGE, rows)
    database.execute(_REOPEN_SOURCE, {"source": source_seq})


# -- versions of one message -----------------------------------------------------------

# The id that the text of a scrubbed message has; NULL for others.
IS_SCRUBBED = "CASE WHEN json_valid(m.extras) THEN json_extract(m.extras, '$.scrubbed') END"
_IS_HERE = """
EXISTS (SELECT 1 FROM source_message sm JOIN source s ON s.seq = sm.source_seq
        WHERE sm.message_seq = m.seq AND s.id = :source AND sm.state <> 'replaced')
"""
_BY_ALIAS = f"""
SELECT m.seq, m.id, m.text, m.author, {IS_SCRUBBED} IS NOT NULL, {_IS_HERE}
FROM message_alias a JOIN message m ON m.seq = a.message_seq WHERE a.alias = :alias
ORDER BY 6 DESC, m.id = :id DESC, m.seq
"""  # noqa: S608
_IS_STORED_UNREDACTED = f"""
SELECT 1 FROM message m WHERE m.id = :id AND (
  EXISTS (SELECT 1 FROM source_message sm JOIN source s ON s.seq = sm.source_seq
          WHERE sm.message_seq = m.seq AND s.id = :source)
  OR ({IS_SCRUBBED} IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM message_alias a JOIN message m ON m.seq = a.message_seq
    WHERE a.alias = :alias AND {_IS_HERE})))
"""  # noqa: S608
_WITH_AUTHOR = """
SELECT identity, id, role, kind, exact, text FROM message
WHERE identity IN ({marks}) AND author IS NOT NULL ORDER BY seq
"""


class AliasedMessage(NamedTuple):
    """A message that was stored with an alias. is_scrubbed: secrets were removed from it after it
    was stored."""

    seq: int
    id: str
    text: str
    author: str | None
    is_scrubbed: bool


class Version(NamedTuple):
    """A stored version of a message that has an identity."""

    identity: str
    id: str
    role: str
    kind: str
    text: str


def has_aliases(database: Database) -> bool:
    """Whether any message has an alias, which redacted messages get."""
    return bool(database.value("SELECT EXISTS (SELECT 1 FROM message_alias)"))


def by_alias(
    database: Database, alias: str, source_id: str, message_id: str
) -> AliasedMessage | None:
    """The stored message with this alias; None if there is none. Of several, prefers one in this
    source, then the one with this id."""
    row = database.row(_BY_ALIAS, {"alias": alias, "source": source_id, "id": message_id})
    if row is None:
        return None
    seq, stored_id, text, author, is_scrubbed, _ = row
    return AliasedMessage(seq, stored_id, text, author, bool(is_scrubbed))


def is_stored_unredacted(database: Database, log_id: str, alias: str, source_id: str) -> bool:
    """Whether a message was stored with its secrets and belongs to this source: either the source
    has it, or it has been scrubbed since and the source has no redacted version of it.

    log_id: the id before redaction. alias: the alias of log_id.
    """
    parameters = {"id": log_id, "source": source_id, "alias": alias}
    return database.value(_IS_STORED_UNREDACTED, parameters) is not None


def versions_with_author(database: Database, identities: Sequence[str]) -> list[Version]:
    """The stored versions of messages with these identities that have an author, oldest first."""
    return [
        Version(identity, message_id, role, kind, _exact_text(text, exact))
        for identity, message_id, role, kind, exact, text in _chunked(
            database, _WITH_AUTHOR, identities
        )
    ]


def _exact_text(text: str, exact: bytes | None) -> str:
    try:
        return text or "" if exact is None else exact.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # damaged; the text has the same words, without lone surrogates
        return text


def _chunked(
    database: Database,
    sql: str,
    keys: Sequence[object],
    after: tuple[object, ...] = (),
    before: tuple[object, ...] = (),
) -> list[Row]:
    """Runs sql for all keys, a chunk at a time in place of {marks}, and joins the rows. before,
    after: values of the parameters before and after the keys."""
    rows: list[Row] = []
    for start in range(0, len(keys), _IN_CHUNK):
        chunk = keys[start : start + _IN_CHUNK]
        marks = ",".join("?" * len(chunk))
        rows += database.rows(sql.format(marks=marks), (*before, *chunk, *after))
    return rows
