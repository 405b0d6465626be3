"""The store does what LangGraph's own in-memory store does, and what is put in is remembered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langgraph.store", reason="needs the extra langgraph")

from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from tests.helpers.secret_samples import ALNUM
from tests.integrations.killing import acknowledged_before_kill
from treemem import Memory, UsageError
from treemem.integrations.langgraph import TreememStore

TOKEN = "ghp_" + ALNUM
ANN, BOB = ("users", "ann"), ("users", "bob")


@pytest.fixture
def store(memory: Memory) -> TreememStore:
    return TreememStore(memory)


def texts(memory: Memory, query: str) -> list[str]:
    return [one.text for passage in memory.search(query).passages for one in passage.messages]


def fill(store: Any) -> None:
    store.put(ANN, "1", {"text": "Ann likes green tea.", "kind": "taste", "score": 4})
    store.put(ANN, "2", {"text": "Ann lives in Oslo.", "kind": "fact", "score": 2, "at": [1, 2]})
    store.put(BOB, "1", {"text": "Bob keeps two goats.", "kind": "fact", "score": 5})
    store.put(("docs", "v1"), "a", {"title": "Pumps", "nested": {"by": "Ann"}})
    store.put(("docs", "v2"), "b", {"title": "Valves"})
    store.put(("docs", "v2", "draft"), "c", {"title": "Pipes"})


SEARCHES: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("users",), {}),
    ((), {}),
    (ANN, {"filter": {"kind": "fact"}}),
    (("users",), {"filter": {"score": {"$gt": 2, "$lte": 4}}}),
    (("users",), {"filter": {"kind": {"$ne": "fact"}}}),
    (("docs",), {"filter": {"nested": {"by": "Ann"}}}),
    (("users",), {"filter": {"at": [1, 2]}}),
    (("users",), {"limit": 1, "offset": 1}),
    (("nobody",), {}),
]


@pytest.mark.parametrize(("prefix", "arguments"), SEARCHES)
def test_a_search_without_a_query_finds_what_the_store_of_langgraph_finds(
    store: TreememStore, prefix: tuple[str, ...], arguments: dict[str, Any]
) -> None:
    theirs = InMemoryStore()
    fill(store)
    fill(theirs)

    def found(one: Any) -> list[tuple[Any, ...]]:
        items = one.search(prefix, **arguments)
        return sorted((item.namespace, item.key, str(item.value)) for item in items)

    if "limit" in arguments:
        assert len(found(store)) == len(found(theirs)) == 1
    else:
        assert found(store) == found(theirs)


LISTS: list[dict[str, Any]] = [
    {}, {"prefix": ("docs",)}, {"suffix": ("draft",)}, {"prefix": ("docs", "*")},
    {"max_depth": 1}, {"max_depth": 2, "limit": 2, "offset": 1},
    {"prefix": ("docs",), "suffix": ("*", "draft")},
]  # fmt: skip


@pytest.mark.parametrize("arguments", LISTS)
def test_namespaces_are_listed_as_the_store_of_langgraph_lists_them(
    store: TreememStore, arguments: dict[str, Any]
) -> None:
    theirs = InMemoryStore()
    fill(store)
    fill(theirs)
    assert store.list_namespaces(**arguments) == theirs.list_namespaces(**arguments)


def test_an_item_is_read_as_it_was_last_put(store: TreememStore) -> None:
    assert store.get(ANN, "1") is None
    store.put(ANN, "1", {"text": "Ann likes tea.", "n": None})
    first = store.get(ANN, "1")
    store.put(ANN, "1", {"text": "Ann likes coffee."})
    second = store.get(ANN, "1")
    assert first is not None
    assert second is not None
    assert (first.value, second.value) == (
        {"text": "Ann likes tea.", "n": None}, {"text": "Ann likes coffee."},
    )  # fmt: skip
    assert second.created_at == first.created_at <= second.updated_at
    assert (second.namespace, second.key) == (ANN, "1")


def test_a_batch_reads_the_store_as_it_was_before_its_writes(store: TreememStore) -> None:
    store.put(ANN, "1", {"text": "old"})
    results = store.batch([
        PutOp(ANN, "1", {"text": "new"}), GetOp(ANN, "1"), SearchOp(ANN),
        PutOp(ANN, "1", {"text": "newest"}),
    ])  # fmt: skip
    item: Any = results[1]
    assert (results[0], item.value, results[3]) == (None, {"text": "old"}, None)
    last = store.get(ANN, "1")
    assert last is not None
    assert last.value == {"text": "newest"}


def test_a_batch_with_a_value_that_is_no_json_stores_nothing(
    store: TreememStore, memory: Memory
) -> None:
    with pytest.raises(UsageError, match="no JSON"):
        store.batch([PutOp(ANN, "1", {"text": "one"}), PutOp(ANN, "2", {"text": object()})])
    assert store.search(ANN) == []
    assert memory.is_empty


def test_the_async_methods_do_the_same(store: TreememStore) -> None:
    async def run() -> list[str]:
        await asyncio.gather(*(store.aput(ANN, str(n), {"text": f"note {n}"}) for n in range(9)))
        await store.adelete(ANN, "0")
        assert await store.aget(ANN, "0") is None
        assert await store.alist_namespaces() == [ANN]
        return [item.key for item in await store.asearch(ANN)]

    assert sorted(asyncio.run(run())) == [str(n) for n in range(1, 9)]


def test_a_query_finds_items_by_their_words_best_first(store: TreememStore) -> None:
    fill(store)
    (found,) = store.search(("users",), query="what tea does Ann like?", limit=1)
    assert (found.namespace, found.key) == (ANN, "1")
    assert found.score is not None
    keys = [item.key for item in store.search(BOB, query="goats")]
    assert keys == ["1"]
    assert store.search(ANN, query="goats") == []
    assert store.search(("users",), query="goats", filter={"kind": "taste"}) == []
    assert store.search(("nobody",), query="goats") == []


def test_a_replaced_value_is_found_no_more_and_one_that_comes_back_is(
    store: TreememStore, memory: Memory
) -> None:
    tea, coffee = {"text": "Ann likes green tea."}, {"text": "Ann likes black coffee."}
    for value, other in ((tea, coffee), (coffee, tea), (tea, coffee)):
        store.put(ANN, "drink", value)
        memory.work(max_calls=0)
        assert texts(memory, "what does Ann like, tea or coffee?") == [value["text"]]
        (item,) = store.search(ANN, query="tea or coffee")
        assert item.value == value
        assert other["text"] not in memory.search("tea coffee").text
    assert memory.diagnose().healthy


def test_what_is_deleted_is_in_no_search_and_its_words_stay_in_the_file(
    store: TreememStore, memory: Memory
) -> None:
    store.put(ANN, "1", {"text": "Ann likes green tea."})
    memory.work(max_calls=0)
    store.delete(ANN, "1")
    store.delete(ANN, "never there")
    memory.work(max_calls=0)
    assert store.get(ANN, "1") is None
    assert store.search(ANN, query="tea") == []
    assert store.list_namespaces() == []
    assert texts(memory, "green tea") == []
    kept = memory.search("green tea", include=["abandoned"])
    assert "Ann likes green tea." in kept.text
    assert memory.diagnose().healthy


def test_a_scrubbed_item_can_be_deleted(memory: Memory) -> None:
    store = TreememStore(memory, redact=False)
    store.put(ANN, "1", {"text": f"Ann's token is {TOKEN} for the pump."})
    memory.scrub()
    item = store.get(ANN, "1")
    assert item is not None
    assert TOKEN not in str(item.value)
    store.delete(ANN, "1")
    assert texts(memory, "token for the pump") == []


def test_only_indexed_words_are_remembered(store: TreememStore, memory: Memory) -> None:
    value = {"text": "Ann likes tea.", "private": "She sings badly."}
    store.put(ANN, "1", value, index=["text"])
    store.put(ANN, "2", {"text": "Ann was in Bergen."}, index=False)
    assert texts(memory, "Ann tea sings Bergen") == ["Ann likes tea."]
    store.delete(ANN, "2")
    assert b"Bergen" not in memory.path.read_bytes()
    unindexed = TreememStore(memory, index=False)
    unindexed.put(BOB, "1", {"text": "Bob has a boat."})
    assert texts(memory, "Bob boat") == []
    item = unindexed.get(BOB, "1")
    assert item is not None
    assert item.value == {"text": "Bob has a boat."}


def test_no_words_of_an_item_become_a_rule(store: TreememStore, memory: Memory) -> None:
    store.put(ANN, "1", {"text": "Always water the beans on Tuesdays. Never open the east gate."})
    memory.work(max_calls=0)
    (message,) = memory.messages("langgraph-store/users/ann")
    assert (message.origin, message.speaker) == ("agent", "store")
    assert message.sent_at is not None
    assert memory.rules() == []
    assert memory.search("beans and the gate").standing == ()


def test_secrets_are_stored_neither_in_a_value_nor_in_its_words(
    store: TreememStore, memory: Memory
) -> None:
    store.put(ANN, "1", {"text": f"Ann's token is {TOKEN}."})
    item = store.get(ANN, "1")
    assert item is not None
    assert "[redacted: github-token" in item.value["text"]
    beside = memory.path.parent.glob(f"{memory.path.name}*")
    assert all(TOKEN.encode() not in file.read_bytes() for file in beside)


def test_a_namespace_has_labels(store: TreememStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "1", {})
    store.put(ANN, "1", {"text": "x"})
    with pytest.raises(UsageError, match=r"\$like"):
        store.search(ANN, filter={"text": {"$like": "x"}})


WRITER = """
import sys
from treemem import Memory
from treemem.integrations.langgraph import TreememStore
store = TreememStore(Memory.open(sys.argv[1]))
for number in range(10_000):
    store.put(("notes",), f"{number:05}", {"text": f"Crate {number} has pears."})
    print(number, flush=True)
"""


def test_a_killed_process_loses_nothing_that_a_put_returned_for(memory: Memory) -> None:
    said = acknowledged_before_kill(WRITER, str(memory.path), lines=25)
    store = TreememStore(memory)
    items = store.search(("notes",), limit=10_000)
    assert {int(item.key) for item in items} >= set(map(int, said))
    assert len(items) <= len(said) + 1 + 50
    (found,) = store.search(("notes",), query="what is in crate 17?", limit=1)
    assert found.key == "00017"
    assert len(memory.messages("langgraph-store/notes")) == len(items)


def test_namespaces_with_slashes_in_their_names_share_nothing(memory: Memory) -> None:
    store = TreememStore(memory)
    store.put(("users/ann",), "diet", {"text": "Ann eats no nuts."})
    store.put(("users", "ann"), "diet", {"text": "Ann eats no nuts."})
    store.delete(("users", "ann"), "diet")
    assert [one.namespace for one in store.search((), query="nuts")] == [("users/ann",)]
