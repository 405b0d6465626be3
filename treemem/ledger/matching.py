"""Decides what a later entry of the ledger does to an earlier one. Pure.

Two entries are compared if they share words that say what they are about; see subjects.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from treemem.rules import succession, wording
from treemem.rules.lexicon import QUOTED
from treemem.store.entries import LinkKind, Mention, Placed
from treemem.text.cache import SENTENCES_CACHED_MAX, WORDS_CACHED_MAX, remembered
from treemem.types import EntryKind, Origin, StatementKind
from treemem.verify import relations
from treemem.verify.words import stems

# The origins of words that nobody in the history says: they end nothing that others say.
FOREIGN: tuple[Origin, ...] = ("pasted", "tool", "result")
# Files that are read as they are, without marks of who says what.
PLAIN_TEXTS = (".md", ".markdown", ".txt")
# The origins of words that end nothing that the user typed in another source.
STRANGERS: tuple[Origin, ...] = ("person", "document")
# The fewest words of a statement that is the same as one in other words.
SAME_STEMS_MIN = 3
# Entries that are about the same share at least this many words, and this share of the earlier.
RETURN_STEMS_MIN = 2
RETURN_SHARE_MIN = 0.5
assert RETURN_STEMS_MIN <= relations.REPLACED_WORDS_MIN
assert RETURN_SHARE_MIN <= relations.REPLACED_SHARE_MIN


class Words(NamedTuple):
    """What the words of a statement tell of it.

    key: what almost the same words have in common, for entry_id. about: hashes of its stems, but
    for those that begin with a digit. numbers: how many of its stems do.
    """

    key: str
    about: frozenset[int]
    numbers: int


@remembered(maxsize=SENTENCES_CACHED_MAX)
def words_of(text: str) -> Words:
    """What the words of a statement tell of it."""
    own = stems(text)
    about = frozenset([_hash(stem) for stem in own if not stem[0].isdigit()])
    # What has few words of its own means something else in each place.
    is_long = len(own) >= SAME_STEMS_MIN
    key = repr(relations.key(text)) if is_long else " ".join(text.casefold().split())
    key += "\0done" if relations.settles(text) else ""
    return Words(key, about, sum(stem[0].isdigit() for stem in own))


def entry_id(text: str, home: str) -> str:
    """The id of the entry that a statement belongs to. Statements of a home that mean the same in
    almost the same words have one entry; what is to be done and that it is done are two."""
    whole = f"{words_of(text).key}\0{home}".encode("utf-8", "replace")
    return hashlib.sha256(whole).hexdigest()[:12]


def home_of(kind: StatementKind, origin: Origin, project: str, rule_home: str) -> str:
    """Where a statement holds, for entry_id: what the user sets as a rule in a source without a
    project holds there alone. rule_home: see entries.Mention."""
    return rule_home if kind == "constraint" and origin == "typed" else project


def choice_homes(mention: Mention) -> tuple[str, ...]:
    """The homes for which a choice about what a message says is stored. A source without a project
    may get one later, so its id is one of them."""
    home = home_of(mention.kind, mention.origin, mention.project, mention.rule_home)
    return (home,) if mention.project else (home, mention.source_id)


def entry_kind(kind: StatementKind, text: str, origin: Origin) -> EntryKind:
    """The kind of the entry of a statement. A gist is a fact; a sentence that only takes a rule
    back is no rule."""
    if kind == "gist" or (kind == "constraint" and is_retraction(text, origin)):
        return "fact"
    return kind


@remembered(maxsize=SENTENCES_CACHED_MAX)
def is_retraction(text: str, origin: Origin) -> bool:
    """Whether the user only takes something back with these words."""
    return origin == "typed" and succession.takes_back(text) and not wording.form_of(text)


def is_for_good(kind: EntryKind, text: str, origin: Origin) -> bool:
    """Whether an entry is a rule of the user's that is to hold in future, too."""
    return kind == "constraint" and origin == "typed" and wording.form_of(text) is not None


def subjects(kind: EntryKind, text: str, origin: Origin) -> frozenset[int]:
    """Hashes of what an entry is about."""
    if kind == "open":
        return frozenset(map(_hash, relations.subject_of(text)))
    if origin == "typed" and (kind == "constraint" or is_retraction(text, origin)):
        return frozenset(map(_hash, succession.keys(text)))
    return words_of(text).about


