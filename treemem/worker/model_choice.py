"""Stores which model a memory file uses for a role, and queues the work this requires.

Tested in tests/models/test_endpoint.py.
"""

from __future__ import annotations

import contextlib
from typing import TypeAlias

from treemem.errors import UsageError
from treemem.models import embedders, rerankers, serving
from treemem.models.catalog import MODEL_ROLES
from treemem.models.own import registry
from treemem.models.own.adapters import OwnChecker
from treemem.models.own.registry import Answer, Embed, Embeddings
from treemem.models.rerankers import Rerank
from treemem.queue import jobs
from treemem.store import settings
from treemem.store.database import Database
from treemem.summarize.base import Summarizer
from treemem.types import ServedModel
from treemem.worker import embed_jobs, summary_jobs

# A program's own model: as embedder Embed or Embeddings, as reranker Rerank, as summarizer Answer
# or Summarizer.
OwnModel: TypeAlias = Embed | Embeddings | Rerank | Answer | Summarizer


def warn_of_exposed_key(database: Database, setting: str | None) -> None:
    """Adds a notice if the model in use gets its API key over a network without encryption."""
    notice = serving.exposed_key(serving.from_setting(setting))
    if notice is not None:
        database.add_notices([notice])


def allow_server(choice: object) -> None:
    """Lets a server be asked that the user or the program names as a model; nothing else is one."""
    if isinstance(choice, str) and "://" in choice and not choice.startswith("{"):
        choice = ServedModel((choice,))
    if isinstance(choice, ServedModel):
        serving.allow(choice)


def adopt_servers(database: Database) -> None:
    """Begins the list of the servers that the user has chosen with those of this memory, the user's
    own."""
    found = []
    for role in (*MODEL_ROLES, settings.CHAT):
        with contextlib.suppress(UsageError):
            found.append(serving.from_setting(settings.get(database, role), role))
    serving.begin_list(choice for choice in found if choice is not None)


def _try(role: str, setting: str) -> None:
    """Asks a program's own object once, so that a wrong one is refused where it is given. A
    summarizer is not asked, since that may cost money. Raises ModelError."""
    if role == settings.EMBEDDER:
        embedders.opened(setting).embed_documents(["one", "two"])
    elif role == settings.CHECKER:
        OwnChecker(setting).score(["user: We ship on Friday."], "They ship on Friday.")
    elif role == settings.RERANKER:
        rerankers.opened(setting).rate("question", ["one", "two"])


def use(
    database: Database, role: str, choice: object, now_ms: int, name: str | None = None
) -> None:
    """See Memory.use_model."""
    from treemem.checkers import opening  # a run without a model needs neither
    from treemem.summarize import backends

    if role not in (*MODEL_ROLES, settings.CHAT):
        roles = f"{', '.join(MODEL_ROLES)} or {settings.CHAT}"
        raise UsageError(f"A model is used as {roles}, not as {role!r}.")
    if isinstance(choice, str | ServedModel):
        if name is not None:
            raise UsageError("A name is given to a Python object; a model has its own.")
    else:
        choice = registry.register(role, choice, name, lambda setting: _try(role, setting))
    allow_server(choice)
    if role == settings.CHECKER:
        setting = opening.checked_choice(choice)
    elif role == settings.CHAT:
        setting = backends.checked_chat(choice)
    else:
        setting = backends.checked_choice(role, choice)
    if setting is not None and registry.is_plugin(setting):
        _try(role, setting)
    warn_of_exposed_key(database, setting)
    with database.transaction():
        settings.put(database, role, setting)
        if role == settings.EMBEDDER:
            jobs.resume(database, embed_jobs.KIND)
            embed_jobs.withdraw(database)
            embed_jobs.admit_all(database, now_ms)
        elif role == settings.SUMMARIZER:
            jobs.resume(database, summary_jobs.KIND)
