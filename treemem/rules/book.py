"""Reads the user's rules for good from a file, and tells which of them hold.

A rule is a sentence that the user typed, in a message that belongs to a history. It holds in its
project until a later sentence ends it there; what the user said holds everywhere, holds in all.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from treemem import times
from treemem.origins.spans import origin_of_words
from treemem.rules import succession, wording
from treemem.store import entry_choices, messages
from treemem.store.database import Database, json_list
from treemem.store.entry_choices import EntryChoice
from treemem.store.file import memo
from treemem.text.sentences import spoken_sentences

# in force: it holds. taken back: a later sentence ended it. dropped: the user hid it here. pinned:
# the user made it hold everywhere.
RuleState = Literal["in force", "taken back", "dropped", "pinned"]

# Hex digits of a rule's id.
ID_CHARS = 12
# The most characters of a message in which a wish about the way of answering stands alone.
ALONE_CHARS_MAX = 300

_RULES = """
SELECT s.seq, s.text, s.origin FROM statement s
WHERE s.kind = 'constraint' AND (s.origin IS NULL OR s.origin = 'typed') ORDER BY s.seq
"""
_PLACES = """
SELECT c.statement_seq, c.message_seq, m.id, coalesce(m.author, m.role), m.sent_at, m.sent_at_ms,
  m.chars, so.id, so.project, so.origin, sm.source_seq, sm.position, parent.project, parent.id
FROM json_each(:seqs) j JOIN citation c ON c.statement_seq = j.value
JOIN message m ON m.seq = c.message_seq
JOIN source_message sm ON sm.message_seq = c.message_seq
JOIN source so ON so.seq = sm.source_seq LEFT JOIN source parent ON parent.id = so.parent_id
WHERE sm.state = 'active' AND m.role = 'user' AND m.kind = 'said'
ORDER BY c.statement_seq, sm.source_seq
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for good that the user gave.

    home: its project, or its source if the log names no project; "" for one that the user wrote
    here. place: orders rules by when they were last said: time, source, position, and number of
    the statement. is_everywhere: the user said so. ended_by: the later sentence that took it back.
    """

    text: str
    home: str
    speaker: str
    sent_at: str | None
    place: tuple[int, int, int, int]
    project: str | None = None
    source_id: str | None = None
    message_ids: tuple[str, ...] = ()
    message_seqs: tuple[int, ...] = ()
    is_everywhere: bool = False
    state: RuleState = "in force"
    ended_by: str | None = None

    @property
    def id(self) -> str:
        """A hash of its words and its home."""
        return rule_id(self.text, self.home)

    @property
    def key(self) -> tuple[str, str]:
        """What a choice of the user's is stored for."""
        return self.text, self.home

    @property
    def holds(self) -> bool:
        return self.state in ("in force", "pinned")


class _Place(NamedTuple):
    """A message of a history that a sentence was said in. project: as its log names it."""

    statement_seq: int
    message_seq: int
    message_id: str
    speaker: str
    sent_at: str | None
    sent_at_ms: int | None
    chars: int
    source_id: str
    project: str | None
    file: str | None
    source_seq: int
    position: int
    parent_project: str | None
    parent_id: str | None

    @property
    def home(self) -> str:
        """The project, or the source: of an agent, that of the session that started it."""
        return self.project or self.parent_project or self.parent_id or self.source_id

    @property
    def order(self) -> tuple[int, int, int]:
        return (self.sent_at_ms or 0, self.source_seq, self.position)


class _Sentence(NamedTuple):
    """A rule, or a sentence that only takes rules back."""

    rule: Rule
    is_rule: bool


@dataclass(frozen=True)
class Book:
    """The rules of a file. rules: all of them with their states, the latest first."""

    rules: tuple[Rule, ...]
    _sentences: tuple[_Sentence, ...]

    def held_in(self, home: str | None) -> list[Rule]:
        """The rules that hold, the latest first. home: where the user is; a rule that was given
        for everything does not hold there if a later sentence of this home ends it."""
        ended = {} if home is None else _ended_in(self._sentences, home)
        return [rule for rule in self.rules
                if rule.state == "pinned" or (rule.holds and rule.key not in ended)]  # fmt: skip

    @functools.cached_property
    def over(self) -> frozenset[tuple[int, str]]:
        """The message and the words of every rule that was taken back or dropped."""
        return frozenset((seq, rule.text) for rule in self.rules if not rule.holds
                         for seq in rule.message_seqs)  # fmt: skip


def read(database: Database) -> Book:
    """The rules of a file."""
    return memo.kept(database, "rules", lambda: _read(database))


def _read(database: Database) -> Book:
    sentences = _read_sentences(database)
    choices = {choice[:2]: choice for choice in entry_choices.choices(database)}
    ended: dict[str, dict[tuple[str, str], str]] = {}
    rules = []
    for rule, is_rule in sentences:
        if is_rule:
            if rule.home not in ended:
                ended[rule.home] = _ended_in(sentences, rule.home)
            ended_by = ended[rule.home].get(rule.key)
            rules.append(_judged(rule, ended_by, choices.pop(rule.key, None)))
    # Subtle: a choice outlives its messages, as when a log is deleted and read again.
    rules += map(_of_choice, filter(_is_about_a_rule, choices.values()))
    return Book(tuple(sorted(rules, key=lambda rule: rule.place, reverse=True)), sentences)


