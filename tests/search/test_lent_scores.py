"""What the nodes above a message lend it, what a reranker adds, and who lets go of a tail last."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.helpers.logs import prose
from treemem import Memory, Message
from treemem.topics import assignment
from treemem.topics import store as topic_store
from treemem.worker import collection_jobs


def tell(memory: Memory, source: str, *texts: str) -> None:
    memory.append(source, [Message(text=text) for text in texts])


def parts_of(memory: Memory, query: str, **tuning: float) -> list[dict[str, float]]:
    found = memory.search(query, tuning=tuning)
    return [dict(each.parts) for passage in found.passages for each in passage.explanation]


@pytest.mark.parametrize("name", ["leaf", "source", "topic", "together"])
def test_a_weight_lets_a_message_share_in_what_stands_below_a_node(
    memory: Memory, name: str
) -> None:
    for number in range(9):
        about = "The walrus sleeps on the ice." if number < 3 else prose(number, 2)
        tell(memory, f"s{number}", about, prose(50 + number, 2), "The walrus is a large animal.")
    memory.work(max_calls=0)
    tails = [seq for (seq,) in memory._database.rows("SELECT tail_seq FROM tree WHERE tail_seq")]
    with memory._database.transaction():
        topic_id = topic_store.create(memory._database, ["walrus"])
        topic_store.add(memory._database, topic_id, tails[:3])
    assert all(name not in parts for parts in parts_of(memory, "walrus ice"))
    lent = [parts[name] for parts in parts_of(memory, "walrus ice", **{name: 2.0}) if name in parts]
    assert lent
    assert max(lent) > 0 > min(lent)


def test_a_reranker_decides_what_is_told_and_is_shown(memory: Memory) -> None:
    tell(memory, "s", *(f"walrus {prose(number, 3)}" for number in range(12)))
    seen: list[Sequence[str]] = []

    def last_first(query: str, texts: Sequence[str]) -> list[float]:
        assert query == "walrus"
        seen.append(texts)
        return [100.0 if text == wanted else 0.0 for text in texts]

    wanted = f"walrus {prose(11, 3)}"
    found = memory.search("walrus", budget_tokens=90, rerank=last_first)
    assert [message.text for passage in found.passages for message in passage.messages] == [wanted]
    assert dict(found.passages[0].explanation[0].parts)["rerank"] > 0
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("answer", "said"), [([1.0], "1 scores for 2 texts"), (["x", "y"], "could not convert")]
)
def test_a_reranker_that_fails_is_named_and_costs_nothing_else(
    memory: Memory, answer: list[float], said: str
) -> None:
    tell(memory, "s", "walrus one", "walrus two")
    plain = memory.search("walrus")
    found = memory.search("walrus", rerank=lambda _query, _texts: answer)
    assert found.text == plain.text
    assert any(said in missing for missing in found.missing)


def test_a_replaced_tail_goes_with_its_last_topic(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tree over everything has let go of it before."""
    tell(memory, "s", prose(1, 3))
    memory.work(max_calls=0)
    database = memory._database
    old = database.value("SELECT tail_seq FROM tree WHERE scope = 'source'")
    with database.transaction():
        topic_store.add(database, topic_store.create(database, ["old"]), [old])
    monkeypatch.setattr(collection_jobs._Work, "topics", lambda _: None)
    monkeypatch.setattr(collection_jobs, "ROOT_INTERVAL_MS", 0)
    tell(memory, "s", prose(2, 3))
    memory.work(max_calls=0)
    with database.transaction():
        collection_jobs.admit(database, memory._clock(), at_once=True)
    memory.work(max_calls=0)
    assert database.value("SELECT count(*) FROM node WHERE seq = ?", (old,)) == 1
    assignment.place(database)
    assert database.value("SELECT count(*) FROM node WHERE seq = ?", (old,)) == 0
