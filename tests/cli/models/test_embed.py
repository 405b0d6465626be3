"""treemem embed, status and model use embedder, as a person calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.helpers.command_line import run
from tests.helpers.fake_server import FakeServer
from treemem import Memory, Message


@pytest.fixture
def messages() -> None:
    with Memory.open() as memory:
        memory.append("s", [Message(text="We ship on Friday."), Message(text="The cat sleeps.")])
        memory.work()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    pytest.importorskip("httpx")
    with FakeServer("embedder-x") as opened:
        yield opened


@pytest.mark.usefixtures("messages")
def test_embed_reports_and_status_shows_the_share_of_nodes() -> None:
    chosen = run("model", "use", "embedder", "hashing")
    assert (chosen.exit_code, chosen.stdout) == (0, "")
    assert "It has no vectors yet; to compute them: treemem embed" in chosen.stderr
    assert (
        "hashing has vectors for 0 of 1 node. To compute the rest: treemem work"
        in run("status").stdout
    )
    done = run("embed")
    assert done.exit_code == 0
    assert "Vectors: computed for 1 node" in done.stdout
    assert "Statements" not in done.stdout
    assert "vectors      hashing/1: 1 of 1 node (100 %)\n" in run("status").stdout
    status = json.loads(run("status", "--json").stdout)
    assert status["embedder"] == "hashing"
    assert status["embedders"] == [
        {"name": "hashing/1", "dimensions": 256, "nodes": 1, "of": 1, "windows": 2, "in_use": True}
    ]
    run("model", "use", "embedder", "none")
    assert "(100 %), not in use" in run("status").stdout


@pytest.mark.usefixtures("messages")
def test_embed_prints_json_and_prunes() -> None:
    run("model", "use", "embedder", "hashing")
    report = json.loads(run("embed", "--all", "--json").stdout)
    assert (report["embedded"], report["done"], report["stopped_by"]) == (1, {"embed": 2}, "empty")
    assert json.loads(run("embed", "--prune", "hashing", "--json").stdout) == {
        "pruned": "hashing/1"
    }
    assert json.loads(run("status", "--json").stdout)["embedders"] == []
    again = run("embed", "--prune", "hashing")
    assert again.exit_code == 1
    assert "This file has vectors of: none" in again.stderr


@pytest.mark.usefixtures("empty_memory")
def test_embed_without_an_embedder_says_what_to_do() -> None:
    result = run("embed")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "treemem model use embedder NAME" in result.stderr


@pytest.mark.parametrize("other", [["--all"], ["--max-calls", "1"], ["--max-seconds", "1"]])
def test_prune_cannot_be_combined(other: list[str]) -> None:
    assert run("embed", "--prune", "hashing", *other).exit_code == 2


def test_hashing_is_not_a_summarizer() -> None:
    result = run("model", "use", "summarizer", "hashing")
    assert result.exit_code == 1
    assert "no model is called 'hashing'" in result.stderr


@pytest.mark.usefixtures("messages")
def test_a_server_is_used_as_embedder(server: FakeServer) -> None:
    chosen = run("model", "use", "embedder", server.url)
    assert chosen.exit_code == 0, chosen.output
    assert f"Embedder set to embedder-x at {server.url}." in chosen.stderr
    assert run("embed").exit_code == 0
    assert "embedder     embedder-x\n" in run("status").stdout


@pytest.mark.usefixtures("messages")
def test_a_run_exits_with_1_if_everything_failed(server: FakeServer) -> None:
    run("model", "use", "embedder", server.url)
    server.models = ["another"]
    result = run("embed")
    assert result.exit_code == 1
    assert "has no model embedder-x" in result.stderr
