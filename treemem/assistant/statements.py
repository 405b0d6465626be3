"""Answers broad questions from what the tree holds: decisions, open points and rules of the ledger,
and what a scope is about.

A search returns messages for a budget; "what is still open?" is answered by the ledger itself, the
most salient first, of a subject if the question names one.

Tested in tests/assistant/test_statements.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from treemem.assistant import knowing
from treemem.assistant.extract import BROAD_MAX, Quote
from treemem.assistant.knowing import Asked
from treemem.types import Entry, EntryKind, Message, Passage, Scope

KINDS: Mapping[str, EntryKind] = {"decisions": "decision", "open": "open", "rules": "constraint"}
# Entries that are looked at for a subject, and messages of an entry.
ENTRIES_MAX, MESSAGES_MAX = 400, 20
# The share of a subject's words, weighted by rarity, that an entry has.
SUBJECT_SHARE_MIN = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """What a question is asked of. since, until: as in Memory.search."""

    scope: Scope
    since: str | datetime | None
    until: str | datetime | None


def stated(memory: Any, asked: Asked, limits: Limits, total: int) -> list[Quote]:
    """The statements that answer a broad question, word for word; empty for any other one, and if
    there are none. memory: the Memory."""
    if asked.kind in KINDS:
        return _of_ledger(memory, asked, limits, total)
    if asked.kind == "about" and not asked.stems and not (limits.since or limits.until):
        return list(_of_digest(memory, limits.scope))[:BROAD_MAX]
    return []


def _of_ledger(memory: Any, asked: Asked, limits: Limits, total: int) -> list[Quote]:
    entries = memory.ledger(
        limits.scope, kinds=[KINDS[asked.kind]], since=limits.since, until=limits.until,
        limit=ENTRIES_MAX if asked.stems else BROAD_MAX,
    )  # fmt: skip
    if asked.stems and entries:
        shares = knowing.shares_of(asked, [one.text for one in entries], total)
        entries = [
            one for one, share in zip(entries, shares, strict=True) if share >= SUBJECT_SHARE_MIN
        ]
    quotes = (_of_entry(memory, entry) for entry in entries[:BROAD_MAX])
    return [quote for quote in quotes if quote is not None]


def _of_entry(memory: Any, entry: Entry) -> Quote | None:
    """An entry in the last message that has its words."""
    shown = memory.ledger.show(entry.id, messages_max=MESSAGES_MAX)
    saying = [one for one in shown.messages if entry.text in one.text]
    if not saying or entry.source_id is None:
        return None
    return _quote(memory, entry.text, saying[-1], entry.source_id, entry.node_id)


def _of_digest(memory: Any, scope: Scope) -> Iterator[Quote]:
    """What a scope is about, then its most salient entries: those that a message says word for
    word."""
    digest = memory.digest(scope)
    for statement in digest.gists:
        for message in statement.messages:
            if statement.text in message.text:
                location = memory.places.find(message.id)
                yield _quote(memory, statement.text, message, location.source_id, None)
                break
    for entry in digest.entries:
        if (quote := _of_entry(memory, entry)) is not None:
            yield quote


def _quote(memory: Any, text: str, message: Message, source_id: str, node_id: str | None) -> Quote:
    title = memory.titles([source_id]).get(source_id, source_id)
    passage = Passage(text, 0, 1.0, source_id, node_id, (), (message,), title=title)
    return Quote(text, message, passage, message.text.find(text), share=1.0)
