"""Finds the place that an id stands for, and the lines of a search's passages.

Tested in tests/places/test_finding.py.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from treemem.arguments import checked
from treemem.digest import scopes
from treemem.errors import SEE_SOURCES, Hint, NotFoundError
from treemem.places import last_search, resuming
from treemem.places.files import (
    ONE_BYTES_MAX,
    SEARCH_BYTES_MAX,
    LineFinder,
    is_known,
    is_text,
    on_disk,
)
from treemem.places.last_search import Hit
from treemem.places.lines import Span
from treemem.store import lookup, messages
from treemem.store.database import Database, storable_text
from treemem.text.bm25 import matching_words
from treemem.types import Explained, Location, Message, Passage, SearchResult

# A longer number is the beginning of an id.
_NUMBER_DIGITS_MAX = 3
_MESSAGES = "SELECT seq, id FROM message WHERE id >= :from AND id < :to LIMIT 3"
_NODES = "SELECT seq, id FROM node WHERE id >= :from AND id < :to LIMIT 3"
_FIRST_OF_NODE = """
WITH RECURSIVE down (node, depth) AS (
  SELECT :node, 0
  UNION ALL
  SELECT nc.child_seq, down.depth + 1 FROM down
  JOIN node_child nc ON nc.node_seq = down.node AND nc.ordinal =
    (SELECT min(ordinal) FROM node_child WHERE node_seq = down.node)
  WHERE down.depth <= 64  -- the highest level; a damaged file may have circles
)
SELECT ls.message_seq FROM leaf_span ls
WHERE ls.node_seq = (SELECT node FROM down ORDER BY depth DESC LIMIT 1)
ORDER BY ls.ordinal LIMIT 1
"""
_SOURCE = "SELECT 1 FROM source WHERE id = ?"
_ORIGIN = "SELECT origin FROM source WHERE id = ?"
_SOURCE_IDS = "SELECT id FROM source ORDER BY seq"
# What a name may be that of.
_NAMED = "message, node, source or session"
# A session's sub-agents are sources of their own, with the session as their parent.
_OF_SESSION = """
SELECT s.seq, s.id, sm.message_seq FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.session_seq = (SELECT seq FROM log_session WHERE id = ?)
ORDER BY s.parent_id IS NOT NULL, s.seq, sm.position LIMIT 1
"""
_SESSIONS = "SELECT id FROM log_session WHERE id >= ? AND id < ? ORDER BY id LIMIT 2"
# Where a message is in a history rather than on an abandoned branch, and not in a sub-agent's.
_SOURCES_OF_MESSAGE = """
SELECT s.seq, s.id FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.message_seq = :message
ORDER BY s.id = :wanted DESC, sm.state <> 'active', s.parent_id IS NOT NULL, s.seq LIMIT 1
"""


@checked
class Places:
    """Where messages were said: files, lines, and how their sessions are continued."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, name: str) -> Location:
        """Returns the place of a message, of the first message of a node or a session, or of a
        whole source.

        name: the id of any of them, or an unambiguous beginning of it; for a source any part, words
        of its title, or "latest". A number of one to three digits is that of a passage, see
        remember. The line is found by reading the log again. Raises NotFoundError,
        AmbiguousIdError.
        """
        source_id, span, wanted = None, (0, 0), storable_text(name.strip())[0]
        if wanted.isdecimal() and wanted.isascii() and len(wanted) <= _NUMBER_DIGITS_MAX:
            hit = last_search.hit(self._database.path, int(wanted))
            wanted, source_id, span = hit.message_id, hit.source_id, (hit.start, hit.end)
        with self._database.reading():
            source_seq, source, message_seq = self._resolved(wanted, source_id)
            place = resuming.place_of(self._database, source_seq, message_seq)
            if message_seq is None:
                return Location(source, None, place)
            message = messages.by_seq(self._database, [message_seq])[message_seq]
            finder = LineFinder(self._database, ONE_BYTES_MAX)
            return Location(source, message.id, finder.placed(place, source, message, span))

    def remember(self, passages: Iterable[Passage], query: str = "") -> None:
        """Stores what these passages are about, so that find takes their numbers, from 1. Call it
        for what a person sees; it replaces what was remembered before. query: as in with_lines."""
        hits = []
        for passage in passages:
            if passage.file is not None and not self._has(passage):
                hits.append(Hit("", "", 0, 0, str(passage.file.absolute())))
                continue
            message, (start, end) = _best(passage, query)
            hits.append(Hit(message.id or "", passage.source_id, start, end))
        last_search.remember(self._database.path, hits)

    def log_path(self, location: Location) -> Path:
        """Returns the log file of a place, as something to read. Raises NotFoundError if it is not
        known, is gone, or is not a text file."""
        path = location.place.path
        if path is None:
            reason = self._without_path(location.source_id)
        elif is_known(path) and is_text(on_disk(path)):
            return on_disk(path)
        elif "!" in path and Path(path.partition("!")[0]).is_file():
            reason = f"{path} is in an archive."
        elif not is_known(path):
            reason = f"{path} was read from standard input, or from a folder that is not known."
        elif on_disk(path).is_file():
            reason = f"{path} is not a text file."
        else:
            reason = f"{path} does not exist any more."
        raise NotFoundError(reason, hint=stored(location))

    def _without_path(self, source_id: str) -> str:
        with self._database.reading():
            origin = self._database.value(_ORIGIN, (source_id,))
        if origin is None:
            return f"{source_id} has no log file that is known."
        return (
            f"{source_id} is in several files, and in which of them the message is is not known "
            f"for sure. One of them is {origin}."
        )

    def resume_command(self, location: Location) -> str:
        """Returns the command for a shell that continues the session of a place in its own tool.
        Raises NotFoundError if the tool has none, or if the session's id is not one of its ids."""
        if location.place.resume is not None:
            return location.place.resume
        with self._database.reading():
            tool = scopes.source(self._database, location.source_id).format
        if tool in resuming.COMMANDS:
            raise NotFoundError(f"The id of {location.source_id} is not one that {tool} takes.")
        raise NotFoundError(
            f"{location.source_id} is from {tool}, which has no command to continue a session."
        )

    def with_lines(
        self, result: SearchResult, query: str = "", *, bytes_max: int = SEARCH_BYTES_MAX
    ) -> SearchResult:
        """Returns the result with the file and the line of the best message of each passage.

        query: the words that were searched; of a message with several lines, that with most of them
        is meant. Without a query, it is the longest one of the best part.
        Each log is read once, and at most bytes_max of all; the other passages have no line. Of a
        source of several files, the path is None where the message is not found in one of them.
        """
        passages = self.placed(result.passages, query, bytes_max=bytes_max)
        return replace(result, passages=passages)

    def placed(
        self, passages: Iterable[Passage], query: str = "", *, bytes_max: int = SEARCH_BYTES_MAX
    ) -> tuple[Passage, ...]:
        """Returns passages with files and lines, as with_lines does; those of other memory files,
        where several were searched, as they are."""
        finder = LineFinder(self._database, bytes_max)
        with self._database.reading():
            return tuple(
                _placed(passage, query, finder) if self._has(passage) else passage
                for passage in passages
            )

    def _has(self, passage: Passage) -> bool:
        return passage.file is None or passage.file == self._database.path

    # -- names -----------------------------------------------------------------------------

    def _resolved(self, name: str, source_id: str | None) -> tuple[int, str, int | None]:
        """(source, its id, message); the message is None if the name is a source's."""
        if (message_seq := self._by_hash(name)) is not None:
            wanted = {"message": message_seq, "wanted": source_id}
            row = self._database.row(_SOURCES_OF_MESSAGE, wanted)
            if row is None:
                raise NotFoundError(f"Message {name} is not in a source any more.")
            return row[0], row[1], message_seq
        row = self._database.row(_OF_SESSION, (name,))
        if row is not None and self._database.row(_SOURCE, (name,)) is None:
            return row[0], row[1], row[2]
        try:
            source = scopes.source(self._database, name)
        except NotFoundError:
            by_session = self._by_session(name)
        else:
            return source.seq, source.id, None
        if by_session is None:
            known = (id_ for (id_,) in self._database.rows(_SOURCE_IDS))
            raise lookup.not_found(_NAMED, name, SEE_SOURCES, known)
        return by_session

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

    def _by_session(self, name: str) -> tuple[int, str, int | None] | None:
        """The only session that begins with a name; None if none does."""
        limits = (name, name + "\U0010ffff")
        sessions = self._database.rows(_SESSIONS, limits) if name else []
        if len(sessions) > 1:
            raise lookup.ambiguous("session", name, (session for (session,) in sessions))
        if not sessions:
            return None
        row = self._database.row(_OF_SESSION, sessions[0])
        assert row is not None
        return row[0], row[1], row[2]


