"""Forgets messages that are older than the user wants to keep them.

A rule names a scope and a number of days. work() applies the rules once a day; what goes is listed
as what was forgotten by hand. A message without a time never goes by a rule.

Tested in tests/forgetting/test_retention.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import orjson

from treemem.arguments import checked
from treemem.errors import AmbiguousIdError, DatabaseLockedError, NotFoundError, UsageError
from treemem.forgetting import condemning, copies
from treemem.forgetting.selection import Selection
from treemem.reports import ForgetReport
from treemem.store import json_text, settings
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import Scope, TreeShape

_DAY_MS = 86_400_000
DAYS_MAX = 36_500


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """How long messages are kept. days: since they were sent. source, tool, project, person, topic,
    session: as in Scope.where(); all None for everything. number: its place in the list, from 1."""

    days: int
    source: str | None = None
    tool: str | None = None
    project: str | None = None
    person: str | None = None
    topic: str | None = None
    session: str | None = None
    number: int = 0

    @property
    def scope(self) -> Scope:
        """The messages that the rule is about."""
        return Scope.where(
            source=self.source, tool=self.tool, project=self.project, person=self.person,
            topic=self.topic, session=self.session,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RetentionPreview:
    """A rule, and what it would make the memory forget now."""

    rule: RetentionRule
    report: ForgetReport


@checked
class Retention:
    """Shows and changes how long one memory keeps messages."""

    def __init__(self, database: Database, clock: Clock, shape: TreeShape) -> None:
        self._database = database
        self._clock = clock
        self._shape = shape

    def list(self) -> Sequence[RetentionRule]:
        """Returns the rules, in the order in which they were set."""
        rows = json_text.list_of(settings.get(self._database, settings.RETENTION))
        return [RetentionRule(**row, number=number) for number, row in enumerate(rows, 1)]

    def set(self, days: int, scope: Scope | None = None) -> RetentionRule:
        """Keeps the messages of a scope for so many days after they were sent; None is everything.
        Replaces the rule about the same. Nothing goes before work() runs next; see preview().
        Raises UsageError for a number of days that is not from 1 to 36,500."""
        if not 1 <= days <= DAYS_MAX:
            raise UsageError(f"Messages are kept for 1 to {DAYS_MAX:,} days, not {days:,}.")
        rule = _rule(days, scope or Scope.everything())
        with self._database.transaction():
            before = [one for one in self.list() if replace(one, days=days, number=0) != rule]
            self._put([*before, rule])
        return replace(rule, number=len(before) + 1)

    def remove(self, number: int) -> RetentionRule:
        """Removes a rule; what it has made the memory forget stays forgotten. Raises
        NotFoundError."""
        with self._database.transaction():
            rules = self.list()
            found = [rule for rule in rules if rule.number == number]
            if not found:
                raise NotFoundError(f"There is no retention rule {number}; there are {len(rules)}.")
            self._put([rule for rule in rules if rule.number != number])
        return found[0]

    def preview(self) -> Sequence[RetentionPreview]:
        """Returns each rule with what it would make the memory forget now."""
        return [RetentionPreview(rule, self._apply(rule, dry_run=True)) for rule in self.list()]

    def apply(self) -> int:
        """Forgets what the rules say now. Returns how many messages it was."""
        return sum(self._apply(rule, dry_run=False).messages for rule in self.list())

    def _apply(self, rule: RetentionRule, *, dry_run: bool) -> ForgetReport:
        until_ms = self._clock() - rule.days * _DAY_MS
        try:
            wanted = Selection(rule.scope, until_ms=until_ms)
            return condemning.forget(
                self._database,
                self._clock,
                self._shape,
                wanted,
                by=copies.RETENTION,
                dry_run=dry_run,
            )
        except (NotFoundError, AmbiguousIdError):  # nothing of it is stored, or it is not sure what
            return ForgetReport()

    def _put(self, rules: Sequence[RetentionRule]) -> None:
        rows = [asdict(rule) for rule in rules]
        for row in rows:
            del row["number"]
        value = orjson.dumps(rows).decode() if rows else None
        settings.put(self._database, settings.RETENTION, value)
        settings.put(self._database, settings.RETENTION_APPLIED, None)


def _rule(days: int, scope: Scope) -> RetentionRule:
    is_of = {kind: scope.key if scope.kind == kind else None for kind in ("topic", "session")}
    return RetentionRule(
        days, scope.key if scope.kind in ("source", "filter") else None, scope.tool, scope.project,
        scope.person, scope.topic_id or is_of["topic"], scope.session_id or is_of["session"],
    )  # fmt: skip


def apply_due(database: Database, clock: Clock, shape: TreeShape) -> int:
    """Applies the rules if a day has passed since they were. Returns how many messages were
    forgotten; 0 if another process keeps the file from being rewritten, which is done later."""
    if settings.get(database, settings.RETENTION) is None:
        return 0
    last = int(settings.get(database, settings.RETENTION_APPLIED) or 0)
    if 0 <= clock() - last < _DAY_MS:  # else the clock was set back
        return 0
    forgotten = 0
    with contextlib.suppress(DatabaseLockedError):
        forgotten = Retention(database, clock, shape).apply()
    with database.transaction():
        settings.put(database, settings.RETENTION_APPLIED, str(clock()))
    return forgotten
