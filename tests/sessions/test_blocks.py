"""The catalog: every block is on a line, however many there are and however little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treemem.patterns import lazy_regex
from treemem.sessions.compacting import blocks
from treemem.sessions.values import Block
from treemem.text.tokens import count_tokens

ID = lazy_regex(r"(b\d+)(?:-(b\d+))? ")


@given(st.integers(1, 700), st.integers(blocks.RANGE_TOKENS, 3_000))
def test_every_block_is_listed_once_in_order(number: int, room: int) -> None:
    found = [
        Block(f"b{3 * at}", f"request {at} about the kiln", "done", 90, 3 * at, 3 * at + 3)
        for at in range(number)
    ]
    lines = blocks.lines(found, room, count_tokens)
    assert sum(count_tokens(line) + 1 for line in lines) <= room
    places = {block.id: at for at, block in enumerate(found)}
    at = 0
    for line in lines:
        match = ID.match(line)
        assert match is not None
        assert places[match[1]] == at
        at = places[match[2] or match[1]] + 1
    assert at == number


def test_small_blocks_share_a_line_however_much_room_there_is() -> None:
    sizes = [10, 20, 900, 30, 40, 30, 150, 20, 800]
    found = [Block(f"b{at}", f"request {at}", "", size, at, at + 1)
             for at, size in enumerate(sizes)]  # fmt: skip
    lines = blocks.lines(found, 3_000, count_tokens)
    assert [line.split()[0] for line in lines] == ["b0-b1", "b2", "b3-b4", "b5-b7", "b8"]


def test_a_line_is_one_line_of_untrusted_words() -> None:
    block = Block("b0", "Fix\nit\x1b[31m", "ok", 5, 0, 2, "2026-11-27T09:00:00+00:00")
    found = blocks.lines([block], 100, count_tokens)
    assert len(found) == 1
    assert "b0 [2026-11-27]" in found[0]
