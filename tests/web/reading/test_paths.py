"""The way from a root to a node, its trees, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from tests.helpers.forests import fill
from treemem.store import summaries
from treemem.store.database import Database
from treemem.tree import builder
from treemem.types import Scope
from treemem.web.reading import paths

LEAVES = 60


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("paths") / "forest.sqlite3"
    fill(path, sources=3, leaves=LEAVES)
    database = Database(path)
    yield database
    database.close()


def root_of(database: Database, scope: str, key: str) -> int:
    tree = builder.find_tree(database, scope, key)
    assert tree is not None
    assert tree.root_seq is not None
    return tree.root_seq


def test_the_next_leaf_of_each_leaf_leads_through_the_whole_source(forest: Database) -> None:
    root = root_of(forest, "source", "talk/1")
    leaf = root
    while below := summaries.child_seqs(forest, leaf):
        leaf = below[0]
    seen = [leaf]
    while after := paths.neighbour(forest, paths.path_between(forest, root, seen[-1]), 1):
        assert paths.neighbour(forest, paths.path_between(forest, root, after), -1) == seen[-1]
        seen.append(after)
    assert sorted(seen) == builder.leaves_below(forest, root)
    assert len(seen) == LEAVES


def test_a_group_has_a_neighbour_as_deep_as_it_is(forest: Database) -> None:
    root = root_of(forest, "global", "")
    path = paths.path_between(forest, root, root_of(forest, "source", "talk/1"))
    assert paths.neighbour(forest, path, 1) == root_of(forest, "source", "talk/2")
    assert paths.neighbour(forest, path, -1) == root_of(forest, "source", "talk/0")
    assert paths.neighbour(forest, [root], 1) is None


def test_a_node_is_in_the_tree_of_its_source_and_of_everything(forest: Database) -> None:
    seq = root_of(forest, "source", "talk/1")
    found = paths.trees_with(forest, seq, most=9)
    assert [place.scope for place in found] == [Scope.source("talk/1"), Scope.everything()]
    assert found[0].root_seq == seq


def test_there_is_no_way_to_what_is_not_below(forest: Database) -> None:
    one, other = (root_of(forest, "source", f"talk/{number}") for number in (0, 1))
    assert paths.path_between(forest, one, other) == []
    assert paths.path_between(forest, one, one) == [one]