@functools.lru_cache(maxsize=WORDS_CACHED_MAX)
def _hash(stem: str) -> int:
    digest = hashlib.blake2b(stem.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest[:4], "big", signed=True)


def is_users_rule(entry: Placed) -> bool:
    """Whether the user gave this rule, or takes one back."""
    return entry.origin == "typed" and (
        entry.kind == "constraint" or is_retraction(entry.text, entry.origin)
    )


def comes_later(entry: Placed, other: Placed) -> bool:
    """Whether an entry was said after another one, as far as that is known: by the positions in
    one source, else by the times."""
    if entry.last_source == other.last_source:
        return entry.last_position > other.last_position
    if entry.last_ms is None or other.last_ms is None:
        return False
    return entry.last_ms > other.last_ms


def is_everywhere(entry: Placed) -> bool:
    """Whether the user said that a rule, or what takes one back, holds in every project. A text in
    which an answer can imitate a turn of the user's says so for its own project only."""
    is_plain_text = entry.file is not None and entry.file.lower().endswith(PLAIN_TEXTS)
    return wording.holds_everywhere(entry.text) and not is_plain_text


def may_be_like(own: Words, theirs: Collection[int]) -> bool:
    """Whether perhaps_related may find that entries share enough stems. theirs: the subjects of one
    that is neither an open point nor a rule of the user's."""
    shared = len(own.about.intersection(theirs)) + own.numbers
    least = RETURN_SHARE_MIN * min(len(own.about), len(theirs))
    return shared >= RETURN_STEMS_MIN and shared >= least


def perhaps_related(
    known: Mapping[int, Placed], pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yields the pairs of entries that effect may say something of, whichever is the earlier one.
    Much faster than to look."""
    points = {seq for seq, entry in known.items() if entry.kind == "open"}
    rules = {seq for seq, entry in known.items() if is_users_rule(entry)}
    for one, other in pairs:
        is_judged = one in points or other in points or (one in rules and other in rules)
        if is_judged or _are_like(known[one].text, known[other].text):
            yield one, other


def _are_like(one: str, other: str) -> bool:
    """Whether texts share so many stems that one may say the other again, or replace it."""
    shared = len(stems(one) & stems(other))
    if shared < RETURN_STEMS_MIN:
        return False
    # Numbers count nothing in what replaces another.
    return shared >= RETURN_SHARE_MIN * min(
        len(relations.topic_of(one)), len(relations.topic_of(other))
    )


def effect(earlier: Placed, later: Placed) -> LinkKind | None:
    """What a later entry does to an earlier one: ends it, or only comes back to its subject."""
    if _is_stranger(earlier, later) or (later.origin in FOREIGN and later.origin != earlier.origin):
        return "returns" if _is_about_the_same(earlier, later) else None
    if earlier.kind == "open" and later.settles and _closes(later.text, earlier.text):
        return "closed"
    if is_users_rule(earlier):
        reaches = later.rule_home == earlier.rule_home or is_everywhere(later)
        if is_users_rule(later) and reaches and succession.ends(later.text, earlier.text):
            return "superseded" if later.kind == "constraint" else "withdrawn"
    elif _may_be_replaced(earlier, later) and relations.replaces(later.text, earlier.text):
        return "superseded"
    if later.home != earlier.home:
        return None
    return "returns" if _is_about_the_same(earlier, later) else None


def _is_stranger(earlier: Placed, later: Placed) -> bool:
    """Whether a later entry is from another source, by somebody who need not know of what the user
    typed: another person, a document, or the assistant of a chat without a project."""
    if later.last_source == earlier.last_source or earlier.origin != "typed":
        return False
    return later.origin in STRANGERS or (later.home == 0 and later.origin != "typed")


def _closes(later: str, point: str) -> bool:
    """Whether a sentence closes an open point in its own words; what it quotes, it only reports."""
    if not relations.closes(later, point):
        return False
    return QUOTED.search(later) is None or relations.settles(QUOTED.sub("it", later))


def _may_be_replaced(earlier: Placed, later: Placed) -> bool:
    kinds: tuple[EntryKind, ...] = ("decision", "constraint", "fact")
    return earlier.kind in kinds and later.kind in kinds


def _is_about_the_same(earlier: Placed, later: Placed) -> bool:
    ours, theirs = stems(earlier.text), stems(later.text)
    shared = len(ours & theirs)
    return shared >= RETURN_STEMS_MIN and shared >= RETURN_SHARE_MIN * len(ours)
