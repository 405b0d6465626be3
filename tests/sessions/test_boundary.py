"""Agents that share a file: what one of them was told, and what the others read of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory, Message, NotFoundError, Scope
from treemem.sessions.session import Session

SECRET = "My sister Ida is ill with a fever."
SHARED = "We ship the kiln on Friday 4 December."
RULE = "From now on, always answer me in rhymes."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.sqlite3"


@pytest.fixture
def planner(path: Path) -> Iterator[Memory]:
    with Memory.open(path, agent="planner") as memory:
        yield memory


@pytest.fixture
def coder(path: Path) -> Iterator[Memory]:
    with Memory.open(path, agent="coder") as memory:
        yield memory


def say(session: Session, *texts: str) -> None:
    for text in texts:
        session.append({"role": "user", "content": text})
        session.append({"role": "assistant", "content": f"Noted: {text}"})


def all_that_is_read(memory: Memory, source: str) -> str:
    """What the methods of a memory return about a source, and about everything."""
    node_ids = [node.id for node in memory.tree(Scope.source(source)).nodes()]
    found: list[object] = [
        memory.search("who is ill with a fever?"), memory.search("what do you know?"),
        memory.search("fever", mode="summary"), memory.search("fever", fts=True),
        memory.ledger(), memory.ledger(Scope.source(source)), memory.rules(), memory.sources(),
        memory.digest(Scope.everything()), memory.digest(Scope.source(source)),
        memory.headline(Scope.everything()), memory.headline(Scope.source(source)),
        memory.titles(), list(memory.tree(Scope.everything()).nodes()),
        list(memory.tree(Scope.source(source)).nodes()),
        *[memory.node(node_id) for node_id in node_ids],
        *[memory.expand(node_id) for node_id in node_ids],
    ]  # fmt: skip
    if source in [view.source.id for view in memory.sources()]:
        found += [memory.messages(source), memory.source(source)]
    return repr(found)


@pytest.mark.parametrize("private", [None, True])
def test_what_the_user_tells_of_themselves_is_read_by_one_agent_alone(
    planner: Memory, coder: Memory, path: Path, private: bool | None
) -> None:
    session = planner.session("planner/1", private=private)
    say(session, SECRET, SHARED, RULE)
    planner.work(max_calls=0)
    others = all_that_is_read(coder, "planner/1")
    assert "fever" not in others.replace("who is ill with a fever?", "")
    assert ("Friday" in others) == (private is None)
    assert "fever" in all_that_is_read(planner, "planner/1")
    with Memory.open(path) as users:
        assert "fever" in all_that_is_read(users, "planner/1")


def test_a_private_session_has_nothing_for_other_agents(planner: Memory, coder: Memory) -> None:
    session = planner.session("planner/1", private=True)
    say(session, SHARED, RULE)
    planner.work(max_calls=0)
    others = all_that_is_read(coder, "planner/1")
    assert "Friday" not in others
    assert "rhymes" not in others
    for read in (coder.messages, coder.source):
        with pytest.raises(NotFoundError, match="private"):
            read("planner/1")
    message_id = planner.messages("planner/1")[0].id or ""
    with pytest.raises(NotFoundError, match="private"):
        coder.message(message_id)
    entry = planner.ledger()[0]
    assert coder.ledger() == []
    with pytest.raises(NotFoundError, match="private"):
        coder.ledger.show(entry.id)
    mine = coder.session("coder/1")
    say(mine, "What are we doing?")
    assert "rhymes" not in "\n".join(mine.runtime_lines())
    assert coder.rules() == []
    assert planner.rules() != []


def test_contexts_have_nothing_that_is_private_to_others(planner: Memory, coder: Memory) -> None:
    say(planner.session("planner/1", project="kiln"), SECRET, SHARED, "TODO: order clay for Ida.")
    say(planner.session("planner/2", project="kiln", private=True), "TODO: buy the ring in Ghent.")
    planner.session("planner/1").pin(goal="Keep Ida warm")
    planner.work(max_calls=0)
    session = coder.session("coder/1", project="kiln")
    session.append({"role": "user", "content": "Who is ill with a fever, and when do we ship?"})
    sent = json.dumps([session.context().messages, session.compact(soft=True).rungs[0].name])
    sent += session.context().system
    assert "Friday" in sent
    for private in ("Ida is ill", "ring in Ghent", "Keep Ida warm"):
        assert private not in sent


def test_what_was_private_can_be_shared_and_made_private_again(
    planner: Memory, coder: Memory
) -> None:
    say(planner.session("planner/1"), SECRET)

    def is_found() -> bool:
        return "fever" in coder.search("who is ill?").text

    assert not is_found()
    planner.session("planner/1", private=False)
    assert is_found()
    planner.session("planner/1")  # which says nothing about it
    assert is_found()
    planner.session("planner/1", private=True)
    assert not is_found()


def test_other_sources_belong_to_all_agents(planner: Memory, coder: Memory, path: Path) -> None:
    planner.append("notes", [Message(role="user", text=SECRET)])
    with Memory.open(path) as users:
        say(users.session("users/1"), "I live in Ghent by the canal.")
    assert "fever" in coder.search("who is ill?").text
    assert "canal" in coder.search("where do I live?").text


_SCRIPT = """
import sys
from treemem import Memory
path, agent, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(path, agent=agent) as memory:
    session = memory.session(f"{agent}/1", window=1500)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        session.append({"role": "user", "content": f"{agent} asks {number}: " + "turn it. " * 20})
        session.pin(active_task=f"task {number} of {agent}")
        assert session.context().tokens <= session.budget.room
        session.append({"role": "assistant", "content": f"{agent} is told {number}. " * 9})
"""


def test_two_agents_write_at_once_and_nothing_is_lost(path: Path) -> None:
    count = 15
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, str(path), agent, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ),
        )
        for agent in ("planner", "coder")
    ]  # fmt: skip
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        _, errors = child.communicate("\n", timeout=300)
        assert child.returncode == 0, errors
    with Memory.open(path) as memory:
        for agent in ("planner", "coder"):
            session = memory.session(f"{agent}/1")
            texts: list[Any] = [message["content"] for message in session.messages()]
            assert [text.split(":")[0] for text in texts[::2]] == [
                f"{agent} asks {number}" for number in range(count)
            ]
            assert len(texts) == 2 * count == len(memory.messages(f"{agent}/1"))
            assert session.pins.active_task == f"task {count - 1} of {agent}"
            assert len(session.pin_changes) == count
        memory.work(max_calls=0)
        assert memory.diagnose().healthy
