"""Fills a memory file with trees of a given size at once, for tests of what shows large ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treemem import Memory
from treemem.store.database import Database
from treemem.tree import layout

FANOUT = 8
DAY_MS = 86_400_000
STARTED_MS = 1_700_000_000_000
LEAF_TOKENS = 2_500
_CHILD = "SELECT seq, tokens, started_at_ms, ended_at_ms, message_count FROM node WHERE id = ?"


def fill(path: Path, sources: int, leaves: int) -> int:
    """Stores so many sources of so many leaves, each leaf with a message and a gist, and the tree
    over everything. Returns the number of nodes."""
    Memory.open(path).close()
    database = Database(path)
    with database.transaction():
        database.execute("INSERT INTO producer (seq, name, rank) VALUES (1, 'extractive/1', 0)")
        roots = [_source(database, number, leaves) for number in range(sources)]
        groups = list(_groups(database, roots))
        _tree(database, "global", "", groups[-1] if groups else roots[0])
    nodes = int(database.value("SELECT count(*) FROM node"))
    database.close()
    return nodes


def _source(database: Database, number: int, leaves: int) -> tuple[str, int]:
    """Stores a source and its tree; returns the id and the level of its root."""
    source_seq = number + 1
    database.execute(
        "INSERT INTO source (seq, id, format, title, created_at_ms) VALUES (?, ?, 'api', ?, 0)",
        (source_seq, f"talk/{number}", f"Talk {number}"),
    )
    members = []
    for at in range(leaves):
        seq = number * leaves + at + 1
        node_id, words = f"{seq:032x}", f"In talk {number} we spoke of point {at}."
        moment = STARTED_MS + number * DAY_MS + at * 60_000
        _row(database, "message", seq=seq, id=node_id, role="user", kind="said", text=words,
             sent_at_ms=moment, chars=len(words), tokens=9, origin="typed")  # fmt: skip
        _row(database, "source_message", source_seq=source_seq, position=at, message_seq=seq,
             state="active")  # fmt: skip
        _node(database, node_id, 0, LEAF_TOKENS, (moment, moment), words, 1, seq)
        members.append((node_id, 0))
    groups = list(_groups(database, members))
    _tree(database, "source", f"talk/{number}", groups[-1] if groups else members[0])
    return groups[-1] if groups else members[0]


def _groups(database: Database, members: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Stores the groups over these nodes, the root last."""
    for group in layout.layers(members, FANOUT):
        children = [database.row(_CHILD, (child,)) for child in group.child_ids]
        known = [child for child in children if child is not None]
        tokens, messages = (sum(row[at] for row in known) for at in (1, 4))
        times = known[0][2], known[-1][3]
        words = f"A group of {len(known)}."
        seq = _node(database, group.id, group.level, tokens, times, words, messages)
        database.many(
            "INSERT INTO node_child (node_seq, ordinal, child_seq) VALUES (?, ?, ?)",
            [(seq, ordinal, row[0]) for ordinal, row in enumerate(known)],
        )
        yield group.id, group.level


def _node(
    database: Database, node_id: str, level: int, tokens: int, time: tuple[int, int], words: str,
    messages: int, message_seq: int | None = None,
) -> int:  # fmt: skip
    seq = _row(database, "node", id=node_id, level=level, tokens=tokens, message_count=messages,
               started_at_ms=time[0], ended_at_ms=time[1], provisional=0)  # fmt: skip
    summary = _row(database, "summary", node_seq=seq, producer_seq=1, made_at_ms=0, offered=1,
                   kept=1, usable=1, tokens=9)  # fmt: skip
    statement = _row(database, "statement", summary_seq=summary, kind="gist", written=words,
                     importance=1.0, tokens=9, origin="typed", grade="verbatim")  # fmt: skip
    _row(database, "summary_statement", summary_seq=summary, ordinal=0, statement_seq=statement)
    if message_seq is not None:
        _row(database, "leaf_span", node_seq=seq, ordinal=0, message_seq=message_seq, start=0,
             end=len(words), tokens=tokens)  # fmt: skip
        _row(database, "citation", statement_seq=statement, ordinal=0, message_seq=message_seq)
    return seq


def _tree(database: Database, scope: str, key: str, root: tuple[str, int]) -> None:
    seq = database.value("SELECT seq FROM node WHERE id = ?", (root[0],))
    _row(database, "tree", scope=scope, key=key, root_seq=seq)


def _row(database: Database, table: str, **values: object) -> int:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    return database.insert(
        f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())
    )
