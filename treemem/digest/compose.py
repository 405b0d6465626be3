"""Composes the digest of a scope: what a person reads first about a source, a topic or everything.

A digest has a ceiling of tokens that does not grow with what is below it. Its gists are from the
summary of the root; its entries are the most salient of the ledger that hold now; what it leaves
out is counted.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from treemem.digest import scopes
from treemem.digest.reading import headline_of, kinds
from treemem.ledger import reading, salience
from treemem.store import summaries
from treemem.store.database import Database
from treemem.summarize import EXTRACTIVE
from treemem.summarize.choosing import (
    Offered,
    choose,
    is_worth_showing,
    main_words,
    telling_words,
    without_repetitions,
)
from treemem.text.tokens import count_many, count_tokens
from treemem.tree import builder
from treemem.types import Digest, Entry, Scope, ScopeKind, Statement

# Tokens of a digest: at most the ceiling of its scope, and of a short scope this share of its text,
# but enough for a few sentences.
CEILINGS: dict[ScopeKind, int] = {
    "source": 700,
    "topic": 700,
    "session": 700,
    "filter": 700,
    "everything": 900,
}
SHARE = 0.15
TOKENS_MIN = 64
# The most salient entries of each kind that may be shown.
OFFERED_MAX = 40
# A gist comes before entries of the same weight.
GIST_WEIGHT = 2.0
_TREE = {"everything": "global", "source": "source", "topic": "topic"}
_TOKENS = "SELECT tokens FROM node WHERE seq = ?"


def digest_of(database: Database, scope: Scope) -> Digest:
    """The digest of a scope. A session and a filter have no tree, so they have neither a first
    line nor gists."""
    scope = scopes.resolved(database, scope)
    root_seq = _root_seq(database, scope)
    tokens = None if root_seq is None else database.value(_TOKENS, (root_seq,))
    first_line = headline_of(database, scope)
    most = CEILINGS[scope.kind] - count_tokens(first_line)
    ceiling = min(_ceiling(scope, tokens), most)
    read = _gists(database, root_seq)
    found, counts = reading.most_salient(database, scope, OFFERED_MAX)
    main = _main_words([*read, *found])
    gists = [gist for gist in read if _is_worth_showing(gist, main)]
    said = {gist.entry_id for gist in gists} - {None}
    entries = [entry for entry in found if entry.id not in said]
    chats = _chats_with_assistants(database, entries)
    worth = [
        entry for entry in entries
        if _is_worth_showing(entry, main) and not _is_general(entry, chats)
    ]  # fmt: skip
    if not gists and not worth:
        # Rather a poor sentence than none.
        gists, worth = read[:1], entries[: not read]
    offered = _offered(gists, worth)
    distinct = without_repetitions(offered, lambda item: item.text)
    chosen = [one.item for one in choose(distinct, ceiling)]
    return Digest(
        scope=scope,
        headline=first_line,
        gists=tuple(item for item in chosen if isinstance(item, Statement)),
        entries=tuple(item for item in chosen if isinstance(item, Entry)),
        counts=tuple(counts.items()),
    )


def _root_seq(database: Database, scope: Scope) -> int | None:
    kind = _TREE.get(scope.kind)
    tree = None if kind is None else builder.find_tree(database, kind, scope.key or "")
    return None if tree is None else tree.root_seq


def _ceiling(scope: Scope, tokens: int | None) -> int:
    if tokens is None:
        return CEILINGS[scope.kind]
    return min(CEILINGS[scope.kind], max(TOKENS_MIN, int(SHARE * tokens)))


def _gists(database: Database, root_seq: int | None) -> list[Statement]:
    if root_seq is None:
        return []
    shown = summaries.statements(database, summaries.shown_summary(database, root_seq))
    return [
        statement for statement in shown if statement.kind == "gist" and statement.state == "holds"
    ]


def _offered(gists: list[Statement], entries: list[Entry]) -> list[Offered[Statement | Entry]]:
    """The gists in their order, and the entries by how salient and how recent they are."""
    items: list[Statement | Entry] = [*gists, *entries]
    counts = count_many([item.text for item in items])
    in_time = sorted(entries, key=lambda entry: (entry.last_at or "", entry.id))
    recent = {entry.id: salience.recency(at, len(in_time)) for at, entry in enumerate(in_time)}
    return [
        Offered(
            item, item.kind, tokens,
            item.salience + recent[item.id] if isinstance(item, Entry) else GIST_WEIGHT,
            place, place,
        )
        for place, (item, tokens) in enumerate(zip(items, counts, strict=True))
    ]  # fmt: skip


def _main_words(items: Sequence[Statement | Entry]) -> frozenset[str]:
    """What a scope is about, by its gists and its most salient entries."""
    telling = [telling_words(item.text) for item in items]
    return main_words(telling, {item.speaker or "" for item in items})


def _is_worth_showing(item: Statement | Entry, main: frozenset[str]) -> bool:
    """Whether a reader would likely find it worth showing. What a model wrote was judged before.
    main: the main words of the scope."""
    if isinstance(item, Statement) and item.producer != EXTRACTIVE.name:
        return True
    return is_worth_showing(item.kind, item.text, item.origin, item.speaker, main)


def _chats_with_assistants(database: Database, entries: Sequence[Entry]) -> frozenset[str]:
    """The sources of facts that an assistant told in a chat."""
    told = {entry.source_id or "" for entry in entries
            if entry.kind == "fact" and entry.origin == "assistant"}  # fmt: skip
    return frozenset(key for key, kind in kinds(database, told).items() if kind == "assistant")


def _is_general(entry: Entry, chats: Container[str]) -> bool:
    """Whether an entry is what an assistant knows, which says little about a chat; the facts of an
    agent are about its work. chats: the chats with assistants."""
    is_told = entry.kind == "fact" and entry.origin == "assistant"
    return is_told and entry.source_id in chats


def left_out(digest: Digest) -> dict[str, int]:
    """By kind, how many entries that hold a digest does not show.

    Example:
        >>> left_out(Digest(Scope.everything(), counts=(("open", 3), ("fact", 0))))
        {'open': 3}
    """
    shown = [entry.kind for entry in digest.entries]
    left = {kind: count - shown.count(kind) for kind, count in digest.counts}
    return {kind: count for kind, count in left.items() if count > 0}
