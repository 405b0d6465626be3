"""Reads the names that a filter may have: the latest tools, projects, people, topics and sources.

Each list is bounded, and is read again only after the file has changed. Memory inherits the method.

Tested in tests/web/test_filters.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.arguments import checked
from treemem.sessions.boundary import Bounded
from treemem.store import lookup
from treemem.store.database import Database
from treemem.store.file import memo
from treemem.store.messages import SPEAKER

# The names of each kind, and the latest messages whose speakers are the people.
NAMES_MAX = 50
MESSAGES_READ = 2_000

_TOOLS = "SELECT format FROM source GROUP BY format ORDER BY count(*) DESC LIMIT ?"
_PROJECTS = """
SELECT project FROM source WHERE project IS NOT NULL GROUP BY project ORDER BY max(seq) DESC LIMIT ?
"""
_PEOPLE = f"""
SELECT {SPEAKER} FROM (SELECT role, author FROM message ORDER BY seq DESC LIMIT {MESSAGES_READ}) m
GROUP BY 1 ORDER BY count(*) DESC LIMIT ?
"""  # noqa: S608
_TOPICS = """
SELECT t.id, coalesce(t.name, t.id) FROM topic t LEFT JOIN topic_leaf tl ON tl.topic_seq = t.seq
GROUP BY t.seq ORDER BY count(*) DESC, t.seq LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names that a filter may have, at most NAMES_MAX of each kind. tools: formats, the most
    frequent first. projects: the latest first. people: of the latest messages. topics, sources: ids
    with names; the largest topics, and the latest sources."""

    tools: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    topics: tuple[tuple[str, str], ...] = ()
    sources: tuple[tuple[str, str], ...] = ()


@checked
class NameMethods(Bounded):
    """The method of Memory for the names of filters."""

    def known_names(self) -> KnownNames:
        """Returns names that a filter may have, a bounded number of each kind."""
        with self._database.reading():
            return memo.kept(self._database, "known names", lambda: _read(self._database))


def _read(database: Database) -> KnownNames:
    def column(sql: str) -> tuple[str, ...]:
        return tuple(str(name) for (name,) in database.rows(sql, (NAMES_MAX,)))

    topics = [(str(one), str(name)) for one, name in database.rows(_TOPICS, (NAMES_MAX,))]
    sources = lookup.ids(database, "source", "", NAMES_MAX)
    return KnownNames(
        column(_TOOLS), column(_PROJECTS), column(_PEOPLE), tuple(topics), tuple(sources)
    )
