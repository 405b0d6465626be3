"""Compares another memory with this one: what is new, what is the same, what was forgotten.

Writes nothing. A message is the same by its id; one with secrets, which each machine may have
redacted with a key of its own, also by its alias or by its words without the fingerprints.

Tested in tests/backups/merging/test_merging.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from treemem.backups.merging.histories import Place
from treemem.backups.portable import writing
from treemem.forgetting.tombstones import Tombstones, names_of
from treemem.privacy.policy import Redaction
from treemem.privacy.redactor import MARKER
from treemem.store import messages, sources
from treemem.store.database import Database
from treemem.types import Message

_LIVE = "SELECT s.id FROM live_session l JOIN source s ON s.seq = l.source_seq ORDER BY s.id"
_IDS = "SELECT id, sent_at_ms, identity FROM message"
_FORGETTABLE = "SELECT id, identity, sent_at_ms IS NOT NULL FROM message WHERE seq = ?"
_ALIASES = """
SELECT a.alias, m.id FROM message_alias a JOIN message m ON m.seq = a.message_seq
"""
_REDACTED = """
SELECT DISTINCT m.id, m.identity, m.role, m.author, m.kind, m.sent_at_ms, m.text
FROM message_alias a JOIN message m ON m.seq = a.message_seq
WHERE m.identity IS NOT NULL OR m.sent_at_ms IS NOT NULL
"""


@dataclass(slots=True)
class Plan:
    """What of another memory is taken in.

    whole: ids of sources that are new and stored as they are there. joined: of those that are
    united with what is here; those of new_joined are new, but lack messages. histories: of all
    these, without what was forgotten here. needed: ids of messages that are new. known: how many
    are here. kept_out: ids of those that were forgotten here, and words: their texts and authors.
    forgotten: ids of messages here that were forgotten there. sessions: sources of live sessions.
    """

    whole: set[str] = field(default_factory=set)
    joined: list[str] = field(default_factory=list)
    new_joined: set[str] = field(default_factory=set)
    histories: dict[str, list[Place]] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    known: int = 0
    kept_out: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    sessions: tuple[str, ...] = ()


def forgotten_there(database: Database, other: Database) -> list[str]:
    """The ids of the messages here that the other memory has forgotten."""
    tombstones = Tombstones(other)
    if not tombstones:
        return []
    redaction = Redaction.of(other, redact=False, keep=False)
    found = []
    for seq, message in messages.all_messages(database):
        row = database.row(_FORGETTABLE, (seq,))
        if row is not None and tombstones.has_any(_names(redaction, message, *row)):
            found.append(str(row[0]))
    return found


def planned(database: Database, other: Database) -> Plan:
    """Reads the whole other memory and compares it with this one."""
    plan = Plan()
    live = {one for (one,) in database.rows(_LIVE)}
    theirs = [one for (one,) in other.rows(_LIVE)]
    plan.sessions = tuple(theirs)
    live.update(theirs)
    ours = {one: (at, identity) for one, at, identity in database.execute(_IDS)}
    facts = _read_messages(database, other, plan, ours)
    same = _same(database, other, set(facts) - set(ours))
    incomplete: set[str] = set()
    for line in writing.places_of(other):
        source_id, message_id = line["source"], line["message"]
        if source_id in live:
            continue
        history = plan.histories.setdefault(source_id, [])
        if message_id in plan.kept_out or message_id in same:
            incomplete.add(source_id)
        if message_id in plan.kept_out:
            continue
        own = same.get(message_id, message_id)
        at, identity = ours.get(own) or facts[own]
        history.append(Place(own, at, identity, line["state"], line["session"]))
    for source_id, history in plan.histories.items():
        once = list({place.message_id: place for place in history}.values())
        plan.histories[source_id] = once
        is_here = sources.seq_of(database, source_id) is not None
        if not is_here and source_id not in incomplete:
            plan.whole.add(source_id)
        elif once:
            plan.joined.append(source_id)
            if not is_here:
                plan.new_joined.add(source_id)
        ids = {place.message_id for place in once}
        plan.needed |= ids - ours.keys()
    placed = {place.message_id for one in plan.histories.values() for place in one}
    plan.known = len(placed & ours.keys())
    return plan


def _read_messages(
    database: Database, other: Database, plan: Plan, ours: dict[str, Any]
) -> dict[str, tuple[int | None, str | None]]:
    """(time, identity) of the messages there, by id; notes those that were forgotten here."""
    facts = {}
    tombstones = Tombstones(database)
    redaction = Redaction.of(database, redact=False, keep=False)
    for line in writing.messages_of(other):
        message_id, identity, at = line["id"], line["identity"], line["sent_at_ms"]
        facts[message_id] = (at, identity)
        if not tombstones or message_id in ours:
            continue
        said = Message(role=line["role"], text=line["text"])
        if tombstones.has_any(_names(redaction, said, message_id, identity, at is not None)):
            plan.kept_out.add(message_id)
            plan.words += [line["text"], line["author"] or ""]
    return facts


def _names(
    redaction: Redaction, message: Message, message_id: str, identity: str | None, is_dated: object
) -> Iterator[str]:
    alias = redaction.alias(message_id)
    return names_of(identity, [message_id], message, [alias], is_dated=bool(is_dated))


def _same(database: Database, other: Database, unknown: set[str]) -> dict[str, str]:
    """The ids here of messages there that have another id only since secrets are redacted."""
    found: dict[str, str] = {}
    ours: dict[str, str] = dict(database.rows(_ALIASES))
    theirs: dict[str, str] = dict(other.rows(_ALIASES))
    if ours:  # redacted here, plain there
        redaction = Redaction.of(database, redact=False, keep=False)
        for one in unknown:
            if (alias := redaction.alias(one)) in ours:
                found[one] = ours[alias]
    if theirs:  # plain here, redacted there
        redaction = Redaction.of(other, redact=False, keep=False)
        for (one,) in database.rows("SELECT id FROM message"):
            if (alias := redaction.alias(one)) in theirs and theirs[alias] in unknown:
                found[theirs[alias]] = one
    if ours and theirs:
        here, there = _redacted(database), _redacted(other)
        found.update(
            (there[words], here[words])
            for words in here.keys() & there.keys()
            if there[words] in unknown
        )
    return found


def _redacted(database: Database) -> dict[tuple[Any, ...], str]:
    """The redacted messages, by what they say besides the fingerprints of secrets; without those
    of which several say the same."""
    by_words: dict[tuple[Any, ...], str] = {}
    counts = Counter[tuple[Any, ...]]()
    for message_id, *facts, text in database.rows(_REDACTED):
        key = (*facts, MARKER.sub(r"[redacted: \1]", text))
        by_words[key] = message_id
        counts[key] += 1
    return {key: one for key, one in by_words.items() if counts[key] == 1}


def leaves_of(database: Database) -> dict[str, list[str]]:
    """The ids of the sealed leaves of each source, in order."""
    leaves: dict[str, list[str]] = defaultdict(list)
    for line in writing.leaves_of(database):
        leaves[line["source"]].append(line["id"])
    return leaves
