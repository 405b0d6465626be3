"""Tests that the calls answer what the methods of Memory do, in the shapes of --json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem import Memory, Scope
from treemem.forms.values import json_value
from treemem.web.api.calls import ENDPOINTS
from treemem.web.api.samples import NONE_STORED, Sample, with_samples

if TYPE_CHECKING:
    import httpx

    from tests.helpers.web_server import Served


def _json(value: object) -> Any:
    return json_value(value)


def test_what_is_read_is_what_the_memory_says(api: httpx.Client, filled: Path) -> None:
    with Memory.open(filled) as memory:
        source_id = memory.source_ids()[0]
        root_id = memory.root_id(Scope.everything()) or ""
        entry = memory.ledger(kinds=["open"], limit=1)[0].id
        expected = {
            "/search?q=settlement&order=score": memory.search("settlement", order="score"),
            "/digest": memory.digest(Scope.everything()),
            "/digest?source=latest": memory.digest(Scope.source("latest")),
            "/sources": memory.sources(),
            "/source?name=latest": memory.source("latest"),
            f"/messages?source={source_id}&offset=3&limit=4":
                memory.messages(source_id, limit=4, offset=3),
            "/ledger?kind=open&kind=error&limit=6":
                memory.ledger(kinds=["open", "error"], limit=6),
            f"/ledger/{entry}": memory.ledger.show(entry),
            f"/nodes/{root_id[:8]}": memory.node(root_id),
            f"/nodes/{root_id}/expand?limit=1": memory.expand(root_id, limit=1),
            "/rules": memory.rules(), "/topics": memory.topics.list(),
            "/days?zone=UTC": memory.days(zone="UTC"),
        }  # fmt: skip
        assert root_id == memory.tree(Scope.everything()).root_id
    for path, value in expected.items():
        answer = api.get(path)
        assert answer.status_code == 200, (path, answer.text)
        assert answer.json() == _json(value), path


def test_every_call_works_as_its_example_says(own_api: httpx.Client, served: Served) -> None:
    with served.memory() as memory:
        found = [
            (endpoint, sample) for endpoint, sample in with_samples(memory, ENDPOINTS)
            if NONE_STORED not in sample.path.split("/") and '"ID"' not in (sample.body or "")
        ]  # fmt: skip
    for endpoint, sample in found:
        if endpoint.name == "unmerge_topic":  # of one that is merged
            continue
        answer = _ask(own_api, endpoint.method, sample)
        assert answer.status_code == 200, (endpoint.name, answer.text)
    assert len(found) >= len(ENDPOINTS) - 1


def _ask(client: httpx.Client, method: str, sample: Sample) -> httpx.Response:
    headers = {"content-type": "application/json"} if sample.body is not None else {}
    return client.request(method, sample.path, content=sample.body, headers=headers)


def test_what_is_changed_is_changed_in_the_memory(own_api: httpx.Client, served: Served) -> None:
    with served.memory() as memory:
        entry = memory.ledger(kinds=["open"], limit=1)[0]
        topic = memory.topics.list()[0]
        rule = next(one for one in memory.rules() if not one.everywhere)
        for path, body in (
            (f"/ledger/{entry.id}/close", {}), (f"/rules/{rule.id[:6]}/pin", {}),
            (f"/topics/{topic.id}/rename", {"name": "Mine"}),
        ):  # fmt: skip
            answer = own_api.post(path, json=body)
            assert answer.status_code == 200, answer.text
        assert memory.ledger.show(entry.id).state == "closed"
        assert memory.topics.show(topic.id).name == "Mine"
        assert next(one for one in memory.rules() if one.id == rule.id).everywhere
        own_api.post(f"/ledger/{entry.id}/reopen", json={})
        assert memory.ledger.show(entry.id).state == "holds"
