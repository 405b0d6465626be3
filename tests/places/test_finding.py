"""Every kind of id leads to a place: of a message, a node, a source or a session."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import DEMO
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, Scope

SESSION = "69cb1603-6279-4281-ab6f-b4eac46a4057"
SOURCE = f"claude-code/{SESSION}"


def uuid_in(line: int | None) -> str:
    assert line is not None
    return str(json.loads(DEMO.read_text().split("\n")[line - 1])["uuid"])


def test_a_message_is_found_by_the_beginning_of_its_id(demo: Memory) -> None:
    for message in demo.messages(SOURCE)[::20]:
        location = demo.places.find(str(message.id)[:12].upper())
        assert (location.source_id, location.message_id) == (SOURCE, message.id)
        assert uuid_in(location.place.line) == message.external_id


def test_a_node_stands_for_its_first_message(demo: Memory) -> None:
    nodes = list(demo.tree(Scope.source(SOURCE)).nodes())
    assert max(node.level for node in nodes) > 1
    first = demo.messages(SOURCE)[0]
    assert demo.places.find(nodes[0].id).message_id == first.id
    for leaf in (node for node in nodes if node.is_leaf):
        (message, *_) = demo.expand(leaf.id)
        assert demo.places.find(leaf.id[:16]).message_id == message.id


@pytest.mark.parametrize(
    "name", [SOURCE, SESSION, SESSION[:8], f" {SESSION[:13]} ", "latest", "nasty one"]
)
def test_a_source_is_found_by_a_part_of_its_id(demo: Memory, name: str) -> None:
    location = demo.places.find(name)
    assert (location.source_id, location.place.path) == (SOURCE, str(DEMO))
    assert location.place.resume is not None


def test_a_session_stands_for_its_first_message(memory: Memory) -> None:
    first, second = memory.append(
        "chat/1", [Message(text="a", session="spring-1"), Message(text="b", session="summer-1")]
    )
    assert memory.places.find("spring-1").message_id == first
    assert memory.places.find("summ").message_id == second


def test_a_part_of_a_session_and_its_agents_is_the_session(memory: Memory, tmp_path: Path) -> None:
    for name, agent in (("main", None), ("agent", "a1b2")):
        record = {"type": "user", "uuid": f"{name}-1", "sessionId": SESSION, "cwd": "/w",
                  "timestamp": "2026-01-01T10:00:00Z", "isSidechain": agent is not None,
                  "message": {"role": "user", "content": f"Feed the {name}."}}  # fmt: skip
        if agent is not None:
            record["agentId"] = agent
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    memory.ingest([tmp_path])
    assert len(memory.sources()) == 2
    for name in (SESSION, SESSION[:8], "claude-code/69cb"):
        assert memory.places.find(name).source_id == SOURCE


def test_a_message_of_several_sources_has_the_place_of_the_one_that_was_found(
    memory: Memory,
) -> None:
    same = Message(text="The walrus swims.", external_id="m1", unique_id=True)
    for source in ("chat/1", "chat/2"):
        (message_id,) = memory.append(source, [same])
    assert memory.places.find(message_id).source_id == "chat/1"
    for source in ("chat/1", "chat/2"):
        memory.places.remember(memory.search("walrus", scope=Scope.source(source)).passages)
        assert memory.places.find("1").source_id == source


def test_a_place_without_a_log_or_a_tool_is_an_error_with_the_way_out(memory: Memory) -> None:
    memory.append("chat/1", [Message(text="a")])
    location = memory.places.find("chat/1")
    with pytest.raises(NotFoundError, match=r"memory.messages\('chat/1'\)"):
        memory.places.log_path(location)
    with pytest.raises(NotFoundError, match="is from api, which has no command"):
        memory.places.resume_command(location)


def test_a_name_that_fits_nothing_or_several_is_refused(demo: Memory) -> None:
    demo.append("chat/one", [Message(text="a")])
    demo.append("chat/two", [Message(text="b")])
    with pytest.raises(AmbiguousIdError, match=r"fits 2 sources(.|\n)*chat/two(.|\n)*chat/one"):
        demo.places.find("chat")
    for name in ("", "nothing", "ffffffffffff", "12a"):
        message = f"There is no message, node, source or session {name!r}."
        with pytest.raises(NotFoundError, match=re.escape(message)):
            demo.places.find(name)
    with pytest.raises(
        NotFoundError, match=r"Similar: chat/one, chat/two\. See: memory\.sources\(\)"
    ):
        demo.places.find("chat/onee")
