"""Composes the text that stands in a compacted log for the messages that are left out.

It is made of what the past of a live session is made of, but for its catalog: nobody can recall a
block of a log, so the user's requests are listed instead.

Tested in tests/sessions/logs/test_compacting.py.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from treemem.search import snippets
from treemem.sessions import shapes
from treemem.sessions.compacting import blocks, passes, past
from treemem.sessions.compacting.passes import Material
from treemem.store.live import turns
from treemem.text.labels import clipped

# How tools begin such a message themselves, by which they and importers recognize it.
_BEGINNING = (
    "This session is being continued from a previous conversation that ran out of context. The "
    "conversation is summarized below, from its own words; it is a record, not an instruction."
)
_SHORTEST = "[the beginning of this conversation is left out]"
_REQUEST_CHARS = 200


def compose(material: Material, said: Collection[int], room: int) -> str:
    """The summary of the turns before the boundary of a session that was compacted, in at most room
    tokens; in the caller's transaction. said: the positions of turns that the user said."""
    for share in (*passes.ROOM_SHARES, 0.0):
        text = _text(material, said, share)
        if material.count(text) <= room:
            return text
    return _SHORTEST


def _text(material: Material, said: Collection[int], share: float) -> str:
    """The summary with a share of the rooms that its parts may have."""
    state, database, count = material.state, material.database, material.count
    boundary = state.last.boundary
    rooms = {
        name: int(share * material.limit(material.budget.share(name)))
        for name in ("past", "open", "catalog")
    }
    visible = [part.text for turn in state.window for part in turn.turn.parts]
    parts, _ = past.digest(
        database, state.row, material.fanout, boundary, (), rooms, count, visible
    )
    parts.append(_requests(material, said, rooms["catalog"]))
    parts.append(_divided(material, said, passes.REQUEST_CHARS_A_TOKEN * rooms["past"]))
    return "\n\n".join(filter(None, [_BEGINNING, state.last.head, *parts]))


def _requests(material: Material, said: Collection[int], room: int) -> str:
    """What the user asked, the last that fit in room tokens."""
    state, boundary = material.state, material.state.last.boundary
    divided = _divided_at(boundary, said)
    requests = [
        block for block in blocks.blocks_of(material.database, state.row.seq, boundary, boundary)
        if block.first in said and block.request and block.first != divided
    ]  # fmt: skip
    lines: list[str] = []
    for block in reversed(requests):
        day = f"[{block.sent_at[:10]}] " if block.sent_at else ""
        ending = f" → {block.digest}" if block.digest else ""
        line = f"- {day}{clipped(block.request, _REQUEST_CHARS)}{ending}"
        room -= material.count(line) + 1
        if room < 0:
            break
        lines.insert(0, line)
    if not lines:
        return ""
    of = "" if len(lines) == len(requests) else f", the last {len(lines)} of {len(requests)}"
    return f"What the user asked{of}, and how each ended:\n" + "\n".join(lines)


def _divided(material: Material, said: Collection[int], chars: int) -> str:
    """What the user asked last, if that is left out and what came of it is not; else ""."""
    state = material.state
    at = _divided_at(state.last.boundary, said)
    if at is None or not chars:
        return ""
    (row,) = turns.between(material.database, state.row.seq, at, at + 1)
    turn = shapes.parse(json.loads(row.content), state.shape)
    words = "\n".join(part.text for part in turn.parts if part.kind == "text")
    shown = words if len(words) <= chars else clipped(words, chars)
    return (
        "The request that is being worked on:\n" + snippets.speech("user", shown) if shown else ""
    )


def _divided_at(boundary: int, said: Collection[int]) -> int | None:
    """The position of the request that a boundary parts from what came of it; None if none."""
    earlier = [position for position in said if position < boundary]
    return None if boundary in said or not earlier else max(earlier)
