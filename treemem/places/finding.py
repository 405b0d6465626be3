"""Finds the place that an id stands for, and the lines of a search's passages.

Tested in tests/places/test_finding.py.
"""

from __future__ import annotations

from dataclasses import replace

from treemem.errors import NotFoundError
from treemem.places import resuming
from treemem.places.files import ONE_BYTES_MAX, SEARCH_BYTES_MAX, LineFinder
from treemem.store import lookup, messages, sources
from treemem.store.database import Database
from treemem.tree import browse
from treemem.types import Location, Message, Passage, SearchResult

_MESSAGES = "SELECT seq, id FROM message WHERE id >= :from AND id < :to LIMIT 3"
_NODES = "SELECT seq, id FROM node WHERE id >= :from AND id < :to LIMIT 3"
_FIRST_OF_NODE = """
WITH RECURSIVE down (node, depth) AS (
  SELECT :node, 0
  UNION ALL
  SELECT nc.child_seq, down.depth + 1 FROM down
  JOIN node_child nc ON nc.node_seq = down.node AND nc.ordinal =
    (SELECT min(ordinal) FROM node_child WHERE node_seq = down.node)
)
SELECT ls.message_seq FROM leaf_span ls
WHERE ls.node_seq = (SELECT node FROM down ORDER BY depth DESC LIMIT 1)
ORDER BY ls.ordinal LIMIT 1
"""
_SOURCE = "SELECT seq, id FROM source WHERE id = ?"
# A session's sub-agents are sources of their own, with the session as their parent.
_OF_SESSION = """
SELECT s.seq, s.id, sm.message_seq FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.session = ? ORDER BY s.parent_id IS NOT NULL, s.seq, sm.position LIMIT 1
"""
_NAMED = "SELECT id, parent_id FROM source WHERE instr(id, ?) ORDER BY seq"
_SESSIONS = "SELECT DISTINCT session FROM source_message WHERE session >= ? AND session < ? LIMIT 2"
# Where a message is in a history rather than on an abandoned branch, and not in a sub-agent's.
_SOURCES_OF_MESSAGE = """
SELECT s.seq, s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.message_seq = :message
ORDER BY s.id = :wanted DESC, sm.state <> 'active', s.parent_id IS NOT NULL, s.seq LIMIT 1
"""


class Places:
    """Where messages were said: files, lines, and how their sessions are continued."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self, name: str, *, source_id: str | None = None, span: tuple[int, int] = (0, 0)
    ) -> Location:
        """Returns the place of a message, of the first message of a node or a session, or of a
        whole source.

        name: the id of any of them, or an unambiguous beginning of it; for a source any part.
        source_id: where a message is meant that several sources have. span: the characters of a
        long message whose line is meant. The line is found by reading the log again. Raises
        NotFoundError, AmbiguousIdError.
        """
        with self._database.reading():
            source_seq, source, message_seq = self._resolved(name.strip(), source_id)
            place = resuming.place_of(self._database, source_seq, message_seq)
            if message_seq is None:
                return Location(source, None, place)
            message = messages.by_seq(self._database, [message_seq])[message_seq]
            finder = LineFinder(self._database, ONE_BYTES_MAX)
            return Location(source, message.id, finder.placed(place, source, message, span))

    def with_lines(
        self, result: SearchResult, *, bytes_max: int = SEARCH_BYTES_MAX
    ) -> SearchResult:
        """Returns the result with the file and the line of the best message of each passage.

        Each log is read once, and at most bytes_max of all; the other passages have no line. Of a
        source of several files, the path is None where the message is not found in one of them.
        """
        finder = LineFinder(self._database, bytes_max)
        with self._database.reading():
            passages = tuple(_placed(passage, finder) for passage in result.passages)
        return replace(result, passages=passages)

    # -- names -----------------------------------------------------------------------------

    def _resolved(self, name: str, source_id: str | None) -> tuple[int, str, int | None]:
        """(source, its id, message); the message is None if the name is a source's."""
        if (message_seq := self._by_hash(name)) is not None:
            wanted = {"message": message_seq, "wanted": source_id}
            row = self._database.row(_SOURCES_OF_MESSAGE, wanted)
            if row is None:
                raise NotFoundError(f"Message {name} is not in a source any more.")
            return row[0], row[1], message_seq
        row = self._database.row(_SOURCE, (name,))
        if row is None and (row := self._database.row(_OF_SESSION, (name,))) is not None:
            return row[0], row[1], row[2]
        if row is None:
            return self._by_part(name)
        return row[0], row[1], None

    def _by_hash(self, name: str) -> int | None:
        """The only message whose id begins so, or the first one of the only such node."""
        digits = name.lower()
        if len(digits) < lookup.PREFIX_LENGTH_MIN or set(digits) - set("0123456789abcdef"):
            return None
        limits = {"from": digits, "to": digits + "g"}
        found = [("message", *row) for row in self._database.rows(_MESSAGES, limits)]
        found += [("node", *row) for row in self._database.rows(_NODES, limits)]
        if len(found) > 1:
            raise lookup.ambiguous("thing", name, (f"{kind} {id_[:12]}" for kind, _, id_ in found))
        if not found:
            return None
        kind, seq, _ = found[0]
        if kind == "message":
            return int(seq)
        first = self._database.value(_FIRST_OF_NODE, {"node": seq})
        return None if first is None else int(first)

    def _by_part(self, name: str) -> tuple[int, str, int | None]:
        """The source whose id contains the name, itself or as the parent of all others that do;
        else the session that begins with it."""
        rows = self._database.rows(_NAMED, (name,)) if name else []
        parents: dict[str, str | None] = {row[0]: row[1] for row in rows}
        first = [source_id for source_id, parent in parents.items() if parent not in parents]
        if len(first) == 1:
            return (*_row_of(self._database, first[0]), None)
        if parents:
            source = browse.source_row(self._database, name)
            return source[0], source[1], None
        sessions = self._database.rows(_SESSIONS, (name, name + "\U0010ffff")) if name else []
        if len(sessions) > 1:
            raise lookup.ambiguous("session", name, (session for (session,) in sessions))
        if not sessions:
            known = (source_id for (source_id,) in self._database.rows("SELECT id FROM source"))
            what = "message, node, source or session"
            raise lookup.not_found(what, name, "treemem source list", known)
        row = self._database.row(_OF_SESSION, sessions[0])
        assert row is not None
        return row[0], row[1], row[2]


def _row_of(database: Database, source_id: str) -> tuple[int, str]:
    seq = sources.seq_of(database, source_id)
    assert seq is not None, source_id
    return seq, source_id


def _placed(passage: Passage, finder: LineFinder) -> Passage:
    if passage.place is None or not passage.messages:
        return passage
    message, span = best_of(passage)
    place = finder.placed(passage.place, passage.source_id, message, span)
    return replace(passage, place=place)


def best_of(passage: Passage) -> tuple[Message, tuple[int, int]]:
    """The message of a passage that has the part with the best score, and where that part is."""
    for part in sorted(passage.explanation, key=lambda part: -part.score):
        for message in passage.messages:
            if message.id == part.message_id:
                return message, (part.start, part.end)
    return passage.messages[0], (0, 0)
