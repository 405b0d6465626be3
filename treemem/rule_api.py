"""Lets users read, pin and drop their standing rules. Memory inherits these methods.

Tested in tests/ledger/test_rule_choices.py.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from treemem import times
from treemem.arguments import checked
from treemem.sessions.boundary import Bounded
from treemem.times import Clock
from treemem.types import Scope

if TYPE_CHECKING:
    from treemem.ledger.choices import RuleView


@checked
class RuleMethods(Bounded):
    """The methods of Memory for standing rules."""

    _clock: Clock

    def rules(
        self,
        scope: Scope | None = None,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[RuleView]:
        """Returns the rules that the user gave for good, the latest first.

        scope: only those that were last given in its sources; of a filter by project alone, also
        those that hold everywhere. since, until: when they were last given, as in Memory.search.
        Raises NotFoundError, AmbiguousIdError, UsageError.
        """
        from treemem.digest import scopes
        from treemem.ledger import choices
        from treemem.search import date_filter
        from treemem.search.history import TimeRange

        limits = TimeRange(*date_filter.bounds(since, until, times.local(self._clock())))
        with self._database.reading():
            rules = choices.views(self._database)
            ids = scopes.source_ids(self._database, scope)
        holds_there = scope is not None and scope == Scope.where(project=scope.project)
        return self._limited([
            rule for rule in rules
            if (ids is None or rule.source_id in ids or (holds_there and rule.everywhere))
            and limits.contains(times.parse(rule.sent_at)[1])
        ])  # fmt: skip

    def pin_rule(self, rule: str) -> RuleView:
        """Makes a rule hold in every project. rule: an id, or words of the user's, in which
        secrets are replaced. Raises NotFoundError, AmbiguousIdError, UsageError."""
        from treemem.ledger import choices
        from treemem.privacy.policy import Redaction

        words = Redaction.of(self._database, True).text(rule) or ""
        with self._database.transaction():
            return choices.pin(self._database, words, self._clock())

    def drop_rule(self, rule_id: str) -> RuleView:
        """Hides a rule from now on, also when its log is read again. Raises NotFoundError,
        AmbiguousIdError."""
        from treemem.ledger import choices

        with self._database.transaction():
            return choices.drop_rule(self._database, rule_id, self._clock())

    def restore_rule(self, rule_id: str) -> RuleView:
        """Undoes a pin or a drop. Raises NotFoundError, AmbiguousIdError."""
        from treemem.ledger import choices

        with self._database.transaction():
            return choices.restore(self._database, rule_id, self._clock())
