"""Sources and their messages in the file: named SQL in, model values out.

It owns what makes a message known, new, or a new version of an old one. It never decides
when to seal, and reads no log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from treemem import ids, times
from treemem.errors import UsageError
from treemem.store.database import Database, Row
from treemem.text.fts import extra_words
from treemem.types import MESSAGE_KINDS, ROLES, Blob, Message, Part, Source

TEXT_BYTES_MAX = 256 * 1024 * 1024
_IN_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message with its id and times worked out, ready to be stored.

    alias, redacted, plain_id: where secrets were taken out, see redacting.py; redacted has their
    labels. replaces: the number of the message that this one is a new version of.
    """

    message: Message
    id: str
    identity: str | None
    sent_at: str | None
    sent_at_ms: int | None
    alias: str | None = None
    replaces: int | None = None
    redacted: tuple[str, ...] = ()
    plain_id: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What one batch did to one source. seqs: of all its messages, new or known."""

    added: int
    known: int
    seqs: tuple[int, ...]


def prepare(message: Message, source_id: str, occurrence: int) -> Prepared:
    """Checks a message and works out its id. Raises UsageError for values that cannot be."""
    if message.role not in ROLES:
        raise UsageError(f"A message's role is one of {', '.join(ROLES)}, not {message.role!r}.")
    if message.kind not in MESSAGE_KINDS:
        raise UsageError(f"A message's kind is one of {', '.join(MESSAGE_KINDS)}, "
                         f"not {message.kind!r}.")  # fmt: skip
    if len(message.text) > TEXT_BYTES_MAX:
        raise UsageError(
            f"A message of {len(message.text):,} characters is over the limit of "
            f"{TEXT_BYTES_MAX:,}. Split it before it is stored."
        )
    message = cleaned(message)
    sent_at, sent_at_ms = times.parse(message.sent_at)
    return Prepared(
        message,
        ids.message_id(message, source_id, sent_at, occurrence),
        ids.message_identity(message, source_id),
        sent_at,
        sent_at_ms,
    )


def cleaned(message: Message) -> Message:
    """The message with no lone surrogate in its fields, which could not be stored. Its text is
    left as it is: of that the exact bytes are kept."""
    told: dict[str, object] = {}
    for name in ("external_id", "author", "session", "sent_at"):
        value = getattr(message, name)
        if isinstance(value, str) and not value.isascii():
            told[name] = _storable(value)[0]
    for name in ("tool_use_ids", "tool_result_ids"):
        if tool_ids := getattr(message, name):
            told[name] = tuple(_storable(tool_id)[0] for tool_id in tool_ids)
    if message.blobs:
        told["blobs"] = tuple(
            replace(blob, media_type=_storable(blob.media_type)[0]) for blob in message.blobs
        )
    if message.parts:
        told["parts"] = tuple(
            replace(part, name=_storable(part.name)[0]) if part.name else part
            for part in message.parts
        )
    return replace(message, **told) if told else message  # type: ignore[arg-type]


# -- sources ---------------------------------------------------------------------------

_SOURCE_INSERT = """
INSERT INTO source (id, format, title, origin, parent_id, created_at_ms)
VALUES (:id, :format, :title, :origin, :parent_id, :now)
ON CONFLICT (id) DO UPDATE SET title = coalesce(excluded.title, title),
  parent_id = coalesce(excluded.parent_id, parent_id)
RETURNING seq
"""


def ensure_source(database: Database, source: Source, now_ms: int) -> int:
    """The source's row number; the row is made at the first call."""
    if not source.id or len(source.id) > 512 or not source.id.isprintable():
        raise UsageError(f"A source id has 1 to 512 printable characters, not {source.id!r}.")
    title, _ = _storable(source.title or "")
    return int(
        database.value(
            _SOURCE_INSERT,
            {"id": source.id, "format": source.format, "title": title or None,
             "origin": _storable(source.origin or "")[0] or None,
             "parent_id": source.parent_id, "now": now_ms},
        )
    )  # fmt: skip


# -- adding ----------------------------------------------------------------------------

_MESSAGE_INSERT = """
INSERT INTO message (seq, id, identity, external_id, role, author, kind, sent_at, sent_at_ms,
  text, exact, search_text, chars, tokens, extras)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_MEMBER_INSERT = """
