"""Lets users forget messages and say how long they are kept. Memory inherits these methods.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import TreeShape

if TYPE_CHECKING:
    from treemem.forgetting.forget import Forget
    from treemem.forgetting.retention import Retention
    from treemem.reports import MemoryCopy


class ForgetMethods:
    """What Memory has to forget with."""

    _database: Database
    _clock: Clock
    _shape: TreeShape

    @property
    def forget(self) -> Forget:
        """Call it to forget messages with all that was made of them; it also lists and undoes."""
        from treemem.forgetting.forget import Forget

        return Forget(self._database, self._clock, self._shape)

    def copies(self) -> list[MemoryCopy]:
        """Returns where copies of the memory were written by backup and export_to, and which files
        beside it are copies, with how many of each were made before something was forgotten."""
        from treemem.forgetting import copies

        return copies.copies_of(self._database)

    @property
    def retention(self) -> Retention:
        """How long messages are kept: to read and to change."""
        from treemem.forgetting.retention import Retention

        return Retention(self._database, self._clock, self._shape)

    def _forget_due(self) -> int:
        """Ends what an interrupted process had begun to forget, and forgets what is older than it
        is to be kept. Returns how many messages that were."""
        from treemem.forgetting import condemning, retention

        condemning.go_on(self._database, self._clock, self._shape)
        return retention.apply_due(self._database, self._clock, self._shape)