def rule_id(text: str, home: str) -> str:
    """The id of a rule."""
    return hashlib.sha256(f"{text}\0{home}".encode("utf-8", "replace")).hexdigest()[:ID_CHARS]


# -- from the file ---------------------------------------------------------------------


def _read_sentences(database: Database) -> tuple[_Sentence, ...]:
    """The sentences of the user's that set or take back a rule, each once for each home."""
    rows = {
        seq: (text, origin, form, succession.takes_back(text))
        for seq, text, origin in database.rows(_RULES)
        if (form := wording.form_of(text)) or succession.takes_back(text)
    }
    by_key: dict[tuple[str, str], list[_Place]] = {}
    is_rule: dict[str, bool] = {}
    for row in database.rows(_PLACES, {"seqs": json_list(rows)}):
        place = _Place(*row)
        text, origin, form, _ = rows[place.statement_seq]
        if origin is None and not _is_typed(database, text, place.message_seq):
            continue
        if form == "manner" and not _is_alone(database, place):
            continue
        is_rule[text] = form is not None
        by_key.setdefault((text, place.home), []).append(place)
    return tuple(
        _Sentence(_rule_of(text, home, places), is_rule[text])
        for (text, home), places in by_key.items()
    )


def _is_typed(database: Database, text: str, message_seq: int) -> bool:
    message = messages.by_seq(database, [message_seq])[message_seq]
    return origin_of_words(text, [message]) == "typed"


def _is_alone(database: Database, place: _Place) -> bool:
    """Whether all that a message says is about the way of answering."""
    if place.chars > ALONE_CHARS_MAX:
        return False
    message = messages.by_seq(database, [place.message_seq])[place.message_seq]
    spoken = spoken_sentences(message, 0, len(message.text))
    return all(wording.form_of(sentence.text) is not None for sentence in spoken)


def _rule_of(text: str, home: str, places: Sequence[_Place]) -> Rule:
    """A rule, known by the place where it was last said."""
    last = max(places, key=lambda place: place.order)
    first = min(place.statement_seq for place in places if place.message_seq == last.message_seq)
    cited = {place.message_seq: place.message_id for place in places}
    return Rule(
        text, home, last.speaker, last.sent_at, (*last.order, first),
        last.project or last.parent_project, last.source_id, tuple(cited.values()), tuple(cited),
        wording.holds_everywhere(text) and not _is_plain_text(last.file),
    )  # fmt: skip


def _is_plain_text(file: str | None) -> bool:
    """Whether a log is a text in which an answer can imitate a turn of the user's. What it says
    holds in its own project only, so that a log from elsewhere rules no other one."""
    return file is not None and file.lower().endswith((".md", ".markdown", ".txt"))


# -- what holds ------------------------------------------------------------------------


def _ended_in(sentences: Sequence[_Sentence], home: str) -> dict[tuple[str, str], str]:
    """The sentence that ended each rule, by the rule's key, among those of a home and those for
    everything."""
    here = sorted((sentence.rule for sentence in sentences
                   if sentence.rule.home == home or sentence.rule.is_everywhere),
                  key=lambda rule: rule.place)  # fmt: skip
    endings = _endings(tuple(rule.text for rule in here))
    return {rule.key: here[by].text for rule, by in zip(here, endings, strict=True)
            if by is not None}  # fmt: skip


@functools.lru_cache(maxsize=256)
def _endings(texts: tuple[str, ...]) -> tuple[int | None, ...]:
    """For each of these sentences, in the order in which they were said, the last that ends it.
    Cached: most searches meet the rules of the search before."""
    by_key: dict[str, list[int]] = {}
    endings: list[int | None] = [None] * len(texts)
    for at, text in enumerate(texts):
        keys = succession.keys(text)
        for earlier in {index for key in keys for index in by_key.get(key, ())}:
            if succession.ends(text, texts[earlier]):
                endings[earlier] = at
        for key in keys:
            by_key.setdefault(key, []).append(at)
    return tuple(endings)


def _is_about_a_rule(choice: EntryChoice) -> bool:
    """Whether a choice without its sentence is about a rule, not about another entry."""
    is_rule = choice.state == "dropped" and wording.form_of(choice.text) is not None
    return choice.state == "pinned" or is_rule


def _judged(rule: Rule, ended_by: str | None, choice: EntryChoice | None) -> Rule:
    """The rule in the state that the user chose for it, if any."""
    if choice is not None and choice.state in ("pinned", "dropped"):
        return replace(rule, state=choice.state)
    if choice is not None and choice.state == "open":
        return rule
    return rule if ended_by is None else replace(rule, state="taken back", ended_by=ended_by)


def _of_choice(choice: EntryChoice) -> Rule:
    """A rule of which only the choice is left, or that the user wrote here."""
    return Rule(
        choice.text, choice.project, "user",
        times.from_ms(choice.chosen_at_ms), (choice.chosen_at_ms, 0, 0, 0),
        choice.project or None,
        state="pinned" if choice.state == "pinned" else "dropped",
    )  # fmt: skip
