"""Lets users read sources, their messages and the children of nodes, in pages where these are many.
Memory inherits these methods.

A page takes as long as what it shows, however much is stored. Tested in tests/browsing/test_api.py.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from treemem import times
from treemem.arguments import checked, in_page
from treemem.sessions.boundary import Bounded
from treemem.times import Clock
from treemem.types import DayCount, Message, Node, Scope

if TYPE_CHECKING:
    from treemem.tree.browse import SourceView


@checked
class BrowseMethods(Bounded):
    """The methods of Memory for lists.

    limit, offset: a page of at most limit, after the first offset; None for all. What is private to
    other agents is left out of a page.
    """

    _clock: Clock

    def source_ids(
        self,
        scope: Scope | None = None,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        with_agents: bool = True,
    ) -> list[str]:
        """Returns the ids of the sources of a scope, or all, the most recent first: much quicker
        than sources(), as it reads no messages. since, until: as in sources(). with_agents: False
        leaves out sub-agents whose session is in the list, too."""
        from treemem.browsing import listing
        from treemem.search import date_filter

        limits = date_filter.bounds(since, until, times.local(self._clock()))
        with self._database.reading():
            found = listing.source_ids(self._database, scope, *limits, with_agents=with_agents)
            private = self._private().sources
        return [one for one in found if one not in private]

    def sources(
        self,
        scope: Scope | None = None,
        *,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        with_agents: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[SourceView]:
        """Returns the sources of a scope, or all, the most recent first. since, until: as in
        search; only those that had begun until then, and had not ended before. with_agents: as in
        source_ids()."""
        from treemem.digest import reading

        page = in_page(limit, offset)
        with self._database.reading():
            ids = self.source_ids(scope, since=since, until=until, with_agents=with_agents)
            return self._limited(reading.views_of(self._database, ids[page]))

    def source(self, name: str) -> SourceView:
        """Returns one source, by its id, or by a part of its id or title that no other has. The
        name "latest" is that of the source with the latest message."""
        from treemem.digest import reading, scopes

        with self._database.reading():
            found = scopes.source(self._database, name).id
            return self._limited(reading.views_of(self._database, [found]), found)[0]

    def messages(self, source: str, *, limit: int | None = None, offset: int = 0) -> list[Message]:
        """Returns a source's history in order, word for word."""
        from treemem.digest import scopes
        from treemem.tree import browse

        page = in_page(limit, offset)
        with self._database.reading():
            found = scopes.source(self._database, source)
            read = browse.source_messages(self._database, found.seq, page)
            return self._limited(read, found.id)

    def expand(
        self, node_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Node] | list[Message]:
        """Returns the children of a node, or the messages of a leaf word for word."""
        from treemem.tree import browse

        page = in_page(limit, offset)
        with self._database.reading():
            return self._limited(browse.expand(self._database, node_id, page))

    def root_id(self, scope: Scope) -> str | None:
        """Returns the id of the root of the tree of a scope; None while it has none. A filter must
        admit one source. expand() goes down from it."""
        from treemem.digest import scopes
        from treemem.tree import browse

        with self._database.reading():
            return browse.root_id(self._database, scopes.with_tree(self._database, scope))

    def days(
        self,
        scope: Scope | None = None,
        *,
        zone: tzinfo | str | None = None,
    ) -> list[DayCount]:
        """Returns how many messages were sent on each day, in order; those without a time are left
        out, and of a scope, those of all its sources count. Messages that are in no history any
        more count, too. zone: whose days they are; None for the machine's. Raises NotFoundError,
        AmbiguousIdError, UsageError."""
        from treemem.browsing import days

        now = times.of_reader(times.local(self._clock()), zone)
        with self._database.reading():
            return days.counts(self._database, scope, now.tzinfo)
