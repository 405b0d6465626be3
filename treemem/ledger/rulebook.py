"""Tells which of the user's rules for good hold, and where: a view of the ledger.

A rule is an entry that the user typed, in words that are meant for good. The ledger says whether it
holds where it was given; what the user said for everything holds everywhere else, too, until a
later sentence there ends it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from treemem import times
from treemem.store import entries, entry_choices
from treemem.store.database import Database, json_list
from treemem.store.entries import Placed
from treemem.store.entry_choices import ChoiceState, EntryChoice
from treemem.store.file import memo
from treemem.types import EntryState

# in force: it holds. taken back: a later sentence ended it. dropped: the user hid it here. pinned:
# the user made it hold everywhere.
RuleState = Literal["in force", "taken back", "dropped", "pinned"]

# Hex digits of a rule's id.
ID_CHARS = 12

_RULES = """
SELECT e.seq, e.id, e.state, coalesce(by.text, ''), e.for_good FROM statement st
JOIN entry e ON e.statement_seq = st.seq LEFT JOIN entry ended ON ended.seq = e.by_seq
LEFT JOIN stated by ON by.seq = ended.statement_seq
WHERE st.kind = 'constraint' AND st.origin = 'typed' ORDER BY st.seq
"""
_PLACES = """
SELECT st.entry_seq, st.text, c.message_seq, m.id, coalesce(m.author, m.role), m.sent_at,
  m.sent_at_ms, so.id, coalesce(so.project, parent.project), parent.id, sm.position
FROM json_each(:entries) j JOIN stated st ON st.entry_seq = j.value
  AND st.kind = 'constraint' AND st.origin = 'typed'
JOIN citation c ON c.statement_seq = st.seq JOIN message m ON m.seq = c.message_seq
JOIN source_message sm ON sm.message_seq = c.message_seq AND sm.state = 'active'
JOIN source so ON so.seq = sm.source_seq LEFT JOIN source parent ON parent.id = so.parent_id
ORDER BY st.entry_seq, st.seq, c.ordinal, sm.source_seq
"""


class _Place(NamedTuple):
    """A message of a history that a rule was said in. project: as its log, or that of the session
    that started it, names it."""

    entry_seq: int
    text: str
    message_seq: int
    message_id: str
    speaker: str
    sent_at: str | None
    sent_at_ms: int | None
    source_id: str
    project: str | None
    parent_id: str | None
    position: int

    @property
    def home(self) -> str:
        """The project, or the source: of an agent, that of the session that started it."""
        return self.project or self.parent_id or self.source_id

    @property
    def order(self) -> tuple[int, str, int]:
        return (self.sent_at_ms or 0, self.source_id, self.position)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for good that the user gave.

    id: of its entry; of one that the user wrote here, or whose log is gone, a hash. homes: its
    projects, or its sources if their logs name none; home: the last one, "" for one that the user
    wrote here. said: the messages that say it, each with its words. placed: its entry, as it is
    compared. ended_by: the later sentence that took it back.
    """

    id: str
    text: str
    home: str
    speaker: str
    sent_at: str | None
    order: tuple[int, str, int] = (0, "", 0)
    project: str | None = None
    source_id: str | None = None
    message_ids: tuple[str, ...] = ()
    homes: frozenset[str] = frozenset()
    said: tuple[tuple[int, str], ...] = ()
    placed: Placed | None = None
    state: RuleState = "in force"
    ended_by: str | None = None

    @property
    def holds(self) -> bool:
        return self.state in ("in force", "pinned")

    @property
    def is_everywhere(self) -> bool:
        """Whether the user said that it holds in every project."""
        from treemem.ledger import matching

        return self.placed is not None and matching.is_everywhere(self.placed)


@dataclass(frozen=True)
class Book:
    """The rules of a file. rules: all of them with their states, the latest first. sentences: those
    that end rules: rules, and what only takes one back."""

    rules: tuple[Rule, ...]
    sentences: tuple[Rule, ...]

    def held_in(self, home: str | None) -> list[Rule]:
        """The rules that hold, the latest first. home: where the user is; a rule that was given
        elsewhere does not hold there if a later sentence of this home ends it."""
        if home not in self._held:
            self._held[home] = self._held_in(home)
        return self._held[home]

    @functools.cached_property
    def _held(self) -> dict[str | None, list[Rule]]:
        """The rules that hold in each home that was asked for."""
        return {}

    def _held_in(self, home: str | None) -> list[Rule]:
        here: dict[str, list[Rule]] = {}
        for said in self.sentences:
            if home in said.homes and said.placed is not None:
                here.setdefault(said.placed.rule_home, []).append(said)
        return [
            rule for rule in self.rules
            if rule.holds and (rule.state == "pinned" or not _is_ended(rule, here))
        ]  # fmt: skip

    @functools.cached_property
    def over(self) -> frozenset[tuple[int, str]]:
        """The message and the words of every rule that was taken back or dropped."""
        return frozenset(said for rule in self.rules if not rule.holds for said in rule.said)


