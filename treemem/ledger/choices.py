"""Lets the user close, reopen and drop entries of the ledger, and pin, drop and restore rules.

A choice is stored for the words of an entry and where they were said, so it outlives the log. Runs
in the caller's transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treemem.errors import SEE_RULES, Hint, UsageError
from treemem.ledger import matching, reading, rulebook, update
from treemem.ledger.rulebook import Rule, RuleState
from treemem.patterns import lazy_regex
from treemem.store import entries, entry_choices, lookup
from treemem.store.database import Database
from treemem.store.entry_choices import ChoiceState, EntryChoice
from treemem.types import Entry, EntryKind

CLOSABLE: tuple[EntryKind, ...] = ("open", "error")
# Characters of a rule in the user's own words.
WORDS_CHARS_MAX = 400
_ID = lazy_regex(rf"[0-9a-f]{{{lookup.PREFIX_LENGTH_MIN},{rulebook.ID_CHARS}}}")


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule for good that the user gave.

    id: of its entry in the ledger; of a rule that the user wrote here, or whose log is gone, a hash
    of its words. sent_at: when it was last said, as in Message; of a rule that the user wrote here,
    when. project: the working directory or repository that its log names; None without one.
    source_id, message_ids: where it was said; None and empty if it was not, or if its log is gone.
    everywhere: it holds in all projects. state: "in force", "taken back", "dropped" or "pinned".
    ended_by: the later sentence that took it back.
    """

    id: str
    text: str
    speaker: str
    sent_at: str | None
    project: str | None
    source_id: str | None
    message_ids: tuple[str, ...]
    everywhere: bool
    state: RuleState
    ended_by: str | None


# -- entries ---------------------------------------------------------------------------


def close(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Closes an open point or an error. Raises UsageError for another kind, and as find does."""
    entry = reading.entry(database, entry_id)
    if entry.kind not in CLOSABLE:
        raise UsageError(
            f"Entry {entry.id} is a {entry.kind}; only open points and errors can be closed.",
            hint=Hint(
                f"To hide it: memory.ledger.drop({entry.id!r})",
                f"To hide it: treemem ledger drop {entry.id}",
            ),
        )
    return _chosen(database, entry.id, "closed", now_ms)


def reopen(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Makes an entry hold again that was closed, replaced or dropped."""
    return _chosen(database, entry_id, "open", now_ms)


def drop(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Hides an entry from now on, also when its log is read again."""
    return _chosen(database, entry_id, "dropped", now_ms)


def restore_entry(database: Database, entry_id: str, now_ms: int) -> Entry:
    """Lets nothing that was chosen about an entry hold any more."""
    return _chosen(database, entry_id, None, now_ms)


def _chosen(database: Database, entry_id: str, state: ChoiceState | None, now_ms: int) -> Entry:
    _choose(database, reading.row_of(database, entry_id)[0], state, now_ms)
    return reading.entry(database, entry_id)


def _choose(database: Database, entry_seq: int, state: ChoiceState | None, now_ms: int) -> None:
    """Stores a choice about an entry; None lets none hold."""
    mentions = entries.mentions(database, [entry_seq]).get(entry_seq, [])
    keys = {(m.text, home) for m in mentions for home in matching.choice_homes(m)}
    if state is None:
        entry_choices.restore(database, update.choice_keys(mentions), now_ms)
    else:
        entry_choices.restore(database, update.choice_keys(mentions) - keys, now_ms)
        for text, home in sorted(keys):
            entry_choices.put(database, EntryChoice(text, home, state, now_ms))
    entries.mark_dirty(database, sorted({m.text for m in mentions}))
    update.refresh(database)


# -- rules -----------------------------------------------------------------------------


def views(database: Database) -> list[RuleView]:
    """All rules, the latest first."""
    return [_view(rule) for rule in rulebook.read(database).rules]


def pin(database: Database, rule: str, now_ms: int) -> RuleView:
    """Makes a rule hold everywhere. rule: an id, or words of the user's. Raises UsageError, and as
    find does."""
    if not _ID.fullmatch(rule):
        return _pin_words(database, " ".join(rule.split()), now_ms)
    return _put(database, find(database, rule), "pinned", now_ms)


def drop_rule(database: Database, rule_id: str, now_ms: int) -> RuleView:
    """Hides a rule from now on. Raises as find does."""
    return _put(database, find(database, rule_id), "dropped", now_ms)


def restore(database: Database, rule_id: str, now_ms: int) -> RuleView:
    """Undoes a pin or a drop, and returns the rule as it is then. A rule that the user wrote here
    is gone. Raises as find does."""
    return _put(database, find(database, rule_id), None, now_ms)


def find(database: Database, rule_id: str) -> Rule:
    """The only rule whose id begins with these digits. Raises NotFoundError, AmbiguousIdError."""
    is_long_enough = len(rule_id) >= lookup.PREFIX_LENGTH_MIN
    found = [rule for rule in rulebook.read(database).rules
             if is_long_enough and rule.id.startswith(rule_id)]  # fmt: skip
    if len(found) > 1:
        raise lookup.ambiguous("rule", rule_id, (rule.id for rule in found[:3]))
    if not found:
        raise lookup.not_found("rule", rule_id, SEE_RULES)
    return found[0]


def _pin_words(database: Database, words: str, now_ms: int) -> RuleView:
    if not words or len(words) > WORDS_CHARS_MAX or not words.isprintable():
        raise UsageError(
            f"A rule has 1 to {WORDS_CHARS_MAX} printable characters, not {words[:60]!r}."
        )
    if " " not in words and words.isascii():
        raise UsageError(f"{words!r} is neither the id of a rule nor a sentence.", hint=SEE_RULES)
    entry_choices.put(database, EntryChoice(words, "", "pinned", now_ms))
    return _view(find(database, rulebook.rule_id(words, "")))


def _put(database: Database, rule: Rule, state: ChoiceState | None, now_ms: int) -> RuleView:
    """Stores a choice about a rule, None for none, and returns the rule as it is then."""
    if rule.placed is not None:
        _choose(database, rule.placed.seq, state, now_ms)
    elif state is None:
        entry_choices.restore(database, [(rule.text, rule.home)], now_ms)
    else:
        entry_choices.put(database, EntryChoice(rule.text, rule.home, state, now_ms))
    after = (other for other in rulebook.read(database).rules if other.id == rule.id)
    return _view(next(after, replace(rule, state="dropped")))


def _view(rule: Rule) -> RuleView:
    return RuleView(
        id=rule.id, text=rule.text, speaker=rule.speaker, sent_at=rule.sent_at,
        project=rule.project, source_id=rule.source_id, message_ids=rule.message_ids,
        everywhere=rule.is_everywhere or rule.state == "pinned", state=rule.state,
        ended_by=rule.ended_by,
    )  # fmt: skip
