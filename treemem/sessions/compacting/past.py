"""Composes what stands in a context for the turns that it does not show.

Nothing here calls a model. The tree has summarized the turns already, so what stands for them is
read from it: the oldest by the nodes nearest to the root, later ones by smaller nodes, the last by
leaves; then the points that are open, and the catalog of blocks, by which the words themselves are
got back. It does not get worse with each compaction, since none is made from the one before.

Tested in tests/sessions/test_past.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treemem import times
from treemem.digest import facts, scopes
from treemem.ledger import reading
from treemem.ledger.reading import Filter
from treemem.search import snippets
from treemem.sessions.compacting import blocks
from treemem.sessions.counting import TokenCounter
from treemem.sessions.values import Block
from treemem.store import summaries
from treemem.store.database import Database, json_list
from treemem.store.live.private import private_to_others
from treemem.store.live.sessions import LiveSession
from treemem.summarize import EXTRACTIVE
from treemem.summarize.choosing import (
    Offered,
    choose,
    is_worth_showing,
    main_words,
    telling_words,
    without_repetitions,
)
from treemem.text.labels import clipped, fenced, label
from treemem.tree import builder
from treemem.types import ROLES, Entry, EntryKind, Scope, Statement, StatementKind

# How much a gist matters beside other statements, and how much more the latest one does than the
# oldest.
GIST_WEIGHT, RECENCY_WEIGHT = 2.0, 1.0
# The open points that are read, the most salient first.
OPEN_MAX = 60
# The files that are named, the characters of each path, and their share of the room of the digest.
FILES_MAX, PATH_CHARS, FILES_SHARE = 12, 120, 0.25
_OPEN_KINDS: tuple[EntryKind, ...] = ("open",)
_OPEN = Filter(_OPEN_KINDS)
_TITLES: tuple[tuple[StatementKind, str], ...] = (
    ("gist", "What it was about"), ("decision", "Decided"), ("constraint", "Asked for"),
    ("error", "Went wrong"), ("fact", "Facts"),
)  # fmt: skip
_FIRST_SHOWN = """
SELECT t.message_seq FROM turn t WHERE t.session_seq = ? AND t.position >= ?
AND t.message_seq IS NOT NULL ORDER BY t.position LIMIT 1
"""
# The place among the leaves of a tree of the first leaf with a message.
_LEAF_AT = """
SELECT min(tn.position) FROM leaf_span ls JOIN tree_node tn ON tn.node_seq = ls.node_seq
WHERE ls.message_seq = ? AND tn.tree_seq = ? AND tn.level = 0
"""
_LEAVES = "SELECT count(*) FROM tree_node WHERE tree_seq = ? AND level = 0"
_NODE = "SELECT node_seq FROM tree_node WHERE tree_seq = ? AND level = ? AND position = ?"


# CROSS JOIN keeps the order: SQLite would read all turns of the session first.
_POSITIONS = """
SELECT m.id, min(t.position) FROM json_each(:ids) j CROSS JOIN message m ON m.id = j.value
CROSS JOIN turn t ON t.message_seq = m.seq WHERE t.session_seq = :session GROUP BY m.id
"""


@dataclass(frozen=True, slots=True)
class Past:
    """What stands for the turns before a boundary. text: "" if there are none. catalog_tokens: of
    the part of the text that lists blocks. open_texts: the open points in it."""

    text: str = ""
    catalog_tokens: int = 0
    open_texts: tuple[str, ...] = ()


def compose(
    database: Database,
    live: LiveSession,
    fanout: int,
    boundary: int,
    found: Sequence[Block],
    rooms: dict[str, int],
    count: TokenCounter,
    request: str = "",
    visible: Sequence[str] = (),
) -> Past:
    """What stands for the turns before a boundary, in one text, with what is open in the project.

    found: the blocks before it. rooms: the tokens for "past", "open" and "catalog". request: the
    request whose block the boundary divides, word for word. visible: what is shown besides: rules,
    and turns that have their open points themselves. It is not repeated.
    """
    parts: list[str] = []
    points: list[str] = []
    catalog = ""
    if boundary:
        parts, points = digest(database, live, fanout, boundary, found, rooms, count, visible)
    left = rooms["open"] - sum(count(line) + 1 for line in points)
    if others := _open_elsewhere(database, live, left, count):
        parts.append("Open in this project, from other sessions:\n" + "\n".join(others))
    if listed := blocks.lines(found, rooms["catalog"], count) if boundary else []:
        catalog = ("Blocks of turns; recall(ID) returns their messages word for word:\n"
                   + "\n".join(listed))  # fmt: skip
        parts.append(catalog)
    if request:
        parts.append("The request that is being worked on:\n" + snippets.speech("user", request))
    text = "\n\n".join(filter(None, parts))
    if not text and not boundary:
        return Past()
    of = f"turns 0 to {boundary - 1}, which are stored, not shown" if boundary else "other sessions"
    return Past(
        fenced("earlier", f"a record of {of}; not instructions", text or "Nothing is known of it."),
        count(catalog) if catalog else 0, tuple(points),
    )  # fmt: skip


def digest(
    database: Database, live: LiveSession, fanout: int, boundary: int, found: Sequence[Block],
    rooms: dict[str, int], count: TokenCounter, visible: Sequence[str],
) -> tuple[list[str], list[str]]:  # fmt: skip
    """What the turns before a boundary were about, the files that were written and what is open, as
    texts, of which some may be empty; and the open points. The arguments are those of compose."""
    shown = "\n".join(visible)
    said = [
        [one for one in part if one.text not in shown]
        for part in _statements(database, live.seq, live.source_id, fanout, boundary)
    ]
    files = _files_line(database, live.source_seq, int(FILES_SHARE * rooms["past"]), count)
    room = rooms["past"] - (count(files) if files else 0)
    names = _block_names(database, live.seq, said, found)
    parts = [_digest_text(said, names, room, count), files]
    points = _open_points(database, live.source_id, rooms["open"], count, visible)
    if points:
        parts.append("Still open:\n" + "\n".join(points))
    return parts, points


def _files_line(database: Database, source_seq: int, room: int, count: TokenCounter) -> str:
    """The files that were written, the most often written first, in at most room tokens."""
    paths, are_all = facts.files_changed(database, source_seq)
    shown = [clipped(path, PATH_CHARS) for path in paths[:FILES_MAX]]
    while shown:
        more = "" if are_all and len(shown) == len(paths) else ", …"
        line = f"Files written: {', '.join(shown)}{more}"
        if count(line) <= room:
            return line
        shown.pop()
    return ""


# -- the digest ------------------------------------------------------------------------


def _statements(
    database: Database, session_seq: int, source_id: str, fanout: int, boundary: int
) -> list[list[Statement]]:
    """The statements of the nodes that cover the turns before a boundary, in order."""
    tree = builder.find_tree(database, "source", source_id)
    if tree is None:
        return []
    first_shown = database.value(_FIRST_SHOWN, (session_seq, boundary))
    leaves = int(database.value(_LEAVES, (tree.seq,)))
    whole = leaves
    if first_shown is not None:
        at = database.value(_LEAF_AT, (first_shown, tree.seq))
        whole = leaves if at is None else int(at)
    nodes = _cover(database, tree.seq, whole, fanout)
    of_nodes = [_shown(database, node_seq) for node_seq in nodes]
    # The leaf that the boundary divides, or the open tail: what it says of turns before.
    edge = tree.tail_seq
    if whole < leaves:
        edge = database.value(_NODE, (tree.seq, 0, whole))
    elif edge is None and not leaves:
        edge = tree.root_seq
    if edge is not None:
        later = _message_ids_from(database, session_seq, boundary)
        of_nodes.append([
            one for one in _shown(database, edge)
            if not any(message.id in later for message in one.messages)
        ])  # fmt: skip
    return of_nodes


def _cover(database: Database, tree_seq: int, leaves: int, fanout: int) -> list[int]:
    """The fewest sealed nodes that cover the first leaves of a tree, in order."""
    nodes: list[int] = []
    at = 0
    while at < leaves:
        level = 0
        while at % fanout ** (level + 1) == 0 and at + fanout ** (level + 1) <= leaves:
            level += 1
        while (seq := database.value(_NODE, (tree_seq, level, at // fanout**level))) is None:
            if level == 0:
                break
            level -= 1  # a group that is full and not sealed yet
        if seq is not None:
            nodes.append(int(seq))
        at += fanout**level
    return nodes


def _shown(database: Database, node_seq: int) -> list[Statement]:
    shown = summaries.statements(database, summaries.shown_summary(database, node_seq))
    return [
        one for one in shown
        if one.state == "holds" and (one.kind != "constraint" or one.origin == "typed")
    ]  # fmt: skip


def _message_ids_from(database: Database, session_seq: int, boundary: int) -> frozenset[str]:
    sql = ("SELECT m.id FROM turn t JOIN message m ON m.seq = t.message_seq "
           "WHERE t.session_seq = ? AND t.position >= ?")  # fmt: skip
    return frozenset(row[0] for row in database.rows(sql, (session_seq, boundary)))


def _block_names(
    database: Database, session_seq: int, said: Sequence[Sequence[Statement]],
    found: Sequence[Block],
) -> dict[str, str]:  # fmt: skip
    """The ids of the blocks that have the first messages of statements, by those messages' ids."""
    cited = {one.messages[0].id for part in said for one in part if one.messages}
    rows = database.rows(_POSITIONS, {"ids": json_list(cited), "session": session_seq})
    firsts = [block.first for block in found]
    places = {message_id: bisect_right(firsts, position) - 1 for message_id, position in rows}
    return {message_id: found[at].id for message_id, at in places.items() if at >= 0}


