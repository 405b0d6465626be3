"""Tests treemem.digest.compose."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import Digest, Memory, Message, Scope
from treemem.digest.compose import CEILINGS, left_out
from treemem.text.tokens import count_tokens
from treemem.types import TreeShape

SMALL = TreeShape(leaf_tokens_max=200)


def fill(memory: Memory, source: str, count: int) -> None:
    memory.append(source, [
        Message(text=f"The gate of field {n} must never stay open at night. We decided to paint "
                     f"fence {n} blue. I still need to mend wall {n}. Herd {n} has {n + 3} goats "
                     f"in the upper barn beside the mill.")
        for n in range(count)
    ])  # fmt: skip
    memory.work(max_calls=0)


def tokens(digest: Digest) -> int:
    return sum(count_tokens(one.text) for one in (*digest.gists, *digest.entries))


@pytest.mark.parametrize("count", [1, 10, 120])
def test_a_digest_has_a_ceiling_that_does_not_grow(tmp_path: Path, count: int) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        fill(memory, "farm", count)
        digest = memory.digest(Scope.source("farm"))
        assert 0 < tokens(digest) <= CEILINGS["source"]
        everything = memory.digest(Scope.everything())
        assert tokens(everything) <= CEILINGS["everything"]


def test_what_a_digest_leaves_out_is_counted(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", shape=SMALL) as memory:
        fill(memory, "farm", 60)
        digest = memory.digest(Scope.source("farm"))
        held = memory.ledger.count(Scope.source("farm"))
        assert dict(digest.counts) == held
        for kind, count in left_out(digest).items():
            shown = sum(entry.kind == kind for entry in digest.entries)
            assert count == dict(held)[kind] - shown  # type: ignore[index]


def test_a_closed_point_leaves_the_digest_at_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        point = "I still need to order the filter for the pump."
        memory.append("a", [Message(text=point), Message(text="The goats ate the hay. " * 30)])
        memory.work(max_calls=0)
        assert point in {entry.text for entry in memory.digest(Scope.source("a")).entries}
        memory.ledger.close(memory.ledger(kinds=["open"])[0].id)
        assert point not in {entry.text for entry in memory.digest(Scope.source("a")).entries}


@pytest.mark.parametrize("is_agent", [False, True])
def test_what_an_assistant_knows_is_no_fact_of_a_chat_but_an_agents_work_is(
    tmp_path: Path, is_agent: bool
) -> None:
    told = "The old lighthouse of Savudrija was built in 1818 and is 36 metres high."
    own = "My uncle kept the lighthouse of Savudrija from 1961 to 1979 with 2 helpers."
    more = [
        "Our boat needs 40 litres of diesel from Piran to Venice.",
        "The museum in Pula opens at 9 and costs 12 euros.",
        "My cousin Ivo paints 3 walls of the kitchen on Monday.",
    ]
    calls = [
        Message("assistant", "[tool use: Bash] ls", tool_use_ids=("t1",)),
        Message("tool", "notes.txt", tool_result_ids=("t1",)),
    ]
    with Memory.open(tmp_path / "m.db") as memory:
        said = [Message("assistant", told), Message("user", own), *(calls if is_agent else ())]
        memory.append("chat", [*said, *(Message("user", text) for text in more)])
        memory.work(max_calls=0)
        assert {entry.text for entry in memory.ledger(kinds=["fact"])} >= {told, own}
        shown = memory.digest(Scope.source("chat")).entries
        assert is_agent == any(entry.origin == "assistant" for entry in shown)
        assert any(entry.origin == "typed" for entry in shown)
