"""Every reranker satisfies the contract, and a memory that uses one works without it too.

The local model is a tiny one made here, see tests/helpers/tiny_reranker.py; no real weights of a
cross-encoder were tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers import tiny_reranker
from tests.helpers.fake_server import FakeServer, Reply, as_json, drop
from treemem import Memory, Message, ModelError, ServedModel, UsageError
from treemem.models import rerankers
from treemem.models.pulling import installed, pull
from treemem.models.rerankers import EndpointReranker, LocalReranker, Reranker

TEXTS = ["bad bad", "good good", "walrus good bad", ""]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny model, registered as "tiny"."""
    pytest.importorskip("llama_cpp", reason="needs the extra llama")
    monkeypatch.setenv("TREEMEM_MODELS", str(tmp_path / "models"))
    path = tmp_path / "tiny.gguf"
    tiny_reranker.write(path)
    pull(path)
    return path


@pytest.fixture
def server() -> Iterator[FakeServer]:
    pytest.importorskip("httpx")
    with FakeServer("cross") as opened:
        yield opened


@pytest.fixture(params=["local", "endpoint"])
def reranker(request: pytest.FixtureRequest) -> Iterator[Reranker]:
    if request.param == "local":
        request.getfixturevalue("tiny")
        opened: Reranker = LocalReranker("tiny")
    else:
        url = request.getfixturevalue("server").url
        opened = EndpointReranker(ServedModel((url,), "cross"))
    with closing(opened):
        yield opened


def test_every_reranker_satisfies_the_contract(reranker: Reranker) -> None:
    ratings = reranker.rate("good", TEXTS)
    assert len(ratings) == len(TEXTS)
    assert all(map(math.isfinite, ratings))
    assert max(range(4), key=ratings.__getitem__) == 1
    assert ratings[2] > ratings[0]
    assert reranker.rate("good", TEXTS[::-1]) == pytest.approx(ratings[::-1], abs=1e-4)
    assert reranker.rate("good", TEXTS[1:2]) == pytest.approx(ratings[1:2], abs=1e-4)
    assert reranker.rate("good", []) == []


# -- a local model ---------------------------------------------------------------------


def test_a_gguf_with_rank_pooling_is_registered_as_reranker(tiny: Path) -> None:
    model = installed("tiny")
    assert (model.role, model.pooling, model.dimensions) == ("reranker", "rank", None)


def test_texts_and_queries_longer_than_the_context_are_cut(tiny: Path) -> None:
    with closing(LocalReranker("tiny")) as local:
        good, bad = local.rate("why " * 500, ["good " * 500, "bad " * 500])
    assert good > bad


def test_special_tokens_in_a_text_are_words(tiny: Path) -> None:
    with closing(LocalReranker("tiny")) as local:
        plain, special = local.rate("why", ["good bad", "good [SEP] bad"])
    assert plain > special  # "[SEP]" is three unknown words, not the end of a text


def test_a_model_without_rank_pooling_is_refused(tiny: Path, tmp_path: Path) -> None:
    tiny_reranker.write(tmp_path / "mean.gguf", pooling=1)
    pull(tmp_path / "mean.gguf", role="reranker")
    with (
        closing(LocalReranker("mean")) as local,
        pytest.raises(ModelError, match="no rank pooling"),
    ):
        local.rate("why", ["good"])


# -- servers ---------------------------------------------------------------------------


def test_a_server_gets_the_query_the_texts_and_the_model(server: FakeServer) -> None:
    with closing(EndpointReranker(ServedModel((server.url,), "cross"))) as served:
        served.rate("why \ud800", ["good", "half \udfff"])
    assert server.bodies == [
        {"model": "cross", "query": "why ?", "documents": ["good", "half ?"], "top_n": 2}
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_json({"results": []}), "0 ratings for 2 texts"),
        (as_json({"results": [{"index": 0, "relevance_score": 1}] * 2}), "1 rating for 2 texts"),
        (as_json({"results": [{"index": 0}]}), "no ratings in"),
        (as_json([1, 2]), "no ratings in"),
        (as_json({"error": {"message": "no such model"}}), "no such model"),
        (Reply(200, b'{"results": [{"index": 0, "relevance_score": NaN}, '
                    b'{"index": 1, "relevance_score": 1}]}'), "2 ratings for 2 texts"),
        (as_json({"error": "this is no reranker"}, 501), "this is no reranker"),
        (Reply(200, b"<html>"), "not JSON"),
    ],
)  # fmt: skip
def test_an_invalid_answer_is_an_error(server: FakeServer, reply: Reply, reason: str) -> None:
    server.replies.extend([reply] * 4)
    with (
        closing(EndpointReranker(ServedModel((server.url,), "cross"))) as served,
        pytest.raises(ModelError, match=reason),
    ):
        served.rate("why", ["good", "bad"])