INSERT INTO source_message (source_seq, position, message_seq, session, state, open_from)
VALUES (?, ?, ?, ?, ?, 0)
"""
# Subtle: the + keeps SQLite from walking through the source's whole history for each batch,
# which would make a long log cost its length squared.
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


def known_ids(database: Database, message_ids: Sequence[str]) -> dict[str, int]:
    """The row numbers of those messages that are stored already."""
    return dict(
        _chunked(database, "SELECT id, seq FROM message WHERE id IN ({marks})", message_ids)
    )


def add(
    database: Database,
    source_seq: int,
    batch: Sequence[Prepared],
    tokens: dict[str, int],
    *,
    snapshot: bool = False,
) -> Stored:
    """Stores a batch of one source's messages, inside the caller's transaction.

    tokens: by message id, for every message that is new. A message the source already has
    is known; one that another source has becomes a member of this one too, and counts as
    known as well, since nothing is stored twice.
    """
    seq_of = known_ids(database, [item.id for item in batch])
    new = list({item.id: item for item in batch if item.id not in seq_of}.values())
    next_seq = int(database.value("SELECT coalesce(max(seq), 0) + 1 FROM message"))
    for seq, item in enumerate(new, next_seq):
        seq_of[item.id] = seq
    rows = [_message_row(seq_of[item.id], item, tokens[item.id]) for item in new]
    database.many(_MESSAGE_INSERT, rows)
    database.many(_ALIAS, [(item.alias, seq_of[item.id]) for item in new if item.alias])
    _join(database, source_seq, batch, seq_of, snapshot=snapshot)
    seqs = tuple(dict.fromkeys(seq_of[item.id] for item in batch))
    return Stored(len(new), len(batch) - len(new), seqs)


def _join(
    database: Database,
    source_seq: int,
    batch: Sequence[Prepared],
    seq_of: dict[str, int],
    *,
    snapshot: bool,
) -> None:
    """Puts the batch at the end of the source's history, but for what is there already."""
    members = _members(database, source_seq, list(seq_of.values()))
    joining = {item.id: item for item in batch if seq_of[item.id] not in members}
    newest = {item.identity: item.id for item in joining.values() if item.identity is not None}
    older = _chunked(database, _OLDER_VERSIONS, list(newest), (source_seq,))
    for item in joining.values():
        if item.replaces is not None and item.identity is None:
            older += database.rows(_OLDER_VERSION, (item.id, source_seq, item.replaces))
    freed = _replace_older(database, source_seq, older)
    position = next_position(database, source_seq)
    rows = []
    for item in joining.values():
        state = "active" if item.message.active else "abandoned"
        at = position
        if item.identity is not None and newest[item.identity] != item.id:
            state = "replaced"
        else:
            at = freed.get(item.identity or item.id, position)
        rows.append((source_seq, at, seq_of[item.id], item.message.session, state))
        position += at == position
    database.many(_MEMBER_INSERT, rows)
    if freed:
        members = _members(database, source_seq, list(seq_of.values()))  # some have moved
    for item in batch:
        if item.id not in joining:
            state = "active" if item.message.active else "abandoned"
            position, before = members[seq_of[item.id]]
            if before != state and (snapshot or before != "replaced"):
                database.execute(_SET_STATE, (state, source_seq, position))
                database.execute(_REOPEN, (position, source_seq))


def _members(
    database: Database, source_seq: int, seqs: Sequence[int]
) -> dict[int, tuple[int, str]]:
    """Position and state of those of the messages that the source has."""
    found = _chunked(database, _MEMBERS_OF, seqs, (), (source_seq,))
    return {seq: (position, state) for seq, position, state in found}


def _replace_older(database: Database, source_seq: int, older: Sequence[Row]) -> dict[str, int]:
    """Messages that changed in their source: the version there steps back. older: for each its
    identity, or the id of the new one where there is none, its position, and whether nothing
    of it is sealed.

    Returns the places that this frees, by the same: there the new one stands where it stood.
    """
    freed: dict[str, int] = {}
    for identity, position, is_open in older:
        behind = position
        if is_open:
            freed[identity] = position
            behind = next_position(database, source_seq)
        database.execute(_STEP_BACK, (behind, source_seq, position))
    return freed


def next_position(database: Database, source_seq: int) -> int:
    sql = "SELECT coalesce(max(position), -1) + 1 FROM source_message WHERE source_seq = ?"
    return int(database.value(sql, (source_seq,)))