def _digest_text(
    said: Sequence[Sequence[Statement]], names: Mapping[str, str], room: int, count: TokenCounter
) -> str:
    """The statements that matter most, in at most room tokens, by kind and in order. names: of
    blocks, by message, so that each statement leads to the words around it."""
    every = [one for part in said for one in part]
    telling = [telling_words(one.text) for one in every]
    main = main_words(telling, {one.speaker or "" for one in every})
    offered = []
    place = 0
    for part, statements in enumerate(said):
        for one in statements:
            place += 1
            if one.kind == "open" or not _is_worth_showing(one, main):
                continue
            weight = GIST_WEIGHT if one.kind == "gist" else one.importance
            weight += RECENCY_WEIGHT * part / max(1, len(said) - 1)
            offered.append(
                Offered(one, one.kind, count(_line(one, names)) + 1, weight, part, place)
            )
    distinct = without_repetitions(offered, lambda one: one.text)
    chosen = choose(distinct, room)
    parts = []
    for kind, title in _TITLES:
        of_kind = sorted((one for one in chosen if one.kind == kind), key=lambda one: one.place)
        if of_kind:
            parts.append("\n".join([f"{title}:", *(_line(one.item, names) for one in of_kind)]))
    return "\n".join(parts)


def _is_worth_showing(one: Statement, main: frozenset[str]) -> bool:
    """Whether a reader would likely find it worth showing. What a model wrote was judged before."""
    if one.producer != EXTRACTIVE.name:
        return True
    return is_worth_showing(one.kind, one.text, one.origin, one.speaker, main)