def read(database: Database) -> Book:
    """The rules of a file, read again only after it has changed."""
    return memo.kept(database, "rules", lambda: _read(database))


def _read(database: Database) -> Book:
    rows = {seq: row for seq, *row in database.rows(_RULES)}
    chosen = {choice[:2]: choice for choice in entry_choices.choices(database)}
    if not rows and not chosen:
        return Book((), ())
    placed = entries.placed(database, rows)
    places: dict[int, list[_Place]] = {}
    for row in database.rows(_PLACES, {"entries": json_list(rows)}):
        places.setdefault(row[0], []).append(_Place(*row))
    left = dict(chosen)
    rules, sentences = [], []
    for seq, said in places.items():
        entry_id, state, ended_by, for_good = rows[seq]
        rule = _rule_of(entry_id, placed[seq], said)
        keys = {(place.text, home) for place in said for home in (place.home, place.source_id)}
        for key in keys:
            left.pop(key, None)
        sentences.append(rule)
        if _is_for_good(rule.text) if for_good is None else for_good:
            choice = entry_choices.latest(chosen, keys)
            rules.append(_judged(rule, state, ended_by, choice))
    # Subtle: a choice outlives its messages, as when a log is deleted and read again.
    rules += map(_of_choice, filter(_is_about_a_rule, left.values()))
    return Book(tuple(sorted(rules, key=lambda rule: rule.order, reverse=True)), tuple(sentences))


def rule_id(text: str, home: str) -> str:
    """The id of a rule that has no entry."""
    return hashlib.sha256(f"{text}\0{home}".encode("utf-8", "replace")).hexdigest()[:ID_CHARS]


def _rule_of(entry_id: str, placed: Placed, places: Sequence[_Place]) -> Rule:
    """A rule, known by the place where it was last said."""
    places = sorted(places, key=lambda place: place.order)
    last = places[-1]
    return Rule(
        entry_id, placed.text, last.home, last.speaker, last.sent_at, last.order, last.project,
        last.source_id, tuple(dict.fromkeys(place.message_id for place in places)),
        frozenset(place.home for place in places),
        tuple(dict.fromkeys((place.message_seq, place.text) for place in places)),
        placed,
    )  # fmt: skip


def _is_ended(rule: Rule, here: Mapping[str, Sequence[Rule]]) -> bool:
    """Whether a sentence of a home ends a rule there. here: its sentences by where they hold. What
    they end where the rule was given, the ledger knows."""
    from treemem.ledger import matching
    from treemem.rules import succession

    placed = rule.placed
    return placed is not None and any(
        said.placed is not None
        and matching.comes_later(said.placed, placed)
        and succession.ends(said.text, rule.text)
        for home, sentences in here.items()
        if home != placed.rule_home
        for said in sentences
    )


def _is_for_good(text: str) -> bool:
    """Whether a sentence is a rule for good, which an entry says of its own once work has looked
    at it. Slow in a new process: it compiles many expressions."""
    from treemem.rules import wording

    return wording.form_of(text) is not None


def _judged(rule: Rule, state: EntryState, ended_by: str, chosen: ChoiceState | None) -> Rule:
    """The rule in the state of its entry."""
    if state == "holds":
        return replace(rule, state="pinned") if chosen == "pinned" else rule
    if ended_by:
        return replace(rule, state="taken back", ended_by=ended_by)
    return replace(rule, state="dropped")


# -- rules without an entry ------------------------------------------------------------


def _is_about_a_rule(choice: EntryChoice) -> bool:
    """Whether a choice without its sentence is about a rule, not about another entry."""
    is_rule = choice.state == "dropped" and _is_for_good(choice.text)
    return choice.state == "pinned" or is_rule


def _of_choice(choice: EntryChoice) -> Rule:
    """A rule of which only the choice is left, or that the user wrote here."""
    return Rule(
        rule_id(choice.text, choice.project), choice.text, choice.project, "user",
        times.from_ms(choice.chosen_at_ms), (choice.chosen_at_ms, "", 0), choice.project or None,
        state="pinned" if choice.state == "pinned" else "dropped",
    )  # fmt: skip
