"""Compacts the window of a session: rung by rung, until it is small enough.

The order, and the limits, are those of a ladder: what is cheap and loses nothing comes first. No
rung calls a model; old turns are stood for by the summaries that the tree has of them.

Tested in tests/sessions/test_compaction.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate

from treemem import times
from treemem.errors import UsageError
from treemem.sessions import shapes
from treemem.sessions.budget import Budget
from treemem.sessions.compacting import blocks, head, ladder, past
from treemem.sessions.compacting.ladder import Window
from treemem.sessions.compacting.past import Past
from treemem.sessions.counting import TokenCounter
from treemem.sessions.state import State
from treemem.sessions.values import Compaction, Rung
from treemem.sessions.window import ShownTurn
from treemem.store import json_text
from treemem.store.database import Database
from treemem.store.live import sessions, turns
from treemem.store.live.sessions import Compacted
from treemem.text.labels import clipped

# The share of the room whose turns at the end stay word for word, if the request that is being
# worked on has more.
TAIL_SHARE = 0.25
# A boundary is moved to the next request if that leaves this share of what could stay.
BLOCK_SHARE = 0.5
# Characters, for each token that the past may have, of a request shown in place of its turn.
REQUEST_CHARS_A_TOKEN = 2
# Of the rooms of what stands for earlier turns, the shares that are tried until all fits.
ROOM_SHARES = (1.0, 0.5, 0.25)
# The fewest tokens to which a part of the last turns is cut, and the steps in which it is.
SQUEEZED_MIN, SQUEEZE = 64, 0.7


@dataclass(frozen=True, slots=True)
class Material:
    """What a compaction works with. factor: the provider's tokens for each token counted here.
    goal: the tokens that it should leave at most; None for the targets of the budget."""

    database: Database
    state: State
    budget: Budget
    count: TokenCounter
    fanout: int
    now_ms: int
    factor: float = 1.0
    goal: int | None = None

    def limit(self, tokens: int) -> int:
        """A number of tokens of the provider's, as counted here."""
        return int(tokens / self.factor)

    def total(self) -> int:
        """The tokens of the context, as counted here."""
        return self.state.tokens(self.count)


class DigestNeededError(Exception):
    """Trimming and pruning are not enough."""


def compact(
    material: Material, *, notes: Sequence[Rung] = (), soft: bool = False, is_settled: bool = True
) -> Compaction:
    """Compacts a window, in the caller's transaction, and returns what was done.

    notes: rungs that were tried before. soft: leave no more than the last request, as after a long
    pause. is_settled: the tree has all turns, so that a digest can be made; if it has not, and one
    is needed, raises DigestNeededError. Raises UsageError if what cannot be left out does not fit.
    """
    state, database = material.state, material.database
    budget, goal = material.budget, material.goal
    target = material.limit(budget.target if goal is None else goal)
    before = material.total()
    open_before = past.open_count(database, state.row.source_id)
    rungs = list(notes)
    shown: Past | None = None
    if not soft:
        rungs += list(_without_summary(material, target))
    if soft or material.total() > target:
        if not is_settled:
            raise DigestNeededError
        deep = material.limit(budget.digest_target if goal is None else goal)
        shown = _with_digest(material, deep, soft=soft)
        rungs.append(Rung("digest", material.total(), state.last.boundary))
    words = "\n".join(part.text for turn in state.window for part in turn.words.parts)
    points = shown.open_texts if shown else ()
    made = Compaction(
        rungs=tuple(rungs),
        tokens_before=round(before * material.factor),
        tokens_after=round(material.total() * material.factor),
        boundary=state.last.boundary,
        open_before=open_before,
        open_shown=past.shown_open(database, state.row.source_id, words + "\n".join(points)),
        restored=len(points),
        constraints=len(state.pins.constraints),
        made_at=times.from_ms(material.now_ms) or "",
    )
    _store(material, made, shown)
    return made


