"""A window of a tree has what is wide enough to be seen, and covers all of its top."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.forests import fill
from treemem import Memory, NotFoundError, Scope
from treemem.store.live.private import NOTHING
from treemem.web.reading import read
from treemem.web.reading.windows import SHARE_MIN, Block, Window, window

EVERYTHING = Scope.everything()


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("windows") / "forest.sqlite3"
    fill(path, sources=30, leaves=60)
    return path


def shown(
    path: Path, scope: Scope = EVERYTHING, node: str | None = None,
    part: tuple[int, int] | None = None,
) -> Window:  # fmt: skip
    with Memory.open(path) as memory:
        return read(memory, lambda database, _: window(database, scope, NOTHING, node, part))


def by_row(found: Window) -> dict[int, list[Block]]:
    rows = defaultdict(list)
    for block in found.blocks:
        rows[block.row].append(block)
    return rows


def test_the_blocks_of_a_row_stand_side_by_side_within_those_above(forest: Path) -> None:
    rows = by_row(shown(forest))
    assert len(rows) > 3
    for row, blocks in rows.items():
        for one, other in pairwise(blocks):
            assert one.left + one.width <= other.left + 1e-9
        for block in blocks if row else ():
            assert any(
                above.left - 1e-9 <= block.left
                and block.left + block.width <= above.left + above.width + 1e-9
                for above in rows[row - 1]
            )


def test_what_is_too_narrow_is_one_block_that_says_how_many_nodes_it_stands_for(
    forest: Path,
) -> None:
    found = shown(forest)
    runs = [block for block in found.blocks if block.kind == "run"]
    assert runs
    assert all(block.count > 1 for block in runs)
    assert all(block.width >= SHARE_MIN for block in found.blocks if block.kind != "run")


def test_every_node_is_reached_by_zooming(forest: Path) -> None:
    """Whatever is not shown is below a block that can be zoomed into."""
    leaves: set[str] = set()
    waiting: list[tuple[str | None, tuple[int, int] | None]] = [(None, None)]
    for node, part in waiting:
        found = shown(forest, Scope.source("talk/3"), node, part)
        leaves |= {block.node_id for block in found.blocks if block.kind == "leaf"}
        waiting += [(block.node_id, (block.first, block.last))
                    for block in found.blocks if block.kind == "run"]  # fmt: skip
        assert len(waiting) < 500
    assert len(leaves) == 60


def test_a_window_has_the_way_to_its_top(forest: Path) -> None:
    leaf = next(block for block in shown(forest, Scope.source("talk/3")).blocks if not block.level)
    found = shown(forest, Scope.everything(), leaf.node_id)
    assert [block.kind for block in found.path][-1] == "leaf"
    assert [block.words for block in found.path if block.kind == "source"] == ["Talk 3"]
    assert found.path[0].node_id == shown(forest).path[0].node_id
    assert len(found.blocks) == 1


def test_a_node_of_another_tree_is_not_found(forest: Path) -> None:
    leaf = next(block for block in shown(forest, Scope.source("talk/3")).blocks if not block.level)
    with pytest.raises(NotFoundError, match="is not in the tree of source talk/4"):
        shown(forest, Scope.source("talk/4"), leaf.node_id)


def test_an_empty_memory_has_an_empty_window(tmp_path: Path) -> None:
    Memory.open(tmp_path / "empty.sqlite3").close()
    assert shown(tmp_path / "empty.sqlite3") == Window(Scope.everything())


@given(st.integers(0, 50), st.integers(0, 50))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_part_of_a_node_is_shown_as_wide_as_the_window(
    forest: Path, first: int, last: int
) -> None:
    found = shown(forest, Scope.everything(), None, (first, last))
    assert found.first <= found.last
    assert sum(block.width for block in by_row(found)[1]) == pytest.approx(1.0)
