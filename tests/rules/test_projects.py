"""The project that a place belongs to."""

from __future__ import annotations

import pytest

from treemem import Memory, Message
from treemem.rules.projects import home_at, homes
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


def test_an_agent_belongs_to_the_project_of_the_session_that_started_it(
    memory: Memory, database: Database
) -> None:
    memory.append("chat/1", [Message(text="Hello.")])
    given = (
        Source("a", "x", project="/w/shop"), Source("a/agent", "x", parent_id="a"),
        Source("b/agent", "x", parent_id="b"),
    )  # fmt: skip
    with database.transaction():
        for source in given:
            sources.ensure(database, source, 0)
    assert sorted(homes(database)) == ["/w/shop", "b", "chat/1"]
    assert homes(database, ["a/agent"]) == ["/w/shop"]
    assert homes(database, ["chat/1", "nobody"]) == ["chat/1"]
