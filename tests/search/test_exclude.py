"""A search leaves messages out if all of their words have an excluded origin."""

from __future__ import annotations

import pytest

from tests.helpers.command_line import run, run_json
from treemem import ORIGINS, Memory, Message, Origin, UsageError
from treemem.search import candidates, history
from treemem.types import Part

SAID = (
    Message("user", "Where is the ledger of the mill?"),
    Message("user", "> The ledger of the mill is red."),
    Message("user", "> The ledger of the mill is blue.\nIs that the ledger?"),
    Message("assistant", "The ledger of the mill is in the barn."),
    Message("tool", "ledger mill barn", parts=(Part("tool_result", 0, 16, "ls"),)),
    Message("other", "I have the ledger of the mill.", author="Ana"),
)


def texts(memory: Memory, *exclude: Origin, query: str = "ledger of the mill") -> set[str]:
    found = memory.search(query, exclude=exclude)
    return {message.text for passage in found.passages for message in passage.messages}


@pytest.fixture(params=[3_000, 3])
def filled(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Memory:
    monkeypatch.setattr(candidates, "FIELD_MAX", request.param)
    memory.append("chat", SAID)
    memory.work(max_calls=0)
    return memory


@pytest.mark.parametrize(
    ("exclude", "left_out"),
    [
        ((), ()), (("pasted",), (1,)), (("assistant",), (3,)), (("result",), (4,)),
        (("person",), (5,)), (("pasted", "typed"), (0, 1, 2)), (("tool", "document"), ()),
        (ORIGINS, range(6)),
    ],
)  # fmt: skip
def test_messages_of_excluded_words_only_are_left_out(
    filled: Memory, exclude: tuple[Origin, ...], left_out: tuple[int, ...]
) -> None:
    expected = {message.text for at, message in enumerate(SAID) if at not in left_out}
    assert texts(filled, *exclude) == expected


def test_hits_that_are_left_out_do_not_displace_others(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 3)
    monkeypatch.setattr(history, "HITS_MAX", 4)
    pasted = [Message("user", f"> ledger mill {number}") for number in range(8)]
    memory.append("chat", [*pasted, Message("assistant", "The ledger of the mill is in the barn.")])
    memory.work(max_calls=0)
    assert texts(memory, "pasted") == {"The ledger of the mill is in the barn."}


def test_statements_of_excluded_words_are_left_out(memory: Memory) -> None:
    memory.append("chat", [
        Message("user", "> We decided to keep the ledger in the mill.\nIs that right?"),
        Message("assistant", "We decided to keep the ledger in the barn."),
    ])  # fmt: skip
    memory.work(max_calls=0)
    found = memory.search("what did we decide?", mode="summary", exclude=["pasted"])
    assert "ledger in the barn" in found.text
    assert "ledger in the mill" not in found.text


def test_an_unknown_origin_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="'stolen' cannot be excluded; use typed, assistant"):
        memory.search("ledger", exclude=["stolen"])  # type: ignore[list-item]


def test_the_command_line_excludes_origins_by_a_list_and_shows_them() -> None:
    with Memory.open() as memory:
        memory.append("chat", SAID)
        memory.work(max_calls=0)
    passages = run_json("search", "ledger mill", "--exclude", "pasted, result")["passages"]
    messages = [message for passage in passages for message in passage["messages"]]
    assert [message["origin"] for message in messages] == ["typed", "typed", "assistant", "person"]
    refused = run("search", "ledger", "--exclude", "pasted,stolen")
    assert refused.exit_code == 2
    assert "'stolen' is not an origin" in refused.stderr
