"""Finds the projects of sources: what the scope of a rule is.

A project is the working directory or the repository that a log names. A source whose log names
none stands for itself; an agent's source has the project of the session that started it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from treemem.errors import SEE_SOURCES
from treemem.patterns import lazy_regex
from treemem.store import lookup
from treemem.store.database import Database, json_list
from treemem.store.file import memo

_HOME = "coalesce(s.project, parent.project, s.parent_id, s.id)"
_HOMES = f"""
SELECT DISTINCT {_HOME} FROM source s LEFT JOIN source parent ON parent.id = s.parent_id
"""  # noqa: S608
_SEPARATOR = lazy_regex(r"[\\/]+")


def homes(database: Database, source_ids: Sequence[str] | None = None) -> list[str]:
    """The projects of these sources, or of all; a source without one stands for itself."""
    if source_ids is None:
        return memo.kept(database, _HOMES, lambda: [home for (home,) in database.rows(_HOMES)])
    where = " WHERE s.id IN (SELECT value FROM json_each(?))"
    return [home for (home,) in database.rows(_HOMES + where, (json_list(source_ids),))]


def home_at(known: Sequence[str], place: str) -> str | None:
    """The known project that a place is, or is below; the nearest one. None if there is none. A log
    may have the path behind a symbolic link, or that of the link.

    Example:
        >>> home_at(["/w/shop", "/w"], "/w/shop/src/"), home_at(["/w/shop"], "/w/shopping")
        ('/w/shop', None)
    """
    for path in (place, os.path.realpath(place)):
        parts = _parts(path)
        around = [home for home in known if _parts(home) == parts[: len(_parts(home))]]
        if around:
            return max(around, key=lambda home: len(_parts(home)))
    return None


def named(database: Database, place: str) -> str:
    """The known project that a user names. Raises NotFoundError."""
    known = homes(database)
    home = home_at(known, place)
    if home is None:
        raise lookup.not_found("project", place, SEE_SOURCES, known)
    return home


def _parts(path: str) -> list[str]:
    return _SEPARATOR.split(path.rstrip("\\/"))