def test_the_next_server_is_asked_if_one_fails(server: FakeServer) -> None:
    with FakeServer("cross") as other:
        server.replies.append(as_json({"error": "refused"}, 400))
        choice = ServedModel((server.url, other.url), "cross")
        with closing(EndpointReranker(choice)) as served:
            assert served.rate("good", ["good", "bad"]) == [1.0, 0.0]
        assert len(other.bodies) == 1


# -- a memory --------------------------------------------------------------------------


@pytest.fixture
def walruses(memory: Memory) -> Memory:
    memory.append("s", [Message(text=f"walrus {word}") for word in ("bad", "why", "good", "bad")])
    memory.work(max_calls=0)
    return memory


def rerank_parts(memory: Memory) -> dict[str, float]:
    """The reranker's part of the score, by text; empty if it was not asked."""
    result = memory.search("walrus")
    texts = {m.id: m.text for passage in result.passages for m in passage.messages}
    parts = [part for passage in result.passages for part in passage.explanation]
    return {
        texts[part.message_id]: dict(part.parts)["rerank"]
        for part in parts
        if "rerank" in dict(part.parts)
    }


def test_a_memory_uses_a_reranker_only_if_one_is_chosen(walruses: Memory, tiny: Path) -> None:
    assert rerank_parts(walruses) == {}
    walruses.use_model("reranker", "tiny")
    parts = rerank_parts(walruses)
    assert max(parts, key=parts.__getitem__) == "walrus good"
    assert walruses.status().reranker == "tiny"
    walruses.use_model("reranker", "none")
    assert rerank_parts(walruses) == {}
    assert walruses.status().reranker is None


def test_a_callable_of_the_caller_replaces_the_chosen_reranker(
    walruses: Memory, server: FakeServer
) -> None:
    walruses.use_model("reranker", ServedModel((server.url,), "cross"))
    walruses.search("walrus", rerank=lambda _query, texts: [1.0] * len(texts))
    assert server.bodies == []
    walruses.search("walrus")
    assert len(server.bodies) == 1


@pytest.mark.parametrize("failure", [Reply(act=drop), as_json({"error": "no"}, 400)])
def test_a_server_that_fails_leaves_the_order_and_a_note(
    walruses: Memory, server: FakeServer, failure: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem.models.endpoint.WAIT_FIRST_SECONDS", 0.01)
    plain = walruses.search("walrus")
    walruses.use_model("reranker", server.url)
    server.replies.extend([failure] * 4)
    result = walruses.search("walrus")
    assert result.text == plain.text
    assert any("reranker failed" in note and server.url in note for note in result.missing)


def test_a_model_that_is_gone_leaves_the_order_and_a_note(walruses: Memory, tiny: Path) -> None:
    plain = walruses.search("walrus")
    walruses.use_model("reranker", "tiny")
    tiny.unlink()
    result = walruses.search("walrus")
    assert result.text == plain.text
    assert any("tiny.gguf" in note for note in result.missing)


def test_a_model_of_another_role_is_refused(walruses: Memory, tiny: Path) -> None:
    with pytest.raises(UsageError, match="the role of 'tiny' is reranker, not embedder"):
        walruses.use_model("embedder", "tiny")
    with pytest.raises(UsageError, match="checker, reranker or chat, not as 'judge'"):
        walruses.use_model("judge", "tiny")
    assert rerankers.KeptReranker().of(None) is None
