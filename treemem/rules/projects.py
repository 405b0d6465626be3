"""Finds the projects of sources: what the scope of a rule is.

A project is the working directory or the repository that a log names. A source whose log names
none stands for itself; an agent's source has the project of the session that started it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from treemem.patterns import lazy_regex
from treemem.store.database import Database, json_list
from treemem.store.file import memo

_HOME = "coalesce(s.project, parent.project, s.parent_id, s.id)"
_HOMES = f"""
SELECT DISTINCT {_HOME} FROM source s LEFT JOIN source parent ON parent.id = s.parent_id
"""  # noqa: S608
_SEPARATOR = lazy_regex(r"[\\/]+")


def homes(database: Database, source_seqs: Sequence[int] | None = None) -> list[str]:
    """The projects of these sources, or of all; a source without one stands for itself."""
    if source_seqs is None:
        return memo.kept(database, _HOMES, lambda: [home for (home,) in database.rows(_HOMES)])
    where = " WHERE s.seq IN (SELECT value FROM json_each(?))"
    return [home for (home,) in database.rows(_HOMES + where, (json_list(source_seqs),))]


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


def common_home(known: Sequence[str]) -> str | None:
    """The project that all the others are below; None if there is none.

    Example:
        >>> common_home(["/w/shop/api", "/w/shop"]), common_home(["/w/shop", "/w/bank"])
        ('/w/shop', None)
    """
    top = min(known, key=lambda home: len(_parts(home)), default=None)
    return top if top is not None and len(_below(known, [top])) == len(known) else None


def admitted(known: Sequence[str], wanted: str) -> list[str]:
    """The known projects that a filter admits: those at a folder and below it, or the nearest one
    above it; those with this folder name and below them; or those with a part of it in their path.
    Empty if there is none.

    Example:
        >>> known = ["/w/shop", "/w/shop/api", "/w/workshop"]
        >>> admitted(known, "shop"), admitted(known, "work"), admitted(known, "/w/shop/docs")
        (['/w/shop', '/w/shop/api'], ['/w/workshop'], ['/w/shop'])
    """
    if not wanted.strip():
        return []
    path = _expanded(wanted)
    is_path = is_folder(wanted)
    if not is_path and (found := _by_name(known, wanted)):
        return found
    if not is_path and not os.path.isdir(path):  # noqa: PTH112 unlike Path, raises nothing
        return []
    if found := _below(known, [str(path.absolute()), os.path.realpath(path)]):
        return found
    nearest = home_at(known, os.path.realpath(path))
    return [] if nearest is None else [nearest]


def is_folder(wanted: str) -> bool:
    """Whether a user means a folder, not a name: "." or a path that is not part of another."""
    return wanted.startswith(".") or _expanded(wanted).is_absolute()


def _expanded(wanted: str) -> Path:
    return Path(os.path.expanduser(wanted))  # noqa: PTH111 unlike Path, raises nothing


def _by_name(known: Sequence[str], wanted: str) -> list[str]:
    name = wanted.casefold()
    named = [
        home for home in known
        if name in (home.casefold(), _parts(home.casefold())[-1].removesuffix(".git"))
    ]  # fmt: skip
    return _below(known, named) or [home for home in known if name in home.casefold()]


def _below(known: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The known projects at one of these folders or below it."""
    tops = {tuple(_parts(folder)) for folder in folders}
    return [
        home
        for home in known
        if any(tuple(_parts(home)[:end]) in tops for end in range(1, len(_parts(home)) + 1))
    ]


def _parts(path: str) -> list[str]:
    return _SEPARATOR.split(path.rstrip("\\/"))