def _without_summary(material: Material, target: int) -> Iterator[Rung]:
    """Trims and prunes, each only as far as it is needed."""
    state, count = material.state, material.count
    end = _tail_start(material)
    limit = material.limit(material.budget.share("result"))
    trimmed = ladder.trimmed(state.window, end, limit, count)
    state.put(material.database, list(trimmed.values()))
    yield Rung("trim", material.total(), len(trimmed))
    if material.total() <= target:
        return
    old = sum(turn.position < state.last.turns for turn in state.window)
    changed: set[int] = set()
    for prune in ladder.PRUNINGS:
        old = sum(turn.position < state.last.turns for turn in state.window)
        pruned = prune(Window(state.window, end, old, count))
        state.put(material.database, list(pruned.values()))
        changed.update(pruned)
        if material.total() <= target:
            break
    yield Rung("prune", material.total(), len(changed))


# -- turns that are not shown any more -------------------------------------------------


def _with_digest(material: Material, target: int, *, soft: bool) -> Past:
    """Moves the boundary, and composes what stands for the turns before it. If that is too much
    for the window, says less of them, then cuts the turns that stay. Raises UsageError if not even
    the last turn fits."""
    state, budget, count = material.state, material.budget, material.count
    new_head = head.compose(material.database, state, material.limit(budget.share("rules")), count)
    fixed = count("\n\n".join(filter(None, [state.row.system, new_head])))
    rooms = {name: material.limit(budget.share(name)) for name in ("past", "open", "catalog")}
    boundary = _boundary(material, max(target - fixed - sum(rooms.values()), 0), soft=soft)
    room = material.limit(budget.room)
    told = state.changes[-1].seq if state.changes else state.row.told_seq
    state.row = state.row._replace(told_seq=told)
    sessions.update(material.database, state.row)
    state.last = state.last._replace(head=new_head)
    shown = Past()
    for share in ROOM_SHARES:
        smaller = {name: int(share * tokens) for name, tokens in rooms.items()}
        shown = _cut(material, boundary, smaller)
        if material.total() <= room:
            return shown
    _squeeze(material, room)
    if material.total() > room and state.window:
        shown = _cut(material, state.window[-1].position, smaller)
        _squeeze(material, room)
    if material.total() > room:
        raise UsageError(
            f"The system prompt, the pins and the last turn have {material.total():,} tokens, and "
            f"a window of {budget.window:,} has room for {room:,}. Give the session a larger "
            "window, or shorten the system prompt."
        )
    return shown


def _cut(material: Material, boundary: int, rooms: dict[str, int]) -> Past:
    """Shows the turns from a boundary on, and something in at most these rooms for the others."""
    state, database = material.state, material.database
    state.window = [turn for turn in state.window if turn.position >= boundary]
    tail = _tail_start(material)
    state.put(
        database,
        [turn.without("pins", "memory", "block") if index < tail else turn.without("pins")
         for index, turn in enumerate(state.window) if turn.attached],
    )  # fmt: skip
    state.folds = [fold for fold in state.folds if fold.end > boundary]
    shown = past.compose(
        database, state.row, material.fanout, boundary,
        blocks.blocks_of(database, state.row.seq, boundary, boundary), rooms, material.count,
        _divided_request(material, boundary, REQUEST_CHARS_A_TOKEN * rooms["past"]),
        [state.last.head,
         *(part.text for turn in state.window for part in turn.words.parts)],
    )  # fmt: skip
    state.last = state.last._replace(boundary=boundary, past=shown.text)
    return shown


def _boundary(material: Material, room: int, *, soft: bool) -> int:
    """The first turn that stays: as many at the end as room tokens take, not dividing a call from
    its result, and if possible not a request from what came of it."""
    window = material.state.window
    if not window:
        return material.state.last.boundary
    starts = _starts(material)
    after = list(accumulate(
        (turn.tokens for turn in reversed(window)), initial=0
    ))[::-1]  # fmt: skip
    requests = [start for start in starts if window[start].is_request]
    if soft:
        fitting = [start for start in requests[-1:] if after[start] <= room]
        return window[fitting[0] if fitting else starts[-1]].position
    first = next((start for start in starts if after[start] <= room), starts[-1])
    better = [
        start for start in requests
        if start >= first and after[start] >= BLOCK_SHARE * after[first]
    ]  # fmt: skip
    return window[better[0] if better else first].position


