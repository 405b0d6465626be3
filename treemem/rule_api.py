"""Lets users read, pin and drop their standing rules. Memory inherits these methods.

Tested in tests/ledger/test_rule_choices.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treemem.store.database import Database
from treemem.times import Clock

if TYPE_CHECKING:
    from treemem.ledger.choices import RuleView


class RuleMethods:
    """The methods of Memory for standing rules."""

    _database: Database
    _clock: Clock

    def rules(self) -> list[RuleView]:
        """Returns the rules that the user gave for good, the latest first."""
        from treemem.ledger import choices

        with self._database.reading():
            return choices.views(self._database)

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
            return choices.restore(self._database, rule_id)
