"""The project that a place belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.rules.projects import admitted, home_at, homes
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Source

KNOWN = ("/w/shop", "/w/shop/web", "C:\\work\\mill", "chat/1")


@pytest.mark.parametrize(
    ("place", "home"),
    [
        ("/w/shop", "/w/shop"), ("/w/shop/", "/w/shop"), ("/w/shop/src", "/w/shop"),
        ("/w/shop/web/css", "/w/shop/web"), ("/w/shopping", None), ("/w", None), ("", None),
        ("C:\\work\\mill\\src", "C:\\work\\mill"), ("C:/work/mill", "C:\\work\\mill"),
        ("chat/1", "chat/1"),
    ],
)  # fmt: skip
def test_a_folder_belongs_to_the_nearest_project_above_it(place: str, home: str | None) -> None:
    assert home_at(KNOWN, place) == home


def test_a_name_that_no_folder_can_have_is_none() -> None:
    for wanted in ("x" * 5_000, "\0", "~" + "x" * 5_000):
        assert admitted(["/w/shop"], wanted) == []


def test_an_agent_belongs_to_the_project_of_the_session_that_started_it(
    memory: Memory, database: Database
) -> None:
    memory.append("chat/1", [Message(text="Hello.")])
    given = (
        Source("a", "x", project="/w/shop"), Source("a/agent", "x", parent_id="a"),
        Source("b/agent", "x", parent_id="b"),
    )  # fmt: skip
    with database.transaction():
        seqs = {source.id: sources.ensure(database, source, 0) for source in given}
    assert sorted(homes(database)) == ["/w/shop", "b", "chat/1"]
    assert homes(database, [seqs["a/agent"]]) == ["/w/shop"]
    assert homes(database, [1, 99]) == ["chat/1"]


@pytest.mark.parametrize(("wanted", "admits"), [
    ("shop", ["/w/shop", "/w/shop/api"]),
    ("SHOP", ["/w/shop", "/w/shop/api"]),
    ("work", ["/w/workshop"]),
    ("w/shop", ["/w/shop", "/w/shop/api"]),
    ("/w/shop/", ["/w/shop", "/w/shop/api"]),
    ("/w/shop/docs/deep", ["/w/shop"]),
    ("/w", ["/w/shop", "/w/shop/api", "/w/workshop"]),
    ("/v", []),
    ("notes", ["notes", "git@host:ana/notes.git"]),
    ("bank", []),
    ("", []),
    (" ", []),
    ("a\0b", []),
])  # fmt: skip
def test_a_filter_admits_projects_by_folder_by_name_or_by_a_part_of_the_path(
    wanted: str, admits: list[str]
) -> None:
    known = ["/w/shop", "/w/shop/api", "/w/workshop", "git@host:ana/notes.git", "notes"]
    assert sorted(admitted(known, wanted)) == sorted(admits)


def test_a_dot_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shop" / "src"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder.parent)
    known = [str(folder.parent), str(tmp_path / "bank")]
    monkeypatch.chdir(folder)
    assert admitted(known, ".") == [str(folder.parent)]
    monkeypatch.chdir(tmp_path)
    assert admitted(known, ".") == known
    assert admitted(known, "./link") == [str(folder.parent)]
    assert admitted(known, "link") == [str(folder.parent)]