def _starts(material: Material) -> list[int]:
    """The indexes where a window may be cut. Where a model thinks, not within the last request,
    whose thinking a provider asks for; unless the request alone is too long."""
    given = [turn.turn for turn in material.state.window]
    thinks = any(part.kind == "thinking" for turn in given for part in turn.parts)
    starts = [unit.start for unit in shapes.groups(given, thinking=thinks)]
    last = sum(turn.tokens for turn in material.state.window[starts[-1] :]) if starts else 0
    if thinks and last > material.limit(material.budget.target) // 2:
        starts = [unit.start for unit in shapes.groups(given)]
    return starts


def _tail_start(material: Material) -> int:
    """The index from which the turns of a window stay word for word: those of the last request, or
    if they are too many, the last of them."""
    window = material.state.window
    if not window:
        return 0
    starts = _starts(material)
    request = max((start for start in starts if window[start].is_request), default=0)
    room = material.limit(int(TAIL_SHARE * material.budget.room))
    first, left = starts[-1], room - sum(turn.tokens for turn in window[starts[-1] :])
    for start, end in zip(reversed(starts[:-1]), reversed(starts[1:]), strict=True):
        left -= sum(turn.tokens for turn in window[start:end])
        if left < 0:
            break
        first = start
    return max(request, first)


def _divided_request(material: Material, boundary: int, chars: int) -> str:
    """The words of the request whose turns a boundary divides, at most so many characters; "" if it
    divides none."""
    state = material.state
    at = turns.request_at(material.database, state.row.seq, boundary)
    if at >= boundary:
        return ""
    row = turns.between(material.database, state.row.seq, at, at + 1)
    if not row or not row[0].is_request:
        return ""
    turn = shapes.parse(json.loads(row[0].content), state.shape)
    words = "\n".join(part.text for part in turn.parts if part.kind == "text")
    return words if len(words) <= chars else clipped(words, chars)


def _squeeze(material: Material, room: int) -> None:
    """Cuts the longest parts of the turns that stay, more and more, until all fit a room."""
    state, count = material.state, material.count
    if material.total() > room:
        limit = material.limit(material.budget.share("result"))
        trimmed = ladder.trimmed(state.window, len(state.window), limit, count)
        state.put(material.database, list(trimmed.values()))
    limit = room  # what was said is cut no further than it must be
    while material.total() > room and limit >= SQUEEZED_MIN:
        cut = [_shortened(turn, limit, count) for turn in state.window]
        state.put(material.database, [turn for turn in cut if turn is not None])
        limit = int(SQUEEZE * limit)


def _shortened(turn: ShownTurn, limit: int, count: TokenCounter) -> ShownTurn | None:
    """A turn with its parts cut to about limit tokens; None if all are shorter."""
    shown = turn
    for number, part in enumerate(turn.turn.parts):
        name = ladder.handle(turn, number)
        if part.kind == "tool_use" and len(part.text) > limit:
            arguments = ladder.shortened_arguments(part.text, name)
            shown = shown if arguments is None else shown.replacing(number, arguments, count)
        elif part.kind in ("tool_result", "text") and len(part.text) > limit:
            tokens = count(part.text)
            if tokens > limit:
                text = ladder.excerpt(part, tokens, limit, name, count)
                shown = shown.replacing(number, text, count)
    return None if shown is turn else shown


def _store(material: Material, made: Compaction, shown: Past | None) -> None:
    """Stores a compaction, and makes it the one in force."""
    state = material.state
    report = asdict(made) | {"catalog_tokens": shown.catalog_tokens if shown else 0}
    if shown is None:
        report["catalog_tokens"] = json.loads(state.last.report or "{}").get("catalog_tokens", 0)
    state.last = state.last._replace(
        turns=state.count, report=json.dumps(report), made_at_ms=material.now_ms
    )
    seq = sessions.add_compaction(material.database, state.row.seq, state.last)
    state.last = state.last._replace(seq=seq)


def reported(stored: Compacted) -> Compaction | None:
    """A compaction from its row; None if nothing was compacted, as before the first one."""
    values = json_text.object_of(stored.report)
    if "rungs" not in values:
        return None
    values["rungs"] = tuple(Rung(**rung) for rung in values["rungs"])
    return Compaction(**{field.name: values[field.name] for field in fields(Compaction)})
