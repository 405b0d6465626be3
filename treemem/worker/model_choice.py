"""Stores which model a memory file uses for a role, and queues the work this requires.

Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

from treemem.errors import UsageError
from treemem.models import serving
from treemem.models.catalog import MODEL_ROLES
from treemem.queue import jobs
from treemem.store import settings
from treemem.store.database import Database
from treemem.types import ServedModel
from treemem.worker import embed_jobs, summary_jobs


def warn_of_exposed_key(database: Database, setting: str | None) -> None:
    """Adds a notice if the model in use gets its API key over a network without encryption."""
    notice = serving.exposed_key(serving.from_setting(setting))
    if notice is not None:
        database.add_notices([notice])


def use(database: Database, role: str, choice: str | ServedModel, now_ms: int) -> None:
    """See Memory.use_model."""
    from treemem.checkers import opening  # a run without a model needs neither
    from treemem.summarize import backends

    if role not in MODEL_ROLES:
        roles = f"{', '.join(MODEL_ROLES[:-1])} or {MODEL_ROLES[-1]}"
        raise UsageError(f"A model is used as {roles}, not as {role!r}.")
    if role == settings.CHECKER:
        setting = opening.checked_choice(choice)
    else:
        setting = backends.checked_choice(role, choice)
    warn_of_exposed_key(database, setting)
    with database.transaction():
        settings.put(database, role, setting)
        if role == settings.EMBEDDER:
            jobs.resume(database, embed_jobs.KIND)
            embed_jobs.withdraw(database)
            embed_jobs.admit_all(database, now_ms)
        elif role == settings.SUMMARIZER:
            jobs.resume(database, summary_jobs.KIND)