def _message_row(seq: int, item: Prepared, tokens: int) -> tuple[object, ...]:
    message = item.message
    text, exact = _storable(message.text)
    return (
        seq, item.id, item.identity, message.external_id, message.role,
        message.author, message.kind, item.sent_at, item.sent_at_ms,
        text, exact, search_text(message.author, text), len(text), tokens, _extras(message),
    )  # fmt: skip


def search_text(author: str | None, text: str) -> str | None:
    """What full text indexes of a message beside its author and text; None for nothing."""
    return extra_words(f"{author}: {text}" if author else text)


def _storable(text: str) -> tuple[str, bytes | None]:
    """The text as SQLite can hold it, and the exact bytes where that is not the same.

    A lone surrogate has no UTF-8; U+FFFD stands in its place, so offsets stay right.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        exact = text.encode("utf-8", "surrogatepass")
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text), exact
    return text, None


_FORGET_WORDS = """
INSERT INTO message_fts (message_fts, rowid, text)
SELECT 'delete', seq, text FROM message_search WHERE seq = ?
"""
_REWRITE = """
UPDATE message SET author = :author, text = :text, exact = :exact, search_text = :search_text,
  chars = :chars, tokens = :tokens, extras = :extras WHERE seq = :seq
"""
_INDEX_WORDS = """
INSERT INTO message_fts (rowid, text) SELECT seq, text FROM message_search WHERE seq = ?
"""


def rewrite(database: Database, seq: int, message: Message, tokens: int, scrubbed: str) -> None:
    """Gives a message other words, and full text too, in the caller's transaction; its id stays.
    scrubbed: the id that it would have now, by which doctor proves it whole."""
    database.execute(_FORGET_WORDS, (seq,))
    text, exact = _storable(message.text)
    database.execute(
        _REWRITE,
        {"seq": seq, "author": message.author, "text": text, "exact": exact,
         "search_text": search_text(message.author, text), "chars": len(text), "tokens": tokens,
         "extras": _extras(message, scrubbed)},
    )  # fmt: skip
    database.execute(_INDEX_WORDS, (seq,))


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
    "m.id, m.role, m.text, m.exact, m.author, m.sent_at, m.external_id, m.kind, m.extras, m.tokens"
)
_MESSAGES_BY_SEQ = f"SELECT m.seq, {COLUMNS} FROM message m WHERE m.seq IN ({{marks}})"  # noqa: S608

_NO_HISTORY = """
SELECT message_seq FROM source_message WHERE message_seq IN ({marks})
GROUP BY message_seq HAVING max(state = 'active') = 0
"""


def message_from(row: Row, session: str | None = None) -> Message:
    """The one place where a row (COLUMNS) becomes a Message."""
    id_, role, text, exact, author, sent_at, external_id, kind, extras, tokens = row
    found = orjson.loads(extras) if extras else {}
    return Message(
        role=role,
        text=exact.decode("utf-8", "surrogatepass") if exact is not None else text,
        author=author,
        sent_at=sent_at,
        external_id=external_id,
        session=session,
        kind=kind,
        parts=tuple(Part(*part) for part in found.get("parts", ())),
        tool_use_ids=tuple(found.get("uses", ())),
        tool_result_ids=tuple(found.get("results", ())),
        blobs=tuple(Blob(*blob) for blob in found.get("blobs", ())),
        unique_id=bool(found.get("unique")),
        id=id_,
        tokens=tokens,
    )


def by_seq(database: Database, seqs: Iterable[int]) -> dict[int, Message]:
    """Messages by row number."""
    rows = _chunked(database, _MESSAGES_BY_SEQ, list(seqs))
    return {row[0]: message_from(row[1:]) for row in rows}


def of_no_history(database: Database, seqs: Iterable[int]) -> list[int]:
    """Those that no source has in its history: of abandoned branches, or replaced."""
    return [row[0] for row in _chunked(database, _NO_HISTORY, list(seqs))]


def _chunked(
    database: Database,
    sql: str,
    keys: Sequence[object],
    after: tuple[object, ...] = (),
    before: tuple[object, ...] = (),
) -> list[Row]:
    """Runs sql, whose {marks} stand for some of the keys at a time, over all keys."""
    found: list[Row] = []
    for start in range(0, len(keys), _IN_CHUNK):
        chunk = keys[start : start + _IN_CHUNK]
        marks = ",".join("?" * len(chunk))
        found += database.rows(sql.format(marks=marks), (*before, *chunk, *after))
    return found
