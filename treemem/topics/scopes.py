"""Finds the part of a memory that a caller names: a source, a topic or a session.

Tested in tests/topics/test_scopes.py.
"""

from __future__ import annotations

from treemem.errors import SEE_SOURCES
from treemem.store import lookup
from treemem.store.database import Database
from treemem.topics import store as topic_store
from treemem.tree import browse
from treemem.types import Scope

_SESSION = "SELECT 1 FROM source_message WHERE session = ? LIMIT 1"
_SESSIONS = "SELECT DISTINCT session FROM source_message WHERE session IS NOT NULL"


def resolved(database: Database, scope: Scope | None) -> Scope:
    """The scope with its full id; None is everything. An unambiguous part of the id of a source is
    enough, or the beginning of that of a topic or a session.

    Raises NotFoundError, AmbiguousIdError.
    """
    if scope is None:
        return Scope.everything()
    if scope.kind == "source":
        return Scope.source(browse.source_row(database, scope.key or "")[1])
    if scope.kind == "topic":
        return Scope.topic(topic_store.resolve(database, scope.key or ""))
    if scope.kind == "session":
        return Scope.session(_session(database, scope.key or ""))
    return scope


def _session(database: Database, wanted: str) -> str:
    if database.value(_SESSION, (wanted,)):
        return wanted
    known: list[str] = [session for (session,) in database.rows(_SESSIONS)]
    found = [session for session in known if wanted and session.startswith(wanted)]
    if not found:
        raise lookup.not_found("session", wanted, SEE_SOURCES, known)
    if len(found) > 1:
        raise lookup.ambiguous("session", wanted, found[:5])
    return found[0]
