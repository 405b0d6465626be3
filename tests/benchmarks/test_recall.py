"""The recall and latency benchmarks run, and their figures follow from the returned texts."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from benchmarks import latency, recall
from benchmarks.data.samples import Conversation
from benchmarks.retrieval import latency_worker, sample
from benchmarks.retrieval.baselines import Vectors
from benchmarks.retrieval.latency_chats import KINDS, Chats
from benchmarks.retrieval.shelf import Shelf
from benchmarks.retrieval.systems import system_named
from treemem import Memory
from treemem.text.tokens import count_tokens

NAMES = ("treemem", "bm25", "bm25@times", "bm25-pieces", "bm25-windows", "leaves", "oracle")


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    whole = sample.conversations()[0]
    return replace(whole, questions=whole.questions[:5])


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_every_system_stays_within_the_budget_and_is_measured(
    conversation: Conversation, cache: Path
) -> None:
    shelf, vectors = Shelf(cache), Vectors(cache)
    systems = [system_named(name, vectors, shelf) for name in NAMES]
    results = recall.measure([conversation], systems, (200, 1_000))
    assert results["questions"] == 5
    assert len(results["runs"]) == 5 * 2 * len(NAMES)
    assert all(0 <= run["tokens"] <= run["budget"] for run in results["runs"])
    for name in NAMES:
        of_all = [run for run in results["runs"] if run["system"] == name and run["budget"] == 200]
        mean = sum(run["coverage"] for run in of_all) / 5
        assert results["systems"][name]["coverage"]["200"] == pytest.approx(mean)
    shares = [results["systems"][name]["coverage"]["1000"] for name in NAMES]
    assert shares[-1] == max(shares) == 1.0
    assert shares[0] > 0.5


def test_a_system_that_returns_too_much_ends_the_run(conversation: Conversation) -> None:
    class Chatty:
        name, uses_model, missing = "chatty", False, ()

        def prepare(self, conversation: Conversation) -> None: ...
        def close(self) -> None: ...
        def context(self, question: str, budget: int) -> str:
            return "word " * (budget + 5)

    with pytest.raises(SystemExit, match="chatty returned 16 tokens where 10 were allowed"):
        recall.measure([conversation], [Chatty()], (10,))


def test_a_memory_is_filled_once_for_a_conversation(
    conversation: Conversation, cache: Path
) -> None:
    for _ in range(2):
        with Shelf(cache).opened(conversation, None) as memory:
            names = sorted(view.source.id for view in memory.sources())
            assert names == ["day-1", "day-2", "day-3", "day-4"]
            assert memory.status().messages == len(conversation.messages)
    assert len(list(cache.rglob("sample-0-*.sqlite3"))) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("bm26", "There is no system 'bm26'"), ("treemem:no_such=1", "Memory.search has no tuning")],
)
def test_an_unknown_system_or_argument_ends_the_run_at_once(
    name: str, message: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(self: Memory, query: str, *, budget_tokens: int) -> None: ...

    monkeypatch.setattr(Memory, "search", search)
    with pytest.raises(SystemExit, match=message):
        system_named(name, Vectors(cache), Shelf(cache))


def test_halves_are_disjoint_and_questions_are_spread(conversation: Conversation) -> None:
    five = [replace(conversation, name=str(number)) for number in range(5)]
    tune, report = (recall.part(five, half, 2) for half in ("tune", "report"))
    assert [chosen.name for chosen in tune] == ["0", "2", "4"]
    assert [chosen.name for chosen in report] == ["1", "3"]
    questions = conversation.questions
    assert tune[0].questions == [questions[0], questions[2]]


def test_results_that_are_impossible_on_the_sample_are_named() -> None:
    shares = {"treemem": (0.5, 0.7), "bm25": (0.9, 0.6), "oracle": (0.8, 1.0)}
    systems = {
        name: {"coverage": {"500": first, "2000": last}} for name, (first, last) in shares.items()
    }
    assert recall.not_sane(systems) == [
        "treemem covers 70% with 2000 tokens.",
        "bm25 covers more than the evidence itself.",
        "bm25 covers less with 2000 tokens than with 500.",
    ]


def test_systems_with_vectors_return_a_context_within_the_budget(
    conversation: Conversation, tmp_path: Path, models_folder: Path
) -> None:
    small = replace(conversation, messages=conversation.messages[:30])
    vectors = Vectors(tmp_path)
    for name in ("minilm", "fusion", "raptor"):
        ranked = system_named(name, vectors, Shelf(tmp_path))
        ranked.prepare(small)
        question = small.questions[0].text
        assert 0 < count_tokens(ranked.context(question, 300)) <= 300
    vectors.close()
    assert len(list(tmp_path.glob("*.npy"))) == 3  # the pieces, the questions, the summaries


def test_the_words_of_a_query_are_in_a_message_of_its_source() -> None:
    chats = Chats(seed=3)
    queries = chats.queries(sessions=2, count=6)
    assert [query.kind for query in queries] == [*KINDS, *KINDS]
    for query in queries:
        number = int(query.source.rpartition("/")[2])
        (text,) = [
            message.text.lower() for message in chats.session(number)
            if datetime.fromisoformat(str(message.sent_at)) == query.sent_at
        ]  # fmt: skip
        assert set(query.words) <= set(text.replace(".", "").split())
        assert len(query.words) == len(KINDS[query.kind])


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chats") / "memory.sqlite3"
    filled = latency_worker.fill(path, seed=1, sessions=1)
    assert filled["file_bytes"] == path.stat().st_size
    return path


def test_latency_is_shown_for_every_place_beside_the_bare_query(chats: Path) -> None:
    runs = latency_worker.warm(chats, seed=1, sessions=1, count=3)["runs"]
    assert [run["kind"] for run in runs] == list(KINDS)
    rows = latency.rows_of("warm", runs)
    assert [row[2] for row in rows if row[1] == "all"] == [*latency_worker.PLACES, "bare"]
    assert {row[5] for row in rows if row[2] == "bare"} == {"1.00"}


def test_the_bare_query_and_each_place_find_the_message_asked_for(chats: Path) -> None:
    query = Chats(1).queries(1, 2)[1]
    with Memory.open(chats) as memory:
        bare = latency_worker.bare_connection(chats)
        ways = latency_worker.searches(memory, bare, query, 1)
        assert ways.pop("bare")()
        bare.close()
        for way in ways.values():
            text = way().text.lower()  # type: ignore[attr-defined]
            assert all(word in text for word in query.words)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="needs posix_fadvise")
def test_a_cold_query_is_timed_with_the_file_out_of_memory(chats: Path) -> None:
    for place in ("everything", "bare"):
        assert latency_worker.cold(chats, seed=1, sessions=1, number=0, place=place)[place] > 0
