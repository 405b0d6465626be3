"""Blocks are drawn with words where there is room, and with times below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem.web.icicle import called, drawn, ticks
from treemem.web.reading.windows import Block

LEAF = Block("leaf", "ab", 0, 0, 0, 1, 0.0, 0.5, 9, "2026-11-03T10:00", "2026-11-04T10:00", "Fees.")


def at(left: float, moment: str | None, row: int = 1) -> Block:
    return replace(LEAF, left=left, width=0.1, started_at=moment, row=row)


def test_a_block_is_called_by_its_words_and_a_group_of_sources_by_its_days() -> None:
    assert called(LEAF) == "Fees."
    assert called(replace(LEAF, kind="above")) == "2026-11-03 – 2026-11-04: Fees."
    assert called(replace(LEAF, kind="run", last=4)) == "5 more nodes"
    assert called(replace(LEAF, words="")) == "2026-11-03 – 2026-11-04"
    assert called(replace(LEAF, words="", started_at=None, ended_at=None)) == "leaf"
    assert called(LEAF, "Talk") == "Talk"


def test_a_narrow_block_has_no_words_but_a_label() -> None:
    wide, narrow = drawn([LEAF, replace(LEAF, width=0.01)], "/tree?")
    assert (wide.words, narrow.words) == ("Fees.", "")
    assert narrow.label == wide.label == "Fees., 2026-11-03 – 2026-11-04, leaf, 9 tokens"


def test_a_leaf_opens_a_group_is_also_zoomed_into_and_a_run_is_zoomed_into_alone() -> None:
    group = replace(LEAF, kind="group", level=1)
    run = replace(LEAF, kind="run", level=1, last=7)
    found = [(one.href, one.zoom) for one in drawn([LEAF, group, run], "/tree?")]
    assert found == [
        ("/node/ab", ""), ("/node/ab", "/tree?node=ab"), ("/tree?node=ab&from=0&to=7", ""),
    ]  # fmt: skip


def test_one_block_is_set_off() -> None:
    (one,) = drawn([LEAF], "/tree?", marked="ab")
    assert one.classes == "block leaf at"


def test_times_have_room_and_are_of_the_lowest_block() -> None:
    blocks = [at(0.0, "2026-11-01T10:00", row=0), at(0.0, "2026-11-02T10:00"),
              at(0.05, "2026-11-03T10:00"), at(0.5, "2026-11-02T11:00"),
              at(0.6, None), at(0.7, "2026-11-05T10:00"), at(0.99, "2026-11-06T10:00")]  # fmt: skip
    found = [(one.left, one.words) for one in ticks(blocks)]
    assert found == [("0.000%", "2026-11-02"), ("70.000%", "2026-11-05")]


def test_a_window_of_one_day_has_times() -> None:
    blocks = [at(0.0, "2026-11-02T10:00"), at(0.5, "2026-11-02T11:30")]
    assert [one.words for one in ticks(blocks)] == ["10:00", "11:30"]


def test_without_times_there_are_none() -> None:
    assert ticks([at(0.0, None)]) == []
