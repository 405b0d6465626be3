"""A node is read with the way to it, its neighbours, its children or its words, and its views."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from tests.helpers.forests import fill
from treemem import Memory, NotFoundError, Scope
from treemem.web.reading import nodes, read


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nodes") / "forest.sqlite3"
    fill(path, sources=3, leaves=60)
    return path


def viewed(memory: Memory, node_id: str) -> nodes.NodeView:
    return read(memory, lambda *file: nodes.node_view(*file, node_id))


def root_of(memory: Memory, source: str) -> str:
    root = memory.source(source).root_id
    assert root is not None
    return root


def test_a_leaf_has_its_words_and_a_group_its_children(forest: Path) -> None:
    with Memory.open(forest) as memory:
        view = viewed(memory, root_of(memory, "talk/1"))
        assert (view.scope, view.name) == (Scope.source("talk/1"), "Talk 1")
        assert [one.kind for one in view.path] == ["source"]
        assert view.children[0].kind == "group"
        assert not view.excerpts
        while view.children:
            view = viewed(memory, view.children[0].node_id)
        assert [one.text for one in view.excerpts] == ["In talk 1 we spoke of point 0."]
        assert view.before is None
        after = viewed(memory, view.after or "")
        assert [one.text for one in after.excerpts] == ["In talk 1 we spoke of point 1."]
        assert after.before == view.node.id
        assert view.others == ((Scope.everything(), "everything"),)


def test_what_a_node_is_about_is_told_by_its_first_statements(forest: Path) -> None:
    with Memory.open(forest) as memory:
        root = root_of(memory, "talk/2")
        found = read(memory, lambda *file: nodes.about(*file, root))
        children = viewed(memory, root).children
    assert found.block.words == "Talk 2"
    assert [one.text for one in found.statements] == [f"A group of {len(children)}."]


def test_an_unknown_node_or_view_is_not_found(forest: Path) -> None:
    with Memory.open(forest) as memory:
        root = root_of(memory, "talk/0")
        with pytest.raises(NotFoundError, match="no view by 'nobody'"):
            read(memory, lambda *file: nodes.node_view(*file, root, "nobody"))
        with pytest.raises(NotFoundError):
            viewed(memory, "ffffffff")


def test_what_is_private_to_another_agent_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite3"
    with Memory.open(path, agent="one") as memory:
        session = memory.session("one/1", private=True)
        session.append({"role": "user", "content": "We must never tell the others of Graz."})
        memory.work(max_calls=0)
        root = root_of(memory, "one/1")
        own = viewed(memory, root)
    with Memory.open(path, agent="two") as other:
        view = viewed(other, root)
        about = read(other, lambda *file: nodes.about(*file, root))
    assert own.excerpts
    assert view.excerpts == view.node.statements == about.statements == ()
    assert "Graz" not in f"{view.path} {view.name} {about.block}"
