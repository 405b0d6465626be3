"""Draws the blocks of a window: their places, their words, and the times below them.

Pure. A template prints what is drawn here. Tested in tests/web/test_icicle.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treemem.assistants.texts import when
from treemem.reports import count_of
from treemem.text.labels import clipped
from treemem.web.answers import period
from treemem.web.reading.windows import Block, BlockKind

# Pixels of a row.
ROW_HEIGHT = 30
# The least distance of two times below the blocks, and where the last may begin, as shares of the
# window.
TICK_SHARE, TICK_END = 0.11, 0.92
# The narrowest blocks that have words on a wide screen and on a phone, as shares of the window; a
# block whose words begin with a day has to be wider.
WORDS_SHARE_MIN, WIDE_SHARE_MIN = 0.03, 0.12
DAY_SHARE_MIN = 0.066
# Characters that fit into the whole width of a window, and of what a screen reader says.
WINDOW_CHARS, LABEL_CHARS = 165, 120

KIND_WORDS: dict[BlockKind, str] = {
    "above": "group of sources", "source": "source", "group": "group", "leaf": "leaf",
    "run": "several nodes",
}  # fmt: skip


class Drawn(NamedTuple):
    """A block as it is drawn.

    classes: of its link. zoom: the address of the window with it at the top; "" for what is no
    window. left, width: in per cent. words: in the block; "" if it is too narrow. is_second: there
    is no room for the words on a phone. label: what a screen reader says.
    """

    classes: str
    href: str
    zoom: str
    row: int
    left: str
    top: int
    width: str
    words: str
    is_second: bool
    label: str


class Tick(NamedTuple):
    """A time below the blocks. left: in per cent."""

    left: str
    words: str


def called(block: Block, name: str = "") -> str:
    """What a block is called. name: of the tree, if the block is its root."""
    if name:
        return name
    if block.kind == "run":
        return count_of(block.count, "more node")
    days = period(block.started_at, block.ended_at)
    if block.kind == "above":  # one gist cannot speak for sources that have nothing in common
        return ": ".join(filter(None, [days, block.words])) or "sources without times"
    return block.words or days or KIND_WORDS[block.kind]


def zoom_of(block: Block, base: str) -> str:
    """The address of the window with a block at its top. base: of the whole tree.

    Example:
        >>> block = Block("run", "aa", 0, 3, 8, 1, 0.0, 0.1, 9, None, None)
        >>> zoom_of(block, "/tree?"), zoom_of(block, "/tree?scope=source&id=a")
        ('/tree?node=aa&from=3&to=8', '/tree?scope=source&id=a&node=aa&from=3&to=8')
    """
    joint = "" if base.endswith("?") else "&"
    part = f"&from={block.first}&to={block.last}" if block.kind == "run" else ""
    return f"{base}{joint}node={block.node_id}{part}"


def drawn(
    blocks: Sequence[Block], base: str, name: str = "", marked: str | None = None
) -> Iterator[Drawn]:
    """Yields the blocks of a window as they are drawn, in the same order.

    base: the address of the whole tree. name: what the top is called, if it is the root. marked:
    the id of the node that is set off.
    """
    for block in blocks:
        is_run = block.kind == "run"
        words = called(block, "" if block.row else name)
        days = period(block.started_at, block.ended_at)
        told = [clipped(words, LABEL_CHARS), "" if days in words else days,
                KIND_WORDS[block.kind], count_of(block.tokens, "token")]  # fmt: skip
        least = DAY_SHARE_MIN if block.kind == "above" else WORDS_SHARE_MIN
        zoom = zoom_of(block, base)
        yield Drawn(
            f"block {block.kind}" + (" at" if block.node_id == marked and not is_run else ""),
            zoom if is_run else f"/node/{block.node_id}",
            zoom if block.level and not is_run else "",
            block.row, _per_cent(block.left), block.row * ROW_HEIGHT, _per_cent(block.width),
            clipped(words, int(block.width * WINDOW_CHARS)) if block.width >= least else "",
            block.width < WIDE_SHARE_MIN, ", ".join(filter(None, told)),
        )  # fmt: skip


def ticks(blocks: Sequence[Block]) -> list[Tick]:
    """The times below the blocks, of the lowest block at each place: days, or times where all of
    the window is of one day."""
    lowest: dict[float, Block] = {}
    for block in blocks:  # row by row
        lowest[round(block.left, 6)] = block
    times = [(left, when(lowest[left].started_at)) for left in sorted(lowest)]
    days = {time[:10] for _, time in times if time}
    found: list[Tick] = []
    last = -TICK_SHARE
    for left, time in times:
        words = time[:10] if len(days) > 1 else time[11:]
        is_same = bool(found) and words == found[-1].words
        if words and last + TICK_SHARE <= left <= TICK_END and not is_same:
            found.append(Tick(_per_cent(left), words))
            last = left
    return found


def _per_cent(share: float) -> str:
    return f"{share:.3%}"