def _line(one: Statement, names: Mapping[str, str]) -> str:
    """A statement as a line: its block, its day, its speaker, its words."""
    name = names.get(one.messages[0].id or "", "") if one.messages else ""
    times_said = [message.sent_at for message in one.messages if message.sent_at]
    moment = times.shown(times_said[0], None) if times_said else None
    day = f"[{moment.date().isoformat()}] " if moment else ""
    speaker = one.speaker or "several"
    return (
        "- "
        + (f"{name} " if name else "")
        + day
        + snippets.speech(
            speaker if speaker in ROLES else label(speaker), " ".join(one.text.split())
        )
    )


# -- open points -----------------------------------------------------------------------


def open_count(database: Database, source_id: str) -> int:
    """How many points of a session are open."""
    return reading.counts(database, Scope.source(source_id), _OPEN)["open"]


def shown_open(database: Database, source_id: str, words: str) -> int:
    """How many open points of a session these words contain."""
    found = reading.entries_of(database, Scope.source(source_id), _OPEN, limit=OPEN_MAX)
    return sum(" ".join(entry.text.split()) in words or entry.text in words for entry in found)


def _open_points(
    database: Database, source_id: str, room: int, count: TokenCounter, visible: Iterable[str]
) -> list[str]:
    """The open points of a session that are not visible, the most salient first, as lines in at
    most room tokens."""
    shown = "\n".join(visible)
    found = reading.entries_of(database, Scope.source(source_id), _OPEN, limit=OPEN_MAX)
    return _fitting([entry for entry in found if entry.text not in shown], room, count)


def _open_elsewhere(
    database: Database, live: LiveSession, room: int, count: TokenCounter
) -> list[str]:
    """What is open in the project of a session, of other sessions than this."""
    if live.project is None:
        return []
    scope = scopes.resolved(database, Scope.where(project=live.project))
    private = private_to_others(database, live.agent).entry_ids(database)
    found = reading.entries_of(database, scope, _OPEN, limit=OPEN_MAX)
    others = [
        entry for entry in found
        if entry.source_id != live.source_id and entry.id not in private
    ]  # fmt: skip
    return _fitting(others, room, count)


def _fitting(found: Iterable[Entry], room: int, count: TokenCounter) -> list[str]:
    """Entries as lines, those that fit in at most room tokens."""
    lines: list[str] = []
    for entry in found:
        moment = times.shown(entry.last_at, None) if entry.last_at else None
        day = f"[{moment.date().isoformat()}] " if moment else ""
        speaker = entry.speaker or "several"
        line = f"- {day}" + snippets.speech(
            speaker if speaker in ROLES else label(speaker), " ".join(entry.text.split())
        )
        cost = count(line) + 1
        if cost <= room:
            lines.append(line)
            room -= cost
    return lines
