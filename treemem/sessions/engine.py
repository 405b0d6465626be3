"""What a session needs of the memory that it belongs to.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treemem.errors import TreememError
from treemem.queue import jobs
from treemem.reports import WorkReport
from treemem.store import settings
from treemem.store.database import Database
from treemem.times import Clock
from treemem.types import TreeShape
from treemem.worker import run, source_jobs

if TYPE_CHECKING:
    from treemem.store.vectors import Vector


@dataclass(frozen=True, slots=True)
class Engine:
    """The memory of a session. embed: the vector of a text under an embedder's setting. work: does
    the waiting jobs, also those of models."""

    database: Database
    clock: Clock
    shape: TreeShape
    embed: Callable[[str, str], Vector]
    work: Callable[[], WorkReport]

    def embedder(self) -> str | None:
        """The setting of the embedder in use."""
        return settings.get(self.database, settings.EMBEDDER)

    def settle(self) -> None:
        """Seals and summarizes what was appended, without a model."""
        if any(jobs.has_open(self.database, kind) for kind in source_jobs.KINDS):
            run.work_on_sources(self.database, self.clock, self.shape)

    def summarize(self) -> tuple[str, bool]:
        """Lets the summarizer in use do its jobs. Returns what came of it, and whether it
        failed."""
        if settings.get(self.database, settings.SUMMARIZER) is None:
            return "no summarizer is in use", False
        try:
            report = self.work()
        except TreememError as error:
            return str(error), True
        if failed := sum(report.failed.values()):
            return f"{failed} jobs failed", True
        return f"{report.model_calls} model calls", False
