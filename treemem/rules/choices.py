"""Lists the user's rules, and lets the user pin, drop and restore them.

A choice is stored for the words and the project of a rule, so it outlives the log: what is dropped
stays dropped when the log is read again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from treemem.errors import AmbiguousIdError, NotFoundError, UsageError
from treemem.rules import book
from treemem.rules.book import Rule, RuleState
from treemem.store import entry_choices
from treemem.store.database import Database
from treemem.store.entry_choices import ChoiceState, EntryChoice

# Characters of a rule in the user's own words.
WORDS_CHARS_MAX = 400
# The fewest digits of an id.
ID_CHARS_MIN = 4
_ID = re.compile(rf"[0-9a-f]{{{ID_CHARS_MIN},{book.ID_CHARS}}}")


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule for good that the user gave.

    id: a hash of its words and its project. sent_at: when it was last said, as in Message; of a
    rule that the user wrote here, when. project: the working directory or repository that its log
    names; None without one. source_id, message_ids: where it was said; None and empty if it was
    not, or if its log is gone. everywhere: it holds in all projects. state: "in force",
    "taken back", "dropped" or "pinned". ended_by: the later sentence that took it back.
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


def views(database: Database) -> list[RuleView]:
    """All rules, the latest first."""
    return [_view(rule) for rule in book.read(database).rules]


def pin(database: Database, rule: str, now_ms: int) -> RuleView:
    """Makes a rule hold everywhere, in the caller's transaction. rule: an id, or words of the
    user's. Raises UsageError, and as find does."""
    if not _ID.fullmatch(rule):
        return _pin_words(database, " ".join(rule.split()), now_ms)
    return _put(database, find(database, rule), "pinned", now_ms)


def drop(database: Database, rule_id: str, now_ms: int) -> RuleView:
    """Hides a rule from now on, in the caller's transaction. Raises as find does."""
    return _put(database, find(database, rule_id), "dropped", now_ms)


def restore(database: Database, rule_id: str) -> RuleView:
    """Undoes a pin or a drop, in the caller's transaction, and returns the rule as it is then. A
    rule that the user wrote here is gone. Raises as find does."""
    rule = find(database, rule_id)
    entry_choices.forget(database, *rule.key)
    after = (other for other in book.read(database).rules if other.key == rule.key)
    return _view(next(after, replace(rule, state="dropped")))


def find(database: Database, rule_id: str) -> Rule:
    """The only rule whose id begins with these digits. Raises NotFoundError, AmbiguousIdError."""
    is_long_enough = len(rule_id) >= ID_CHARS_MIN
    found = [rule for rule in book.read(database).rules
             if is_long_enough and rule.id.startswith(rule_id)]  # fmt: skip
    if len(found) > 1:
        some = ", ".join(rule.id for rule in found[:3])
        raise AmbiguousIdError(f"{rule_id!r} fits several rules: {some}. Give more digits.")
    if not found:
        raise NotFoundError(f"There is no rule {rule_id!r}. See: treemem rule list")
    return found[0]


def _pin_words(database: Database, words: str, now_ms: int) -> RuleView:
    if not words or len(words) > WORDS_CHARS_MAX or not words.isprintable():
        raise UsageError(
            f"A rule has 1 to {WORDS_CHARS_MAX} printable characters, not {words[:60]!r}."
        )
    if " " not in words and words.isascii():
        raise UsageError(
            f"{words!r} is neither the id of a rule nor a sentence. For the ids: treemem rule list"
        )
    entry_choices.put(database, EntryChoice(words, "", "pinned", now_ms))
    return _view(find(database, book.rule_id(words, "")))


def _put(database: Database, rule: Rule, state: ChoiceState, now_ms: int) -> RuleView:
    entry_choices.put(database, EntryChoice(*rule.key, state, now_ms))
    return _view(find(database, rule.id))


def _view(rule: Rule) -> RuleView:
    return RuleView(
        id=rule.id, text=rule.text, speaker=rule.speaker, sent_at=rule.sent_at,
        project=rule.project, source_id=rule.source_id, message_ids=rule.message_ids,
        everywhere=rule.is_everywhere or rule.state == "pinned", state=rule.state,
        ended_by=rule.ended_by,
    )  # fmt: skip