def _placed(passage: Passage, query: str, finder: LineFinder) -> Passage:
    if passage.place is None or not passage.messages:
        return passage
    message, span = _best(passage, query)
    place = finder.placed(passage.place, passage.source_id, message, span)
    return replace(passage, place=place)


def _best(passage: Passage, query: str) -> tuple[Message, Span]:
    """The best message of a passage, and where its best part is, or the best line of that."""
    message = passage.best
    parts = [part for part in passage.explanation if part.message_id == message.id]
    best = max(parts, key=lambda part: part.score, default=None)
    return message, (0, 0) if best is None else _best_line(message.text, best, query)


def _best_line(text: str, part: Explained, query: str) -> Span:
    """The line of a part of a text with most words of a query, of which a word in many lines counts
    less; the whole part if none has any."""
    matches = matching_words(text[part.start : part.end], query)
    words: dict[Span, set[str]] = {}
    for start, end in ((part.start + start, part.start + end) for start, end in matches):
        line_start = max(part.start, text.rfind("\n", 0, start) + 1)
        line_end = text.find("\n", end, part.end)
        line = (line_start, line_end if line_end >= 0 else part.end)
        words.setdefault(line, set()).add(text[start:end].casefold())
    lines_of = Counter(word for line in words.values() for word in line)
    return max(
        words,
        key=lambda line: sum(1 / lines_of[word] for word in words[line]),
        default=(part.start, part.end),
    )


def stored(location: Location) -> Hint:
    """Says how to read what is stored of a place."""
    if location.message_id is not None:
        name = location.message_id[:12]
        what = "The message is stored:"
        python, shell = f'memory.message("{name}")', f"treemem message show {name}"
    else:
        what = "Its messages are stored:"
        python = f"memory.messages({location.source_id!r})"
        shell = f"treemem source show {shlex.quote(location.source_id)} --messages"
    return Hint(f"{what} {python}", f"{what} {shell}")
