"""The recall and latency benchmarks run, and what they tell follows from what was returned."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from benchmarks import latency, latency_worker, recall, recall_sample
from benchmarks.latency_chats import KINDS, Chats
from benchmarks.recall_baselines import Vectors
from benchmarks.recall_systems import Shelf, system
from benchmarks.samples import Conversation
from treemem import Memory
from treemem.text.tokens import count_tokens

NAMES = ("treemem", "bm25", "bm25@times", "bm25-pieces", "bm25-windows", "leaves", "oracle")


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    whole = recall_sample.conversations()[0]
    return replace(whole, questions=whole.questions[:5])


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_every_system_stays_within_the_budget_and_is_measured(
    conversation: Conversation, cache: Path
) -> None:
    shelf, vectors = Shelf(cache), Vectors(cache)
    systems = [system(name, vectors, shelf) for name in NAMES]
    found = recall.measure([conversation], systems, (200, 1_000))
    assert found["questions"] == 5
    assert len(found["runs"]) == 5 * 2 * len(NAMES)
    assert all(0 <= run["tokens"] <= run["budget"] for run in found["runs"])
    for name in NAMES:
        of_all = [run for run in found["runs"] if run["system"] == name and run["budget"] == 200]
        mean = sum(run["coverage"] for run in of_all) / 5
        assert found["systems"][name]["coverage"]["200"] == pytest.approx(mean)
    shares = [found["systems"][name]["coverage"]["1000"] for name in NAMES]
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


def test_a_memory_is_kept_for_the_same_conversation_and_layout(
    conversation: Conversation, cache: Path
) -> None:
    def sources(layout: str) -> list[str]:
        with Shelf(cache, layout).opened(conversation, None) as memory:
            return sorted(view.source.id for view in memory.sources())

    assert sources("sessions") == ["day-1", "day-2", "day-3", "day-4"]
    assert sources("one") == ["sample-0"]
    files = set(cache.rglob("*.sqlite3"))
    assert sources("sessions")
    assert set(cache.rglob("*.sqlite3")) == files
    next(iter(cache.rglob("*.done"))).unlink()
    assert sources("one") == ["sample-0"]
    assert sources("sessions") == ["day-1", "day-2", "day-3", "day-4"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("bm26", "There is no system 'bm26'"), ("treemem:no_such=1", "Memory.search has no tuning")],
)
def test_what_cannot_be_asked_is_said_at_the_start(
    name: str, message: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(self: Memory, query: str, *, budget_tokens: int) -> None: ...

    monkeypatch.setattr(Memory, "search", search)
    with pytest.raises(SystemExit, match=message):
        system(name, Vectors(cache), Shelf(cache))


def test_halves_are_disjoint_and_questions_are_spread(conversation: Conversation) -> None:
    five = [replace(conversation, name=str(number)) for number in range(5)]
    tune, report = (recall.part(five, half, None, 2) for half in ("tune", "report"))
    assert [each.name for each in tune] == ["0", "2", "4"]
    assert [each.name for each in report] == ["1", "3"]
    questions = conversation.questions
    assert tune[0].questions == [questions[0], questions[2]]


def test_a_system_is_compared_with_the_best_that_needs_no_more(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = {"treemem": 0.5, "bm25": 0.55, "leaves": 0.1, "minilm": 0.9, "oracle": 1.0}
    found = {name: {key: {"500": share} for key in recall.MEASURES}
             for name, share in shares.items()}  # fmt: skip
    systems = [system(name, Vectors(cache), Shelf(cache)) for name in shares]
    compared = recall.beside_the_best({"chats": {"systems": found}}, systems)
    assert [(each.measure, each.baseline, each.best) for each in compared] == [
        ("coverage", "bm25", 0.55), ("support", "bm25", 0.55),
    ]  # fmt: skip
    recall._show_best(compared)
    assert capsys.readouterr().out.count("-5.0 bm25 ✗") == 2


def test_vectors_rank_what_means_the_same(
    conversation: Conversation, tmp_path: Path, models_folder: Path
) -> None:
    small = replace(conversation, messages=conversation.messages[:30])
    vectors = Vectors(tmp_path)
    for name in ("minilm", "fusion", "raptor"):
        found = system(name, vectors, Shelf(tmp_path))
        found.prepare(small)
        question = small.questions[0].text
        assert 0 < count_tokens(found.context(question, 300)) <= 300
    vectors.close()
    assert len(list(tmp_path.glob("*.npy"))) == 3  # the pieces, the questions, the summaries


def test_the_words_of_a_query_stand_in_a_message_of_its_source() -> None:
    chats = Chats(seed=3)
    queries = chats.queries(sessions=2, count=6)
    assert [query.kind for query in queries] == [*KINDS, *KINDS]
    for query in queries:
        number = int(query.source.rpartition("/")[2])
        (said,) = [
            message.text.lower() for message in chats.session(number)
            if datetime.fromisoformat(str(message.sent_at)) == query.sent_at
        ]  # fmt: skip
        assert set(query.words) <= set(said.replace(".", "").split())
        assert len(query.words) == len(KINDS[query.kind])


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chats") / "memory.sqlite3"
    filled = latency_worker.fill(path, seed=1, sessions=1)
    assert filled["file_bytes"] == path.stat().st_size
    return path


def test_latency_is_told_for_every_place_beside_the_bare_query(chats: Path) -> None:
    runs = latency_worker.warm(chats, seed=1, sessions=1, count=3)["runs"]
    assert [run["kind"] for run in runs] == list(KINDS)
    told = latency._rows("warm", runs)
    assert [row[2] for row in told if row[1] == "all"] == [*latency_worker.PLACES, "bare"]
    assert {row[5] for row in told if row[2] == "bare"} == {"1.00"}


def test_the_bare_query_and_each_place_find_the_message_asked_for(chats: Path) -> None:
    query = Chats(1).queries(1, 2)[1]
    with Memory.open(chats) as memory:
        bare = latency_worker._bare_connection(chats)
        ways = latency_worker._ways(memory, bare, query, 1)
        assert ways.pop("bare")()
        bare.close()
        for way in ways.values():
            text = way().text.lower()  # type: ignore[attr-defined]
            assert all(word in text for word in query.words)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="needs posix_fadvise")
def test_a_cold_query_is_asked_with_the_file_forgotten(chats: Path) -> None:
    found = latency_worker.cold(chats, seed=1, sessions=1, number=0, place="everything")
    assert 0 < found["open_ms"] < found["ms"]
    assert latency_worker.cold(chats, 1, 1, 0, "bare")["ms"] > 0
