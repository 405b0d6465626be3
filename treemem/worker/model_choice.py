"""Records which model a memory file uses for a role, and wakes the jobs that wait for it."""

from __future__ import annotations

from treemem.errors import UsageError
from treemem.queue import jobs
from treemem.store.database import Database
from treemem.summarize import backends
from treemem.types import ServedModel
from treemem.worker import embed_jobs


def use(database: Database, role: str, choice: str | ServedModel, now_ms: int) -> None:
    """Keeps the choice of a model for a role. See Memory.use_model."""
    if role not in ("summarizer", "embedder"):
        raise UsageError(f"A model is used as summarizer or embedder, not as {role!r}.")
    setting = backends.checked_choice(role, choice)
    with database.transaction():
        if setting is None:
            database.execute("DELETE FROM setting WHERE name = ?", (role,))
        else:
            sql = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
            database.execute(sql, (role, setting))
        if role == "embedder":
            jobs.resume(database, embed_jobs.KIND)
            embed_jobs.withdraw(database)
            embed_jobs.admit_all(database, now_ms)
        else:
            jobs.resume(database, "summarize")
