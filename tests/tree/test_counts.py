"""Every view has the same number of messages for the same thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import themes
from tests.helpers.command_line import run
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.shapes import with_small_leaves
from treemem import Memory, Message, Scope

BREAD = themes.THEMES["bread"]
LONG = "\n\n".join(BREAD * 4)


@pytest.fixture
def filled(memory: Memory, tmp_path: Path) -> Memory:
    """Sources with a message over several leaves, messages that two share, a branch that was left,
    and a topic."""
    shared = [Message(text=text, external_id=f"{number:032x}", unique_id=True)
              for number, text in enumerate(BREAD)]  # fmt: skip
    memory.append("chat/1", [Message(text=prose(1, 3)), Message(text=LONG), *shared])
    memory.append("chat/2", [*shared, Message(text=LONG, author="Ana"), Message(text=prose(2, 3))])
    session = ClaudeSession("one")
    session.say(prose(50, 6), prose(51, 6), prose(52, 6))
    session.go_back_to(0)
    session.say(prose(53, 6))
    memory.ingest(session.write(tmp_path))
    memory.work(max_calls=0)
    return memory


@with_small_leaves
def test_a_message_counts_once_in_every_view(filled: Memory) -> None:
    stretches = 0
    for view in filled.sources():
        scope = Scope.source(view.source.id)
        first, *others = filled.tree(scope).nodes()
        assert first.message_count == filled.node(first.id).message_count == view.messages
        assert f" {view.messages} " in filled.headline(scope).replace(",", " ")
        stretches += sum(node.message_count for node in others if node.is_leaf)
        for node in others:
            assert node.message_count == filled.node(node.id).message_count > 0
    assert stretches > sum(view.messages for view in filled.sources()), "none is in two leaves"
    (topic, *_) = filled.topics.list()
    tree = filled.tree(Scope.topic(topic.id))
    assert next(tree.nodes()).message_count == topic.messages
    status = filled.status()
    assert status.abandoned == 2
    everything = next(filled.tree(Scope.everything()).nodes())
    assert everything.message_count == status.messages - status.abandoned
    assert everything.message_count < sum(view.messages for view in filled.sources())


@with_small_leaves
def test_status_says_how_many_messages_no_tree_has(filled: Memory) -> None:
    shown = run("--db", str(filled.path), "status").stdout
    total = filled.status().messages
    assert re.search(rf"{total} messages \(2 abandoned or replaced, in no tree\)", shown)
